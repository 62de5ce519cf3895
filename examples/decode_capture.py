"""Decode captured Kafka traffic, encode it again and report what came back byte for byte.

    python examples/decode_capture.py [--all] [CAPTURE_FOLDER]

Every frame is decoded, encoded again and compared with what was captured. The output is a summary by API, after a line
for each frame that differs; with `--all` there is a line for every frame, and all APIs are listed. The exit status
is 0 if all frames came back byte for byte, 1 if any did not, 2 if the capture cannot be read or the output is not read
to its end. examples/capture/README.md describes the format of a capture. Colours need `rich` and a terminal; everything
else is kipwire and the standard library.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import kafka_messages
from kafka_messages.enums import ErrorCode
from kipwire import KipwireError
from kipwire.tools.text import printable_line
from kipwire.traffic.captures import CaptureError, Entry, files_in, open_frames, read_index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kipwire import Message, Struct

    Line = list[tuple[str, str]]
    """Pieces of one line of output, each with its style."""

CAPTURE = Path(__file__).parent / "capture"
WIDTH_WITHOUT_TERMINAL = 120
WIDEST_API = 28
WIDEST_CLIENT = 18
APIS_IN_SUMMARY = 8


# Reading a capture.


class Frame(NamedTuple):
    """One request or response as captured, and its entry in the index."""

    entry: Entry
    data: bytes
    """Without the size before it."""


def read_capture(folder: Path) -> list[Frame]:
    """Read the frames of a capture, in the order of its index, oldest first.

    Raises:
        CaptureError: a file is missing or damaged, or the index does not fit the frames.
    """
    index, file = files_in(folder)
    with open_frames(file) as frames:
        return [Frame(entry, frames.read(entry)) for entry in read_index(index)]


# Decoding one frame.


@dataclass(frozen=True)
class Decoded:
    """The result of one frame."""

    summary: str
    errors: str
    """The error codes that the message carries with names, or why it could not be decoded; empty if neither."""
    identical: bool
    """True if header and body, encoded again, give the captured bytes."""


def decode(frame: Frame) -> Decoded:
    """Decode a frame and encode it again; a frame that cannot be decoded is a result too, not an exception."""
    header: Message
    try:
        if frame.entry.is_request:
            header, body = kafka_messages.decode_request(frame.data)
        else:
            header, body = kafka_messages.decode_response(frame.data, frame.entry.api_key, frame.entry.api_version)
        identical = header.encode() + body.encode() == frame.data
    except KipwireError as error:
        return Decoded("", str(error), identical=False)
    codes = Counter(f"{name}={ErrorCode.text(code)}" for name, code in error_codes(body))
    errors = " ".join(code if count == 1 else f"{count}x {code}" for code, count in codes.items())
    return Decoded(summary(body), errors, identical)


def error_codes(struct: Struct) -> Iterator[tuple[str, int]]:
    """Name and value of every error code that is not 0, at any depth."""
    for one in struct.ATTRIBUTES:
        value = getattr(struct, one.name)
        if one.struct is not None and value is not None:
            for inner in value if one.array else [value]:
                yield from error_codes(inner)
        elif one.name.endswith("error_code") and value:
            yield one.name, value


def summary(struct: Struct) -> str:
    """Summarize the fields that differ from their defaults: first sizes of arrays and byte fields, then the others."""
    amounts, values = [], []
    for one in struct.ATTRIBUTES:
        value = getattr(struct, one.name)
        if one.name.endswith("error_code") or one.is_default(value):
            continue
        if value is None:
            values.append(f"{one.name}=null")
        elif one.array:
            amounts.append(f"{one.name}[{len(value)}]")
        elif one.struct is not None:
            values.append(f"{one.name}({summary(value)})")
        elif one.element in ("bytes", "records"):
            amounts.append(f"{one.name}[{len(value):,} B]")
        else:
            values.append(f"{one.name}={value}")
    return " ".join(amounts + values)


def api_name(frame: Frame) -> str:
    """Return the name of an API such as `Fetch`; `API 99` if the package does not have it."""
    try:
        return kafka_messages.request(frame.entry.api_key, frame.entry.api_version).NAME.removesuffix("Request")
    except KipwireError:
        return f"API {frame.entry.api_key}"


# Output.


def cut(text: str, width: int) -> str:
    """Return the text as one line of at most `width` characters."""
    text = printable_line(text)  # what peers send must not steer a terminal
    return text if len(text) <= width else (text[: max(width - 1, 0)] + "…")[:width]


@dataclass(frozen=True)
class Layout:
    """Widths of the columns, in characters, and where the time begins."""

    line: int
    connection: int
    api: int
    correlation: int
    client: int
    size: int
    since: int
    """In nanoseconds since 1970."""


def layout(frames: list[Frame], width: int) -> Layout:
    """Find the narrowest columns that fit the frames; long names of APIs and clients are cut."""
    return Layout(
        line=width,
        connection=max((len(str(frame.entry.connection)) for frame in frames), default=0),
        api=min(max((len(f"{api_name(frame)} v{frame.entry.api_version}") for frame in frames), default=0), WIDEST_API),
        correlation=max((len(str(frame.entry.correlation_id)) for frame in frames), default=0),
        client=min(max((len(frame.entry.client_id or "-") for frame in frames), default=0), WIDEST_CLIENT),
        size=max((len(f"{len(frame.data):,}") for frame in frames), default=0),
        since=frames[0].entry.timestamp_ns if frames else 0,
    )


def heading(columns: Layout) -> Line:
    """Says what the columns of `frame_line` are."""
    text = (
        "seconds, connection, → request or ← response, API, correlation id, client id, bytes, error codes and content"
    )
    return [(cut(text, columns.line), "dim")]


def frame_line(frame: Frame, decoded: Decoded, columns: Layout) -> Line:
    """Return the line of one frame."""
    version = f" v{frame.entry.api_version}"
    api = cut(api_name(frame), columns.api - len(version)) + version
    client = cut(frame.entry.client_id or "-", columns.client)
    line = [
        (f"{(frame.entry.timestamp_ns - columns.since) / 1e9:7.3f} ", "dim"),
        (f"#{frame.entry.connection:<{columns.connection}} ", "dim"),
        ("→ " if frame.entry.is_request else "← ", "bold green" if frame.entry.is_request else "bold blue"),
        (f"{api:<{columns.api}} ", "bold" if frame.entry.is_request else ""),
        (f"{frame.entry.correlation_id:>{columns.correlation}} ", "dim"),
        (f"{client:<{columns.client}} ", "cyan"),
        (f"{len(frame.data):>{columns.size},}  ", ""),
    ]
    left = columns.line - sum(len(text) for text, _ in line)
    if not decoded.identical:
        line.append((cut(f"NOT IDENTICAL {decoded.errors}".rstrip(), left), "bold red"))
    elif decoded.errors:
        errors = cut(decoded.errors, left)
        line += [(errors, "red"), (cut(f" {decoded.summary}", left - len(errors)), "")]
    else:
        line.append((cut(decoded.summary, left), ""))
    return line


def summary_table(results: list[tuple[Frame, Decoded]], most: int | None = None) -> Iterator[Line]:
    """Count the frames that came back byte for byte: by API (the `most` largest, or all), then in all."""
    by_api = defaultdict(list)
    for frame, decoded in results:
        by_api[api_name(frame)].append((frame, decoded))
    versions = {
        api: ", ".join(f"v{version}" for version in sorted({frame.entry.api_version for frame, _ in some}))
        for api, some in by_api.items()
    }
    api_width, versions_width = max(map(len, (*by_api, "API"))), max(map(len, (*versions.values(), "versions")))
    counts = f"{'requests':>9} {'responses':>10} {'bytes':>9} {'identical':>16}"
    yield [(f"{'API':<{api_width}}  {'versions':<{versions_width}} {counts}", "bold underline")]
    for api, some in sorted(by_api.items(), key=lambda item: (-len(item[1]), item[0]))[:most]:
        yield _table_row(f"{api:<{api_width}}  {versions[api]:<{versions_width}}", some, "")
    if most is not None and len(by_api) > most:
        yield [(f"and {len(by_api) - most} more APIs; --all lists them, and every frame", "dim")]
    yield _table_row(f"{'all':<{api_width}}  {'':<{versions_width}}", results, "bold")
    yield [("", "")]
    lost = sum(not decoded.identical for _, decoded in results)
    if lost:
        yield [(f"{lost:,} of {len(results):,} frames did not come back byte for byte.", "bold red")]
    else:
        yield [(f"All {len(results):,} frames came back byte for byte.", "bold green")]


def _table_row(start: str, results: list[tuple[Frame, Decoded]], style: str) -> Line:
    requests = sum(frame.entry.is_request for frame, _ in results)
    size = sum(len(frame.data) for frame, _ in results)
    identical = sum(decoded.identical for _, decoded in results)
    return [
        (f"{start} {requests:>9,} {len(results) - requests:>10,} {size:>9,} ", style),
        (f"{f'{identical:,} of {len(results):,}':>16}", "green" if identical == len(results) else "bold red"),
    ]


def line_printer() -> Callable[[Line], None]:
    """Prints lines: in colour on a terminal if `rich` is installed, else plain."""
    if sys.stdout.isatty():
        try:
            from rich.console import Console
            from rich.text import Text
        except ImportError:
            pass
        else:
            console = Console(highlight=False)
            return lambda line: console.print(Text.assemble(*line), no_wrap=True, crop=True)
    return lambda line: print("".join(text for text, _ in line).rstrip())


# The whole.


def show(frames: list[Frame], width: int, put: Callable[[Line], None], *, every_frame: bool) -> bool:
    """Print the frames, only those that differ unless `every_frame`, and the summary; whether none of them differs."""
    results = [(frame, decode(frame)) for frame in frames]
    printed = [(frame, decoded) for frame, decoded in results if every_frame or not decoded.identical]
    if printed:
        columns = layout(frames, width)
        put(heading(columns))
        for frame, decoded in printed:
            put(frame_line(frame, decoded, columns))
        put([("", "")])
    for line in summary_table(results, None if every_frame else APIS_IN_SUMMARY):
        put(line)
    return all(decoded.identical for _, decoded in results)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(
        description="Decode captured Kafka traffic, encode it again and report what came back byte for byte."
    )
    parser.add_argument(
        "capture", nargs="?", type=Path, default=CAPTURE, help="folder with frames.bin and frames.jsonl"
    )
    parser.add_argument("--all", action="store_true", help="a line for every frame, and all APIs in the summary")
    parser.add_argument("--width", type=int, help="characters in a line; default: the terminal's, 120 without one")
    options = parser.parse_args(arguments)
    width = options.width or shutil.get_terminal_size((WIDTH_WITHOUT_TERMINAL, 24)).columns
    try:
        identical = show(read_capture(options.capture), width, line_printer(), every_frame=options.all)
        sys.stdout.flush()
    except CaptureError as error:
        print(cut(str(error), sys.maxsize), file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    return 0 if identical else 1


if __name__ == "__main__":
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # an output that cannot show arrows shows question marks
    sys.exit(main())
