"""Values and bytes of messages as text for people, on terminals and on pages.

Bytes may come from an attacker, so values are printed by `repr` or as printable characters. Long ones are cut, with how
long they are.
"""

from __future__ import annotations

import uuid

from kipwire.description.json_codec import uuid_to_json
from kipwire.tools.text import count_of

_LONGEST_TEXT = 80
"""Characters."""
_LONGEST_BYTES = 12
_SHOWN_OF_LONGER = 8
_LONGEST_PREVIEW = 16
"""The most bytes that are previewed as text."""


def value_text(value: object) -> str:
    """Format a value for people: one line of printable characters, cut where it is long."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            cut = repr(value[:_LONGEST_TEXT])  # repr shows characters that would do something to a terminal as escapes
            return cut if len(value) <= _LONGEST_TEXT else f"{cut} ... {count_of(len(value), 'character')}"
        case uuid.UUID():
            return f"{value} = {uuid_to_json(value)}"
        case bytes():
            return _bytes_text(value)
        case _:
            return repr(value)


def bytes_hex(data: bytes) -> str:
    """Format bytes in hex, with their number where not all are shown."""
    if len(data) <= _LONGEST_BYTES:
        return data.hex(" ")
    return f"{data[:_SHOWN_OF_LONGER].hex(' ')} ... {count_of(len(data), 'byte')}"


def printable(data: bytes) -> str:
    """Format bytes as ASCII, with dots for what cannot be printed."""
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data)


def _bytes_text(value: bytes) -> str:
    size = count_of(len(value), "byte")
    if not value:
        return size
    dots = "..." if len(value) > _LONGEST_PREVIEW else ""
    return f"{size} |{printable(value[:_LONGEST_PREVIEW])}|{dots}"
