"""The options that open records in messages of others: for `kipwire tap` and `kipwire inspect`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from kipwire.console.dump.values import Decoders

Command = TypeVar("Command", bound=Callable[..., Any])


def records_options(command: Command) -> Command:
    """Add the options that open records, for commands that show messages of others."""
    for option in (
        click.option("--record-key", metavar="MODULE:FUNCTION", help="The same for keys."),
        click.option("--value", metavar="MODULE:FUNCTION", help="With --records: a function that decodes values."),
        click.option("--records", "-r", is_flag=True, help="Show records in the place of the bytes of their batches."),
    ):
        command = option(command)
    return command


def opened_by(records: bool, value: str | None, record_key: str | None) -> Decoders | None:
    """Load the functions that the options name; None if records are not opened.

    Raises:
        ValueError: there is no such function, or records are not opened.
    """
    if not records:
        if value is not None or record_key is not None:
            raise ValueError(f"{'--record-key' if value is None else '--value'} needs --records")
        return None
    from kipwire.console.dump.values import Decoders, decoder  # more imports than the rest, for few calls

    return Decoders(
        None if record_key is None else decoder("--record-key", record_key),
        None if value is None else decoder("--value", value),
    )
