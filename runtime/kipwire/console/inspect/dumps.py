"""The bytes of dumps with offsets, as xxd, hexdump and od print them.

Offsets are compared with the bytes before them, so a dump in which a line is missing is not read as another message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

_XXD = re.compile(r"([0-9a-f]{6,}): ((?:[0-9a-f]{2}+ ?)+)(?: .*)?", re.IGNORECASE)
_OFFSET = re.compile(r"\s*([0-9a-f]{6,})(\s.*)?", re.IGNORECASE)
_TEXT_COLUMN = re.compile(r"\s+(?:\|.*\||>.*<)\s*$")
_REPEATED = "*"


class Taken(NamedTuple):
    """Bytes, and what they were taken from."""

    data: bytes
    kind: str


class _Row(NamedTuple):
    offset: str
    data: bytes
    is_after_gap: bool


def read_dump(text: str) -> Taken | None:
    """Read the bytes of a dump with offsets; None if the text is not one."""
    return _xxd(text) or _dump(text)


def _xxd(text: str) -> Taken | None:
    """Read the output of xxd, such as `00000000: 0003 0009  ....`; None for other text."""
    rows = list(_rows(text, _xxd_row))
    data = _join_rows(rows, 16) if rows else None
    return None if data is None else Taken(data, "the output of xxd")


def _xxd_row(line: str) -> tuple[str, bytes] | None:
    match = _XXD.fullmatch(line)
    # Two blanks end the digits; xxd prints no more than 256 bytes a line.
    return None if match is None else (match[1], bytes.fromhex(line.partition(": ")[2].partition("  ")[0]))


def _dump(text: str) -> Taken | None:
    """Read offsets and digits without a colon, as hexdump and od print them; the last line is the offset of the end."""
    for name, base, read in (
        ("hexdump -C, or od -t x1", 16, _hex_bytes),
        ("od -t x1", 8, _hex_bytes),
        ("od -t x1 -A d", 10, _hex_bytes),
        ("od -b", 8, _octal_bytes),
        ("hexdump, in words of this machine", 16, _hex_words),
        ("od -x", 8, _hex_words),
        ("od", 8, _octal_words),
    ):
        rows = list(_rows(text, lambda line, read=read: _offset_row(line, read)))  # type: ignore[misc]
        if len(rows) < 2 or not rows[0].data:
            continue
        data = _join_rows(rows, base)
        if data is not None:
            return Taken(data, f"the output of {name}")
    return None


def _offset_row(line: str, read: Callable[[list[str]], bytes | None]) -> tuple[str, bytes] | None:
    match = _OFFSET.fullmatch(_TEXT_COLUMN.sub("", line))
    data = None if match is None else read((match[2] or "").split())
    return None if match is None or data is None else (match[1], data)


def _hex_bytes(words: list[str]) -> bytes | None:
    return bytes.fromhex("".join(words)) if _are(words, "[0-9a-fA-F]{2}") else None


def _octal_bytes(words: list[str]) -> bytes | None:
    return bytes(int(word, 8) for word in words) if _are(words, "[0-3][0-7]{2}") else None


def _hex_words(words: list[str]) -> bytes | None:
    return b"".join(bytes.fromhex(word)[::-1] for word in words) if _are(words, "[0-9a-fA-F]{4}") else None


def _octal_words(words: list[str]) -> bytes | None:
    return b"".join(int(word, 8).to_bytes(2, "little") for word in words) if _are(words, "[01][0-7]{5}") else None


def _are(words: list[str], pattern: str) -> bool:
    return all(re.fullmatch(pattern, word) for word in words)


def _rows(text: str, read: Callable[[str], tuple[str, bytes] | None]) -> Iterator[_Row]:
    """Parse the rows of a dump; none at all if a line is not one."""
    rows = []
    is_after_gap = False
    for line in text.splitlines():
        if line.strip() == _REPEATED:
            is_after_gap = True
            continue
        row = read(line.rstrip()) if line.strip() else None
        if row is None and line.strip():
            return
        if row is not None:
            rows.append(_Row(*row, is_after_gap))
            is_after_gap = False
    yield from rows


def _join_rows(rows: list[_Row], base: int) -> bytes | None:
    """Join the bytes of all rows, if each offset is where its bytes are; `*` means rows like the one before it."""
    parts: list[bytes] = []
    size = 0
    for number, row in enumerate(rows):
        try:
            offset = int(row.offset, base)
        except ValueError:
            return None
        if row.is_after_gap and number:
            again = rows[number - 1].data
            count, rest = divmod(offset - size, len(again) or 1)
            if rest or count < 1 or offset > 2**26:
                return None
            parts.append(again * count)
            size = offset
        is_padding = not row.data and size == offset + 1  # words of two bytes, of which only half of the last is data
        if offset != size and not is_padding:
            return None
        parts.append(row.data)
        size = offset + len(row.data)
    return b"".join(parts)[:size]
