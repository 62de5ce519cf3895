"""The options that decode records for display: for `kipwire dump`, `call`, `tap` and `inspect`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from kipwire.console.dump.values import Decoders

Command = TypeVar("Command", bound=Callable[..., Any])


def value_options(command: Command) -> Command:
    """Add the options that decode keys and values."""
    for option in (
        click.option(
            "--registry",
            "schema_registry",
            metavar="URL|FILE",
            help="With --value registry: decode by the schemas of this registry; a file has schema.registry.url, and "
            "basic.auth.user.info or other settings of Confluent's clients.",
        ),
        click.option("--record-key", metavar="MODULE:FUNCTION|registry", help="The same for keys."),
        click.option(
            "--value",
            metavar="MODULE:FUNCTION|registry",
            help="With --records: a function that decodes values, from bytes to what is shown of them; registry for "
            "the id of a schema registry, registry-protobuf with the message indexes.",
        ),
    ):
        command = option(command)
    return command


def records_options(command: Command) -> Command:
    """Add the options that open records, for commands that show messages of others."""
    option = click.option(
        "--records", "-r", is_flag=True, help="Show records in the place of the bytes of their batches."
    )
    return option(value_options(command))


def opened_by(records: bool, value: str | None, record_key: str | None, schema_registry: str | None) -> Decoders | None:
    """Load the functions that the options name; None if records are not opened.

    Raises:
        ValueError: there is no such function, or records are not opened.
    """
    if not records:
        options = {"--value": value, "--record-key": record_key, "--registry": schema_registry}
        if given := [name for name, value in options.items() if value is not None]:
            raise ValueError(f"{given[0]} needs --records")
        return None
    from kipwire.console.dump.values import decoders_of  # more imports than the rest, for few calls

    return decoders_of(value, record_key, schema_registry)
