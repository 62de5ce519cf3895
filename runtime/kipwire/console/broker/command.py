"""The command `kipwire broker`: the fake broker of `kipwire.testing`, for programs in any language.

It makes a `FakeBroker` and keeps it until a signal; what clients see is decided there. Everything that can be wrong
about options is reported before it listens: a codec whose library is missing would otherwise be an error of the first
producer that compresses, and names of APIs and errors are looked up in Kafka's enums.
"""

from __future__ import annotations

import asyncio
import logging
from enum import Enum
from pathlib import Path
from ssl import SSLContext
from types import NoneType
from typing import Any, TypeVar

import click

from kafka_messages.enums import ApiKey, ErrorCode
from kipwire import testing
from kipwire.aio import ClosedByHandler
from kipwire.aio.failures import shown_address
from kipwire.aio.filters import Exchange, Filter, FilterError
from kipwire.aio.serving import EVERYWHERE
from kipwire.cli.apis import registry_named
from kipwire.cli.command_line import PATH, fail, system_error
from kipwire.cli.options import more_packages_option
from kipwire.cluster.properties import SettingsError
from kipwire.cluster.tls import secret_of
from kipwire.connection import refusal
from kipwire.console.brokers import ADVERTISED, listener_options
from kipwire.console.brokers.filters import filters_of
from kipwire.console.brokers.running import print_log, serve
from kipwire.message.registry import KAFKA_PACKAGE, Registry
from kipwire.model.enums import ErrorNumber
from kipwire.model.errors import MissingExtraError
from kipwire.records.compression import compress
from kipwire.tools.text import did_you_mean, print_err, print_out

E = TypeVar("E", bound=Enum)
_log = logging.getLogger("kipwire.testing")


class _Format(click.ParamType[tuple[Enum | int | float | str, ...]]):
    """Text in a form of its own, such as `orders:3`."""

    name = "text"

    def __init__(self, *parts: type[Enum] | type[int] | type[float] | type[str], optional: bool = False) -> None:
        """Take what stands between colons; the last part may be left out if it is optional."""
        self._parts, self._optional = parts, optional

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Enum | int | float | str, ...]:
        """Convert the parts of a value, between colons, to their kinds.

        Raises:
            click.BadParameter: there are more or fewer, or one is of another kind.
        """
        given = value.split(":")
        if len(given) not in {len(self._parts), len(self._parts) - self._optional}:
            self.fail(f"{value!r} is not of the form {param.metavar if param else ''}", param, ctx)
        found: list[Enum | int | float | str] = []
        for kind, text in zip(self._parts, given, strict=False):
            try:
                found.append(_member(kind, text) if issubclass(kind, Enum) else kind(text))
            except ValueError as error:
                reason = error if issubclass(kind, Enum) else f"{text!r} is not a number"
                self.fail(f"{value!r}: {reason}", param, ctx)
        return tuple(found)


def _member(names: type[E], name: str) -> E:
    """Find the member of an enum.

    Raises:
        ValueError: the enum has no member of that name.
    """
    known = names.__members__
    if name not in known:
        raise ValueError(f"{names.__name__} has no {name}{did_you_mean(name, known)}")
    return known[name]


@click.command
@click.option("--host", default="127.0.0.1", help="Where it listens; 0.0.0.0 is everywhere.")
@click.option("--port", type=click.IntRange(0, 65535), default=9092, help="Of the first node; others have the next.")
@click.option(
    "--advertise",
    type=ADVERTISED,
    metavar="HOST[:PORT]",
    help="Where clients are told that it is; other nodes have the next port.  [default: --host, or localhost, --port]",
)
@click.option("--nodes", type=click.IntRange(1, 100), default=1, help="How many brokers the cluster has.")
@click.option(
    "--topic",
    "topics",
    type=_Format(str, int, optional=True),
    multiple=True,
    metavar="NAME[:PARTITIONS]",
    help="A topic that is there; clients create others by using them.",
)
@click.option("--no-auto-create", is_flag=True, help="Clients do not create topics by using them.")
@listener_options
@click.option("--user", metavar="NAME", help="For SASL (PLAIN, SCRAM-SHA-256, SCRAM-SHA-512): the user.")
@click.option("--password-file", type=PATH, metavar="FILE", help="The password of the user; its first line.")
@click.option(
    "--fail",
    "failures",
    type=_Format(ApiKey, ErrorCode, int, optional=True),
    multiple=True,
    metavar="API:ERROR[:TIMES]",
    help="Answer requests with an error, such as PRODUCE:NOT_LEADER_OR_FOLLOWER:2.",
)
@click.option(
    "--delay",
    "delays",
    type=_Format(ApiKey, float),
    multiple=True,
    metavar="API:SECONDS",
    help="Answer requests late, such as FETCH:0.5.",
)
@more_packages_option
@click.option(
    "--filter",
    "files",
    type=PATH,
    multiple=True,
    metavar="FILE",
    help="A Python file with functions (@on), to answer.",
)
@click.option("--verbose", "-v", is_flag=True, help="Print a line for each request.")
def broker(
    host: str,
    port: int,
    advertise: tuple[str | None, int | None] | None,
    nodes: int,
    topics: tuple[tuple[str, int], ...],
    no_auto_create: bool,
    certificate: SSLContext | None,
    user: str | None,
    password_file: Path | None,
    failures: tuple[tuple[ApiKey, ErrorCode, int], ...],
    delays: tuple[tuple[ApiKey, float], ...],
    packages: tuple[str, ...],
    files: tuple[Path, ...],
    verbose: bool,
) -> None:
    """Run a Kafka broker in memory, for tests, until Ctrl-C: without a JVM, a configuration or a disk."""
    if port and port + nodes - 1 > 65535:
        fail(f"{nodes} nodes from port {port} on need ports above 65535")
    counts = {name: rest[0] if rest else 1 for name, *rest in topics}
    users = _users(user, password_file)
    print_log(_log, verbose=verbose)
    try:
        compress("zstd", b"")
    except MissingExtraError as missing:  # said now, and not only when the first producer compresses
        print_err(f"kipwire: {missing}; other batches are taken")
    advertised_host, advertised_port = advertise or ("localhost" if host in EVERYWHERE else None, None)
    try:
        registry = registry_named(KAFKA_PACKAGE, *packages)
        made = testing.FakeBroker(
            counts,
            nodes=nodes,
            host=host,
            port=port,
            advertised_host=advertised_host,
            advertised_port=advertised_port,
            auto_create_topics=not no_auto_create,
            ssl=certificate,
            users=users,
            registry=registry,
        )
        for one in filters_of(files):
            intercept(made, one, registry)
        for api, error, *times in failures:
            made.fail(api, error, times=times[0] if times else None)
        for api, seconds in delays:
            made.delay(api, seconds, times=None)
    except ValueError as error:
        fail(str(error))
    except OSError as error:
        fail(system_error(error))
    serve(_served(made), shown_address((host, port)))


def intercept(made: testing.FakeBroker, one: Filter, registry: Registry) -> None:
    """Let a function that is marked by `on` have requests: it answers them, or returns None for the broker's answer.

    Raises:
        FilterError: the function is of responses, of no class, or of another package.
    """
    if one.is_of_requests is not True or not isinstance(one.of, type) or one.api_key is None:
        raise FilterError(f"{one}: a broker answers requests; mark it by @on of a request class")
    one.expect_of(registry)
    cls: Any = one.of

    async def answer(request: Any, handle: Any) -> Any:
        exchange = Exchange(("", 0), None, request, {})  # where a request comes from is nothing to a fake broker
        try:
            given = await one.result(request.body_as(cls), exchange, NoneType, _log)
        except FilterError as error:
            raise ClosedByHandler(str(error)) from error
        return refusal(request.body, given, given.about) if isinstance(given, ErrorNumber) else given

    made.intercept(one.api_key, answer)


async def _served(made: testing.FakeBroker) -> None:
    async with made:
        print_out(f"listening at {made.bootstrap_servers}; press Ctrl-C to stop")
        await asyncio.Event().wait()


def _users(user: str | None, password_file: Path | None) -> dict[str, str] | None:
    if (user is None) != (password_file is None):
        fail("--user and --password-file must be used together")
    if user is None or password_file is None:
        return None
    try:
        return {user: secret_of(password_file)}
    except SettingsError as error:
        fail(str(error))
