"""The bytes of dumps with offsets, as xxd, hexdump, od, tcpdump, Wireshark and Netty print them.

Offsets are compared with the bytes before them, so a dump in which a line is missing is not read as another message.
A column of characters is compared with the bytes beside it: it proves where they end, and in which order they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

_GROUPS = re.compile(r"(?:[0-9a-f]{2})++(?: (?:[0-9a-f]{2})++)*+", re.IGNORECASE)
_OFFSET = re.compile(r"\s*([0-9a-f]{4,})(\s.*)?", re.IGNORECASE)
_BYTE = re.compile(r"\s+([0-9a-f]{2})(?=\s|$)", re.IGNORECASE)
_BYTES = re.compile(rf"(?:{_BYTE.pattern})++", re.IGNORECASE)
_FRAMED_COLUMN = re.compile(r"\s+(?:\|(.*)\||>(.*)<)")
_NETTY = re.compile(r"\s*\|([0-9a-f]{8,})\|((?: [0-9a-f]{2})+) +\|(.{16})\|", re.IGNORECASE)
_NETTY_FRAME = re.compile(r"\s*(?:\+[-+]+\+|\|(?:  [0-9a-f]){16} \|)", re.IGNORECASE)
_NETTY_COUNT = re.compile(r"[^|]*\b(\d+)B")
_OCTAL = "od -b"
_REPEATED = "*"
_WORD_OFFSET_DIGITS = 7
"""Digits of offsets as hexdump and od print them: an odd number, so they are no bytes."""
_SHORTEST_WORD_OFFSET = 6
_WIDEST_ROW = 2**13
"""Characters of a row with a column of characters, so that no long line is looked at again for each of its bytes."""
_LARGEST = 2**26


class Taken(NamedTuple):
    """Bytes, and what they were taken from."""

    data: bytes
    kind: str
    """The form of the text in words; "" for plain hex text."""


class _Row(NamedTuple):
    offset: str
    data: bytes
    is_proven: bool
    """True if the form of the row shows that its first digits are an offset."""
    is_after_gap: bool = False


class _Form(NamedTuple):
    name: str
    base: int
    """Base of the offsets."""
    read: Callable[[str], _Row | None]
    """Reads one line; None if it is not a row."""
    is_in_words: bool = False
    """True if two bytes are one number: then only an offset after them tells if the last byte is one."""


def read_dump(text: str) -> Taken | None:
    """Read the bytes of a dump with offsets; None if the text is not one.

    Raises:
        ValueError: the text is a dump, or might be one, and its bytes are uncertain.
    """
    lines = [line.rstrip() for line in text.splitlines()]
    return _netty(lines) or _with_offsets(lines)


def _with_offsets(lines: list[str]) -> Taken | None:
    for form in _FORMS:
        rows = _rows(lines, form.read)
        if not rows or not rows[0].data:
            continue
        data = _join_rows(rows, form)
        is_certain = len(rows) > 1 or rows[0].is_proven
        if data is None or (form.is_in_words and not is_certain):
            continue
        if form.is_in_words and rows[-1].data:
            raise ValueError(
                f"may be the output of {form.name}, without its last line; the offset there says if the last word is "
                "one byte or two, so give that line, too"
            )
        if not is_certain:
            raise ValueError(
                f"begins with {rows[0].offset}, which is an offset or {len(rows[0].offset) // 2} bytes; leave an "
                "offset out, and write bytes without the blank after it"
            )
        if form.name == _OCTAL and min(data) >= 0o100:
            raise ValueError("has numbers that are octal (od -b) or decimal (od -t u1); print it by od -t x1")
        return Taken(data, f"the output of {form.name}")
    return None


def _netty(lines: list[str]) -> Taken | None:
    """Read a table of Netty's; the line of a log before it says how many bytes there are."""
    lines = [line for line in lines if line]
    count = _NETTY_COUNT.fullmatch(lines[0]) if lines else None
    rows = _rows((line for line in lines[bool(count) :] if not _NETTY_FRAME.fullmatch(line)), _netty_row)
    data = _join_rows(rows, _NETTY_FORM) if rows else None
    if data is None:
        return None
    if count is not None and int(count[1]) != len(data):
        raise ValueError(f"says {count[1]}B, but {len(data)} bytes follow; give the whole table of one message")
    return Taken(data, "a table by Netty")


# Lines, each of them a row or not.


def _netty_row(line: str) -> _Row | None:
    match = _NETTY.fullmatch(line)
    if match is None:
        return None
    data = bytes.fromhex(match[2])
    return _Row(match[1], data, True) if _are_characters(match[3], data.ljust(16)) else None


def _colon_row(offset: str) -> Callable[[str], _Row | None]:
    """Make the reader of rows such as `00000000: 0003 0009  ....` of xxd; two blanks end the digits."""
    row = re.compile(rf"\s*{offset}:\s+(\S.*)", re.IGNORECASE)

    def read(line: str) -> _Row | None:
        match = row.fullmatch(line)
        if match is None:
            return None
        digits, blanks, column = match[2].partition("  ")
        if not _GROUPS.fullmatch(digits):
            return None
        data = bytes.fromhex(digits)
        return _Row(match[1], data, True) if not column or _is_column(blanks + column, data) else None

    return read


def _bytes_row(line: str) -> _Row | None:
    """Read a row of two digits a byte, with a column of characters or without."""
    match = _OFFSET.fullmatch(line)
    if match is None:
        return None
    offset, rest = match[1], match[2] or ""
    is_proven = len(offset) % 2 == 1 or rest.startswith(("  ", "\t"))
    if len(rest) > _WIDEST_ROW:
        return _Row(offset, bytes.fromhex(rest), is_proven) if _BYTES.fullmatch(rest) else None
    ends = [0]
    while found := _BYTE.match(rest, ends[-1]):
        ends.append(found.end())
    for end in ends[:0:-1]:  # characters such as `ab` look like one byte more
        if rest.startswith("  ", end) and len(rest[end:].lstrip()) <= len(ends) + 1:
            data = bytes.fromhex(rest[:end])
            if _is_column(rest[end:], data):
                return _Row(offset, data, True)
    return None if rest[ends[-1] :] else _Row(offset, bytes.fromhex(rest), is_proven)


def _words_row(pattern: str, convert: Callable[[str], bytes]) -> Callable[[str], _Row | None]:
    """Make the reader of rows of numbers that all have one form."""
    row = re.compile(rf"\s*([0-9a-fA-F]{{{_SHORTEST_WORD_OFFSET},}})((?:\s+{pattern})*)\s*")

    def read(line: str) -> _Row | None:
        match = row.fullmatch(line)
        if match is None:
            return None
        is_proven = len(match[1]) == _WORD_OFFSET_DIGITS
        return _Row(match[1], b"".join(map(convert, match[2].split())), is_proven)

    return read


def _is_column(text: str, data: bytes) -> bool:
    """True if a text shows bytes as characters; blanks at its ends may be missing."""
    framed = _FRAMED_COLUMN.fullmatch(text)
    if framed is not None and _are_characters(framed[1] or framed[2] or "", data):
        return True
    shown = text.strip()
    blanks = len(data) - len(data.lstrip(b" "))
    return any(
        len(it) <= len(data) and _are_characters(it.ljust(len(data)), data) for it in (shown, " " * blanks + shown)
    )


def _are_characters(text: str, data: bytes) -> bool:
    """True if each byte is shown as its character, or as a dot where a tool has none for it; tcpdump has no blank."""
    return len(text) == len(data) and all(
        one == chr(byte) or (one in ".\u00b7" and not 0x20 < byte < 0x7F) for one, byte in zip(text, data, strict=True)
    )


_FORMS = (
    _Form("xxd", 16, _colon_row("([0-9a-f]{6,})")),
    _Form("tcpdump -x or -X", 16, _colon_row("0x([0-9a-f]{4,})")),
    _Form("hexdump -C, od -t x1 or Wireshark", 16, _bytes_row),
    _Form("od -t x1", 8, _bytes_row),
    _Form("od -t x1 -A d", 10, _bytes_row),
    _Form(_OCTAL, 8, _words_row("[0-3][0-7]{2}", lambda word: bytes([int(word, 8)]))),
    _Form(
        "hexdump, in little-endian words", 16, _words_row("[0-9a-fA-F]{4}", lambda it: bytes.fromhex(it)[::-1]), True
    ),
    _Form("od -x", 8, _words_row("[0-9a-fA-F]{4}", lambda word: bytes.fromhex(word)[::-1]), True),
    _Form("od", 8, _words_row("[01][0-7]{5}", lambda word: int(word, 8).to_bytes(2, "little")), True),
)
_NETTY_FORM = _Form("Netty", 16, _netty_row)


# All rows together.


def _rows(lines: Iterable[str], read: Callable[[str], _Row | None]) -> list[_Row]:
    """Parse the rows of a dump; none at all if a line is not one."""
    rows: list[_Row] = []
    is_after_gap = False
    for line in lines:
        if line.strip() == _REPEATED:
            is_after_gap = True
        elif line:
            row = read(line)
            if row is None:
                return []
            rows.append(row._replace(is_after_gap=is_after_gap))
            is_after_gap = False
    return rows


def _join_rows(rows: list[_Row], form: _Form) -> bytes | None:
    """Join the bytes of all rows, if each offset is where its bytes are; `*` means rows like the one before it."""
    parts: list[bytes] = []
    size = 0
    for number, row in enumerate(rows):
        try:
            offset = int(row.offset, form.base)
        except ValueError:
            return None
        if row.is_after_gap and number:
            again = rows[number - 1].data
            count, rest = divmod(offset - size, len(again) or 1)
            if rest or count < 1 or offset > _LARGEST:
                return None
            parts.append(again * count)
            size = offset
        # Of words of two bytes only half of the last may be data.
        is_padding = form.is_in_words and not row.data and size == offset + 1
        if offset != size and not is_padding:
            return None
        parts.append(row.data)
        size = offset + len(row.data)
    return b"".join(parts)[:size]
