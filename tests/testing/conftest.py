"""The order of the tests of the fake broker beside a real one."""

from __future__ import annotations

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ask the broker requests out of the ordinary last: they leave records and groups that other tests cannot read."""
    items.sort(key=lambda item: "test_recorded_answers_broker" in item.nodeid)
