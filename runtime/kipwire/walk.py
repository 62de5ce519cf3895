"""The walker: reads a message field by field from the metadata of its class, slowly, but knowing where it is.

The generated readers only find out that something is wrong. The walker then goes through the same bytes by the same
rules and tells the place; whoever wants to see every field with its bytes hands it a function to report to.
"""

from __future__ import annotations

import struct
import uuid
from typing import NamedTuple, NoReturn

from kipwire import wire
from kipwire.empty_elements import most_empty_elements
from kipwire.errors import DecodeError, shown
from kipwire.plan import WIDTHS, minimum_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from kipwire.fields import Field
    from kipwire.structs import Message, Struct

    Role = Literal[
        "value", "length", "count", "marker", "tags", "tag", "size", "unknown", "bits", "constant", "checksum"
    ]
    Report = Callable[["Element"], object]

FIXED = {
    "int8": struct.Struct(">b"),
    "int16": struct.Struct(">h"),
    "uint16": struct.Struct(">H"),
    "int32": struct.Struct(">i"),
    "uint32": struct.Struct(">I"),
    "int64": struct.Struct(">q"),
    "float64": struct.Struct(">d"),
}
"""The types of a fixed width that one unpacking gives."""


class Element(NamedTuple):  # a dataclass would make everyone who meets an error wait for an import
    """One stretch of bytes that has a meaning of its own: a value, or what stands around values."""

    path: str
    """The field's path, such as `topics[0].name`; for the count of tagged fields the path of their struct."""
    role: Role
    """`value` of a primitive type; `length` of a string, of bytes or records; `count` of an array; `marker` that
    tells whether a nullable struct is there; and of tagged fields (KIP-482): `tags`, how many there are in a struct,
    `tag`, the number of one, `size`, its size in bytes, and `unknown`, the content of one that the spec does not know.

    Of layouts also: `size` in bytes of all elements of an array, or of the rest of a struct; `bits`, an integer whose
    bits have names, followed by a `value` for each attribute and a `marker` for each bit that tells whether a value is
    there; `constant`; `checksum`.
    """
    field: Field | None
    """Whose bytes they are; None for `tags`, for all of an unknown tagged field, and for what is no attribute."""
    start: int
    """Position of the first byte in the buffer."""
    end: int
    """Position behind the last byte; equal to `start` for empty strings and bytes, and for named bits."""
    value: object
    """What the bytes mean: the attribute's value for a primitive, None for a null's length or count, else a number."""
    form: str = ""
    """Of layouts: type and form in words, where they do not follow from the field."""

    @property
    def kind(self) -> str:
        """Type and encoding in words, such as `int32 packed32`, `compact string length`, `count int32`, `tag`."""
        if self.form:
            return self.form
        if self.field is None or self.role in ("tag", "size"):
            return _TAGGED_KINDS[self.role]
        if self.role == "value":
            encoding = self.field.encoding
            return f"{self.field.element} {encoding}" if encoding else self.field.element
        if self.role == "marker":
            return f"marker {'int8' if self.field.tag is None else 'varint'}"
        name = "count" if self.role == "count" else f"{self.field.element} length"
        classic = "int16" if name == "string length" else "int32"
        return f"compact {name}" if self.field.compact else f"{name} {classic}"


_TAGGED_KINDS = {"tags": "tag count", "tag": "tag", "size": "tagged field size", "unknown": "unknown tagged field"}


def walk(cls: type[Message], data: bytes, pos: int, report: Report | None = None) -> int:
    """Read one message that starts at `pos` and return the position behind it.

    `report`, where given, is called with an `Element` for every value and every length, count, marker and tag around
    it, in the order of the bytes. Some faults show only afterwards, such as a size that is not that of its value: then
    elements behind the place of the fault have been reported.

    Raises:
        DecodeError: at the first fault.
    """
    walker = Walker(cls, data, pos, report)
    if cls.LAYOUT is None:
        return walker.message(pos)
    from kipwire.walk_layout import walk_layout  # here, since few programs use layouts

    return walk_layout(walker, cls, pos)


class Walker:
    """One walk over one buffer."""

    def __init__(self, cls: type[Message], data: bytes, start: int, report: Report | None) -> None:
        self.cls = cls
        self.data = data
        self.start = start
        self.empty_elements = 0
        """Elements without bytes that the arrays so far have."""
        self.limit = len(data)
        """Nothing may be read beyond this position."""
        self.bound = ""
        """What sets the limit, in words; "" where it is the end of the buffer."""
        self.report = report
        self.path: list[str | int] = []

    def fail(self, pos: int, reason: str) -> NoReturn:
        raise DecodeError(self.cls.NAME, self.cls.VERSION, path_text(self.path), pos, reason)

    def tell(self, role: Role, start: int, end: int, value: object, field: Field | None = None, form: str = "") -> None:
        if self.report is not None:
            self.report(Element(path_text(self.path), role, field, start, end, value, form))

    def need(self, pos: int, count: int) -> int:
        """The position behind so many bytes, which must be there."""
        left = self.limit - pos
        if count > left:
            self.fail(pos, f"need {count} byte{'s' * (count != 1)}, {left} left{self.bound}")
        return pos + count

    def message(self, pos: int) -> int:
        pos = self.struct(self.cls, pos)
        self.see_that_elements_are_few(self.start, pos)  # the buffer may have had bytes behind the message
        return pos

    def see_that_elements_are_few(self, fault_at: int, end: int) -> None:
        """See that a message which ends there may have the elements without bytes that were counted."""
        most = most_empty_elements(end - self.start)
        if self.empty_elements > most:
            reason = f"at most {most} may be in all arrays of a message of {end - self.start} bytes"
            self.fail(fault_at, f"{self.empty_elements} elements of no bytes; {reason}")

    def struct(self, cls: type[Struct], pos: int) -> int:
        tagged: dict[int, Field] = {}
        for field in cls.FIELDS:
            if field.tag is None:
                self.path.append(field.name)
                pos = self.field(field, pos)
                self.path.pop()
            else:
                tagged[field.tag] = field
        return self.tag_section(cls, tagged, pos) if cls.FLEXIBLE else pos

    def tag_section(self, cls: type[Struct], tagged: dict[int, Field], pos: int) -> int:
        start = pos
        count, pos = self.varint(pos, 31, "count of tagged fields")
        self.tell("tags", start, pos, count)
        previous = -1
        for _ in range(count):
            start = pos
            tag, pos = self.varint(pos, 31, "tag")
            field = tagged.get(tag)
            self.path.append(field.name if field else f"<tag {tag}>")
            self.tell("tag", start, pos, tag, field)
            if tag <= previous:
                self.path.pop()
                self.fail(start, f"tag {tag} stands behind tag {previous}: tags must ascend")
            previous = tag
            size_at = pos
            size, pos = self.varint(pos, 31, "size of a tagged field")
            self.tell("size", size_at, pos, size, field)
            end = self.need(pos, size)
            if field is not None:
                pos = self.field(field, pos)
                if pos != end:
                    self.fail(size_at, f"size says {size} bytes, the value takes {size + pos - end}")
            elif tag in cls.DECLARED_TAGS:
                self.fail(start, f"tag {tag} belongs to other versions and is not valid in this one")
            else:
                self.tell("unknown", pos, end, self.data[pos:end])
                pos = end
            self.path.pop()
        return pos

    def field(self, field: Field, pos: int) -> int:
        if field.array:
            return self.array(field, pos)
        if field.struct is not None:
            return self.nested(field, field.struct, pos)
        return self.value(field, pos, nullable=field.nullable)

    def nested(self, field: Field, cls: type[Struct], pos: int) -> int:
        if field.nullable:
            start = pos
            if field.tag is None:
                pos = self.need(pos, 1)
                marker, null, present = self.data[start], 255, "1 or 255 (-1)"
            else:
                marker, pos = self.varint(pos, 31, "marker of a nullable struct")
                null, present = 0, "1 or 0"
            if marker not in (1, null):
                self.fail(start, f"marker of a nullable struct is {marker}; it must be {present}")
            self.tell("marker", start, pos, marker, field)
            if marker == null:
                return pos
        return self.struct(cls, pos)

    def array(self, field: Field, pos: int) -> int:
        start = pos
        count, pos = self.length(field, pos, "int32", "array", nullable=field.nullable)
        self.tell("count", start, pos, count, field)
        if count is None:
            return pos
        if field.struct is None:
            return self.primitives(field, count, pos)
        if minimum_size(field.struct) == 0:
            self.empty_elements += count
            self.see_that_elements_are_few(start, self.limit)
        for index in range(count):
            self.path.append(index)
            pos = self.struct(field.struct, pos)
            self.path.pop()
        return pos

    def primitives(self, field: Field, count: int, pos: int) -> int:
        """The elements of an array that is none of structs."""
        if field.element in WIDTHS and field.encoding is None:
            return self.run(field, count, pos)
        for index in range(count):
            self.path.append(index)
            pos = self.value(field, pos, nullable=False)
            self.path.pop()
        return pos

    def run(self, field: Field, count: int, pos: int) -> int:
        """Elements of a fixed width; one by one only where somebody wants to know."""
        end = self.need(pos, count * WIDTHS[field.element])
        if self.report is None and field.element != "bool":
            return end
        for index in range(count):
            self.path.append(index)
            pos = self.value(field, pos, nullable=False)
            self.path.pop()
        return end

    def value(self, field: Field, pos: int, *, nullable: bool) -> int:
        """One value of a primitive type."""
        start, element = pos, field.element
        value: object
        if element not in ("string", "bytes", "records"):
            value, pos = self.scalar(element, field.encoding, pos)
        else:
            size, pos = self.length(field, pos, "int16" if element == "string" else "int32", element, nullable=nullable)
            self.tell("length", start, pos, size, field)
            if size is None:
                return pos
            if element == "string" and size > wire.MAX_STRING:
                self.fail(start, f"string of {size} bytes; the longest has {wire.MAX_STRING}")
            start = pos
            pos = self.need(pos, size)
            raw = self.data[start:pos]
            value = self.text(raw, start) if element == "string" else raw
        if self.report is not None:  # asked here too, as most elements are values
            self.tell("value", start, pos, value, field)
        return pos

    def scalar(self, type: str, encoding: str | None, pos: int) -> tuple[Any, int]:
        """A value whose type and encoding tell how long it is: (the value, position behind it)."""
        start = pos
        if encoding and not encoding.startswith("fixed"):
            return self.packed(encoding, pos)
        if type == "bool":
            pos = self.need(pos, 1)
            if self.data[start] > 1:
                self.fail(start, f"bool is {self.data[start]}; it must be 0 or 1")
            return bool(self.data[start]), pos
        if type == "uuid":
            pos = self.need(pos, 16)
            return uuid.UUID(bytes=self.data[start:pos]), pos
        packer = FIXED[f"int{encoding[5:]}" if encoding else type]
        pos = self.need(pos, packer.size)
        (number,) = packer.unpack_from(self.data, start)
        return number, pos

    def text(self, raw: bytes, pos: int) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError as error:
            self.fail(pos + error.start, f"not UTF-8: {error.reason}")

    def length(self, field: Field, pos: int, classic: str, what: str, *, nullable: bool) -> tuple[int | None, int]:
        """A length or a count: (None for null, position behind it)."""
        start = pos
        if field.compact:
            size, pos = self.varint(pos, 31, f"length of the {what}")
            length = size - 1
        else:
            packer = FIXED[classic]
            pos = self.need(pos, packer.size)
            (length,) = packer.unpack_from(self.data, start)
        return self.length_or_null(length, start, what, nullable=nullable), pos

    def length_or_null(self, length: int, start: int, what: str, *, nullable: bool) -> int | None:
        """What a length or a count means: None stands for null."""
        if length >= 0:
            return length
        if length == -1 and nullable:
            return None
        if length == -1:
            self.fail(start, f"null, but this {what} must not be null in this version")
        self.fail(start, f"length of the {what} is {length}")

    def packed(self, encoding: str, pos: int) -> tuple[int, int]:
        form, bits = (encoding[:-2], int(encoding[-2:]))
        value, pos = self.varint(pos, bits, encoding)
        if form == "packed":
            return (value >> 1) ^ -(value & 1), pos
        return (value - (1 << bits) if value >> bits - 1 else value), pos

    def varint(self, pos: int, bits: int, what: str) -> tuple[int, int]:
        """An unsigned varint: minimal, and of so many bits at most."""
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
            self.fail(start, f"{what} is a varint with needless bytes at its end")
        if value >> bits:
            self.fail(start, f"{what} is a varint of more than {bits} bits")
        return value, pos


def path_text(path: list[Any]) -> str:
    """A path as people read it: `topics[0].name`. What is neither a name nor a number is a wrong key."""
    text = ""
    for part in path:
        if type(part) is not str:
            text += f"[{shown(part)}]"
        else:
            text += f".{part}" if text else part
    return text
