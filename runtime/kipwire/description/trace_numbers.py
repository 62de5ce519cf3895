"""The tracer's position in the bytes, and the reading of single numbers and texts there; see `trace`."""

from __future__ import annotations

import struct
import uuid
from typing import Any, NoReturn

from kipwire.model.errors import DecodeError, path_text
from kipwire.model.structs import Root
from kipwire.model.types import ENCODINGS, PREFIXES, TYPES
from kipwire.tools.text import only_left

FIXED = {
    row.name: struct.Struct(f">{row.code}") for row in TYPES.values() if row.kind in ("integer", "float") and row.code
}
"""The types of a fixed width that one unpacking gives."""


class NumberTracer:
    """The part of a trace of one buffer that reads numbers, lengths and text."""

    def __init__(self, cls: type[Root], data: bytes) -> None:
        self.cls = cls
        self.data = data
        self.limit = len(data)
        """Nothing may be read beyond this position."""
        self.bound = ""
        """Description of the limit for errors; "" where it is the end of the buffer."""
        self.path: list[str | int] = []

    def fail(self, pos: int, reason: str) -> NoReturn:
        raise DecodeError(self.cls.NAME, self.cls.VERSION, path_text(self.path), pos, reason)

    def need(self, pos: int, count: int) -> int:
        """Return the position after `count` bytes, which must be there."""
        left = self.limit - pos
        if count > left:
            self.fail(pos, f"need {count} byte{'s' * (count != 1)}, {only_left(left)}{self.bound}")
        return pos + count

    def scalar(self, kind: str, pos: int) -> tuple[Any, int]:
        """Read a value of a kind (`kipwire.description.plan`) that implies its length: (value, position after it)."""
        start = pos
        if kind in FIXED:
            packer = FIXED[kind]
            pos = self.need(pos, packer.size)
            (number,) = packer.unpack_from(self.data, start)
            return number, pos
        if kind == "bool":
            pos = self.need(pos, 1)
            if self.data[start] > 1:
                self.fail(start, f"bool is {self.data[start]}; it must be 0 or 1")
            return bool(self.data[start]), pos
        if kind == "uuid":
            pos = self.need(pos, 16)
            return uuid.UUID(bytes=self.data[start:pos]), pos
        return self.packed(kind, pos)

    def packed(self, kind: str, pos: int) -> tuple[int, int]:
        scheme, bits = ENCODINGS[kind].scheme, ENCODINGS[kind].bits
        value, pos = self.varint(pos, bits, kind)
        if scheme == "packed":
            return (value >> 1) ^ -(value & 1), pos
        return (value - (1 << bits) if value >> bits - 1 else value), pos

    def varint(self, pos: int, bits: int, what: str) -> tuple[int, int]:
        """Read an unsigned varint: minimal, and of at most `bits` bits."""
        start, value, shift = pos, 0, 0
        while True:
            self.need(pos, 1)
            byte = self.data[pos]
            pos += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            if shift >= bits:
                self.fail(start, f"{what} is a varint of more than {bits} bits")
        if not byte and pos - start > 1:
            self.fail(start, f"{what} is a varint with redundant trailing bytes")
        if value >> bits:
            self.fail(start, f"{what} is a varint of more than {bits} bits")
        return value, pos

    def length(self, prefix: str, pos: int, what: str, *, nullable: bool, bit: str = "") -> tuple[int | None, int]:
        """Read a length or a count whose type is the prefix (see `plan`): (None for null, position after it).

        `bit` is the name of the bit that says that the value is present; "" if there is none.
        """
        start = pos
        row = PREFIXES[prefix]
        if row.width:
            length, pos = self.scalar(prefix, pos)
        else:
            length, pos = self.varint(pos, row.bits, f"length of the {what}")
            if row.form == "zigzag_varint":
                length = length >> 1 ^ -(length & 1)
            length -= row.plus
        if length == -1 and bit:
            self.fail(start, f"null, but {bit} says that there is a value")
        if length == -1 and nullable:
            return None, pos
        if length == -1:
            self.fail(start, f"null, but this {what} must not be null in this version")
        if length < 0:
            self.fail(start, f"length of the {what} is {length}")
        return length, pos

    def text(self, raw: bytes, pos: int) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            self.fail(pos + error.start, f"not UTF-8: {error.reason}")
