"""What several tests of live topics use."""

from __future__ import annotations

import pytest

from tests.support.live import live_spark as tested
from tests.support.live.live_spark import Spark


@pytest.fixture(scope="session")
def live_spark() -> Spark:
    """The Spark that the connector is tested with; it is made once, and kept in build/."""
    return tested.made()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ask the broker requests out of the ordinary last: they leave records and groups that other tests cannot read."""
    items.sort(key=lambda item: "test_fake_broker_cases" in item.nodeid)
