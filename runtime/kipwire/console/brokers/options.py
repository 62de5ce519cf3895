"""The options of every command that talks to brokers, or that clients connect to.

What talks to brokers is imported when a command is called. `kipwire call --help` takes 80 ms of processor time without
it and 240 with it, and so does each Tab of a shell that completes a word.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from kipwire.cli.command_line import PATH, OneOf
from kipwire.cluster.given import Certificates, Given, Sasl, Target
from kipwire.tools.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.aio import Address

F = TypeVar("F", bound=Callable[..., Any])


class BrokersType(click.ParamType["tuple[Address, ...]"]):
    """Reads the addresses of brokers of a cluster from an argument, as Kafka's tools take them: with commas between."""

    name = "BROKERS"

    def convert(
        self, value: str | tuple[Address, ...], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Address, ...]:
        """Parse host and port of each; a usage error for what is no address."""
        if isinstance(value, tuple):
            return value
        from kipwire.aio.failures import parse_addresses

        try:
            return parse_addresses(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


BROKERS = BrokersType()


class AdvertisedType(click.ParamType["tuple[str, int | None]"]):
    """Reads the address that clients are told from an argument."""

    name = "ADDRESS"

    def convert(
        self, value: str | tuple[str, int | None], param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int | None]:
        """Parse the host, and the port if there is one; a usage error for what is no address."""
        if isinstance(value, tuple):
            return value
        from kipwire.aio.failures import parse_host

        try:
            return parse_host(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


ADVERTISED = AdvertisedType()


class TargetType(click.ParamType[Target]):
    """Reads a `Target` from an argument."""

    name = "WHERE"
    syntax = "controller, leader:TOPIC/PARTITION, group:ID, txn:ID, node:N or all"

    def convert(self, value: str | Target, param: click.Parameter | None, ctx: click.Context | None) -> Target:
        """Parse the target that a text means; a usage error for any other text."""
        if isinstance(value, Target):
            return value
        kind, colon, rest = value.partition(":")
        if kind in ("controller", "all") and not colon:
            return Target(kind)
        if kind in ("group", "txn") and rest:
            return Target(kind, rest)
        topic, _, number = rest.rpartition("/") if kind == "leader" else ("", "", rest)
        if (
            number.isascii()
            and number.isdigit()
            and len(number) <= 10
            and (topic if kind == "leader" else kind == "node")
        ):
            return Target(kind, topic, int(number))
        kinds = ("controller", "leader", "group", "txn", "node", "all")
        hint = "" if kind in kinds else did_you_mean(kind, kinds)
        self.fail(f"{value!r} is not a valid target{hint}; use {self.syntax}", param, ctx)


TARGET = TargetType()


def _option(*names: str, **attributes: Any) -> Callable[[F], F]:
    """Declare an option that the environment can give as well: `--password-file` is `KIPWIRE_PASSWORD_FILE`."""
    variable = names[0].partition("/")[0].strip("-").replace("-", "_").upper()
    return click.option(*names, envvar=f"KIPWIRE_{variable}", **attributes)


_OPTIONS = (
    _option(
        "--config",
        "-c",
        type=PATH,
        metavar="FILE",
        help="A client properties file, as Kafka's own tools take it with --command-config.",
    ),
    _option("--tls/--no-tls", default=None, help="Encrypt the connection; by default as the properties file says."),
    _option("--ca", type=PATH, metavar="FILE", help="PEM: the authorities whose brokers are trusted."),
    _option("--cert", type=PATH, metavar="FILE", help="PEM: the certificate of this client, with its key or without."),
    _option("--key", type=PATH, metavar="FILE", help="PEM: the key of that certificate."),
    _option("--key-password-file", type=PATH, metavar="FILE", help="The password of that key."),
    _option("--insecure", is_flag=True, help="Trust any broker, whatever its certificate says."),
    _option("--sasl", type=OneOf(Sasl), metavar="MECHANISM", help=f"Authenticate by SASL: {', '.join(Sasl)}."),
    _option("--user", metavar="NAME", help="The user for SASL; a password is asked for, or see docs/call.md."),
    _option("--password-file", type=PATH, metavar="FILE", help="The password of that user."),
    _option("--token-file", type=PATH, metavar="FILE", help="The token for OAUTHBEARER."),
    _option("--token-command", metavar="COMMAND", help="A command of the shell that prints that token."),
    _option("--client-id", default="kipwire", metavar="NAME", help="What brokers call this client in their logs."),
    _option(
        "--timeout",
        type=click.FloatRange(min=0.001),
        default=30.0,
        metavar="SECONDS",
        help="How long to wait for a connection, and for each response.",
    ),
)


def broker_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how to reach brokers; the command gets them as one argument, `settings`."""

    @wraps(function)
    def command(*arguments: Any, **values: Any) -> Any:
        from kipwire.cluster.settings import Settings

        def take(*names: str) -> dict[str, Any]:
            return {name: values.pop(name) for name in names}

        settings = Settings(
            certificates=Certificates(**take("ca", "cert", "key", "key_password_file", "insecure")),
            login=Given(**take("sasl", "user", "password_file", "token_file", "token_command")),
            **take("config", "tls", "client_id", "timeout"),
        )
        return function(*arguments, settings=settings, **values)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_LISTENER_OPTIONS = (
    click.option("--listen-cert", type=PATH, metavar="FILE", help="PEM: the certificate; clients then need TLS."),
    click.option("--listen-key", type=PATH, metavar="FILE", help="PEM: its private key, if it is in another file."),
    click.option("--listen-ca", type=PATH, metavar="FILE", help="PEM: clients need a certificate of these."),
)


def listener_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of TLS for clients; the command gets them as one argument, `certificate`, a context or None."""

    @wraps(function)
    def command(*arguments: Any, **values: Any) -> Any:
        from kipwire.console.brokers.running import listener_context

        files = [values.pop(f"listen_{name}") for name in ("cert", "key", "ca")]
        return function(*arguments, certificate=listener_context(*files), **values)

    for option in reversed(_LISTENER_OPTIONS):
        command = option(command)
    return command
