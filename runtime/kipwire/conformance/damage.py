"""Ways to damage a message, and what a reader makes of each.

A damage changes as little as possible, so that its effect does not depend on the bytes around it. Kafka's Java classes
agree with every verdict here (`make test-maven`): they refuse what must be refused. What may be refused they accept;
kipwire refuses that too (docs/strictness.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from kipwire.codec.wire import write_varint
from kipwire.conformance.vectors import Kind, Level
from kipwire.conformance.writing import prefix, scalar, tagged_field
from kipwire.description.trace import Element
from kipwire.model.types import ENCODINGS, MAX_STRING, PLUS_ONE

SIX_BYTES = bytes.fromhex("808080808001")
"""A varint of six bytes, of which a length has at most five."""
_HUGE = {"int16": (1 << 15) - 1, "int32": (1 << 31) - 1, "varint": (1 << 31) - 1, "uvarint": (1 << 31) - 1}
_SIGNED = ("int16", "int32", "varint")
"""The types of a prefix that can be negative."""
_LENIENT = "Java's reader accepts it, a strict one does not"
_HARMLESS = "Java refuses it, some readers take it for nothing"
_OLDER_READERS = "Java refuses it, other readers may not notice"


class Damage(NamedTuple):
    """Damaged bytes."""

    case: str
    data: bytes
    why: str
    kind: Kind = "refuse"
    level: Level = "required"
    keeps_value: bool = True
    """True if a reader that accepts the damaged bytes reads the same message as from the original ones."""


class Sample(NamedTuple):
    """The bytes of a message, with what they mean."""

    data: bytes
    elements: Sequence[Element]

    def splice(self, start: int, end: int, by: bytes) -> bytes:
        """Replace some bytes with others; the sizes of the tagged fields around them follow."""
        result, grown = self.data[:start] + by + self.data[end:], len(by) - (end - start)
        around = [one for one in self.elements if one.role == "size" and one.field and one.field.tag is not None]
        for one in reversed(around):
            size = int(str(one.value))
            if one.end <= start and end <= one.end + size:
                number = write_varint(size + grown)
                result = result[: one.start] + number + result[one.end :]
                grown += len(number) - (one.end - one.start)
        return result

    def replaced(self, one: Element, by: bytes) -> bytes:
        """Replace the bytes of an element with others."""
        return self.splice(one.start, one.end, by)


def may(case: str, data: bytes, why: str, *, keeps_value: bool = True) -> Damage:
    """Make a damage that Java's reader does not notice."""
    return Damage(case, data, f"{why}; {_LENIENT}", "may_refuse", "recommended", keeps_value)


def of_field(sample: Sample, own: Sequence[Element], path: str, *, nullable: bool) -> Iterator[Damage]:
    """Yield the damages of a field.

    Args:
        sample: a message.
        own: the elements of the field in it.
        path: the field's path, as elements say it.
        nullable: whether it may be null.
    """
    data = sample.data
    if own and own[0].start < len(data):
        yield Damage("cut before", data[: own[0].start], "the message ends where the field begins")
    widest = max(own, key=lambda one: one.end - one.start, default=None)
    if widest is not None and widest.end - widest.start > 1:
        yield Damage("cut within", data[: widest.end - 1], "the message ends within the field")
    for one in own:
        if one.path == path and one.prefix and one.role in ("length", "count", "size"):
            yield from _of_length(sample, one, own[-1].end, nullable=nullable)
        elif one.path == path and one.role == "marker":
            yield from _of_marker(sample, one)
        elif one.role == "value":
            yield from _of_value(sample, one)
            break


def _of_length(sample: Sample, one: Element, end: int, *, nullable: bool) -> Iterator[Damage]:
    """Yield the damages of a length; the null among them leaves out the value, which goes on to `end`."""
    what = "count" if one.role == "count" else "size" if one.role == "size" else "length"
    compact = one.prefix in (PLUS_ONE, "uvarint")
    if one.value is not None and not nullable and one.prefix != "uvarint":
        null = sample.splice(one.start, end, prefix(one.prefix, -1))
        why = f"the field must not be null in this version; {_HARMLESS}"
        yield Damage("null", null, why, level="recommended")
    if one.prefix in _SIGNED and not nullable:
        yield Damage(
            "negative",
            sample.splice(one.start, end, prefix(one.prefix, -2)),
            f"the {what} is -2; {_HARMLESS}",
            level="recommended",
        )
    huge = (1 << 31) - 1 if compact else _HUGE[one.prefix]
    number = write_varint(huge) if compact else prefix(one.prefix, huge)
    yield Damage("huge", sample.replaced(one, number), f"the {what} is more than there are bytes")
    if compact:
        yield from of_varint(sample, one, what)


def of_varint(sample: Sample, one: Element, what: str, bits: int = 32) -> Iterator[Damage]:
    """Yield the damages of an unsigned varint that is a length, a count, a tag or a size."""
    raw = sample.data[one.start : one.end]
    too_long = SIX_BYTES if bits <= 32 else b"\x80" * 10 + b"\1"
    yield Damage("varint too long", sample.replaced(one, too_long), f"the {what} is a varint of {len(too_long)} bytes")
    if len(raw) * 7 < bits:
        longer = raw[:-1] + bytes((raw[-1] | 0x80, 0))
        yield may("overlong varint", sample.replaced(one, longer), f"the {what} is a varint with a redundant last byte")


def of_null(sample: Sample, own: Sequence[Element]) -> Iterator[Damage]:
    """Yield the damages of a field that is null."""
    for one in own:
        if one.prefix in _SIGNED and one.value is None:
            yield may("negative", sample.replaced(one, prefix(one.prefix, -2)), "the length is -2; only -1 is null")


def _of_marker(sample: Sample, one: Element) -> Iterator[Damage]:
    if one.value not in (1,):
        return
    yield may("marker 2", sample.replaced(one, b"\2"), "the marker of a struct is 2, not 1")
    if one.field is not None and one.field.tag is None:
        yield may("marker 0", sample.replaced(one, b"\0"), "the marker of a struct is 0, not 1")


def _of_value(sample: Sample, one: Element) -> Iterator[Damage]:
    field = one.field
    if field is None or field.bit is not None:
        return
    if field.element == "bool" and one.value is True:
        yield may("bool 2", sample.replaced(one, b"\2"), "a bool is 2, not 1")
    elif field.element == "string" and one.end > one.start:
        wrong = b"\xff" + sample.data[one.start + 1 : one.end]
        yield may("not UTF-8", sample.replaced(one, wrong), "the text is not UTF-8", keeps_value=False)
    elif field.is_varint and field.encoding is not None:
        yield from _of_encoding(sample, one, field.encoding)


def _of_encoding(sample: Sample, one: Element, name: str) -> Iterator[Damage]:
    """Yield the damages of an integer in an encoding of KIP-625."""
    bits = ENCODINGS[name].bits
    wide = {16: "packed32", 32: "packed64"}.get(bits)
    if wide is not None:
        number = scalar(wide, 1 << bits)
        yield Damage(
            "too wide", sample.replaced(one, number), f"a {name} of more than {bits} bits", level="recommended"
        )
    yield from of_varint(sample, one, f"number in {name}", bits)


def of_tagged_field(sample: Sample, own: Sequence[Element], section: Element, free: Sequence[int]) -> Iterator[Damage]:
    """Yield the damages of a tagged field; `section` counts the tagged fields of its struct, `free` as for sections."""
    tag, size = own[0], own[1]
    end = size.end + int(str(size.value))
    whole = sample.data[tag.start : end]
    number = int(str(size.value))
    if number:
        smaller = sample.replaced(size, write_varint(number - 1))
        yield may("tag size too small", smaller, "the size of the tagged field is less than its value takes")
    larger = sample.replaced(size, write_varint(number + 1))
    yield may("tag size too large", larger, "the size of the tagged field is more than its value takes")
    before = write_varint(int(str(section.value)) + 1) + sample.data[section.end : tag.start]
    twice = sample.splice(section.start, end, before + whole + whole)
    yield may("tag twice", twice, "the tagged field is there twice")
    highest, lowest = tagged_field(free[-1], b"x"), tagged_field(free[0], b"x")
    pair = highest + whole if free[-1] > int(str(tag.value)) else whole + lowest
    descend = sample.splice(section.start, end, before + pair)
    yield may("tags descend", descend, "a tagged field follows one with a higher tag")
    yield from (one._replace(case=f"tag: {one.case}") for one in of_varint(sample, tag, "tag"))
    yield from (
        one._replace(case=f"tag size: {one.case}") for one in of_varint(sample, size, "size of the tagged field")
    )


def of_tag_section(
    sample: Sample, section: Element, other_tags: Iterable[int], free: Sequence[int]
) -> Iterator[Damage]:
    """Yield the damages of the tag section of a struct that has no tagged field in these bytes.

    Args:
        sample: a message.
        section: the number of tagged fields.
        other_tags: tags of fields that only other versions have.
        free: tags that no version has, from the lowest to the highest.
    """
    head = sample.data[: section.start]
    yield Damage("tags: cut", head, "the message ends before the number of tagged fields")
    yield Damage("tags: too many", head + b"\1", "a tagged field is announced, and the message ends")
    yield from (one._replace(case=f"tags: {one.case}") for one in of_varint(sample, section, "number of tagged fields"))
    no_size = b"\1" + write_varint(free[-1])
    yield Damage("tags: cut after tag", head + no_size, "the message ends before the size of a tagged field")
    beyond = sample.replaced(section, no_size + write_varint((1 << 31) - 1))
    yield Damage("tags: size beyond the end", beyond, "an unknown tagged field is longer than the message")
    one, other = tagged_field(free[-2], b"a"), tagged_field(free[-1], b"b")
    descend, twice = sample.replaced(section, b"\2" + other + one), sample.replaced(section, b"\2" + one + one)
    yield may("unknown tags descend", descend, "unknown tagged fields descend", keeps_value=False)
    yield may("unknown tag twice", twice, "an unknown tag is there twice", keeps_value=False)
    for tag in other_tags:
        foreign = sample.replaced(section, b"\1" + tagged_field(tag, b""))
        why = f"tag {tag} belongs to a field of other versions; {_OLDER_READERS}"
        yield Damage(f"tag {tag} of other versions", foreign, why, level="recommended")


def descending(sample: Sample, path: str) -> Damage:
    """Write all tagged fields of the struct at a path, which must have several, from the highest tag down."""
    section = tag_section_at(sample, path)
    assert section is not None, "the struct has all its tagged fields"
    fields = b"".join(tagged_field(tag, section.fields[tag]) for tag in sorted(section.fields, reverse=True))
    changed = sample.splice(section.start, section.end, write_varint(len(section.fields)) + fields)
    return may("known tags descend", changed, "tagged fields come from the highest tag down")


class TagSection(NamedTuple):
    """A tag section in the bytes of a message."""

    start: int
    end: int
    fields: dict[int, bytes]
    """The content of each by its tag."""


def tag_section_at(sample: Sample, path: str) -> TagSection | None:
    """Find the tag section of the struct at a path; None where there is none, as for a tagged one at its default."""
    places = [number for number, one in enumerate(sample.elements) if one.role == "tags" and one.path == path]
    if not places:
        return None
    at = places[0]
    section = sample.elements[at]
    end, count = section.end, int(str(section.value))
    fields: dict[int, bytes] = {}
    for one, size in pairwise(sample.elements[at + 1 :]):
        if len(fields) < count and one.role == "tag" and one.start == end:
            end = size.end + int(str(size.value))
            fields[int(str(one.value))] = sample.data[size.end : end]
    return TagSection(section.start, end, fields)


def too_long_text(sample: Sample, length: Element, content_end: int) -> Damage | None:
    """Write a compact string of a byte more than a string may have; None where the length cannot say it."""
    if length.prefix != PLUS_ONE:
        return None
    text = b"a" * (MAX_STRING + 1)
    changed = sample.splice(length.start, content_end, write_varint(len(text) + 1) + text)
    why = f"a string of {len(text)} bytes; Java refuses more than {MAX_STRING}"
    return Damage("too long", changed, why, level="recommended")


def surplus(data: bytes) -> Damage:
    """Add a byte after the message."""
    return may("surplus byte", data + b"\0", "a byte follows the message")


def of_computed(sample: Sample, one: Element) -> Iterator[Damage]:
    """Yield the damages of what a record format computes: sizes, constants, bits and checksums."""
    raw = sample.data[one.start : one.end]
    match one.role:
        case "checksum":
            flipped = bytes((raw[0] ^ 1,)) + raw[1:]
            yield Damage("checksum", sample.replaced(one, flipped), "the checksum is not that of the bytes")
        case "constant":
            other = raw[:-1] + bytes((raw[-1] ^ 1,))
            yield Damage("constant", sample.replaced(one, other), "the constant has another value")
        case "size" if one.field is not None and one.field.role == "size":
            number = int(str(one.value))
            kind = (one.field.encoding or one.field.element).replace("fixed", "int")
            if number:
                yield Damage("size too small", sample.replaced(one, scalar(kind, number - 1)), "the size is too small")
            yield Damage("size too large", sample.replaced(one, scalar(kind, number + 1)), "the size is too large")
        case _:
            return
