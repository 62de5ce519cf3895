"""What tests of the pipeline share."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def logging_stays_on() -> Iterator[None]:
    """Undo what kipspark's command line does to its process, which here is that of other tests, too."""
    yield
    logging.disable(logging.NOTSET)
