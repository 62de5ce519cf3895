"""The command `kipwire dump`.

Code that reads topics is imported when topics are read; `kipwire.console.brokers.options` has the reason.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import click

from kipwire.cli.apis import registry_named
from kipwire.cli.command_line import FAILED, PATH, OneOf, discard_output, fail, report_failure, system_error
from kipwire.cli.options import MagicTwoOption, OutputFormat, format_option, packages_option, ports_option
from kipwire.cli.output import Output, milliseconds
from kipwire.console.arriving import OutputClosedError
from kipwire.console.brokers import BROKERS, broker_options
from kipwire.console.dump.following import follow as follow_logs
from kipwire.console.dump.frames import dump_capture, json_line, text_line
from kipwire.console.dump.inputs import Inputs, expect_fit, find_inputs
from kipwire.console.dump.json_lines import JsonLines
from kipwire.console.dump.log_files import within
from kipwire.console.dump.logs import DumpOptions, LogDump
from kipwire.console.dump.partition_files import dump_partition_file
from kipwire.console.dump.reading import read_input
from kipwire.console.dump.text_lines import TextLines
from kipwire.console.dump.values import Decoders
from kipwire.console.dump.wanted import Wanted, logs_of, part_of
from kipwire.console.lines_page import LinesPage, write_page
from kipwire.console.opening import opened_by, value_options
from kipwire.console.reading import reading_json, reading_text
from kipwire.model.errors import KipwireError
from kipwire.records import Bounds
from kipwire.records.heads import HIGHEST_OFFSET
from kipwire.tools.io import no_garbage_collection
from kipwire.tools.text import print_out
from kipwire.traffic.unread import Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.aio import Address
    from kipwire.cluster.settings import Settings
    from kipwire.message.registry import Registry


_OFFSETS = click.IntRange(-HIGHEST_OFFSET, HIGHEST_OFFSET)


class DecodeAs(StrEnum):
    """Interpretation of the records of a log."""

    OFFSETS = "__consumer_offsets"
    TRANSACTIONS = "__transaction_state"
    SHARE = "__share_group_state"
    METADATA = "__cluster_metadata"
    TIERED = "__remote_log_metadata"
    NONE = "none"


@click.command
@click.argument(
    "names",
    metavar="FILE|TOPIC...",
    nargs=-1,
    required=True,
    help="Log segments (.log), snapshots (.checkpoint), folders of partitions; indexes (.index, .timeindex, "
    ".txnindex), snapshots of producers (.snapshot), leader-epoch-checkpoint and the checkpoints of a broker; "
    "captures of packets (.pcap, .pcapng) or of kipwire's own format; - for a log or packets on standard input. With "
    "--brokers topics: TOPIC, or TOPIC/PARTITION.",
)
@click.option("--records", "-r", is_flag=True, help="Show the records under each batch.")
@click.option("--summary", "-s", is_flag=True, help="Show one line for each log file or partition.")
@click.option(
    "--space", is_flag=True, help="With --summary: by topic, the bytes beyond keys and values, also in other formats."
)
@format_option
@click.option("--follow", "-F", is_flag=True, help="Go on with what is added to logs, until Ctrl-C.")
@click.option(
    "--last",
    type=click.IntRange(1, HIGHEST_OFFSET),
    metavar="N",
    help="Only the last N records of each partition, and the batches that have them; markers do not count.",
)
@click.option(
    "--from-offset",
    type=_OFFSETS,
    metavar="N",
    help="Only batches and records from this offset on; -N counts from the end of each partition.",
)
@click.option("--to-offset", type=_OFFSETS, metavar="N", help="Only batches and records before this offset; or -N.")
@click.option(
    "--since",
    metavar="TIME",
    help="Only from this time on: ISO 8601, in UTC if it has no zone; 30s, 10m, 2h or 7d before now; now; or "
    "milliseconds since 1970.",
)
@click.option("--until", metavar="TIME", help="Only before this time.")
@click.option(
    "--as",
    "decode_as",
    type=OneOf(DecodeAs),
    help="The internal topic whose records these are; by default the name of the folder or the topic says it.",
)
@value_options
@click.option(
    "--magic-2",
    type=OneOf(MagicTwoOption),
    default=MagicTwoOption.KAFKA,
    help="The format of batches with magic 2 in log files: Kafka's, or one that was only proposed.",
)
@packages_option
@ports_option
@click.option(
    "--brokers",
    type=BROKERS,
    metavar="HOST:PORT[,...]",
    help="Read topics from a cluster, of which these are brokers. The options below are for its connections.",
)
@click.option(
    "--html", type=PATH, metavar="FILE", help="Write a page to look at in a browser, with the records of each batch."
)
@click.option("--committed", is_flag=True, help="Of topics: without control records, open and aborted transactions.")
def dump(
    names: Sequence[str],
    records: bool,
    summary: bool,
    space: bool,
    format_: OutputFormat,
    follow: bool,
    last: int | None,
    from_offset: int | None,
    to_offset: int | None,
    since: str | None,
    until: str | None,
    decode_as: DecodeAs | None,
    value: str | None,
    record_key: str | None,
    schema_registry: str | None,
    magic_2: MagicTwoOption,
    packages: Sequence[str],
    ports: Sequence[int],
    brokers: tuple[Address, ...] | None,
    html: Path | None,
    committed: bool,
    **others: Any,
) -> None:
    """Show what log segments and captures hold, one line for each batch or frame; exit 1 if something is damaged."""
    if records and summary:
        fail("--records cannot be used with --summary")
    if html is not None and (follow or space or format_ is OutputFormat.JSON or others["out"] is not None):
        fail("--html cannot be used with --follow, --space, --format json or --out")
    if follow and summary:
        fail("--summary cannot be used with --follow, which has no end")
    if space and (not summary or magic_2 is not MagicTwoOption.KAFKA):
        fail("--space needs --summary, and batches of Kafka")
    if committed and brokers is None and others["out"] is None:
        fail("--committed needs --brokers or --out")
    if last is not None and (from_offset is not None or since is not None):
        other = "--since" if from_offset is None else "--from-offset"
        fail(f"--last cannot be used with {other}: each says where to begin; give one of them")
    if follow and to_offset is not None and to_offset < 0:
        fail(f"--to-offset {to_offset} cannot be used with --follow, which has no end to count from")
    if ports and brokers is not None:
        fail("--port cannot be used with --brokers")
    if magic_2 is not MagicTwoOption.KAFKA and brokers is not None:
        fail(f"--magic-2 {magic_2.value!r} cannot be used with --brokers, which have Kafka's batches")
    type_ = None if decode_as is None else decode_as.value
    of_table = {name: others.pop(name) for name in _OF_TABLES}
    if of_table["out"] is not None:
        for option, is_given in {
            "--records": records,
            "--summary": summary,
            "--format": format_ is OutputFormat.JSON,
            "--follow": follow,
            "--last": last is not None,
            "--magic-2": magic_2 is not MagicTwoOption.KAFKA,
            "--port": bool(ports),
            "offsets below 0": any(offset is not None and offset < 0 for offset in (from_offset, to_offset)),
        }.items():
            if is_given:
                fail(f"--out writes a table; {option} cannot be used with it")
        _table(names, of_table, brokers, others, (from_offset, to_offset, since, until), type_, committed=committed)
        return
    for name, is_given in of_table.items():
        if is_given:
            fail(f"--{name.replace('_', '-')} needs --out")
    if html is not None:
        format_ = OutputFormat.JSON  # of which the page is made
        records = not summary
    out = Output() if html is None else LinesPage()
    given = {
        "--records": records and html is None,
        "--summary": summary,
        "--follow": follow,
        "--as": type_ is not None,
        "offsets": from_offset is not None or to_offset is not None,
        "times": since is not None or until is not None,
        "--port": bool(ports),
        "--magic-2": magic_2 is not MagicTwoOption.KAFKA,
    }
    try:
        decoders = opened_by(records, value, record_key, schema_registry) or Decoders()
        registry = registry_named(*packages)
        wanted = Wanted(_bounds(from_offset, to_offset, since, until), last)
        given["the end"] = wanted.goes_back
        inputs = Inputs()
        read_topics: Callable[[LogDump], None] | None = None
        if brokers is not None:
            settings = _settings(others)
            read_topics = _topics(names, settings, brokers, wanted, type_, follow=follow, committed=committed)
        else:
            inputs = find_inputs(names, type_, out.flush)
            expect_fit(inputs, {name for name, is_given in given.items() if is_given})
    except ValueError as error:
        fail(str(error))
    for line in inputs.failed:  # before what is long, and with --follow has no end
        report_failure(line)
    lines = (JsonLines if format_ is OutputFormat.JSON else TextLines)(decoders, magic_2.value)
    options = DumpOptions(None, records, summary, magic_2.value, space)
    logs = LogDump(lines, out, options)
    errors = 0
    try:
        with no_garbage_collection():  # nothing here refers to itself, and there are very many objects
            if read_topics is not None:
                read_topics(logs)
            else:
                errors = _captures_and_others(inputs, format_, out, wanted.bounds, ports, registry)
                _logs(inputs, logs, wanted, type_, is_followed=follow)
            logs.end()
        out.flush()
    except (BrokenPipeError, OutputClosedError):
        discard_output()
    except KipwireError as error:  # an extra is missing, or a broker cannot be reached
        out.flush()
        fail(str(error))
    except KeyboardInterrupt:
        out.flush()
        raise
    if isinstance(out, LinesPage) and html is not None:
        write_page(html, out.html(", ".join(names)))
    if inputs.failed:
        sys.exit(FAILED)
    if errors or logs.errors:
        sys.exit(1)


@click.command
@broker_options
def _of_brokers(settings: Settings) -> Settings:
    """The settings for brokers."""
    return settings


dump.params += _of_brokers.params
_OF_TABLES = {
    "out": click.Option(
        ["--out"],
        type=PATH,
        metavar="FILE",
        help="Write the records as a table in place of lines: to a new file .parquet, .csv, .jsonl or .arrow.",
    ),
    "topic": click.Option(["--topic"], multiple=True, metavar="NAME", help="With --out: only this topic of folders."),
    "columns": click.Option(["--columns"], metavar="NAME[,...]", help="With --out: these columns; docs/tables.md."),
    "message": click.Option(
        ["--message"], metavar="NAME", help="With --out: values are this message, and a column of that name."
    ),
    "by": click.Option(
        ["--by"], metavar="topic,date", help="With --out: a folder, with folders for each topic, each date or both."
    ),
    "state": click.Option(
        ["--state"],
        type=PATH,
        metavar="FILE",
        help="With --out: remember here what is written; the same command adds what is new, as files of a folder.",
    ),
    "permissive": click.Option(
        ["--permissive"], is_flag=True, help="With --out: what is damaged is a row with an error, and reading goes on."
    ),
    "allow_data_loss": click.Option(
        ["--allow-data-loss"],
        is_flag=True,
        help="With --state: go on where records were removed before they were read.",
    ),
    "cores": click.Option(
        ["--cores"],
        type=click.IntRange(min=1),
        metavar="N",
        show_default="all",
        help="With --out: cores to use; as many processes read large files, 1 for none but this one.",
    ),
}
dump.params += _OF_TABLES.values()


def _table(
    names: Sequence[str],
    options: dict[str, Any],
    brokers: tuple[Address, ...] | None,
    of_brokers: dict[str, Any],
    bounds: tuple[int | None, int | None, str | None, str | None],
    decode_as: str | None,
    *,
    committed: bool,
) -> None:
    """Write a table."""
    try:
        from kipwire.console.dump.tables import Table, out_of_space, summary, write_table
    except KipwireError as error:  # without the extra
        fail(str(error))
    try:
        table, settings = Table(**options), None if brokers is None else _settings(of_brokers)
        written = write_table(
            table,
            names,
            brokers,
            settings,
            _bounds(*bounds),
            None if decode_as == DecodeAs.NONE else decode_as,
            committed=committed,
        )
    except (KipwireError, ValueError) as error:
        fail(str(error))
    except OSError as error:
        fail(out_of_space(error) or system_error(error))
    print_out(summary(table, written))
    if written.errors:
        sys.exit(1)


def _settings(values: dict[str, Any]) -> Settings:
    """Make the settings for brokers from the values of their options."""
    assert _of_brokers.callback is not None
    settings: Settings = _of_brokers.callback(**values)
    return settings


def _bounds(from_offset: int | None, to_offset: int | None, since: str | None, until: str | None) -> Bounds:
    first, end = (None if text is None else milliseconds(text) for text in (since, until))
    bounds = Bounds(from_offset, to_offset, first, end)
    # Only a log tells if an offset from its start is below one from its end.
    if (
        from_offset is not None
        and to_offset is not None
        and from_offset >= to_offset
        and not (from_offset >= 0 > to_offset)
    ):
        raise ValueError(f"--from-offset {from_offset} is not below --to-offset {to_offset}, which is excluded")
    if first is not None and end is not None and first >= end:
        raise ValueError(f"--since {since} is not before --until {until}, which is excluded")
    return bounds


def _topics(
    names: Sequence[str],
    settings: Settings,
    brokers: Sequence[Address],
    wanted: Wanted,
    decode_as: str | None,
    *,
    follow: bool,
    committed: bool,
) -> Callable[[LogDump], None]:
    """Make the function that dumps topics.

    Raises:
        ValueError: a name is neither a topic nor a partition.
    """
    from kipwire.console.dump.topics import dump_topics, topics_of

    topics = topics_of(names)
    return lambda dump: dump_topics(
        dump, settings, brokers, topics, wanted, decode_as, follow=follow, committed=committed
    )


def _captures_and_others(
    inputs: Inputs,
    format_: OutputFormat,
    out: Output,
    bounds: Bounds,
    ports: Sequence[int],
    registry: Registry,
) -> int:
    """Dump captures and files beside segments; return the number of errors."""
    errors = sum(dump_partition_file(*other, out, as_json=format_ is OutputFormat.JSON) for other in inputs.others)
    line = json_line if format_ is OutputFormat.JSON else text_line
    reading = Reading()
    errors += sum(dump_capture(capture, line, out, bounds, ports, reading, registry) for capture in inputs.captures)
    if inputs.captures:
        out.write(reading_json(reading) if format_ is OutputFormat.JSON else reading_text(reading))
    return errors


def _logs(inputs: Inputs, dump: LogDump, wanted: Wanted, decode_as: str | None, *, is_followed: bool) -> None:
    dump.limit_to(wanted.bounds)
    for stream in inputs.streams:
        bounds, magic_2 = dump.options.bounds, dump.options.magic_2
        dump.items(stream.file.log, read_input(stream.ahead, grows=stream.grows, bounds=bounds, magic_2=magic_2))
    ends = {file.path.parent: (file, 0) for file in inputs.logs}  # the last segment of each log
    for log in logs_of(inputs.logs):
        part = part_of(log, wanted, dump.options.magic_2)
        dump.limit_to(part.bounds)
        for file in within(log, part.bounds):
            try:
                position = dump.whole(file, part.start_in(file))
            except FileNotFoundError:  # the broker has removed it since the folder was listed
                if not is_followed:
                    raise
                position = 0
            if ends[file.path.parent][0] == file:
                ends[file.path.parent] = file, position
    if is_followed and ends:
        dump.limit_to(wanted.bounds)
        follow_logs(dump, ends.values(), decode_as)
