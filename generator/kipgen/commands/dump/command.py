"""The command `kipgen dump`."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kipgen.commands.console import fail
from kipwire.tools.text import print_err

if TYPE_CHECKING:
    from kipgen.commands.dump.captures import Capture
    from kipgen.commands.dump.log_files import LogFile
    from kipgen.commands.dump.logs import Wanted
    from kipgen.commands.dump.output import Output
    from kipgen.commands.dump.partition_files import Kind
    from kipwire.records import Bounds


class Format(StrEnum):
    """How a dump is written."""

    TEXT = "text"
    JSON = "json"


class DecodeAs(StrEnum):
    """What the records of a log are."""

    OFFSETS = "__consumer_offsets"
    TRANSACTIONS = "__transaction_state"
    SHARE = "__share_group_state"
    METADATA = "__cluster_metadata"
    NONE = "none"


def dump(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Log segments (.log), snapshots (.checkpoint), folders of partitions; indexes (.index, .timeindex, "
            ".txnindex), snapshots of producers (.snapshot), leader-epoch-checkpoint and the checkpoints of a broker; "
            "captures of packets (.pcap, .pcapng) or of kipwire's own format.",
            show_default=False,
        ),
    ],
    records: Annotated[bool, typer.Option("--records", "-r", help="Show the records under each batch.")] = False,
    summary: Annotated[bool, typer.Option("--summary", "-s", help="Show one line for each log file.")] = False,
    format_: Annotated[
        Format, typer.Option("--format", "-f", help="Lines for people, or a JSON object on each line.")
    ] = Format.TEXT,
    follow: Annotated[
        bool, typer.Option("--follow", "-F", help="Go on with what is added to logs, until Ctrl-C.")
    ] = False,
    from_offset: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Only batches and records from this offset on.")
    ] = None,
    to_offset: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Only batches and records before this offset.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Only from this time on: ISO 8601, milliseconds since 1970, or now."),
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Only before this time.")] = None,
    decode_as: Annotated[
        DecodeAs | None,
        typer.Option("--as", help="The internal topic whose records these are; by default the folder's name says it."),
    ] = None,
    ports: Annotated[
        list[int] | None,
        typer.Option("--port", min=1, max=65535, metavar="PORT", help="Of packets: a port of the brokers."),
    ] = None,
) -> None:
    """Show what log segments and captures hold, one line for each batch or frame; exit 1 if something is damaged."""
    from kipgen.commands.dump.captures import capture_at
    from kipgen.commands.dump.log_files import find_log_files
    from kipgen.commands.dump.logs import Wanted
    from kipgen.commands.dump.output import Output
    from kipgen.commands.dump.partition_files import dump_partition_file, kind_of
    from kipgen.files import need_file
    from kipwire.errors import KipwireError
    from kipwire.records import Bounds
    from kipwire.tools.io import no_garbage_collection

    if records and summary:
        fail("--records shows more than batches and --summary less; give one of them")
    if follow and summary:
        fail("--summary needs the end of a file, and --follow has none; give one of them")
    type_ = None if decode_as is None else decode_as.value
    captures: list[Capture] = []
    logs: list[LogFile] = []
    others: list[tuple[Path, Kind]] = []
    try:
        bounds = _bounds(from_offset, to_offset, since, until)
        for path in paths:
            if not path.exists():
                fail(f"{path} does not exist; give a log segment, a folder of a partition or a capture")
            need_file(path)
            kind = kind_of(path)
            capture = None if kind is not None else capture_at(path)
            if kind is not None:
                others.append((path, kind))
            elif capture is not None:
                captures.append(capture)
            else:
                logs += find_log_files(path, type_)
    except ValueError as error:
        fail(str(error))
    if captures and (records or summary or follow or decode_as or from_offset is not None or to_offset is not None):
        fail(f"{captures[0].path} is a capture; --records, --summary, --follow, --as and offsets are for logs")
    if others and (records or summary or follow or decode_as or ports or bounds != Bounds()):
        fail(f"{others[0][0]} is {others[0][1].what}, which is shown whole; give it without options but --format")
    if logs and ports:
        fail(f"{logs[0].path} is a log; --port is for captures")
    out = Output()
    errors = 0
    wanted = Wanted(bounds if bounds != Bounds() else None, records, summary)
    try:
        with no_garbage_collection():  # nothing here refers to itself, and there are very many objects
            errors = sum(dump_partition_file(*other, out, as_json=format_ is Format.JSON) for other in others)
            errors += _captures(captures, format_, out, bounds, ports or [])
            errors += _logs(logs, format_, out, wanted, type_, follow)
        out.flush()
    except BrokenPipeError:  # such as that of head, which has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KipwireError as error:  # an extra is missing
        out.flush()
        fail(str(error))
    except KeyboardInterrupt:
        out.flush()
        print_err("kipgen: interrupted")
        sys.exit(130)
    if errors:
        sys.exit(1)


def _bounds(from_offset: int | None, to_offset: int | None, since: str | None, until: str | None) -> Bounds:
    from kipgen.commands.dump.moments import milliseconds
    from kipwire.records import Bounds

    first, end = (None if text is None else milliseconds(text) for text in (since, until))
    bounds = Bounds(from_offset, to_offset, first, end)
    if from_offset is not None and to_offset is not None and from_offset >= to_offset:
        raise ValueError(f"--from-offset {from_offset} is not below --to-offset {to_offset}, which is excluded")
    if first is not None and end is not None and first >= end:
        raise ValueError(f"--since {since} is not before --until {until}, which is excluded")
    return bounds


def _captures(captures: list[Capture], format_: Format, out: Output, bounds: Bounds, ports: list[int]) -> int:
    """Dump captures; how many errors there are."""
    if not captures:
        return 0
    from kipgen.commands.dump.frames import dump_capture, json_line, text_line

    line = json_line if format_ is Format.JSON else text_line
    return sum(dump_capture(capture, line, out, bounds, ports) for capture in captures)


def _logs(
    files: list[LogFile], format_: Format, out: Output, wanted: Wanted, decode_as: str | None, is_followed: bool
) -> int:
    """Dump logs; how many errors there are."""
    if not files:
        return 0
    from kipgen.commands.dump.following import follow
    from kipgen.commands.dump.json_lines import JsonLines
    from kipgen.commands.dump.log_files import within
    from kipgen.commands.dump.logs import LogDump
    from kipgen.commands.dump.text import TextLines

    dump = LogDump(JsonLines() if format_ is Format.JSON else TextLines(), out, wanted)
    ends = {file.path.parent: (file, 0) for file in files}  # the last segment of each log
    for file in within(files, wanted.bounds) if wanted.bounds else files:
        try:
            position = dump.whole(file)
        except FileNotFoundError:  # the broker has removed it since the folder was listed
            if not is_followed:
                raise
            position = 0
        if ends[file.path.parent][0] == file:
            ends[file.path.parent] = file, position
    if is_followed:
        follow(dump, ends.values(), decode_as)
    return dump.errors
