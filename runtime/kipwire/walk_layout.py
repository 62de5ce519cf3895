"""The walker's part for layouts, whose `LAYOUT` tells what stands in each place; see `kipwire.walk`."""

from __future__ import annotations

from typing import NamedTuple

from kipwire import checksums
from kipwire.errors import shown
from kipwire.layouts import Bits, Checksum, Constant, SizeOf, Value
from kipwire.plan import WIDTHS
from kipwire.walk import FIXED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from kipwire.fields import Field
    from kipwire.layouts import Part
    from kipwire.structs import Struct
    from kipwire.walk import Walker

CHECKSUM_WIDTH = 4
"""Bytes."""


class _Seen(NamedTuple):
    """What was read of a part, or of a named bit."""

    start: int
    """Position of its first byte."""
    value: Any
    """A number, text or bytes; of an array how many elements it has, None for null; None of other parts."""


def walk_layout(walker: Walker, cls: type[Struct], pos: int) -> int:
    """Read one struct of a layout that starts at `pos` and return the position behind it.

    Raises:
        DecodeError: at the first fault. Where bytes do not have their checksum the fault is the checksum, as soon as
            it is known which bytes it covers: what damage makes of the fields would only mislead.
    """
    return _StructWalk(walker, cls).read(pos)


class _StructWalk:
    """One walk over one struct."""

    __slots__ = ("checksums", "ends_at_limit", "fields", "parts", "seen", "walker")

    def __init__(self, walker: Walker, cls: type[Struct]) -> None:
        self.walker = walker
        self.parts = cls.LAYOUT or ()
        self.checksums = [part for part in self.parts if isinstance(part, Checksum)]
        self.fields = {field.name: field for field in cls.FIELDS}
        self.seen: dict[str, _Seen] = {}
        self.ends_at_limit = any(
            isinstance(part, Value) and part.size == "rest" and not part.bit for part in self.parts
        )
        """Whether the struct must take all bytes up to the walker's limit."""

    def read(self, pos: int) -> int:
        walker = self.walker
        outer = walker.limit, walker.bound
        for number, part in enumerate(self.parts):
            self.verify_from(part, pos)
            walker.path.append(part.name)
            start, (value, pos) = pos, self.part(number, part, pos)
            walker.path.pop()
            self.seen[part.name] = _Seen(start, value)
            if isinstance(part, Checksum) and part.start in self.seen:
                self.verify(part, start, self.seen[part.start].start, start)
        self.expect_size(pos)
        for checksum in self.checksums:
            if self.seen[checksum.name].start < self.seen[checksum.start].start:
                self.verify(checksum, self.seen[checksum.name].start, self.seen[checksum.start].start, pos)
        walker.limit, walker.bound = outer
        return pos

    def expect_size(self, end: int) -> None:
        """See that the struct ends where its size says so."""
        walker = self.walker
        for part in self.parts:
            if isinstance(part, SizeOf) and end != walker.limit:
                start, size = self.seen[part.name]
                walker.path.append(part.name)
                walker.fail(start, f"tells of {size} bytes, what stands behind it takes {size + end - walker.limit}")

    # Checksums.

    def verify_from(self, first: Part, pos: int) -> None:
        """Verify the checksums over what begins here, where it is known already how far they go."""
        if not self.ends_at_limit:
            return
        limit = self.walker.limit
        for checksum in self.checksums:
            if checksum.start != first.name:
                continue
            if checksum.name in self.seen:
                self.verify(checksum, self.seen[checksum.name].start, pos, limit)
            else:
                behind = self.width(self.parts[self.parts.index(checksum) :])
                if behind is not None and pos + behind <= limit:
                    self.verify(checksum, limit - behind, pos, limit - behind)

    def verify(self, part: Checksum, at: int, start: int, end: int) -> None:
        data = self.walker.data
        there = int.from_bytes(data[at : at + CHECKSUM_WIDTH], "big")
        due = getattr(checksums, part.algorithm)(data[start:end])
        if there != due:
            self.walker.path.append(part.name)
            self.walker.fail(at, f"{part.algorithm} is 0x{there:08x}, that of bytes {start} to {end} is 0x{due:08x}")

    # Parts; each gives what is to be remembered, and the position behind it.

    def part(self, number: int, part: Part, pos: int) -> tuple[Any, int]:
        if isinstance(part, Value):
            return self.value(number, part, self.fields[part.name], pos)
        if isinstance(part, Bits):
            return self.bits(part, pos)
        if isinstance(part, SizeOf):
            return self.size_of(part, pos)
        if isinstance(part, Constant):
            return self.constant(part, pos)
        end = self.walker.need(pos, CHECKSUM_WIDTH)
        there = int.from_bytes(self.walker.data[pos:end], "big")
        self.walker.tell("checksum", pos, end, there, form=part.algorithm)
        return there, end

    def size_of(self, part: SizeOf, pos: int) -> tuple[int, int]:
        walker = self.walker
        size, end = walker.scalar(part.type, part.encoding, pos)
        form = f"{part.type} {part.encoding}" if part.encoding else part.type
        walker.tell("size", pos, end, size, form=f"rest size {form}")
        left = walker.limit - end
        if not 0 <= size <= left:
            walker.fail(pos, f"tells of {size} bytes behind it, {left} left{walker.bound}")
        walker.limit, walker.bound = end + size, f" of the {size} that {part.name} tells of"
        self.ends_at_limit = True
        return size, end

    def constant(self, part: Constant, pos: int) -> tuple[int, int]:
        number, end = self.walker.scalar(part.type, None, pos)
        self.walker.tell("constant", pos, end, number, form=f"constant {part.type}")
        if number != part.value:
            self.walker.fail(pos, f"is {number}; it must be {part.value}")
        return number, end

    def bits(self, part: Bits, pos: int) -> tuple[int, int]:
        walker = self.walker
        signed, end = walker.scalar(part.type, None, pos)
        number = unnamed = signed & (1 << 8 * WIDTHS[part.type]) - 1
        walker.tell("bits", pos, end, number, form=f"bits {part.type}")
        for bit in part.bits:
            unnamed &= ~(((1 << bit.width) - 1) << bit.lowest)
        if unnamed:
            walker.fail(pos, f"0x{unnamed:x} is set, which are bits without a name; they must be zero")
        for bit in part.bits:
            value: int = number >> bit.lowest & (1 << bit.width) - 1
            form = f"bits {bit.lowest}-{bit.lowest + bit.width - 1}"
            if bit.width == 1:
                value, form = bool(value), f"bit {bit.lowest}"
            self.seen[bit.name] = _Seen(pos, value)
            walker.path[-1] = bit.name
            walker.tell("marker" if bit.presence_of else "value", end, end, value, self.fields.get(bit.name), form)
        walker.path[-1] = part.name
        return number, end

    def value(self, number: int, part: Value, field: Field, pos: int) -> tuple[Any, int]:
        value: Any
        if not self.is_there(part):
            value, end = None if field.nullable else 0, pos
        elif field.array:
            value, end = self.array(number, part, field, pos)
        elif field.struct is not None:
            value, end = None, walk_layout(self.walker, field.struct, pos)
        elif field.element in ("string", "bytes", "records"):
            value, end = self.sized(number, part, field, pos)
        else:
            value, end = self.walker.scalar(field.element, field.encoding, pos)
            self.walker.tell("value", pos, end, value, field)
        if part.same_length_as and value != (other := self.seen[part.same_length_as].value):
            self.walker.fail(pos, f"array of {value} elements, but {part.same_length_as} has {other}")
        return value, end

    def is_there(self, part: Part) -> bool:
        if not isinstance(part, Value) or not part.bit:
            return True
        return bool(self.seen[part.bit].value == part.bit_means_present)

    def sized(self, number: int, part: Value, field: Field, pos: int) -> tuple[Any, int]:
        """Text or bytes."""
        walker = self.walker
        if part.size == "rest":
            start, end = pos, self.end_of_rest(self.parts[number + 1 :], pos)
        elif part.size_only_with and not self.is_there(self.parts[number + 1]):
            start, end = pos, self.end_of_rest(self.parts[number + 2 :], pos)
        else:
            size, start = self.prefix(part.size, part, field, pos)
            walker.tell("length", pos, start, size, field, f"{field.element} length {part.size}")
            if size is None:
                return None, start
            end = walker.need(start, size)
        raw = walker.data[start:end]
        value = walker.text(raw, start) if field.element == "string" else raw
        walker.tell("value", start, end, value, field)
        return value, end

    def array(self, number: int, part: Value, field: Field, pos: int) -> tuple[int | None, int]:
        """An array; to be remembered is how many elements it has."""
        walker = self.walker
        if part.size == "rest":
            end = self.end_of_rest(self.parts[number + 1 :], pos)
            bound = walker.bound if end == walker.limit else f" up to what stands behind {part.name}"
            return self.section(part, field, pos, end, bound)
        form = part.size or part.elements
        length, start = self.prefix(form, part, field, pos)
        walker.tell(
            "size" if part.size else "count",
            pos,
            start,
            length,
            field,
            f"{'array size' if part.size else 'count'} {form}",
        )
        if length is None:
            return None, start
        if part.size:
            end = walker.need(start, length)
            return self.section(part, field, start, end, f" of the {length} that {part.name} takes")
        if field.struct is None:
            return length, walker.primitives(field, length, start)
        return self.counted(part, field.struct, length, start)

    def section(self, part: Value, field: Field, pos: int, end: int, bound: str) -> tuple[int, int]:
        """Structs that fill the bytes up to a position."""
        walker, count = self.walker, 0
        assert field.struct is not None, "arrays of anything else have a count"
        outer = walker.limit, walker.bound
        walker.limit, walker.bound = end, bound
        key = None
        while pos < end:
            key, pos = self.element(part, field.struct, count, pos, key)
            count += 1
        walker.limit, walker.bound = outer
        return count, pos

    def counted(self, part: Value, cls: type[Struct], count: int, pos: int) -> tuple[int, int]:
        """So many structs."""
        key = None
        for index in range(count):
            key, pos = self.element(part, cls, index, pos, key)
        return count, pos

    def element(
        self, part: Value, cls: type[Struct], index: int, pos: int, before: _Seen | None
    ) -> tuple[_Seen | None, int]:
        """One struct of an array, behind one with the key `before`: its own key, if these must ascend, and its end."""
        walker = self.walker
        walker.path.append(index)
        walker.need(pos, 1)  # each element takes some byte, so that few bytes cannot hold billions of them
        walk = _StructWalk(walker, cls)
        end = walk.read(pos)
        key = walk.seen[part.sorted_by] if part.sorted_by else None
        if before and key and key.value <= before.value:
            walker.path.append(part.sorted_by)
            walker.fail(key.start, f"key {shown(key.value)} stands behind {shown(before.value)}: keys must ascend")
        walker.path.pop()
        return key, end

    # What tells how long something is.

    def prefix(self, form: str, part: Value, field: Field, pos: int) -> tuple[int | None, int]:
        """A size or a count: (None for null, position behind it)."""
        walker = self.walker
        what = "array" if field.array else field.element
        if form in FIXED:
            number, end = walker.scalar(form, None, pos)
        elif form == "uvarint":
            number, end = walker.varint(pos, 31, f"length of the {what}")
        else:
            number, end = walker.varint(pos, 32, f"length of the {what}")
            number = number >> 1 ^ -(number & 1)
        if number == -1 and part.bit:
            walker.fail(pos, f"null, but {part.bit} tells that there is a value")
        return walker.length_or_null(number, pos, what, nullable=field.nullable), end

    def end_of_rest(self, behind: Iterable[Part], pos: int) -> int:
        """The position up to which a value goes that takes all but the parts behind it."""
        walker, width = self.walker, self.width(behind)
        assert width is not None, "what stands behind such a value has a fixed width"
        if width > walker.limit - pos:
            walker.fail(pos, f"need {width} bytes for what stands behind it, {walker.limit - pos} left{walker.bound}")
        return walker.limit - width

    def width(self, parts: Iterable[Part]) -> int | None:
        """How many bytes the parts take, where all of them have a fixed width."""
        widths = [self.part_width(part) for part in parts]
        return None if None in widths else sum(width for width in widths if width is not None)

    def part_width(self, part: Part) -> int | None:
        if isinstance(part, Checksum):
            return CHECKSUM_WIDTH
        if isinstance(part, Bits | Constant):
            return WIDTHS[part.type]
        if isinstance(part, SizeOf):
            return _width(part.type, part.encoding)
        field = self.fields[part.name]
        return None if field.array else _width(field.element, field.encoding)


def _width(type: str, encoding: str | None) -> int | None:
    if encoding is None:
        return WIDTHS.get(type)
    return int(encoding[5:]) // 8 if encoding.startswith("fixed") else None
