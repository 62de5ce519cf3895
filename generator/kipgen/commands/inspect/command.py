"""The command `kipgen inspect`."""

from __future__ import annotations

import io
import sys
from contextlib import suppress
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kipgen.commands.console import fail, one_line
from kipwire.errors import DecodeError, UnsupportedVersionError
from kipwire.tools.text import did_you_mean, has_colour, print_err, printable_line

if TYPE_CHECKING:
    from kipgen.commands.inspect.tree import Inspection
    from kipwire import Message
    from kipwire.registry import Registry

_SIZE_BYTES = 4
"""Bytes of the size that a frame may have before it."""


def inspect(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MESSAGE VERSION] [HEX|FILE|-]",
            help="Name and version of the message (not with --request and --response), then its bytes: hex text, "
            "a file with raw bytes or hex text, or standard input.",
        ),
    ] = None,
    request: Annotated[
        bool, typer.Option("--request", help="A request frame: header and body, with or without the size before it.")
    ] = False,
    response: Annotated[
        tuple[str, int] | None,
        typer.Option(metavar="API VERSION", help="A response frame, of an API by name (Metadata) or by number."),
    ] = None,
    package: Annotated[
        str, typer.Option("--package", "-p", help="The generated package to take classes from.")
    ] = "kafka_messages",
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page to look at in a browser.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show what each byte of a message means; exit 1 if the bytes are wrong, and show where."""
    try:
        inspection = _inspection(words or [], request, response, package)
    except ValueError as error:  # KipwireError is one
        fail(str(error))
    if html is not None:
        _write_page(html, inspection)
    if json:
        from kipgen.commands.inspect.json import json_form

        print(dumps(json_form(inspection), indent=2))
    elif html is None:
        _print_text(inspection)
    if inspection.error is not None:
        if html is not None:
            print_err((f"error: {inspection.error}", "red"))
        sys.exit(1)


def _inspection(words: list[str], request: bool, response: tuple[str, int] | None, package: str) -> Inspection:
    """Find the class to read with, then read.

    Raises:
        ValueError: the command line does not say what to read, or names something that does not exist.
    """
    from kipgen.commands.inspect.input import read_input
    from kipgen.commands.inspect.tree import inspect_message, inspect_request, inspect_response
    from kipwire.registry import registry_of

    if request and response is not None:
        raise ValueError("a frame is either a request or a response: give one of --request and --response")
    if "" not in sys.path:
        sys.path.append("")  # the package may lie in the current directory
    registry = registry_of(package)
    if request:
        return inspect_request(registry, read_input(words))
    if response is not None:
        api_key = _api_key(registry, response[0])
        data = read_input(words)
        return inspect_response(registry, _response_class(registry, api_key, response[1], data), data)
    if len(words) < 2:
        raise ValueError("give name and version of a message, or --request, or --response; see kipgen inspect --help")
    name, version, *words = words
    if not version.isascii() or not version.isdigit():
        raise ValueError(f"{version!r} is not a version of {name}; write a number, as in MetadataResponse 12")
    return inspect_message(registry.message(name, int(version)), read_input(words))


def _api_key(registry: Registry, api: str) -> int:
    if api.isascii() and api.isdigit():
        return int(api)
    apis = [name.removesuffix("Response") for name in registry.names() if name.endswith("Response")]
    if api not in apis:
        raise ValueError(f"{registry.package} has no API named {api!r}{did_you_mean(api, apis)}")
    return registry.entry(f"{api}Response").api_key or 0


def _response_class(registry: Registry, api_key: int, version: int, data: bytes) -> type[Message]:
    """The class of a response; for one that rejects a version, the class of the version it is in (KIP-511)."""
    try:
        return registry.response(api_key, version)
    except UnsupportedVersionError:
        for frame in (data, data[_SIZE_BYTES:]):
            with suppress(DecodeError):
                return type(registry.read_response(frame, api_key, version).body)
        raise


def _print_text(inspection: Inspection) -> None:
    from kipgen.commands.inspect.text import text_lines

    if not has_colour(sys.stdout):
        if isinstance(sys.stdout, io.TextIOWrapper):  # a message may contain characters that the encoding lacks
            sys.stdout.reconfigure(errors="backslashreplace")
        for line in text_lines(inspection):
            print(printable_line("".join(text for text, _ in line).rstrip()))
        return
    from rich.text import Text

    from kipwire.tools.terminal import OUT

    for line in text_lines(inspection):
        OUT.print(Text.assemble(*line))


def _write_page(file: Path, inspection: Inspection) -> None:
    from kipgen.commands.inspect.html import page

    try:
        text = page(inspection)
    except ValueError as error:
        fail(str(error))
    file.write_text(text, encoding="utf-8")
    print_err(f"wrote {one_line(file)}")
