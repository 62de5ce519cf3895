"""The pytest fixtures `fake_broker` and `fake_cluster`: `pytest_plugins = ["kipwire.testing.pytest_plugin"]`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kipwire.testing.broker import FakeBroker


@pytest.fixture
def fake_broker(fake_cluster: Callable[..., FakeBroker]) -> FakeBroker:
    """A `kipwire.testing.FakeBroker` for one test, which creates the topics that clients ask for."""
    return fake_cluster(nodes=1)


@pytest.fixture
def fake_cluster() -> Iterator[Callable[..., FakeBroker]]:
    """A function that starts a `FakeBroker` for one test, with the arguments of that; by default it has three nodes."""
    from kipwire.testing.broker import FakeBroker  # here, so that tests without the fixture do not pay for it

    with ExitStack() as stack:

        def start(*args: Any, nodes: int = 3, **settings: Any) -> FakeBroker:
            return stack.enter_context(FakeBroker(*args, nodes=nodes, **settings))

        yield start
