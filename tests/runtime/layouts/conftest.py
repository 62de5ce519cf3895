"""Fixtures of the tests in this folder."""

from __future__ import annotations

import pytest

from kipwire import Message
from tests.support.places import LAYOUTS
from tests.support.spec_package import Classes, declared_versions


@pytest.fixture(params=declared_versions(LAYOUTS), ids=lambda pair: f"{pair[0]}-{pair[1]}")
def cls(request: pytest.FixtureRequest, layouts: Classes) -> type[Message]:
    """One class after the other."""
    found: type[Message] = layouts(*request.param)
    return found
