"""The line of a spec that a problem is about, with a caret under the place."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from kipgen.language.spec import Location
from kipgen.reading.source import MAX_BYTES, lines_of
from kipwire.tools.files import read_regular
from kipwire.tools.text import printable_line

WIDTH = 100
"""Columns of a source line that are shown; of a longer one, those around the place."""

Excerpts = Callable[[Location], "tuple[str, str] | None"]
"""The source line of a location and the line with the caret; None if the file has no such line."""


def excerpts_of(texts: Mapping[str, bytes] | None = None) -> Excerpts:
    """What finds source lines, reading each file once.

    Args:
        texts: the content of files that are not on the disk, such as standard input, by their names in problems.
    """
    known = texts or {}

    @cache
    def lines(file: str) -> list[str]:
        try:
            return lines_of(known[file] if file in known else read_regular(Path(file), MAX_BYTES))
        except (OSError, ValueError):
            return []

    def excerpt(location: Location) -> tuple[str, str] | None:
        found = lines(location.file)[location.line - 1 : location.line]
        return _excerpt(found[0], location) if found and found[0].strip() else None

    return excerpt


def _excerpt(line: str, location: Location) -> tuple[str, str]:
    before, after = _shown(line[: location.column - 1]), _shown(line[location.column - 1 :]).rstrip()
    if _width(before) + _width(after) > WIDTH:
        if _width(before) > WIDTH // 2:
            before = "..." + _last(before, WIDTH // 2)
        room = WIDTH - _width(before)
        after = f"{_first(after, room)}..." if _width(after) > room else after
    number = f"{location.line:>5}"
    return f"{number} | {before}{after}", f"{'':>5} | {' ' * _width(before)}^"


def _shown(text: str) -> str:
    return printable_line(text.replace("\t", "    "))


def _width(text: str) -> int:
    """The columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_width_of(one) for one in text)


def _width_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _first(text: str, room: int) -> str:
    while _width(text) > room:
        text = text[: min(len(text) - 1, room)]
    return text


def _last(text: str, room: int) -> str:
    while _width(text) > room:
        text = text[max(1, len(text) - room) :]
    return text
