"""Fixtures for all tests of the pipeline."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from kipjobs.engines import Session
from kipjobs.engines.embedded.session import EmbeddedSession


@pytest.fixture(autouse=True)
def logging_stays_on() -> Iterator[None]:
    """Turn logging on again after kipspark's command line has turned it off: other tests run in the same process."""
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="session", params=["embedded", pytest.param("spark", marks=pytest.mark.night)])
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    """A session of each engine that runs jobs: the one in this process in every run, and Spark at night.

    A module whose tests ask for it belongs to the group `spark`, so that the session of Spark is started once.
    """
    if request.param == "spark":
        yield request.getfixturevalue("spark")
        return
    with EmbeddedSession() as one:
        yield one
