"""Tables in lines of text, as commands show them: whole in files and pipes, within its width on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import NamedTuple

from kipwire.tools.text import has_colour, is_terminal, printable_line, style_line

MOST_SHOWN = 50
"""Rows of a table for people; JSON has all."""
_WIDEST = 44
"""Characters of a cell on a terminal, where lines may have any width."""
_NARROWEST = 12
"""Characters that are left of a text, however narrow the terminal is."""
_GAP = "  "


def table_lines(
    title: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    texts: int,
    texts_after: int = 0,
    *,
    most: int | None = MOST_SHOWN,
    width: int | None = None,
) -> Iterator[str]:
    """Format a table as lines, with their ends: first a heading, then columns of text, of numbers, and of text again.

    Args:
        title: a line above it; empty for none.
        header: the names of the columns.
        rows: their cells.
        texts: how many columns of text come first.
        texts_after: how many come last.
        most: rows that are shown; None for all.
        width: characters of a line on a terminal, see `fit`; None if it may be any.
    """
    every = [[printable_line(cell) for cell in row] for row in rows]
    shown = every[:most]
    is_text = [at < texts or at >= len(header) - texts_after for at in range(len(header))]
    if is_terminal(sys.stdout) and width is None:
        shown = [[cell if len(cell) <= _WIDEST else f"{cell[: _WIDEST - 1]}…" for cell in row] for row in shown]
    fitted = fit(header, shown, is_text, width if is_terminal(sys.stdout) else None)
    coloured = has_colour(sys.stdout)
    if title:
        yield "\n" + style_line([(title, "bold")], coloured=coloured)
    yield from column_lines(fitted, is_text, coloured=coloured)
    if len(every) > len(shown):
        yield f"and {len(every) - len(shown):,} more rows, which --format json has\n"
    if fitted.left_out:
        yield f"no room for {', '.join(fitted.left_out)}; --format json has all columns\n"


class Fitted(NamedTuple):
    """Columns that fit into a line."""

    heads: list[list[str]]
    """The lines of the name of each column."""
    rows: list[list[str]]
    left_out: list[str]
    """Columns for which there was no room."""


def fit(header: Sequence[str], rows: Sequence[Sequence[str]], is_text: Sequence[bool], width: int | None) -> Fitted:
    """Fit columns into lines: if there is no room, names of columns wrap, then the widest texts lose their middles.

    If that is not enough, the last columns are left out.

    Args:
        header: the names of the columns.
        rows: their cells.
        is_text: for each column, true if its cells may be shortened.
        width: characters of a line; None if it may be any.
    """
    cells = [max(map(len, column)) for column in zip(*rows, strict=True)] if rows else [0] * len(header)
    if width is None or _length([max(len(head), most) for head, most in zip(header, cells, strict=True)]) <= width:
        return Fitted([[head] for head in header], [list(row) for row in rows], [])
    widths = [max(most, *map(len, head.split())) for most, head in zip(cells, header, strict=True)]
    least = [min(most, _NARROWEST) if text else most for most, text in zip(widths, is_text, strict=True)]
    count = len(widths)
    while count > 1 and _length(least[:count]) > width:
        count -= 1
    texts = [at for at in range(count) if is_text[at]]
    while _length(widths[:count]) > width and any(widths[at] > least[at] for at in texts):
        widths[max(texts, key=widths.__getitem__)] -= 1
    heads = [wrap(head, most) for head, most in zip(header, widths[:count], strict=False)]
    shown = [
        [shorten(cell, most) if text else cell for cell, most, text in zip(row, widths[:count], is_text, strict=False)]
        for row in rows
    ]
    return Fitted(heads, shown, list(header[count:]))


def _length(widths: Sequence[int]) -> int:
    return sum(widths) + len(_GAP) * (len(widths) - 1)


def column_lines(fitted: Fitted, is_left: Sequence[bool], *, coloured: bool) -> Iterator[str]:
    """Format columns as lines with their ends, their names in the first ones.

    Args:
        fitted: the columns.
        is_left: for each column, true if its cells are aligned to the left.
        coloured: true if the names are pale.
    """
    tallest = max(map(len, fitted.heads))
    above = [[""] * (tallest - len(head)) + head for head in fitted.heads]
    heads = [list(line) for line in zip(*above, strict=True)]
    widths = [max(map(len, column)) for column in zip(*heads, *fitted.rows, strict=True)]
    for number, row in enumerate([*heads, *fitted.rows]):
        cells = [
            cell.ljust(width) if left else cell.rjust(width)
            for cell, width, left in zip(row, widths, is_left, strict=False)
        ]
        line = _GAP.join(cells).rstrip()
        yield style_line([line if number >= tallest else (line, "dim")], coloured=coloured)


def shorten(text: str, most: int) -> str:
    """Cut the middle out of a text that has more than some characters: names differ at both ends."""
    if len(text) <= most:
        return text
    end = (most - 1) // 2
    return f"{text[: most - 1 - end]}…{text[len(text) - end :]}"
