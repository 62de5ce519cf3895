"""The command `kipwire tap`.

Exchanges are printed as they end, also from a pipe of tcpdump: whenever the input has nothing more for now, the output
is flushed. A damaged capture is a line on standard error and exit status 1, after what was found before it; with
`--upgrade-to` the status is about clients alone. Ctrl-C is the usual end of a live capture, so the summary is printed
then, too.
"""

from __future__ import annotations

import io
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

import click

from kipwire.cli.apis import registry_named
from kipwire.cli.command_line import FAILED, PATH, discard_output, fail, one_line
from kipwire.cli.options import OutputFormat, format_option, packages_option, ports_option
from kipwire.cli.output import Output
from kipwire.console.arriving import AT_ONCE, Arriving, OutputClosedError
from kipwire.console.lines_page import LinesPage, write_page
from kipwire.console.opening import opened_by, records_options
from kipwire.console.reading import reading_json, reading_text
from kipwire.console.tap.filters import Conditions, Filter, api_keys_of, filter_frames, has_logged
from kipwire.console.tap.lines import JsonLines, TextLines
from kipwire.console.tap.tables import summary_json, summary_text, upgrade_json, upgrade_of, upgrade_text
from kipwire.console.tap.topics import TopicNames
from kipwire.message.registry import KAFKA_PACKAGE, Registry
from kipwire.tools.files import need_input
from kipwire.tools.io import no_garbage_collection
from kipwire.tools.text import is_terminal, print_err
from kipwire.traffic.any_capture import Capture, Numbered, capture_at, counted, frames_of
from kipwire.traffic.captures import CaptureError
from kipwire.traffic.exchanges import Exchange, exchanges, rows_of
from kipwire.traffic.packet_files import is_packets
from kipwire.traffic.request_log import is_log, requests_in
from kipwire.traffic.requests import kafka
from kipwire.traffic.summary import TrafficSummary
from kipwire.traffic.unread import Reading, Reason, Unread
from kipwire.traffic.upgrades import line_of

_STDIN = Path("-")
_NAME_OF_STDIN = "standard input"
_BYTES_OF_TEXT = 4096
"""Bytes that tell text from anything else."""
_FIRST_BYTES = 4
"""Bytes that identify the format. All are awaited, since a pipe may deliver a single byte first."""


@click.command
@click.argument(
    "paths",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=PATH,
    help="Packets of tcpdump or Wireshark (.pcap, .pcapng), a folder of them, a capture of kipwire's own format, or - "
    "for packets from standard input, as in: tcpdump -i any -s 0 -U -w - 'tcp port 9092' | kipwire tap -",
)
@click.option("--bodies", "-b", is_flag=True, help="Show each request and response as JSON, in Java's form.")
@records_options
@click.option("--api", "apis", multiple=True, metavar="API", help="Only this API, by name (Fetch) or number.")
@click.option("--client", "clients", multiple=True, metavar="GLOB", help="Only clients with such an id.")
@click.option(
    "--address",
    "addresses",
    multiple=True,
    metavar="GLOB",
    help="Only clients or brokers at this address, with the port or without: 10.0.0.*, 10.0.0.7:50000.",
)
@click.option("--topic", "topics", multiple=True, metavar="GLOB", help="Only what is about this topic, or its id.")
@click.option("--errors", "-e", is_flag=True, help="Only what has an error code, or cannot be decoded.")
@packages_option
@ports_option
@click.option("--summary", "-s", is_flag=True, help="Count instead: clients, APIs, versions, bytes, latencies, errors.")
@click.option(
    "--upgrade-to",
    metavar="RELEASE",
    help="Show whose requests a release of Kafka, such as 4.4, does not serve; exit 1 if there are any, "
    "2 if no request was read. FILE may also be a broker's request log (kafka-request.log).",
)
@click.option(
    "--html", type=PATH, metavar="FILE", help="Write a page to look at in a browser, with all bodies and records."
)
@click.option(
    "--top",
    is_flag=True,
    help="Show a table on the terminal instead, anew each second: the last 10 seconds of a stream, or a whole capture. "
    "Keys: q quits; c, a, r, l, e sort by client, API, rate, latency, errors.",
)
@format_option
def tap(
    paths: Sequence[Path],
    bodies: bool,
    records: bool,
    value: str | None,
    record_key: str | None,
    schema_registry: str | None,
    apis: Sequence[str],
    clients: Sequence[str],
    addresses: Sequence[str],
    topics: Sequence[str],
    errors: bool,
    packages: Sequence[str],
    ports: Sequence[int],
    summary: bool,
    upgrade_to: str | None,
    html: Path | None,
    top: bool,
    format_: OutputFormat,
) -> None:
    """Show what clients and brokers say, a line for each request with its response; exit 1 if something is damaged."""
    counts = TrafficSummary() if summary or upgrade_to is not None else None
    reading = Reading()
    if bodies and counts is not None:
        fail("--bodies cannot be used with --summary or --upgrade-to")
    if records and counts is not None:
        fail("--records cannot be used with --summary or --upgrade-to")
    if html is not None and (counts is not None or format_ is OutputFormat.JSON):
        fail("--html shows each exchange; it cannot be used with --summary, --upgrade-to or --format json")
    if top:
        _check_top(
            {
                "--bodies": bodies,
                "--records": records,
                "--summary": summary,
                "--upgrade-to": upgrade_to is not None,
                "--html": html is not None,
                "--format json": format_ is OutputFormat.JSON,
            }
        )
    if list(paths).count(_STDIN) > 1:
        fail("standard input (-) can be read once; give it once")
    try:
        decoders = opened_by(records or html is not None, value, record_key, schema_registry)
        registry = registry_named(*packages)
        if upgrade_to is not None and kafka() not in registry.parts:
            raise ValueError(f"--upgrade-to is about releases of Kafka; it needs --package {KAFKA_PACKAGE}")
        release = None if upgrade_to is None else line_of(upgrade_to)
        conditions = Conditions(api_keys_of(apis, registry), tuple(clients), tuple(addresses), tuple(topics), errors)
    except ValueError as error:
        fail(str(error))
    logs = release is not None and not summary  # of a log nothing else can be said
    for path in paths:
        _check(path, logs=logs)
    if html is not None:
        format_ = OutputFormat.JSON  # of which the page is made
    out, names = Output() if html is None else LinesPage(), TopicNames()
    lines = (JsonLines if format_ is OutputFormat.JSON else TextLines)(
        registry, names, bodies=bodies or decoders is not None, decoders=decoders
    )
    status = 0
    try:
        with no_garbage_collection():  # nothing here refers to itself, and there are very many objects
            if top:
                status = _top(paths, ports, registry, conditions, names, reading)
            for path in () if top else paths:
                stream = _stream_at(path)
                arriving = None if stream is None else _arriving(stream, out.flush)
                log = _log_at(path, arriving) if logs else None
                if counts is None or log is None:
                    status |= _tap(path, arriving, ports, registry, conditions, names, out, lines, counts, reading)
                else:
                    _count_log(log, conditions, counts, reading)
        status = _conclude(out, counts, reading, summary, release, format_, status)
    except (BrokenPipeError, OutputClosedError):
        discard_output()
    except KeyboardInterrupt:
        _conclude(out, counts, reading, summary, release, format_, status)
        raise
    if isinstance(out, LinesPage) and html is not None:
        write_page(html, out.html(", ".join(map(str, paths))))
    if status:
        sys.exit(status)


def _check(path: Path, *, logs: bool) -> None:
    """Check that a path is a capture, or a log where these are taken, and end the command if it is not."""
    if path == _STDIN:
        if sys.stdin is None:
            fail("standard input is closed; give a capture, or pipe the output of tcpdump")
        return
    if not path.exists():
        fail(f"{path} does not exist; give a capture, or - for packets from standard input")
    need_input(path)
    if not _is_pipe(path) and capture_at(path) is None and not (logs and _is_log(path)):
        text = "; --upgrade-to alone also takes the request log of a broker" if not logs and _is_log(path) else ""
        fail(
            f"{path} is not a capture; give packets (pcap, pcapng), a folder of them, or "
            f"a capture of kipwire's own format{text}"
        )


def _is_log(path: Path) -> bool:
    if path.is_dir():
        return False
    with path.open("rb") as file:
        return is_log(file.read(_BYTES_OF_TEXT))


def _check_top(others: Mapping[str, bool]) -> None:
    """Check that `--top` can be used, and end the command if it cannot: each other option, and if it is given."""
    for name, given in others.items():
        if given:
            fail(f"--top cannot be used with {name}")
    if not is_terminal(sys.stdout):
        fail("--top needs a terminal; --summary writes its counts to files and pipes")


def _stream_at(path: Path) -> io.BufferedReader[Any] | None:
    """Open standard input or a pipe; None for a file, or a folder."""
    if path == _STDIN:
        return cast("io.BufferedReader[Any]", sys.stdin.buffer)
    return cast("io.BufferedReader[Any]", path.open("rb")) if _is_pipe(path) else None


def _arriving(stream: io.BufferedReader[Any], before_waiting: Callable[[], None]) -> Arriving:
    """Wait for the first bytes of a stream."""
    arriving = Arriving(stream, before_waiting)
    arriving.peek(_FIRST_BYTES)
    return arriving


def _log_at(path: Path, arriving: Arriving | None) -> BinaryIO | None:
    """Open a request log; None if it is a capture."""
    if arriving is None:
        return None if capture_at(path) is not None else path.open("rb")
    start = arriving.peek(_FIRST_BYTES)
    return None if is_packets(start) or not is_log(start) else io.BufferedReader(arriving, AT_ONCE)


def _count_log(log: BinaryIO, conditions: Conditions, counts: TrafficSummary, reading: Reading) -> None:
    """Count the requests of a log."""
    with log:
        for one in requests_in(log, reading):
            if has_logged(conditions, one):
                counts.add_logged(one.use, one.host)


def _is_pipe(path: Path) -> bool:
    return stat.S_ISFIFO(path.stat().st_mode)


def _tap(
    path: Path,
    arriving: Arriving | None,
    ports: Collection[int],
    registry: Registry,
    conditions: Conditions,
    names: TopicNames,
    out: Output,
    lines: TextLines | JsonLines,
    counts: TrafficSummary | None,
    reading: Reading,
) -> int:
    """Show or count the exchanges of one capture; 0, 1 if it is damaged, or `FAILED` if not all of it can be read."""
    name = _NAME_OF_STDIN if path == _STDIN else str(path)
    status = 0
    if counts is not None:
        counts.begin_capture()
    frames = _frames(path, arriving, ports, registry)
    topics, bodies = counts is None or bool(conditions.topics), lines.has_bodies
    try:
        for exchange in _chosen(frames, registry, conditions, names, reading, topics=topics, bodies=bodies):
            status |= exchange.is_damaged
            if counts is None:
                out.write(lines.exchange(name, exchange))
            else:
                counts.add(exchange)
    except CaptureError as error:
        out.flush()
        status = _report(error, reading)
    return status


def _top(
    paths: Sequence[Path],
    ports: Collection[int],
    registry: Registry,
    conditions: Conditions,
    names: TopicNames,
    reading: Reading,
) -> int:
    """Show the exchanges of all captures in a table until the key `q`; the exit status is as for lines."""
    try:
        from kipwire.console.tap.screen import NoScreenError, QuitError, View, opened_screen
        from kipwire.console.tap.top import TopCounts
    except ImportError:  # as on Windows
        fail("--top needs curses, which this Python does not have; --summary shows its counts")
    status = 0
    errors = []
    counts, topics = TopCounts(), bool(conditions.topics)
    try:
        with opened_screen() as screen:
            view = View(screen, counts, reading)
            for path in paths:
                stream = _stream_at(path)
                counts.begin_capture(is_live=stream is not None)
                try:
                    if stream is None and (capture := capture_at(path)) is not None and capture.packets == (path,):
                        stream = path.open("rb")  # so that packets without frames do not hold up the screen
                    arriving = None if stream is None else _arriving(stream, partial(view.wait, stream.fileno()))
                    frames = view.beside(_frames(path, arriving, ports, registry))
                    for exchange in _chosen(frames, registry, conditions, names, reading, topics=topics):
                        status |= exchange.is_damaged
                        counts.add(exchange)
                except CaptureError as error:
                    errors.append(error)
                    view.error = one_line(error)
                finally:
                    if stream is not None:
                        stream.close()
            view.stay()
    except QuitError:
        pass
    except NoScreenError as error:
        fail(f"--top needs a terminal: {error}")
    for one in errors:
        status |= _report(one, reading)
    return status


def _chosen(
    frames: Iterable[Numbered],
    registry: Registry,
    conditions: Conditions,
    names: TopicNames,
    reading: Reading,
    *,
    topics: bool,
    bodies: bool = False,
) -> Iterator[Exchange]:
    """Yield the exchanges that are wanted, with their topics or bodies; count what was read of all."""
    chosen = Filter(conditions, names)
    rows = rows_of(
        filter_frames(counted(frames, reading), conditions, registry),
        registry,
        with_topics=topics,
        with_frames=bodies,  # of which nothing else is left to be seen
    )
    for exchange in exchanges(rows):
        for row in exchange:
            if row is not None and row.unread is not None and row.size is not None:
                reading.miss_body(row.unread)
        names.learn(exchange)
        if chosen.has(exchange):
            yield exchange


def _report(error: CaptureError, reading: Reading) -> int:
    """Say why a capture cannot be read; the exit status."""
    print_err(("error: ", "red"), one_line(error))
    reading.miss(Unread(Reason.DAMAGED, 0))
    return FAILED


def _frames(path: Path, arriving: Arriving | None, ports: Collection[int], registry: Registry) -> Iterator[Numbered]:
    if arriving is not None:
        return frames_of(Capture(path, (), io.BufferedReader(arriving, AT_ONCE)), ports, registry)
    capture = capture_at(path)
    if capture is None:  # it was one when the command began
        raise CaptureError(f"{path}: is no longer a capture")
    return frames_of(capture, ports, registry)


def _conclude(
    out: Output,
    counts: TrafficSummary | None,
    reading: Reading,
    summary: bool,
    release: str | None,
    format_: OutputFormat,
    status: int,
) -> int:
    """Write what is written at the end; the exit status, from the one of the captures."""
    as_json = format_ is OutputFormat.JSON
    if counts is None:
        out.write(reading_json(reading) if as_json else reading_text(reading))
    elif summary:
        out.write(summary_json(counts, reading) if as_json else summary_text(counts, reading))
    if counts is not None and release is not None:
        upgrade = upgrade_of(counts, release)
        if summary and not as_json:
            out.write("\n")
        out.write(upgrade_json(upgrade, reading) if as_json else upgrade_text(upgrade, reading))
        out.flush()
        return 1 if upgrade.uses else FAILED if not upgrade.judged or status & FAILED else 0
    out.flush()
    return min(status, 1)
