"""Rules between the fields of a layout, or of one struct in it.

A property names another field or a bit, and the generated code relies on three things that are checked here. The other
one exists in every version of this field (`fault_of_versions`). What decides how bytes are read is read before them, so
bits, and arrays of a length to match, come earlier. And what is computed can be: from the last item of a struct to the
first, once all others are written.

Versions count throughout: two fields are in each other's way only if some version has both (`_overlap`), as far as it
is known which versions there are. The functions without an underscore are for `layout_structs`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kipgen.language.layout_properties import PREFIX_TYPES, PROPERTIES, REST, BitsSpec
from kipgen.language.names import attribute_name
from kipgen.language.versions import Versions
from kipgen.reading.draft import Draft, FieldDraft, StructDraft
from kipgen.reading.rules.examples import ALPHA, field_of, layout
from kipgen.reading.rules.rule import Finding, layout_struct_rule
from kipwire.model.types import KINDS, TYPES

_FLAGS = field_of("int8", "Flags", bits=[{"name": "HasAlpha", "bits": "0"}])
_VALUE = field_of("bytes", "Value", size="rest", presentIf="HasValue")
_FIXED = frozenset(row.name for row in TYPES.values() if row.width)


@dataclass(frozen=True, slots=True)
class _Holder:
    """A field that has bits of a name."""

    position: int
    field: FieldDraft
    bits: BitsSpec


@layout_struct_rule(
    summary="A name of bits is unique among the bits and fields of its struct in each version, in Python too.",
    good=layout(_FLAGS, field_of("int8")),
    bad=layout(_FLAGS, field_of("int8", "HasALPHA")),
)
def bits_name(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    # All fields first, since a bit also clashes with a field after it.
    owners: dict[str, list[tuple[FieldDraft, str]]] = {}
    for field in struct.fields:
        owners.setdefault(attribute_name(field.spec.name), []).append((field, field.spec.name))
    for field in struct.fields:
        for index, bits in enumerate(field.spec.layout.bits):
            attribute = attribute_name(bits.name)
            taken = owners.setdefault(attribute, [])
            for owner, name in taken:
                if _overlap(owner, field):
                    text = f"as {name} in line {owner.part.location().line}, it becomes {attribute!r} in generated code"
                    yield Finding(field.part, f"{text}; choose another name", "bits", (index, "name"))
                    break
            taken.append((field, bits.name))


@layout_struct_rule(
    summary="presentIf and absentIf name one bit of an earlier field of the struct, which has all the same versions.",
    good=layout(_FLAGS, field_of("bytes", presentIf="HasAlpha")),
    bad=layout(field_of("bytes", presentIf="HasAlpha"), _FLAGS),
)
def presence_bit(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    holders = _holders(struct)
    for position, field in enumerate(struct.fields):
        name = field.spec.layout.presence_bit
        fault = _fault_of_bit(name, position, field, holders.get(name, [])) if name else None
        if fault:
            yield Finding(field.part, fault, _presence_property(field))


def _holders(struct: StructDraft) -> dict[str, list[_Holder]]:
    """Find the bits of a struct by their names."""
    holders: dict[str, list[_Holder]] = {}
    for position, field in enumerate(struct.fields):
        for bits in field.spec.layout.bits:
            holders.setdefault(bits.name, []).append(_Holder(position, field, bits))
    return holders


def _fault_of_bit(name: str, position: int, field: FieldDraft, holders: list[_Holder]) -> str | None:
    """Find the fault of the bit that a field names; `holders` are all that have bits of this name."""
    if not holders:
        return f"no earlier field has a bit {name}; name an existing bit, or give a bit of an integer this name"
    before = [it for it in holders if it.position < position]
    if not before:
        holder = holders[0].field.spec.name
        return f"{name} is a bit of {holder}, which comes after this field; move {holder} before it"
    known = next((it.bits for it in before if existing(it.field).contains(existing(field))), None)
    if known is None:
        return fault_of_versions(field, before[0].field)
    return f"{name} consists of {known.width} bits; name a single bit" if known.width > 1 else None


def _presence_property(field: FieldDraft) -> str:
    """Choose the one of the two properties that names the field's bit."""
    return "presentIf" if field.spec.layout.present_if else "absentIf"


@layout_struct_rule(
    summary="A bit says of only one field whether it is present.",
    good=layout(_FLAGS, field_of("bytes", presentIf="HasAlpha")),
    bad=layout(_FLAGS, field_of("bytes", presentIf="HasAlpha"), field_of("bytes", "Beta", presentIf="HasAlpha")),
)
def presence_bit_taken(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    # Writing derives the bit from the value of its field, and two values could give two results.
    users: dict[str, list[FieldDraft]] = {}
    for field in struct.fields:
        bit = field.spec.layout.presence_bit
        if bit is not None:
            others = users.setdefault(bit, [])
            other = next((it for it in others if _overlap(it, field)), None)
            if other:
                text = f"{bit} is already used by {other.spec.name} (line {other.part.location().line}); name another"
                yield Finding(field.part, text, _presence_property(field))
            others.append(field)


@layout_struct_rule(
    summary="requiredIf names one bit of an earlier field of the struct, which has all the same versions and does not "
    "say whether a field is present. The field may be null in all of its versions.",
    good=layout(_FLAGS, field_of("bytes", nullableVersions="0+", requiredIf="HasAlpha")),
    bad=layout(_FLAGS, field_of("bytes", requiredIf="HasAlpha")),
)
def required_bit(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    holders = _holders(struct)
    # A bit of presence follows from a value, so it cannot be a demand on one. Control messages of the KIP-98 draft have
    # such a demand: their key is not null.
    of_presence = {field.spec.layout.presence_bit for field in struct.fields}
    for position, field in enumerate(struct.fields):
        name = field.spec.layout.required_if
        if not name or not PROPERTIES["required_if"].types.have(field.spec.type):
            continue
        fault = _fault_of_bit(name, position, field, holders.get(name, []))
        if name in of_presence:
            fault = f"{name} says whether a field is present; name a bit that is an attribute"
        elif not field.spec.nullable_versions.contains(existing(field)):
            fault = fault or "the field is never null in some of its versions; add nullableVersions, or leave this out"
        if fault:
            yield Finding(field.part, fault, "requiredIf")


@layout_struct_rule(
    summary="sizeOnlyWith goes with a size, and names the next field, which is a rest with presentIf or absentIf.",
    good=layout(_FLAGS.replace("Alpha", "Value"), field_of("bytes", size="uvarint", sizeOnlyWith="Value"), _VALUE),
    bad=layout(
        _FLAGS.replace("Alpha", "Value"),
        field_of("bytes", size="uvarint", sizeOnlyWith="Value"),
        _VALUE.replace("rest", "int32"),
    ),
)
def size_only_with(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    for position, field in enumerate(struct.fields):
        name = field.spec.layout.size_only_with
        following = next((it for it in _after(struct, position) if _overlap(it, field)), None)
        fault = _fault_of_size_only_with(name, field, following) if name else None
        if fault:
            yield Finding(field.part, fault, "sizeOnlyWith")


def _fault_of_size_only_with(name: str, field: FieldDraft, following: FieldDraft | None) -> str | None:
    """Find the fault of a field whose size is present only if the next field is."""
    if field.spec.layout.size not in PREFIX_TYPES:
        types = f"{', '.join(PREFIX_TYPES[:-1])} or {PREFIX_TYPES[-1]}"
        return f"it needs a size that can be left out; add size: {types}"
    if following is None or following.spec.name != name:
        there = "nothing" if following is None else following.spec.name
        return f"{there} comes after this field, not {name}; name the next field"
    fault = f"{name} must be a rest that may be absent; give it size: rest, and presentIf or absentIf"
    is_optional = following.spec.layout.size == REST and following.spec.layout.presence_bit is not None
    return fault_of_versions(field, following) or (None if is_optional else fault)


@layout_struct_rule(
    summary="A required field is one of the message itself, in all of its versions, and has no default. "
    "Elements of arrays, and fields that only other versions have, are made from defaults.",
    good=layout(field_of("int16", required=True)),
    bad=layout(field_of("int16", required=True, default="7")),
)
def required_field(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    for field in struct.fields:
        if not field.spec.layout.is_required or field.spec.layout.is_computed or field.spec.layout.bits:
            continue
        if struct.kind != "message":
            text = "only a field of the message itself can be required; leave required out"
            yield Finding(field.part, text, "required")
        elif "default" in field.part.given:
            yield Finding(field.part, "the field is required; leave default or required out", "default")
        elif field.within is not None and not field.spec.versions.contains(field.within):
            text = f'a required field has all versions of the message; write "versions": "{field.within.lowest}+"'
            yield Finding(field.part, text, "versions")


@layout_struct_rule(
    summary="sameLengthAs names an earlier array of the same struct that is always there and never null.",
    good=layout(field_of("[]int32"), field_of("[]int64", "Beta", sameLengthAs="Alpha")),
    bad=layout(field_of("[]int32", versions="2+"), field_of("[]int64", "Beta", sameLengthAs="Alpha")),
)
def same_length_as(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    earlier: dict[str, FieldDraft] = {}
    for field in struct.fields:
        name = field.spec.layout.same_length_as
        fault = _fault_of_length(name, field, earlier.get(name)) if name else None
        if fault:
            yield Finding(field.part, fault, "sameLengthAs")
        earlier[field.spec.name] = field


def _fault_of_length(name: str, field: FieldDraft, other: FieldDraft | None) -> str | None:
    """Find the fault of the array that another one must equal in length."""
    if other is None or not other.spec.type.is_array:
        return f"the same struct has no earlier array {name}; name one that comes before this field"
    fault = f"{name} may be absent or null, so it does not always have a length; name another array"
    return fault_of_versions(field, other) or (fault if may_be_missing(field, other) else None)


@layout_struct_rule(
    summary="After a field of size rest there are only fields of a fixed width: integers that are not varints or "
    "sizeOf, bool, float64, uuid.",
    good=layout(field_of("bytes", size="rest"), field_of("int32", "Beta")),
    bad=layout(field_of("bytes", size="rest"), field_of("int32", "Beta", encoding="packed32")),
)
def rest_last(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    # A reader finds the end of a rest from the end of its struct, less the width of what follows. The message of the
    # KIP-98 draft needs this: its checksum comes after the value.
    for position, field in enumerate(struct.fields):
        if not is_rest(field) or field.spec.layout.size_only_with:
            continue  # sizeOnlyWith requires a size, which its own rule reports
        for later in _after(struct, position):
            if _overlap(later, field) and not _has_fixed_width(later, existing(field)):
                what = "is a sizeOf" if later.spec.layout.size_of else "has no fixed width"
                text = f"{later.spec.name} (line {later.part.location().line}) comes after it and {what}"
                yield Finding(field.part, f"{text}; move it before this field, or give this one a size", "size")
                break


def existing(field: FieldDraft) -> Versions:
    """Return the message versions in which a field exists, as far as they are known."""
    return field.spec.versions if field.present is None else field.present


def fault_of_versions(field: FieldDraft, other: FieldDraft, what: str = "field") -> str | None:
    """Find the fault of a field that exists in versions without another one, which it needs."""
    if existing(other).contains(existing(field)):
        return None
    text = f"{other.spec.name} exists only in {other.spec.versions}, but the {what} in {field.spec.versions}"
    return f"{text}; write versions within the former"


def may_be_missing(field: FieldDraft, other: FieldDraft) -> bool:
    """True if another field may be absent or null in a version in which this one exists."""
    return bool(other.spec.layout.presence_bit) or not other.spec.nullable_versions.intersect(existing(field)).is_empty


def is_rest(field: FieldDraft) -> bool:
    """True if a field ends only where its struct ends."""
    type_ = field.spec.type
    return field.spec.layout.size == REST and (type_.is_array or KINDS.get(type_.element) in ("text", "blob"))


def _has_fixed_width(field: FieldDraft, versions: Versions) -> bool:
    if field.spec.type.is_array or field.spec.type.element not in _FIXED or field.spec.layout.size_of:
        return False
    return all(
        encoding.scheme == "fixed" or range_.intersect(versions).is_empty for range_, encoding in field.spec.encodings
    )


@layout_struct_rule(
    summary="A struct has one sizeOf in each version.",
    good=layout(
        field_of("int32", versions="0", sizeOf="rest"), field_of("int64", "Beta", versions="1+", sizeOf="rest")
    ),
    bad=layout(field_of("int32", sizeOf="rest"), field_of("int64", "Beta", versions="1+", sizeOf="rest")),
)
def size_of_once(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    sizes = [field for field in struct.fields if field.spec.layout.size_of]
    for position, field in enumerate(sizes):
        other = next((it for it in sizes[:position] if _overlap(it, field)), None)
        if other:
            text = f"{other.spec.name} (line {other.part.location().line}) is already the sizeOf of the same struct"
            yield Finding(field.part, f"{text}; keep one of the two", "sizeOf")


@layout_struct_rule(
    summary="A checksum covers its struct from another field on, which exists in all of the checksum's versions.",
    good=layout(field_of("uint32", "Crc", checksum={"algorithm": "crc32", "from": "Alpha"}), ALPHA),
    bad=layout(field_of("uint32", "Crc", checksum={"algorithm": "crc32", "from": "Alpha"}), field_of("int32", "Beta")),
)
def checksum_from(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    named = {field.spec.name: field for field in struct.fields}
    for field in struct.fields:
        checksum = field.spec.layout.checksum
        if checksum is None:
            continue
        start = named.get(checksum.start)
        if start is None or start is field:
            fault = f"the same struct has no other field {checksum.start}; name the first field to cover"
        else:
            fault = fault_of_versions(field, start, "checksum") or ""
        if fault:
            yield Finding(field.part, fault, "checksum", ("from",))


@layout_struct_rule(
    summary="A checksum that comes after what it covers does not cover a sizeOf or another checksum.",
    good=layout(
        field_of("int32", "Size", sizeOf="rest"),
        ALPHA,
        field_of("uint32", "Crc", checksum={"algorithm": "crc32", "from": "Alpha"}),
    ),
    bad=layout(
        field_of("int32", "Size", sizeOf="rest"),
        ALPHA,
        field_of("uint32", "Crc", checksum={"algorithm": "crc32", "from": "Size"}),
    ),
)
def checksum_covers(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    # Writing computes items from the last to the first. So such a checksum is made before the items before it, whose
    # bytes it would cover while they are still empty.
    positions = {field.spec.name: position for position, field in enumerate(struct.fields)}
    for position, field in enumerate(struct.fields):
        checksum = field.spec.layout.checksum
        start = position if checksum is None else positions.get(checksum.start, position)
        for index in range(position - 1, start - 1, -1):
            other = struct.fields[index]
            if _overlap(other, field) and (other.spec.layout.size_of or other.spec.layout.checksum):
                what = "a checksum" if other.spec.layout.checksum else "a sizeOf"
                text = f"it would cover {other.spec.name}, {what}; name a field after {other.spec.name}"
                yield Finding(field.part, text, "checksum", ("from",))
                break


def _after(struct: StructDraft, position: int) -> Iterator[FieldDraft]:
    """Yield the fields after the one at a position."""
    return (struct.fields[index] for index in range(position + 1, len(struct.fields)))


def _overlap(one: FieldDraft, other: FieldDraft) -> bool:
    """True if some version has both."""
    return not existing(one).intersect(existing(other)).is_empty
