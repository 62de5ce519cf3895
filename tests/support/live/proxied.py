"""A proxy with filters in a thread of its own, for clients that block."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from kipwire.console.brokers.filters import filters_of
from kipwire.proxy import Filter, Proxy
from tests.support.places import ROOT

SECONDS = 60


def example_filters(name: str) -> list[Filter]:
    """Return the filters of a file in examples/filters."""
    return filters_of([ROOT / "examples" / "filters" / f"{name}.py"])


@contextmanager
def proxied(to: str | tuple[str, int], filters: Iterable[Filter] = (), **options: Any) -> Iterator[str]:
    """Run a proxy before a broker; yield its address.

    Args:
        to: the broker.
        filters: of the proxy.
        options: others of `Proxy`.
    """
    proxy = Proxy(to, filters, **options)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(proxy.__aenter__(), loop).result(SECONDS)
        yield f"127.0.0.1:{proxy.address[1]}"
    finally:
        asyncio.run_coroutine_threadsafe(proxy.__aexit__(None, None, None), loop).result(SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
