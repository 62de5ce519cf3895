"""A proxy as a program: filters from files, what it prints, and its end."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

import kafka_messages
from kipwire.aio import Address
from kipwire.aio.failures import shown_address
from kipwire.console.brokers import Settings, run
from kipwire.console.command_line import discard_output, fail
from kipwire.proxy import Exchange, Filter, FilterError, Proxy
from kipwire.proxy.filters import log, reason_of
from kipwire.tools.files import need_file
from kipwire.tools.text import print_err, print_out


def filters_of(files: Iterable[Path]) -> list[Filter]:
    """The filters that Python files define, in their order.

    Raises:
        FilterError: a file has none, or cannot be imported.
        OSError: it cannot be read.
    """
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
            raise FilterError(f"{path}: cannot be imported: {reason_of(error)}") from error
        own = [one for one in vars(module).values() if isinstance(one, Filter)]
        if not own:
            raise FilterError(f"{path}: has no filters; define functions with @on(...) of kipwire.proxy")
        found += own
    return found


class _Seen:
    """Counts what has passed, and prints it if it is asked to."""

    def __init__(self, verbose: bool) -> None:
        self._verbose = verbose
        self._requests = self._responses = self._sent = self._received = 0

    def __call__(self, exchange: Exchange, size: int | None, seconds: float) -> None:
        asked = exchange.request
        self._requests, self._sent = self._requests + 1, self._sent + len(asked.raw)
        if size is not None:
            self._responses, self._received = self._responses + 1, self._received + size
        if self._verbose:
            key, node = asked.api_key, "" if exchange.node is None else f", node {exchange.node}"
            name = kafka_messages.request(key, asked.api_version).NAME[:-7] if asked.is_known else f"API {key}"
            answer = "no response" if size is None else f"{size:,} B after {seconds * 1000:,.1f} ms"
            what = f"{name} v{asked.api_version} #{asked.correlation_id}, {len(asked.raw):,} B"
            try:
                print_out(f"{shown_address(exchange.client)}{node}: {what}: {answer}")
            except BrokenPipeError:  # the reader is gone; the clients are not
                discard_output()
                self._verbose = False

    def __str__(self) -> str:
        requests, responses = f"{self._requests:,} requests", f"{self._responses:,} responses"
        return f"{requests} with {self._sent:,} B and {responses} with {self._received:,} B have passed"


def run_proxy(files: Iterable[Path], settings: Settings, verbose: bool, to: Address, listen: str, **how: Any) -> None:
    """Run a proxy until Ctrl-C, or SIGTERM. What is wrong with a connection is a line on standard error.

    Args:
        files: with filters.
        settings: how it reaches brokers.
        verbose: whether each exchange is a line.
        to: a broker.
        listen: where clients connect.
        how: other arguments of `Proxy`.
    """
    try:
        filters = filters_of(files)
    except FilterError as error:
        fail(str(error))
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("kipwire: %(message)s"))
    log.addHandler(handler)
    seen = _Seen(verbose)

    async def work() -> None:
        upstream: dict[str, Any] = {"ssl": settings.security.tls, "sasl": settings.security.sasl}
        proxy = Proxy(to, filters, listen=listen, **how, **upstream, timeout=settings.timeout, observer=seen)
        ended = asyncio.Event()
        with suppress(NotImplementedError):  # on Windows
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
        async with proxy:
            print_err(f"kipwire: listening at {shown_address(proxy.address)} for {shown_address(to)}")
            try:
                await ended.wait()
            finally:
                print_err(f"kipwire: {seen}")

    try:
        run(work())
    except ValueError as error:
        fail(f"--listen: {error}")
    except OSError as error:
        fail(f"cannot listen at {listen}: {error.strerror or error}")
