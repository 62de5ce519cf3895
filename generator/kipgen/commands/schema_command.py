"""The command `kipgen schema`."""

from __future__ import annotations

from enum import StrEnum

import click

from kipgen.resources import enum_schema_path, schema_path
from kipwire.console.command_line import OneOf


class Kind(StrEnum):
    """What a schema is for."""

    MESSAGE = "message"
    ENUM = "enum"


@click.command
@click.argument(
    "kind", type=OneOf(Kind), default="message", help="What the schema is for: specs of messages, or of enums."
)
@click.option("--path", is_flag=True, help="Print where the file is, for the settings of an editor.")
def schema(kind: Kind, path: bool) -> None:
    """Print the JSON Schema of specs, with which editors check them as they are written."""
    file = enum_schema_path() if kind is Kind.ENUM else schema_path()
    print(file if path else file.read_text(encoding="utf-8").rstrip())
