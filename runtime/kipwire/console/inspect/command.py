"""The command `kipwire inspect`.

The command finds the class to read with, and `tree` reads. A request is identified by its first bytes, a response only
by API and version, which the user gives or a capture has. JSON and HTML can be made at once; the exit status is 1 if
the bytes are wrong, whichever form shows it.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kipwire import Message
from kipwire.cli.apis import find_api, registry_named
from kipwire.cli.command_line import PATH, fail, one_line
from kipwire.cli.options import OutputFormat, one_format, packages_option, ports_option
from kipwire.console.inspect.html import page
from kipwire.console.inspect.input import read_input
from kipwire.console.inspect.json import inspection_json
from kipwire.console.inspect.text import print_text
from kipwire.console.inspect.tree import (
    RECORD,
    Inspection,
    Piece,
    frame_option,
    inspect_message,
    inspect_request,
    inspect_response,
)
from kipwire.console.opening import opened_by, records_options
from kipwire.message.frames import SIZE_BYTES
from kipwire.message.registry import Registry
from kipwire.model.errors import DecodeError, UnsupportedVersionError
from kipwire.tools.atomic import write_atomically
from kipwire.tools.files import need_file
from kipwire.tools.text import print_err
from kipwire.traffic.any_capture import capture_at, frames_of
from kipwire.traffic.conversation import REQUEST

if TYPE_CHECKING:
    from kipwire.console.dump.values import Decoders


@click.command
@click.argument(
    "words",
    nargs=-1,
    metavar="[MESSAGE VERSION] [HEX|FILE|-]",
    help="Name and version of the message (not with --request and --response), then its bytes: a file or standard "
    "input, raw or as text; or hex, or another form in which programs show bytes.",
)
@click.option("--request", is_flag=True, help="A request frame: header and body, with or without the size before it.")
@click.option(
    "--response",
    type=(str, int),
    metavar="API VERSION",
    help="A response frame, of an API by name (Metadata) or by number.",
)
@click.option(
    "--frame",
    type=click.IntRange(min=0),
    metavar="N",
    help="The frame of this number in a capture, as kipwire tap and dump show it: kipwire inspect x.pcap --frame 17.",
)
@ports_option
@click.option("--raw", is_flag=True, help="The bytes of the file are those of the message, also if they are text.")
@records_options
@packages_option
@click.option("--html", type=PATH, metavar="FILE", help="Write a page to look at in a browser.")
@one_format
def inspect(
    words: Sequence[str],
    request: bool,
    response: tuple[str, int] | None,
    frame: int | None,
    ports: Sequence[int],
    raw: bool,
    records: bool,
    value: str | None,
    record_key: str | None,
    schema_registry: str | None,
    packages: tuple[str, ...],
    html: Path | None,
    format_: OutputFormat,
) -> None:
    """Show what each byte of a message means; exit 1 if the bytes are wrong, and show where."""
    try:
        decoders = opened_by(records, value, record_key, schema_registry)
        if ports and frame is None:
            raise ValueError("--port needs --frame")
        if frame is None:
            inspection = _inspection(words, request, response, packages, is_raw=raw)
        elif raw:
            raise ValueError("--raw cannot be used with --frame; a capture has the bytes of each frame")
        elif request or response is not None:
            raise ValueError(
                "--frame cannot be used with --request or --response; the capture has the type of each frame"
            )
        else:
            inspection = _of_capture(words, frame, ports, packages)
    except ValueError as error:  # KipwireError is one
        fail(str(error))
    if decoders is not None:
        inspection = replace(inspection, pieces=tuple(_with_records(inspection.pieces, decoders)))
    if html is not None:
        _write_page(html, inspection if decoders is not None else _opened(inspection))
    if format_ is OutputFormat.JSON:
        print(dumps(inspection_json(inspection), indent=2))
    elif html is None:
        print_text(inspection)
    if inspection.error is not None:
        if html is not None:
            print_err((f"error: {inspection.error}", "red"))
        if inspection.hint:
            print_err(inspection.hint)
        sys.exit(1)


def _inspection(
    words: Sequence[str], request: bool, response: tuple[str, int] | None, packages: tuple[str, ...], *, is_raw: bool
) -> Inspection:
    """Find the class to read with, then read.

    Raises:
        ValueError: the command line does not say what to read, or names something that does not exist.
    """
    if request and response is not None:
        raise ValueError("--request cannot be used with --response")
    registry = registry_named(*packages)
    if request:
        return inspect_request(registry, read_input(words, is_raw=is_raw))
    if response is not None:
        api_key = _api_key(registry, response[0])
        data = read_input(words, is_raw=is_raw)
        return inspect_response(registry, _response_class(registry, api_key, response[1], data), data)
    if len(words) < 2:
        raise ValueError(
            (_reason_against(words[0]) if words else "")
            or "the message is missing; give its name and version, or --request, or --response; "
            "see kipwire inspect --help"
        )
    name, version, *words = words
    if not version.isascii() or not version.isdigit():
        raise ValueError(f"{version!r} is not a version of {name}; write a number, as in MetadataResponse 12")
    cls = registry.message(name, int(version))
    inspection = inspect_message(cls, read_input(words, is_raw=is_raw))
    option = "" if inspection.error is None else frame_option(registry, cls, inspection.data)
    if not option:
        return inspection
    return replace(inspection, hint=f"the bytes are a whole frame with its header: give {option}, not {name} {version}")


def _reason_against(word: str) -> str:
    """Explain how to look at a capture or a log, which has more than one message; "" for anything else."""
    from kipwire.console.dump.log_files import HEAD_BYTES, begins_as_a_log  # more imports than all of inspect
    from kipwire.console.dump.partition_files import kind_of
    from kipwire.logs.names import SEGMENT, SNAPSHOT, segments_of

    path = Path(word)
    shown = one_line(path)
    with suppress(OSError, ValueError):  # it is missing, or no name of a file
        need_file(path)
        if capture_at(path) is not None:
            return f"{shown} is a capture; --frame N explains a frame, by the number that kipwire tap and dump show"
        if path.is_dir():
            is_log = bool(segments_of(path))
        elif path.suffix in (SEGMENT, SNAPSHOT):
            with path.open("rb") as file:
                is_log = begins_as_a_log(file.read(HEAD_BYTES))
        else:
            is_log = kind_of(path) is not None and path.exists()
        if is_log:
            return f"{shown} is of a log; kipwire dump shows what is in it"
    return ""


def _with_records(pieces: Iterable[Piece], decoders: Decoders) -> Iterator[Piece]:
    """Yield the pieces, and after the bytes of batches a piece without bytes for each of their records."""
    from kipwire.console.records import PARTITIONS, TOPIC_NAME, record_objects  # more imports than all of inspect

    topic: str | None = None
    for piece in pieces:
        yield piece
        if piece.entity_type == TOPIC_NAME and isinstance(piece.value, str):
            topic = piece.value
        elif piece.path.rpartition(".")[2] in PARTITIONS and isinstance(piece.value, int):
            decoders.turn_to(topic, piece.value)
        if piece.kind != "records" or not isinstance(piece.value, bytes):
            continue
        for number, record in enumerate(record_objects(piece.value, decoders)):
            at = f"{piece.path}[{number}]"
            yield Piece(piece.part, at, "value", RECORD, piece.end, piece.end, dumps(record, ensure_ascii=False))


def _opened(inspection: Inspection) -> Inspection:
    """Return the inspection with its records, if it has any."""
    if all(piece.kind != "records" for piece in inspection.pieces):
        return inspection
    from kipwire.console.dump.values import Decoders  # more imports than all of inspect

    return replace(inspection, pieces=tuple(_with_records(inspection.pieces, Decoders())))


def _of_capture(words: Sequence[str], number: int, ports: Collection[int], packages: tuple[str, ...]) -> Inspection:
    """Read a frame of a capture.

    Raises:
        ValueError: there is no such capture or no such frame, or the capture is damaged before it.
    """
    if len(words) != 1 or words[0] == "-":
        raise ValueError(
            "--frame needs one capture: a file of packets, a folder of them, or one of kipwire's own format"
        )
    path = Path(words[0])
    if not path.exists():
        raise ValueError(f"{path} does not exist; give a capture")
    need_file(path)
    capture = capture_at(path)
    if capture is None:
        raise ValueError(f"{path} is not a capture; give packets (pcap, pcapng) or a capture of kipwire's own format")
    registry = registry_named(*packages)
    count = 0
    for one, found in frames_of(capture, ports, registry):
        count += one is not None
        if one != number or found.frame is None or found.request is None:
            continue
        if found.direction == REQUEST:
            return inspect_request(registry, found.frame)
        key, version = found.request.api_key, found.request.api_version
        return inspect_response(registry, _response_class(registry, key, version, found.frame), found.frame)
    there = f"its frames are 0 to {count - 1}" if count else "it has no whole frame"
    raise ValueError(f"{path} has no frame {number}: {there}")


def _api_key(registry: Registry, api: str) -> int:
    return int(api) if api.isascii() and api.isdigit() else find_api(registry, api).key


def _response_class(registry: Registry, api_key: int, version: int, data: bytes) -> type[Message]:
    """Find the class of a response; for one that rejects a version, the class of the version it is in (KIP-511)."""
    try:
        return registry.response(api_key, version)
    except UnsupportedVersionError:
        for frame in (data, data[SIZE_BYTES:]):
            with suppress(DecodeError):
                return type(registry.read_response(frame, api_key, version).body)
        raise


def _write_page(file: Path, inspection: Inspection) -> None:
    try:
        text = page(inspection)
    except ValueError as error:
        fail(str(error))
    write_atomically(file, text.encode())
    print_err(f"wrote {one_line(file)}")
