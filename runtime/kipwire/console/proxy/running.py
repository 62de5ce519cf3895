"""A proxy as a program: filters from files, what it prints, and its end."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import SourceFileLoader
from logging import DEBUG
from pathlib import Path
from types import ModuleType
from typing import Any

from kipwire.aio import Address
from kipwire.aio.failures import shown_address
from kipwire.cli.command_line import fail
from kipwire.cluster.settings import Settings
from kipwire.console.brokers.running import prepare, print_log, serve
from kipwire.model.errors import KipwireError
from kipwire.proxy import Exchange, Filter, FilterError, Proxy
from kipwire.proxy.filters import log
from kipwire.tools.files import need_file
from kipwire.tools.text import error_line, print_err


def filters_of(files: Iterable[Path]) -> list[Filter]:
    """Load the filters that Python files define, in their order; a `FilterError` for a file that has none, or fails."""
    found: list[Filter] = []
    for number, path in enumerate(files):
        sys.path.insert(0, str(path.parent.resolve()))  # as Python has it for a script
        name = f"filters_{number}_{path.stem}"
        module = sys.modules[name] = ModuleType(name)  # where it is looked for, such as by dataclasses
        module.__file__ = str(path)
        try:
            need_file(path)
            SourceFileLoader(name, str(path)).exec_module(module)
        except (Exception, SystemExit) as error:  # of the user's code, in which anything may go wrong
            if isinstance(error, OSError) and error.filename == str(path):
                raise
            raise FilterError(f"{path}: cannot be imported: {error_line(error)}") from error
        own = [one for one in vars(module).values() if isinstance(one, Filter)]
        if not own:
            raise FilterError(f"{path}: has no filters; define functions with @on(...) of kipwire.proxy")
        found += own
    return found


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
    files: Iterable[Path], settings: Settings, verbose: bool, to: Sequence[Address], listen: str, **how: Any
) -> None:
    """Run a proxy until Ctrl-C, or SIGTERM. What is wrong with a connection is a line on standard error."""
    passed = _Passed()
    try:
        prepare(settings)
        filters, upstream = filters_of(files), settings.security
        how |= {"ssl": upstream.tls, "sasl": upstream.sasl, "timeout": settings.timeout}
        proxy = Proxy(to, filters, listen=listen, observer=passed, **how)
    except KipwireError as error:
        fail(str(error))
    except ValueError as error:
        fail(f"--listen: {error}")

    async def work() -> None:
        async with proxy:
            print_err(f"kipwire: listening at {shown_address(proxy.address)} for {','.join(map(shown_address, to))}")
            try:
                await proxy.wait_closed()
            finally:
                print_err(f"kipwire: {passed}")

    print_log(log, verbose=verbose)
    serve(work(), listen)
