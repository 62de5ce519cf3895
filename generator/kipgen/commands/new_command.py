"""The command `kipgen new`."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click

from kipgen.commands.console import settings_here
from kipgen.commands.new_spec import new_specs, taken_api_keys
from kipwire.console.command_line import PATH, fail, one_line
from kipwire.tools.files import write_whole
from kipwire.tools.text import print_out


@click.command
@click.argument("name", help="Its name, such as Foo or FooRequest; its counterpart is made with it.")
@click.option(
    "--out", "-o", "folder", type=PATH, help="The folder of specs to put it into; that of the settings, or this one."
)
@click.option(
    "--type",
    "-t",
    "type_",
    default="request",
    help="request (with its response), metadata, data, layout, coordinator-key ...",
)
@click.option(
    "--api-key",
    type=click.IntRange(0, 32767),
    help="Its number in the registry; the first free one from 1000 on if not given.",
)
def new(name: str, folder: Path | None, type_: str, api_key: int | None) -> None:
    """Start a new message with a commented spec."""
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name, re.ASCII):
        fail(f"{name!r} is not a valid message name; start with a capital, then use letters and digits")
    if folder is None:
        specs = settings_here().specs
        folder = specs[0] if len(specs) == 1 else Path()
    taken = taken_api_keys(folder, type_) if folder.is_dir() else {}
    if api_key in taken:
        fail(f"--api-key {api_key} is that of {taken[api_key]}; {_first_free(taken)} is free")
    try:
        texts = new_specs(name, type_, _first_free(taken) if api_key is None else api_key)
    except ValueError as error:
        fail(str(error))
    for file in texts:
        if os.path.lexists(folder / file):
            fail(f"{folder / file} already exists")
    for file, text in texts.items():
        write_whole(folder / file, text)
        print_out(f"wrote {one_line(folder / file)}")
    print_out(f"next: edit, then kipgen check {one_line(folder)} and kipgen generate {one_line(folder)}")


def _first_free(taken: dict[int, str]) -> int:
    return next(number for number in range(1000, 1001 + len(taken)) if number not in taken)
