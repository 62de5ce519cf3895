"""How the values and the bytes of an inspection read: for people, and as JSON."""

from __future__ import annotations

import uuid

from kipgen.commands.inspect.tree import Piece
from kipwire.description.json_form import bytes_to_json, float_to_json, uuid_to_json
from kipwire.tools.text import counted

_LONGEST_TEXT = 80
"""Characters."""
_LONGEST_BYTES = 12
_SHOWN_OF_LONGER = 8
_LONGEST_PREVIEW = 16
"""The most bytes that are previewed as text."""


def piece_text(piece: Piece) -> str:
    """The value of a piece as people read it, with the name of a number that has one: `25 UNKNOWN_MEMBER_ID`."""
    text = value_text(piece.value)
    return text if piece.name is None else f"{text} {piece.name}"


def value_text(value: object) -> str:
    """A value as people read it: one line of printable characters, cut where it is long."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            cut = repr(value[:_LONGEST_TEXT])  # repr shows characters that would do something to a terminal as escapes
            return cut if len(value) <= _LONGEST_TEXT else f"{cut} ... {counted(len(value), 'character')}"
        case uuid.UUID():
            return f"{value} = {uuid_to_json(value)}"
        case bytes():
            return _bytes_text(value)
        case _:
            return repr(value)


def value_json(value: object) -> bool | int | float | str | None:
    """A value in the JSON form of messages (docs/json.md)."""
    match value:
        case uuid.UUID():
            return uuid_to_json(value)
        case bytes():
            return bytes_to_json(value)
        case float():
            return float_to_json(value)
        case None | bool() | int() | str():
            return value
        case _:
            raise TypeError(f"no message has a value of type {type(value).__name__}")


def bytes_hex(data: bytes) -> str:
    """Bytes in hex, with how many they are where not all are shown."""
    if len(data) <= _LONGEST_BYTES:
        return data.hex(" ")
    return f"{data[:_SHOWN_OF_LONGER].hex(' ')} ... {counted(len(data), 'byte')}"


def printable(data: bytes) -> str:
    """Bytes as ASCII, with dots for what cannot be printed."""
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data)


def _bytes_text(value: bytes) -> str:
    size = counted(len(value), "byte")
    if not value:
        return size
    dots = "..." if len(value) > _LONGEST_PREVIEW else ""
    return f"{size} |{printable(value[:_LONGEST_PREVIEW])}|{dots}"
