"""Text from outside, fit to be shown: nothing in it can move a cursor, end a line or turn the reading direction."""

from __future__ import annotations

import re

_CONTROL = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufff9-\ufffb"
_NOT_IN_TEXT = re.compile(f"[{_CONTROL}]")
_NOT_IN_LINE = re.compile(f"[{_CONTROL}\t\n]")
_NOT_IN_PROSE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable_text(text: str) -> str:
    """The text with control characters as escapes; its lines and tabs stay."""
    return _NOT_IN_TEXT.sub(_escape, text)


def printable_line(text: str) -> str:
    """The text on one line: line ends and tabs are escapes, too."""
    return _NOT_IN_LINE.sub(_escape, text)


def control_character(text: str) -> str:
    """Says which character does not belong into prose, which may have line ends and tabs; "" if all do."""
    found = _NOT_IN_PROSE.search(text)
    return f"has the control character U+{ord(found[0]):04X}; take it out" if found else ""


def escaped(character: str) -> str:
    """A character as Python and JSON programmers would write it, with its number in hex digits."""
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _escape(match: re.Match[str]) -> str:
    return escaped(match[0])
