"""A proxy as a program: filters from files, which are loaded again when they change, what it prints, and its end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from logging import DEBUG
from pathlib import Path
from typing import Any

from kipwire.aio import Address
from kipwire.aio.failures import shown_address
from kipwire.cli.apis import registry_named
from kipwire.cli.command_line import fail, one_line, system_error
from kipwire.cluster.settings import Settings
from kipwire.console.brokers.filters import filters_of
from kipwire.console.brokers.running import prepare, print_log, serve
from kipwire.model.errors import KipwireError
from kipwire.proxy import Exchange, Proxy
from kipwire.proxy.applying import log
from kipwire.tools.text import print_err

SECONDS_TO_LOOK = 0.5
"""Time between two looks at the files of filters."""


def marks_of(files: Iterable[Path]) -> list[tuple[int, ...]]:
    """Return what changes with the content of each file; nothing for a file that cannot be found."""
    marks: list[tuple[int, ...]] = []
    for path in files:
        try:
            found = path.stat()
        except OSError:
            marks.append(())
        else:
            marks.append((found.st_mtime_ns, found.st_ctime_ns, found.st_size))
    return marks


async def use_changes(proxy: Proxy, files: Sequence[Path], used: list[tuple[int, ...]]) -> None:
    """Load filters again when a file has changed, until it is cancelled; one that cannot be loaded changes nothing.

    Args:
        proxy: gets the filters.
        files: all of them are loaded, in their order.
        used: the `marks_of` before they were loaded first.
    """
    seen = used
    while True:
        await asyncio.sleep(SECONDS_TO_LOOK)
        before, seen = seen, marks_of(files)
        if seen == used or seen != before:  # in the second case it may be half written
            continue
        used = seen
        try:
            proxy.use(filters_of(files))
        except (KipwireError, OSError) as error:
            why = system_error(error) if isinstance(error, OSError) else error
            print_err(f"kipwire: {one_line(why)}; the filters stay as they were")
        else:
            print_err("kipwire: filters are loaded again, for clients that connect from now on")


class _Passed:
    """Counts of what has passed."""

    requests = responses = sent = received = 0

    def __call__(self, exchange: Exchange, size: int | None, seconds: float) -> None:
        self.requests += 1
        self.sent += len(exchange.request.raw)
        if size is not None:
            self.responses += 1
            self.received += size
        if log.isEnabledFor(DEBUG):
            node = "" if exchange.node is None else f", node {exchange.node}"
            answer = "no response" if size is None else f"{size:,} B after {seconds * 1000:,.1f} ms"
            log.debug("%s%s: %s: %s", shown_address(exchange.client), node, exchange.request, answer)

    def __str__(self) -> str:
        requests, responses = f"{self.requests:,} requests", f"{self.responses:,} responses"
        return f"{requests} with {self.sent:,} B and {responses} with {self.received:,} B have passed"


def run_proxy(
    files: Sequence[Path],
    packages: Sequence[str],
    settings: Settings,
    verbose: bool,
    to: Sequence[Address],
    listen: str,
    **how: Any,
) -> None:
    """Run a proxy until Ctrl-C, or SIGTERM. What is wrong with a connection is a line on standard error."""
    passed, used = _Passed(), marks_of(files)
    try:
        prepare(settings)
        registry, filters, upstream = registry_named(*packages), filters_of(files), settings.security
        how |= {"ssl": upstream.tls, "sasl": upstream.sasl, "timeout": settings.timeout, "registry": registry}
        proxy = Proxy(to, filters, listen=listen, observer=passed, **how)
    except KipwireError as error:
        fail(str(error))
    except ValueError as error:
        fail(f"--listen: {error}")

    async def work() -> None:
        async with proxy:
            print_err(f"kipwire: listening at {shown_address(proxy.address)} for {','.join(map(shown_address, to))}")
            try:
                await (use_changes(proxy, files, used) if files else proxy.wait_closed())
            finally:
                print_err(f"kipwire: {passed}")

    print_log(log, verbose=verbose)
    serve(work(), listen)
