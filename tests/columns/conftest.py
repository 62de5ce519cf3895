"""Fixtures of the tests in this folder."""

from __future__ import annotations

import pytest

from kipwire import native
from tests.support import column_checks
from tests.support.column_checks import BY_PYTHON, Way
from tests.support.subjects.column_examples import WAYS


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Way:
    """One way after the other; the functions of `columns` go it, too."""
    if request.param == "python":
        monkeypatch.setattr(native, "in_use", False)
        return BY_PYTHON
    if not native.in_use:
        pytest.skip(f"the kernel is not in use: {native.reason}")
    return column_checks.by_kernel()
