"""Runs what talks to brokers, with a line about each failure; and programs that listen: their TLS, log and end."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kipwire.cli.command_line import discard_output, fail
from kipwire.cluster.settings import Settings
from kipwire.cluster.settings import log as brokers_log
from kipwire.model.errors import KipwireError
from kipwire.tools.files import read_regular
from kipwire.tools.text import print_err, print_out, printable_line

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


def prepare(settings: Settings) -> None:
    """Read the files of settings and ask for passwords; what is wrong with them ends the program."""
    try:
        with log_of_brokers():
            settings.prepare()
    except KipwireError as error:
        fail(str(error))


@contextmanager
def log_of_brokers() -> Iterator[None]:
    """Print what `kipwire.cluster` logs while the block runs: dead addresses, settings without an effect."""
    lines = _Lines()
    brokers_log.addHandler(lines)
    try:
        yield
    finally:
        brokers_log.removeHandler(lines)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and return its result.

    A failure, such as of a connection, is one line on standard error and exit status 2.
    """
    try:
        with log_of_brokers():
            return asyncio.run(work)
    except KipwireError as error:
        fail(str(error))


def listener_context(cert: Path | None, key: Path | None, ca: Path | None) -> ssl.SSLContext | None:
    """Make the context of `--listen-cert`, `--listen-key` and `--listen-ca`; None where no certificate is given.

    What is wrong with the files ends the program.
    """
    if cert is None:
        if key is not None or ca is not None:
            fail("--listen-key and --listen-ca need --listen-cert")
        return None
    files = [one for one in (cert, key, ca) if one is not None]
    for path in files:
        read_regular(path, 0)  # whose errors name the file
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(cert, key, password=lambda: "")
        if ca is not None:
            context.load_verify_locations(ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except ssl.SSLError as error:
        names = ", ".join(map(str, files))
        fail(
            f"{names}: cannot be used for TLS ({error.reason or error}); use certificates, and a key without a password"
        )
    return context


def serve(work: Coroutine[Any, Any, None], at: str) -> None:
    """Run what listens until Ctrl-C, which interrupts it, or SIGTERM, after which the program has succeeded.

    Args:
        work: it; it is cancelled at the end. An error of the system says that it cannot listen, and ends the program.
        at: the address, for that error.
    """
    try:
        run(_ended_by_sigterm(work))
    except BrokenPipeError:  # of standard output
        raise
    except OSError as error:
        code = error.errno or 0
        why = os.strerror(code) if code > 0 else error.strerror or error  # asyncio's own words repeat the address
        fail(f"cannot listen at {at}: {why}")


async def _ended_by_sigterm(work: Coroutine[Any, Any, None]) -> None:
    ended, task = asyncio.Event(), asyncio.ensure_future(work)

    def end() -> None:
        ended.set()
        task.cancel()

    with suppress(NotImplementedError):  # on Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
    try:
        await task
    except asyncio.CancelledError:
        if not ended.is_set():
            raise


class _Lines(logging.Handler):
    """Prints what is wrong on standard error, and what passes on standard output."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record in one line."""
        line = printable_line(record.getMessage())
        if record.levelno > logging.DEBUG:
            print_err(f"kipwire: {line}")
            return
        try:
            print_out(line)
        except BrokenPipeError:  # the reader is gone; the clients are not
            discard_output()


def print_log(log: logging.Logger, *, verbose: bool) -> None:
    """Print the lines of a logger: what is wrong, and if verbose what passes, too."""
    log.addHandler(_Lines())
    if verbose:
        log.setLevel(logging.DEBUG)
