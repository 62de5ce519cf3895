"""An inspection as one self-contained page: a hex dump beside the table of fields, each lighting up the other.

Explanations stand once in a list and rows name them by number, because many rows share one. A browser needs kilobytes
for each element, hence the limits; JSON has all of it. `kipwire.cli.page` has the shell, and why each text is escaped.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from kipwire.cli.page import escaped, part
from kipwire.cli.page import page as shell
from kipwire.cli.values import printable
from kipwire.console.inspect.text import piece_text, title
from kipwire.console.inspect.tree import Inspection, Piece
from kipwire.tools.text import count_of

_WIDTH = 16
"""Bytes in a line of the dump."""
_PATH_STEP = re.compile(r"\[\d+\]|<tag \d+>|[^.\[]+")
_COLOURS = {"string": "text", "uuid": "uuid", "bytes": "bytes", "records": "bytes"}

_LEGEND = """\
<div class="legend">
<span class="frame">lengths, counts, tags</span>
<span class="number">numbers</span>
<span class="text">strings</span>
<span class="uuid">uuids</span>
<span class="bytes">bytes</span>
<span class="unknown">unknown tagged fields</span>
</div>"""
_ERROR = '<p class="error"><b>error</b> {} <button>show</button></p>'
_TABLE_HEAD = "<thead><tr><th>offset</th><th>field</th><th>type</th><th>value</th></tr></thead>"
_FOOTER = (
    '<footer aria-live="polite"><p>Point at bytes or at a field to see what belongs together; click to keep it, '
    "use the arrow keys to go on.</p></footer>"
)


@dataclass(frozen=True, slots=True)
class Run:
    """Bytes of one piece in one line of the dump."""

    piece: int
    """Index of the piece."""
    colour: str
    """A CSS class."""
    hex: str
    ascii: str


@dataclass(frozen=True, slots=True)
class DumpLine:
    """One line of the dump."""

    offset: int
    runs: tuple[Run, ...]
    missing: int
    """Bytes that the last line is short of a whole one."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table."""

    kind: str
    """`part`: heading of a message; `struct`: heading of a struct's fields; `piece`; `rest`: from the error on."""
    first: int
    """Index of the first piece of the row."""
    last: int
    depth: int
    label: str
    path: str
    offset: int
    size: int
    """Bytes."""
    type: str = ""
    value: str = ""
    colour: str = ""
    about: int | None = None
    """Index in the list of explanations, which are kept apart as many rows share one."""


MOST_ELEMENTS = 10_000
"""The most elements on a page: a browser needs some kilobytes for each."""
MOST_BYTES = 2**16
"""The most bytes in the dump."""


def page(inspection: Inspection) -> str:
    """Build the page as HTML text; it loads nothing from anywhere. Of a long message it shows the beginning."""
    pieces, end = _limit_pieces(inspection)
    if inspection.error is not None:  # what was not read is shown in dump and table too
        pieces.append(Piece("", "", "rest", "", inspection.rest, len(inspection.data), None))
    abouts = list(dict.fromkeys(piece.about for piece in pieces if piece.about))
    error = "" if inspection.error is None else f"{_ERROR.format(escaped(str(inspection.error)))}\n"
    items = "".join(f"<li>{escaped(about)}</li>\n" for about in abouts)
    lines = map(_line_html, _dump(inspection.data[:end], pieces))
    rows = map(_row_html, _rows(inspection, pieces, {about: index for index, about in enumerate(abouts)}))
    body = (
        f"<header>\n<h1>{escaped(title(inspection))}</h1>\n{_LEGEND}\n{error}</header>\n"
        f'<section class="dump" aria-label="bytes">\n{"".join(lines)}</section>\n'
        f'<section class="fields" aria-label="fields">\n<table>\n{_TABLE_HEAD}\n<tbody>\n{"".join(rows)}</tbody>\n'
        f"</table>\n</section>\n{_FOOTER}\n"
        f'<ol hidden id="abouts">\n{items}</ol>'
    )
    return shell(
        title(inspection), body, part("kipwire.console.inspect", "page.css"), part("kipwire.console.inspect", "page.js")
    )


def _line_html(line: DumpLine) -> str:
    shown = "".join(f'<i data-p="{run.piece}" class="{run.colour}">{escaped(run.hex)}</i> ' for run in line.runs)
    characters = "".join(f'<u data-p="{run.piece}" class="{run.colour}">{escaped(run.ascii)}</u>' for run in line.runs)
    gap = "   " * line.missing
    return (
        f'<div><span class="at">{line.offset:5d}</span>  {shown}<span class="ascii">{gap} {characters}</span></div>\n'
    )


def _row_html(row: Row) -> str:
    about = "" if row.about is None else f' data-a="{row.about}"'
    depth = f' style="--d:{row.depth}"' if row.depth else ""
    offset = row.offset if row.kind in ("piece", "rest") else ""
    label_class = f' class="{row.colour}"' if row.colour in ("frame", "fault", "unknown") else ""
    return (
        f'<tr class="{row.kind}" data-f="{row.first}" data-l="{row.last}" data-path="{escaped(row.path)}" '
        f'data-at="{row.offset}" data-n="{row.size}"{about}{depth}><td>{offset}</td>'
        f"<td{label_class}>{escaped(row.label)}</td><td>{escaped(row.type)}</td>"
        f'<td class="{row.colour}">{escaped(row.value)}</td></tr>\n'
    )


def _limit_pieces(inspection: Inspection) -> tuple[list[Piece], int]:
    """Choose the pieces that are on the page, at their end one for all that is not; and where the dump ends."""
    size = len(inspection.data)
    count = min(MOST_ELEMENTS, bisect_left(inspection.pieces, MOST_BYTES, key=lambda piece: piece.start))
    pieces = list(inspection.pieces[:count])
    hidden = len(inspection.pieces) - count
    end = min(pieces[-1].end if hidden else size, MOST_BYTES)
    if end < size:
        what = [count_of(hidden, "element")] if hidden else []
        label = f"not on this page: {', '.join([*what, count_of(size - end, 'byte')])}; --json has them"
        pieces.append(Piece("", label, "cut", "", end, size, None))
    return pieces, end


def _dump(data: bytes, pieces: list[Piece]) -> Iterator[DumpLine]:
    owners = _owners(len(data), pieces)
    for start in range(0, len(data), _WIDTH):
        end = min(start + _WIDTH, len(data))
        runs = []
        at = start
        while at < end:
            stop = at + 1
            while stop < end and owners[stop] == owners[at]:
                stop += 1
            chunk = data[at:stop]
            runs.append(Run(owners[at], _colour(pieces[owners[at]]), chunk.hex(" "), printable(chunk)))
            at = stop
        yield DumpLine(start, tuple(runs), start + _WIDTH - end)


def _owners(size: int, pieces: list[Piece]) -> list[int]:
    """Return for each byte the index of the last piece that read it: bytes in error may have been read before."""
    owners = [0] * size
    for index, piece in enumerate(pieces):
        end = min(piece.end, size)
        if piece.start < end:
            owners[piece.start : end] = [index] * (end - piece.start)
    return owners


def _rows(inspection: Inspection, pieces: list[Piece], abouts: dict[str, int]) -> Iterator[Row]:
    """Build the rows of the table: every piece, below a heading for each message and for each struct that it enters."""
    part = ""
    open_steps: list[str] = []
    for index, piece in enumerate(pieces):
        size = piece.end - piece.start
        if piece.role in ("rest", "cut"):
            rest = f"from the error on: {count_of(size, 'byte')}" if size else "the bytes end here"
            label = piece.path or rest
            yield Row("rest", index, index, 0, label, label, piece.start, size, colour=_colour(piece))
            continue
        if piece.part != part:
            part, open_steps = piece.part, []
            last = index + sum(it.part == part for it in pieces[index:]) - 1
            yield Row("part", index, last, 0, part, part, piece.start, pieces[last].end - piece.start)
        steps = _PATH_STEP.findall(piece.path)
        parents = steps if piece.role == "tags" else steps[:-1]
        for depth in range(len(parents)):
            if parents[: depth + 1] != open_steps[: depth + 1]:
                yield _struct_row(index, pieces, parents[: depth + 1])
        open_steps = steps
        yield Row(
            "piece",
            index,
            index,
            len(parents),
            "tagged fields" if piece.role == "tags" else steps[-1],
            piece.path or "message",
            piece.start,
            size,
            piece.kind,
            piece_text(piece),
            _colour(piece),
            abouts.get(piece.about),
        )


def _struct_row(first: int, pieces: list[Piece], steps: list[str]) -> Row:
    last = first
    while last + 1 < len(pieces) and _PATH_STEP.findall(pieces[last + 1].path)[: len(steps)] == steps:
        last += 1
    label = "".join(steps[-2:]) if steps[-1].startswith("[") else steps[-1]
    path = re.sub(r"\.\[", "[", ".".join(steps))
    start, end = pieces[first].start, pieces[last].end
    return Row("struct", first, last, len(steps) - 1, label, path, start, end - start)


def _colour(piece: Piece) -> str:
    if piece.role == "rest":
        return "fault"
    if piece.role != "value":
        return "unknown" if piece.role in ("unknown", "cut") else "frame"
    return _COLOURS.get(piece.kind, "number")
