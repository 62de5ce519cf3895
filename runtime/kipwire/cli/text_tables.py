"""Tables in lines of text, as commands show them: whole in files and pipes, within its width on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence

from kipwire.tools.text import has_colour, is_terminal, printable_line, style_line

MOST_SHOWN = 50
"""Rows of a table for people; JSON has all."""
_WIDEST = 44
"""Characters of a cell on a terminal, where lines may have any width."""
_NARROWEST = 8
"""Characters that are left of a cell, however narrow the terminal is."""
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
        width: characters of a line on a terminal, for which texts lose their middles; None if it may be any.
    """
    every = [[printable_line(cell) for cell in row] for row in rows]
    shown = every[:most]
    is_text = [at < texts or at >= len(header) - texts_after for at in range(len(header))]
    if is_terminal(sys.stdout) and width is not None:
        shown = _fitting(header, shown, is_text, width)
    elif is_terminal(sys.stdout):
        shown = [[cell if len(cell) <= _WIDEST else f"{cell[: _WIDEST - 1]}…" for cell in row] for row in shown]
    widths = [max(map(len, column)) for column in zip(header, *shown, strict=True)]
    coloured = has_colour(sys.stdout)
    if title:
        yield "\n" + style_line([(title, "bold")], coloured=coloured)
    for number, row in enumerate([header, *shown]):
        cells = [
            cell.ljust(width) if left else cell.rjust(width)
            for cell, width, left in zip(row, widths, is_text, strict=True)
        ]
        line = _GAP.join(cells).rstrip()
        yield style_line([line if number else (line, "dim")], coloured=coloured)
    if len(every) > len(shown):
        yield f"and {len(every) - len(shown):,} more rows, which --format json has\n"


def _fitting(header: Sequence[str], rows: list[list[str]], is_text: Sequence[bool], width: int) -> list[list[str]]:
    """Shorten the widest texts of rows until a line has no more than `width` characters."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    while excess > 0:
        widest = max((at for at, text in enumerate(is_text) if text), key=widths.__getitem__, default=None)
        if widest is None or widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
        excess -= 1
    return [
        [shorten(cell, most) if text else cell for cell, most, text in zip(row, widths, is_text, strict=True)]
        for row in rows
    ]


def shorten(text: str, most: int) -> str:
    """Cut the middle out of a text that has more than some characters: names differ at both ends."""
    if len(text) <= most:
        return text
    end = (most - 1) // 2
    return f"{text[: most - 1 - end]}…{text[len(text) - end :]}"
