"""The command `kipgen schema`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Kind(StrEnum):
    """What a schema is for."""

    MESSAGE = "message"
    ENUM = "enum"


def schema(
    kind: Annotated[
        Kind, typer.Argument(help="What the schema is for: specs of messages, or of enums.")
    ] = Kind.MESSAGE,
    path: Annotated[
        bool, typer.Option("--path", help="Print where the file is, for the settings of an editor.")
    ] = False,
) -> None:
    """Print the JSON Schema of specs, with which editors check them as they are written."""
    from kipgen.resources import enum_schema_path, schema_path

    file = enum_schema_path() if kind is Kind.ENUM else schema_path()
    print(file if path else file.read_text(encoding="utf-8").rstrip())
