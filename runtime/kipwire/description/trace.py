"""Tracer: reads a message item by item from the plan of its class, slowly, but with the location of each.

The generated readers only find out that something is wrong. The tracer then goes through the same bytes by the same
rules and finds the place. It reports every field with its bytes to a function, where one is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from kipwire.codec import checksums
from kipwire.codec.empty_elements import most_empty_elements
from kipwire.description.fields import fault, fault_of_null
from kipwire.description.plan import Item, Plan, struct_plan
from kipwire.description.trace_numbers import NumberTracer
from kipwire.model.errors import abbreviate, path_text
from kipwire.model.structs import Field, Root
from kipwire.model.types import MAX_STRING, PLUS_ONE
from kipwire.tools.text import only_left

Role = Literal["value", "length", "count", "marker", "tags", "tag", "size", "unknown", "bits", "constant", "checksum"]


class Element(NamedTuple):  # importing dataclasses would delay every error
    """Bytes with a meaning of their own: a value, or a prefix, count, marker or tag around values."""

    path: str
    """The field's path, such as `topics[0].name`; for the count of tagged fields the path of their struct."""
    role: Role
    """`value` of a primitive type; `length` of a string, of bytes or records; `count` of an array; `marker` that
    says whether a nullable struct is there; and of tagged fields (KIP-482): `tags`, how many there are in a struct,
    `tag`, the number of one, `size`, its size in bytes, and `unknown`, the content of one that the spec does not know.

    Of record formats also: `size` in bytes of all elements of an array, or of the rest of a struct; `bits`, an integer
    whose bits have names, followed by a `value` for each attribute and a `marker` for each bit that says whether a
    value is there; `constant`; `checksum`.
    """
    field: Field | None
    """The field of the bytes; None for `tags` and for all of an unknown tagged field."""
    start: int
    """Position of the first byte in the buffer."""
    end: int
    """Position after the last byte; equal to `start` for empty strings and bytes, and for named bits."""
    value: object
    """Value of the bytes: the attribute's value for a primitive, None for a null's length or count, else a number."""
    prefix: str = ""
    """Type of a length prefix, as in `kipwire.description.plan`; empty for other elements."""

    @property
    def kind(self) -> str:
        """Type and encoding in words, such as `int32 packed32`, `compact string length`, `count int32`, `tag`."""
        field, prefix = self.field, self.prefix
        if field is None or self.role == "tag" or (self.role == "size" and field.tag is not None):
            return _TAGGED_KINDS[self.role]
        if prefix:
            what = (
                "array size" if self.role == "size" else "count" if self.role == "count" else f"{field.element} length"
            )
            return f"compact {what}" if prefix == PLUS_ONE else f"{what} {prefix}"
        if field.bit is not None:
            return f"bit {field.bit}" if field.bits is None else f"bits {field.bit}-{field.bit + field.bits - 1}"
        if self.role == "marker":
            return f"marker {'int8' if field.tag is None else 'varint'}"
        if field.role == "checksum":
            return field.algorithm
        type_ = f"{field.element} {field.encoding}" if field.encoding else field.element
        return type_ if field.role == "value" else f"{_COMPUTED_KINDS[field.role]} {type_}"


_TAGGED_KINDS = {"tags": "tag count", "tag": "tag", "size": "tagged field size", "unknown": "unknown tagged field"}
_COMPUTED_KINDS = {"size": "rest size", "bits": "bits", "constant": "constant"}


Report = Callable[[Element], object]


def trace(cls: type[Root], data: bytes, pos: int, report: Report | None = None) -> int:
    """Read one message that starts at `pos` and return the position after it.

    `report`, where given, is called with an `Element` for every value and every length, count, marker and tag around
    it, in the order of the bytes. Some errors are found late, such as a size that does not fit its value: then elements
    after the location of the error have been reported.

    Raises:
        DecodeError: at the first error. If bytes do not have their checksum, the error is the checksum, as soon as
            it is known which bytes it covers: what damage makes of the fields would only mislead.
    """
    tracer = Tracer(cls, data, pos, report)
    end, _ = tracer.struct(struct_plan(cls), pos)
    tracer.check_empty_elements(pos, end)  # the buffer may have had bytes after the message
    return end


class Seen(NamedTuple):
    """The part of an item, or of a named bit, that later items need."""

    start: int
    """Position of its first byte."""
    value: Any
    """A number, text or bytes; for an array its number of elements, None for null; None for other items."""


class Frame:
    """State of the struct that is being read."""

    __slots__ = ("ends_at_limit", "plan", "seen")

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.seen: dict[str, Seen] = {}
        self.ends_at_limit = plan.ends_at_limit
        """True if the struct must take all bytes up to the tracer's limit."""

    def is_there(self, presence: Item) -> bool:
        """True if this bit says that its value is present."""
        return bool(self.seen[presence.name].value == presence.means_present)


class Tracer(NumberTracer):
    """One trace of one buffer."""

    def __init__(self, cls: type[Root], data: bytes, start: int, report: Report | None) -> None:
        super().__init__(cls, data)
        self.start = start
        self.empty_elements = 0
        """Elements without bytes that the arrays so far have."""
        self.report = report

    def emit(
        self, role: Role, start: int, end: int, value: object, field: Field | None = None, prefix: str = ""
    ) -> None:
        if self.report is not None:
            self.report(Element(path_text(self.path), role, field, start, end, value, prefix))

    def check_empty_elements(self, fault_at: int, end: int) -> None:
        """Check that a message that ends at `end` may have as many elements without bytes as were counted."""
        most = most_empty_elements(end - self.start)
        if self.empty_elements > most:
            reason = f"at most {most} are allowed in all arrays of a message of {end - self.start} bytes"
            self.fail(fault_at, f"{self.empty_elements} elements without bytes; {reason}")

    # Structs.

    def struct(self, plan: Plan, pos: int) -> tuple[int, Frame]:
        """Read one struct: (position after it, what was seen in it)."""
        frame, outer = Frame(plan), (self.limit, self.bound)
        for item in plan.items:
            if not plan.is_plain:
                self.verify_from(frame, item, pos)
            self.path.append(item.name)
            start, (value, pos) = pos, self.item(frame, item, pos)
            self.path.pop()
            if not plan.is_plain or item.field.map_key:
                frame.seen[item.name] = Seen(start, value)
                if item.is_after:
                    self.verify(item, start, frame.seen[item.field.start].start, start)
        if plan.flexible:
            pos = self.tag_section(frame, pos)
        if not plan.is_plain:
            self.verify_end(frame, pos)
            self.limit, self.bound = outer
        return pos, frame

    def tag_section(self, frame: Frame, pos: int) -> int:
        tagged = {item.tag: item for item in frame.plan.tagged}
        start = pos
        count, pos = self.varint(pos, 31, "count of tagged fields")
        self.emit("tags", start, pos, count)
        previous = -1
        for _ in range(count):
            start = pos
            tag, pos = self.varint(pos, 31, "tag")
            item = tagged.get(tag)
            field = item.field if item else None
            self.path.append(field.name if field else f"<tag {tag}>")
            self.emit("tag", start, pos, tag, field)
            if tag <= previous:
                self.path.pop()
                self.fail(start, f"tag {tag} follows tag {previous}; tags must ascend")
            previous = tag
            size_at = pos
            size, pos = self.varint(pos, 31, "size of a tagged field")
            self.emit("size", size_at, pos, size, field)
            end = self.need(pos, size)
            if item is not None:
                _, pos = self.item(frame, item, pos)
                if pos != end:
                    self.fail(size_at, f"declares {size} bytes, but the value takes {size + pos - end}")
            elif tag in frame.plan.declared_tags:
                self.fail(start, f"tag {tag} belongs to other versions and is not valid in this one")
            else:
                self.emit("unknown", pos, end, self.data[pos:end])
                pos = end
            self.path.pop()
        return pos

    # Items; each gives what is to be remembered, and the position after it.

    def item(self, frame: Frame, item: Item, pos: int) -> tuple[Any, int]:
        if item.role != "value":
            return self.computed(frame, item, pos)
        if item.presence is not None and not frame.is_there(item.presence):
            value, end = None if item.nullable else 0, pos
        elif item.array:
            value, end = self.array(frame, item, pos)
        elif item.plan is not None:
            value, end = None, self.trace_nested(item, item.plan, pos)
        else:
            value, end = self.value(item, item.prefix, pos, nullable=item.nullable, frame=frame)
        if not frame.plan.is_plain:
            if (length := _length(value)) is not None:
                found = fault(item.field, length, lambda name: _length(frame.seen[name].value))
            else:
                found = fault_of_null(item.field, lambda bit: frame.seen[bit].value)
            if found:
                self.fail(pos, found.what)
        return value, end

    def trace_nested(self, item: Item, plan: Plan, pos: int) -> int:
        if item.nullable:
            start = pos
            if item.tag is None:
                pos = self.need(pos, 1)
                marker, null, present = self.data[start], 255, "1 or 255 (-1)"
            else:
                marker, pos = self.varint(pos, 31, "marker of a nullable struct")
                null, present = 0, "1 or 0"
            if marker not in (1, null):
                self.fail(start, f"marker of a nullable struct is {marker}; it must be {present}")
            self.emit("marker", start, pos, marker, item.field)
            if marker == null:
                return pos
        return self.struct(plan, pos)[0]

    def array(self, frame: Frame, item: Item, pos: int) -> tuple[int | None, int]:
        """Read an array: (the number of its elements, or None for null; position after the array)."""
        if self.takes_rest(frame, item):
            end = self.end_of_rest(item, pos)
            bound = self.bound if end == self.limit else f" before what follows {item.name}"
            return self.section(item, pos, end, bound)
        bit = item.presence.name if item.presence else ""
        length, start = self.length(item.prefix, pos, "array", nullable=item.nullable, bit=bit)
        sized = item.field.sized
        self.emit("size" if sized else "count", pos, start, length, item.field, item.prefix)
        if length is None:
            return None, start
        if sized:
            end = self.need(start, length)
            return self.section(item, start, end, f" of the {length} that {item.name} takes")
        if item.plan is None:
            return length, self.primitives(item, length, start)
        if item.has_empty_elements:
            self.empty_elements += length
            self.check_empty_elements(pos, self.limit)
        key = None
        for index in range(length):
            key, start = self.element(item, item.plan, index, start, key)
        return length, start

    def section(self, item: Item, pos: int, end: int, bound: str) -> tuple[int, int]:
        """Read structs that fill the bytes up to a position: (their number, position after them)."""
        assert item.plan is not None, "arrays of anything else have a count"
        outer = self.limit, self.bound
        self.limit, self.bound = end, bound
        key, count = None, 0
        while pos < end:
            key, pos = self.element(item, item.plan, count, pos, key)
            count += 1
        self.limit, self.bound = outer
        return count, pos

    def element(self, item: Item, plan: Plan, index: int, pos: int, before: Seen | None) -> tuple[Seen | None, int]:
        """Read a struct of an array, after one with the key `before`: (its own key if keys must ascend, its end)."""
        self.path.append(index)
        if item.field.prefix:
            self.need(pos, 1)  # each takes some byte, so that few bytes cannot hold billions of them
        end, frame = self.struct(plan, pos)
        name = item.field.sorted_by
        key = frame.seen[name] if name else None
        if before and key and key.value <= before.value:
            self.path.append(name)
            self.fail(key.start, f"key {abbreviate(key.value)} follows {abbreviate(before.value)}; keys must ascend")
        self.path.pop()
        return key, end

    def primitives(self, item: Item, count: int, pos: int) -> int:
        """Read the elements of an array of primitives."""
        if item.element_width and item.field.encoding is None:
            end = self.need(pos, count * item.element_width)
            if self.report is None and item.kind != "bool":  # one by one only for a report
                return end
        for index in range(count):
            self.path.append(index)
            _, pos = self.value(item, item.element_prefix, pos, nullable=False)
            self.path.pop()
        return pos

    def value(
        self, item: Item, prefix: str, pos: int, *, nullable: bool, frame: Frame | None = None
    ) -> tuple[Any, int]:
        """Read one value of a primitive type; `frame` is the frame of its struct, None for an element of an array."""
        start, value = pos, None
        if item.kind not in ("string", "bytes"):
            value, pos = self.scalar(item.kind, pos)
        else:
            if frame is not None and self.takes_rest(frame, item):
                pos = self.end_of_rest(item, pos)
            else:
                element = item.field.element
                bit = item.presence.name if item.presence and frame else ""
                size, pos = self.length(prefix, pos, element, nullable=nullable, bit=bit)
                self.emit("length", start, pos, size, item.field, prefix)
                if size is None:
                    return None, pos
                if element == "string" and prefix == PLUS_ONE and size > MAX_STRING:
                    self.fail(start, f"string of {size} bytes; the limit is {MAX_STRING}")
                start, pos = pos, self.need(pos, size)
            raw = self.data[start:pos]
            value = self.text(raw, start) if item.kind == "string" else raw
        if self.report is not None:  # asked here too, as most elements are values
            self.emit("value", start, pos, value, item.field)
        return value, pos

    def takes_rest(self, frame: Frame, item: Item) -> bool:
        """True if a value has no length prefix and takes the rest of its struct."""
        return item.prefix == "rest" or (item.prefix_presence is not None and not frame.is_there(item.prefix_presence))

    def end_of_rest(self, item: Item, pos: int) -> int:
        """Find the end of a value that takes everything except what follows it."""
        left = self.limit - pos
        if item.after > left:
            self.fail(pos, f"need {item.after} bytes for what follows, {only_left(left)}{self.bound}")
        return self.limit - item.after

    # What no attribute holds.

    def computed(self, frame: Frame, item: Item, pos: int) -> tuple[int, int]:
        field = item.field
        number: int
        if item.role == "bits":
            return self.bits(frame, item, pos)
        if item.role == "checksum":
            end = self.need(pos, item.width)
            number = int.from_bytes(self.data[pos:end], "big")
            self.emit("checksum", pos, end, number, field)
            return number, end
        number, end = self.scalar(item.kind, pos)
        if item.role == "constant":
            self.emit("constant", pos, end, number, field)
            if number != item.default:
                self.fail(pos, f"is {number}; it must be {item.default!r}")
            return number, end
        self.emit("size", pos, end, number, field)
        left = self.limit - end
        if number < 0:
            self.fail(pos, f"is {number}; a size must not be negative")
        if number > left:
            self.fail(pos, f"declares {number} more byte{'s' * (number != 1)}, {only_left(left)}{self.bound}")
        self.limit, self.bound = end + number, f" of the {number} that {item.name} declares"
        frame.ends_at_limit = True
        return number, end

    def bits(self, frame: Frame, item: Item, pos: int) -> tuple[int, int]:
        signed, end = self.scalar(item.kind, pos)
        number = signed & (1 << 8 * item.width) - 1
        self.emit("bits", pos, end, number, item.field)
        if unnamed := number & item.unnamed:
            self.fail(pos, f"bits 0x{unnamed:x} are set, but have no name; they must be zero")
        for bit in item.bits:
            value: int = (number & bit.mask) >> bit.lowest
            if bit.field.bits is None:
                value = bool(value)
            frame.seen[bit.name] = Seen(pos, value)
            self.path[-1] = bit.name
            self.emit("marker" if bit.of else "value", end, end, value, bit.field)
        self.path[-1] = item.name
        return number, end

    # Checksums and sizes of structs.

    def verify_from(self, frame: Frame, first: Item, pos: int) -> None:
        """Verify the checksums over the bytes that begin here, if their end is known already."""
        if not frame.ends_at_limit:
            return
        for item in frame.plan.items:
            if item.role == "checksum" and item.field.start == first.name:
                if item.name in frame.seen:
                    self.verify(item, frame.seen[item.name].start, pos, self.limit)
                elif item.width_to_end is not None and pos + item.width_to_end <= self.limit:
                    at = self.limit - item.width_to_end
                    self.verify(item, at, pos, at)

    def verify_end(self, frame: Frame, end: int) -> None:
        """Check that the struct ends where its size says, and that its checksums are right."""
        for item in frame.plan.items:
            start, size = frame.seen[item.name]
            if item.role == "size" and end != self.limit:
                self.path.append(item.name)
                self.fail(start, f"declares {size} more bytes, but what follows takes {size + end - self.limit}")
        for item in frame.plan.items:
            if item.role == "checksum" and not item.is_after:
                self.verify(item, frame.seen[item.name].start, frame.seen[item.field.start].start, end)

    def verify(self, item: Item, at: int, start: int, end: int) -> None:
        there = int.from_bytes(self.data[at : at + item.width], "big")
        due = getattr(checksums, item.field.algorithm)(self.data[start:end])
        if there != due:
            self.path.append(item.name)
            self.fail(at, f"{item.field.algorithm} is 0x{there:08x}, but bytes {start} to {end} have 0x{due:08x}")


def _length(value: Any) -> int | None:
    """Count the elements of an array, or the bytes of a text or a blob, from what `Seen` has."""
    if isinstance(value, (str, bytes)):
        return len(value.encode() if isinstance(value, str) else value)
    return value if isinstance(value, int) else None
