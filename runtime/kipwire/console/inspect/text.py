"""An inspection as aligned lines of text, in pieces with styles for a terminal.

Bytes may come from an attacker, so no text reaches a terminal as it is. Long values are cut; HTML and JSON have the
rest. Columns are as wide as their
widest entry, so all rows are made before the first is printed.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from kipwire.cli.values import bytes_hex, value_text
from kipwire.console.inspect.tree import RECORD, Inspection, Piece
from kipwire.tools.text import count_of, has_colour, print_out, printable_line

_UNKNOWN_STYLE = "bold yellow"
_VALUE_STYLES = {"string": "green", "bytes": "blue", "records": "blue", "uuid": "magenta"}
_REST_WIDTH = 16
"""Limit for unread bytes on a line."""
_REST_LINES = 16

Line = tuple[tuple[str, str], ...]
"""Texts, each with its style: words of `kipwire.tools.text.STYLES`, or none."""


@dataclass(frozen=True, slots=True)
class _Row:
    piece: Piece
    offset: str
    data: str
    path: str
    kind: str
    value: str


def text_lines(inspection: Inspection) -> Iterator[Line]:
    """Format a title, the pieces under the headings of their messages, and the error with the bytes from there on."""
    error = inspection.error
    yield (title(inspection), "bold"), ("" if error is None else ", then an error", "bold red")
    rows = [_row(piece, inspection.data) for piece in inspection.pieces]
    head = _Row(Piece("", "", "", "", 0, 0, None), "offset", "bytes", "path", "type", "value")
    widths = [max(len(getattr(row, column)) for row in (head, *rows)) for column in ("offset", "data", "path", "kind")]
    yield ((_columns(head, widths) + head.value, "underline"),)
    is_one_part = len({piece.part for piece in inspection.pieces}) < 2
    part = f"{inspection.message} v{inspection.version}" if is_one_part else ""
    for row in rows:
        if row.piece.part != part:
            part = row.piece.part
            yield ((part, "bold"),)
        style = _style(row.piece)
        yield (_columns(row, widths), "" if row.piece.role == "value" else style), (row.value, style)
    if error is not None:
        yield from _fault_lines(inspection, widths[0])


def print_text(inspection: Inspection) -> None:
    """Print the lines to standard output, in colours where it takes them."""
    if has_colour(sys.stdout):
        for line in text_lines(inspection):
            print_out(*line)
        return
    if isinstance(sys.stdout, io.TextIOWrapper):  # a message may contain characters that the encoding lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    for line in text_lines(inspection):
        print(printable_line("".join(text for text, _ in line).rstrip()))


def title(inspection: Inspection) -> str:
    """Format a title such as `MetadataResponse v12: 3,542 bytes, 1,012 elements`."""
    size, count = count_of(len(inspection.data), "byte"), count_of(
        sum(piece.kind != RECORD for piece in inspection.pieces), "element"
    )
    return f"{inspection.message} v{inspection.version}: {size}, {count}"


def _row(piece: Piece, data: bytes) -> _Row:
    return _Row(
        piece,
        str(piece.start),
        bytes_hex(data[piece.start : piece.end]),
        piece.path or "message",
        piece.kind,
        piece_text(piece),
    )


def _columns(row: _Row, widths: list[int]) -> str:
    offset, data, path, kind = widths
    return f"{row.offset:>{offset}}  {row.data:<{data}}  {row.path:<{path}}  {row.kind:<{kind}}  "


def _style(piece: Piece) -> str:
    if piece.role != "value":
        return _UNKNOWN_STYLE if piece.role == "unknown" else "dim"
    return _VALUE_STYLES.get(piece.kind, "bright_cyan")


def _fault_lines(inspection: Inspection, width: int) -> Iterator[Line]:
    yield ((f"error: {inspection.error}", "bold red"),)
    rest = inspection.data[inspection.rest :]
    if not rest:
        yield (("the bytes end here", "red"),)
    shown = rest[: _REST_WIDTH * _REST_LINES]
    for at in range(0, len(shown), _REST_WIDTH):
        line = f"{inspection.rest + at:>{width}}  {shown[at : at + _REST_WIDTH].hex(' ')}"
        yield ((line, "red"),)
    if len(rest) > len(shown):
        yield ((f"{'':>{width}}  ... {count_of(len(rest) - len(shown), 'more byte')}", "red"),)


def piece_text(piece: Piece) -> str:
    """Format the value of a piece for people, with the name of a number that has one: `25 UNKNOWN_MEMBER_ID`."""
    if piece.kind == RECORD:
        return str(piece.value)  # where it is printed, characters are escaped
    text = value_text(piece.value)
    return text if piece.name is None else f"{text} {piece.name}"
