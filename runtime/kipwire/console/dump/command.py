"""The command `kipwire dump`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import click

from kipwire.console.command_line import PATH, OneOf, discard_output, fail
from kipwire.console.dump.following import follow as follow_logs
from kipwire.console.dump.frames import dump_capture, json_line, text_line
from kipwire.console.dump.lines import JsonLines, TextLines
from kipwire.console.dump.log_files import LogFile, find_log_files, within
from kipwire.console.dump.logs import LogDump, Wanted
from kipwire.console.dump.output import Output, milliseconds
from kipwire.console.dump.partition_files import Kind, dump_partition_file, kind_of
from kipwire.model.errors import KipwireError
from kipwire.records import Bounds
from kipwire.tools.files import need_file
from kipwire.tools.io import no_garbage_collection
from kipwire.traffic.any_capture import Capture, capture_at


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


@click.command
@click.argument(
    "paths",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=PATH,
    help="Log segments (.log), snapshots (.checkpoint), folders of partitions; indexes (.index, .timeindex, "
    ".txnindex), snapshots of producers (.snapshot), leader-epoch-checkpoint and the checkpoints of a broker; "
    "captures of packets (.pcap, .pcapng) or of kipwire's own format.",
)
@click.option("--records", "-r", is_flag=True, help="Show the records under each batch.")
@click.option("--summary", "-s", is_flag=True, help="Show one line for each log file.")
@click.option(
    "--format",
    "-f",
    "format_",
    type=OneOf(Format),
    default="text",
    help="Lines for people, or a JSON object on each line.",
)
@click.option("--follow", "-F", is_flag=True, help="Go on with what is added to logs, until Ctrl-C.")
@click.option(
    "--from-offset", type=click.IntRange(min=0), metavar="N", help="Only batches and records from this offset on."
)
@click.option(
    "--to-offset", type=click.IntRange(min=0), metavar="N", help="Only batches and records before this offset."
)
@click.option("--since", metavar="TIME", help="Only from this time on: ISO 8601, milliseconds since 1970, or now.")
@click.option("--until", metavar="TIME", help="Only before this time.")
@click.option(
    "--as",
    "decode_as",
    type=OneOf(DecodeAs),
    help="The internal topic whose records these are; by default the folder's name says it.",
)
@click.option(
    "--port",
    "ports",
    multiple=True,
    type=click.IntRange(1, 65535),
    metavar="PORT",
    help="Of packets: a port of the brokers.",
)
def dump(
    paths: Sequence[Path],
    records: bool,
    summary: bool,
    format_: Format,
    follow: bool,
    from_offset: int | None,
    to_offset: int | None,
    since: str | None,
    until: str | None,
    decode_as: DecodeAs | None,
    ports: Sequence[int],
) -> None:
    """Show what log segments and captures hold, one line for each batch or frame; exit 1 if something is damaged."""
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
            errors += _captures(captures, format_, out, bounds, ports)
            errors += _logs(logs, format_, out, wanted, type_, follow)
        out.flush()
    except BrokenPipeError:
        discard_output()
    except KipwireError as error:  # an extra is missing
        out.flush()
        fail(str(error))
    except KeyboardInterrupt:
        out.flush()
        raise
    if errors:
        sys.exit(1)


def _bounds(from_offset: int | None, to_offset: int | None, since: str | None, until: str | None) -> Bounds:
    first, end = (None if text is None else milliseconds(text) for text in (since, until))
    bounds = Bounds(from_offset, to_offset, first, end)
    if from_offset is not None and to_offset is not None and from_offset >= to_offset:
        raise ValueError(f"--from-offset {from_offset} is not below --to-offset {to_offset}, which is excluded")
    if first is not None and end is not None and first >= end:
        raise ValueError(f"--since {since} is not before --until {until}, which is excluded")
    return bounds


def _captures(captures: list[Capture], format_: Format, out: Output, bounds: Bounds, ports: Sequence[int]) -> int:
    """Dump captures; how many errors there are."""
    if not captures:
        return 0
    line = json_line if format_ is Format.JSON else text_line
    return sum(dump_capture(capture, line, out, bounds, ports) for capture in captures)


def _logs(
    files: list[LogFile], format_: Format, out: Output, wanted: Wanted, decode_as: str | None, is_followed: bool
) -> int:
    """Dump logs; how many errors there are."""
    if not files:
        return 0
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
        follow_logs(dump, ends.values(), decode_as)
    return dump.errors
