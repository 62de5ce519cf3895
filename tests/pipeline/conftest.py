"""Fixtures for all tests of the pipeline."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def logging_stays_on() -> Iterator[None]:
    """Turn logging on again after kipspark's command line has turned it off: other tests run in the same process."""
    yield
    logging.disable(logging.NOTSET)
