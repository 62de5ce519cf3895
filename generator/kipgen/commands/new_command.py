"""The command `kipgen new`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kipgen.commands.console import fail, one_line
from kipwire.tools.terminal import OUT


def new(
    name: Annotated[str, typer.Argument(help="Name without Request, Response, Key or Value, such as Foo.")],
    folder: Annotated[Path, typer.Option("--out", "-o", help="The folder of specs to put it into.")] = Path(),
    type_: Annotated[
        str,
        typer.Option("--type", "-t", help="request (with its response), metadata, data, layout, coordinator-key ..."),
    ] = "request",
    api_key: Annotated[int, typer.Option("--api-key", min=0, max=32767, help="Its number in the registry.")] = 1000,
) -> None:
    """Start a new message with a commented spec."""
    import os
    import re

    from kipgen.commands.new_spec import new_specs
    from kipgen.files import write_whole

    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name, re.ASCII):
        fail(f"{name!r} is not a valid message name; start with a capital, then use letters and digits")
    try:
        texts = new_specs(name, type_, api_key)
    except ValueError as error:
        fail(str(error))
    for file in texts:
        if os.path.lexists(folder / file):
            fail(f"{folder / file} already exists")
    for file, text in texts.items():
        write_whole(folder / file, text)
        OUT.print(f"wrote {one_line(folder / file)}")
    OUT.print(f"next: edit, then kipgen check {one_line(folder)} and kipgen generate {one_line(folder)}")
