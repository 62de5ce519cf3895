"""The pytest fixture `fake_broker`. A conftest.py asks for it: `pytest_plugins = ["kipwire.testing.pytest_plugin"]`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kipwire.testing.broker import FakeBroker


@pytest.fixture
def fake_broker() -> Iterator[FakeBroker]:
    """A `kipwire.testing.FakeBroker` for one test, which creates the topics that clients ask for."""
    from kipwire.testing.broker import FakeBroker  # here, so that tests without the fixture do not pay for it

    with FakeBroker() as broker:
        yield broker
