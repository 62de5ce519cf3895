"""The encodings of integers (KIP-625).

The KIP makes four things errors: another type, a name that is not one of nine, ranges that meet, and ranges that are
not exactly the field's versions. What it leaves open is decided here: an encoding wider than its type is an error,
since a reader could meet a value that the type does not hold. A narrower one is the KIP's way to widen a field, and
a default must fit it.

A negative number may be an unsigned varint, and has as many bytes as the largest number then, as the KIP notes. Where
a spec says that there are negative numbers, the encoding of the newest version gets a warning; earlier ones stay.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from kipgen.language.types import Encoding, encoding_property
from kipgen.language.versions import MAX_VERSION, Versions
from kipgen.reading.draft import Draft, FieldDraft
from kipgen.reading.rules.examples import enum, field_of, spec
from kipgen.reading.rules.rule import Finding, Folder, field_rule, folder_rule


@field_rule(
    needs=("type",),
    summary="Only int16, int32 and int64 have an encoding (KIP-625).",
    good=spec(field_of("int32", encoding="packed32")),
    bad=spec(field_of("[]int32", encoding="packed32")),
)
def encoding_type(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    type_ = field.spec.type
    if "encoding" in field.part.given and (type_.is_array or not type_.is_encodable):
        text = f"{type_} cannot have an encoding; leave it out, only int16, int32 and int64 can have one"
        if type_.is_encodable:
            text += " (the elements of an array may have an elementEncoding)"
        yield Finding(field.part, text, "encoding")


@field_rule(
    needs=("type", "elementEncoding"),
    summary="Only arrays of int16, int32 and int64 have an elementEncoding, our extension of KIP-625.",
    good=spec(field_of("[]int32", elementEncoding="upacked32")),
    bad=spec(field_of("int32", elementEncoding="upacked32")),
)
def element_encoding_type(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if "elementEncoding" in field.part.given and (not field.spec.type.is_array or not field.spec.type.is_encodable):
        text = f"{field.spec.type} cannot have elementEncoding; leave it out, only []int16, []int32 and []int64 can"
        yield Finding(field.part, text, "elementEncoding")


@field_rule(
    needs=("type", "encoding", "elementEncoding"),
    summary="An encoding is not wider than its type.",
    good=spec(field_of("int64", encoding="packed32")),
    bad=spec(field_of("int32", encoding="packed64")),
)
def encoding_width(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    type_ = field.spec.type
    for _versions, encoding in field.spec.encodings if type_.is_encodable else ():
        if encoding.bits > type_.bits:
            text = f"{encoding} allows values that do not fit {type_}; write {encoding.scheme}{type_.bits}"
            yield Finding(field.part, text, encoding_property(type_))
            return


@field_rule(
    needs=("type", "encoding", "elementEncoding"),
    summary="A field has one encoding in each version (KIP-625).",
    good=spec(field_of("int32", encoding={"0-1": "fixed32", "2+": "packed32"})),
    bad=spec(field_of("int32", encoding={"0-2": "fixed32", "2+": "packed32"})),
)
def encoding_overlap(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    ranges = [versions for versions, _encoding in field.spec.encodings if field.spec.type.is_encodable]
    # Neighbours are enough, because the parser puts the ranges in order.
    for earlier, later in itertools.pairwise(ranges):
        if earlier.highest >= later.lowest:
            text = f"{earlier} and {later} both contain version {earlier.intersect(later)}; keep one of them"
            yield Finding(field.part, text, encoding_property(field.spec.type))
            return


@field_rule(
    needs=("type", "encoding", "elementEncoding", "versions"),
    summary="The encodings cover exactly the versions of the field, open end included (KIP-625).",
    good=spec(field_of("int32", encoding={"0-1": "fixed32", "2+": "packed32"})),
    bad=spec(field_of("int32", encoding={"0": "fixed32", "2+": "packed32"})),
)
def encoding_coverage(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if not field.spec.encodings or not field.spec.type.is_encodable:
        return
    # By the versions as they are written, not as far as they are valid: the KIP compares the two properties.
    versions = field.spec.versions
    covered = [range_ for range_, _encoding in field.spec.encodings]
    for range_ in covered:
        if not versions.contains(range_):
            text = f"version {_beyond(range_, versions)} has an encoding, but the field's versions are {versions}"
            yield Finding(field.part, f"{text}; leave it out", encoding_property(field.spec.type))
            return
    due = versions.lowest
    for range_ in covered:
        if range_.lowest <= due:
            due = max(due, range_.highest + 1)
    if due <= versions.highest:
        text = f"version {due} of the field's versions {versions} has no encoding; add it"
        yield Finding(field.part, text, encoding_property(field.spec.type))


@field_rule(
    needs=("type", "encoding", "elementEncoding", "default", "versions"),
    message=("validVersions",),
    summary="A field whose default is negative is no unsigned varint, which takes most bytes for it (KIP-625).",
    good=spec(field_of("int32", default="-1", encoding={"0-2": "upacked32", "3+": "packed32"})),
    bad=spec(field_of("int32", default="-1", encoding="upacked32")),
    severity="warning",
    kafka=None,
)
def unsigned_default(field: FieldDraft, draft: Draft) -> Iterator[Finding]:
    default, encoding = field.spec.default, _unsigned(field, draft)
    if encoding is not None and isinstance(default, int) and default < 0:
        yield Finding(field.part, f"the default is {default}, for which {_costs(encoding, default)}", "encoding")


_MINUS = '{"value": -1, "name": "UNKNOWN", "about": "Nobody looked."}'
_NONE = '{"value": 0, "name": "NONE", "about": "No light."}'


@field_rule(
    needs=("type", "default", "encoding"),
    summary="A default fits every encoding of the field: otherwise it could not be sent to some peers (KIP-625).",
    good=spec(field_of("int64", default="7", encoding={"0-1": "fixed32", "2+": "fixed64"})),
    bad=spec(field_of("int64", default="4294967296", encoding={"0-1": "fixed32", "2+": "fixed64"})),
)
def default_encoding(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    default = field.spec.default
    if not isinstance(default, int):
        return
    for versions, encoding in field.spec.encodings:
        lowest, highest = encoding.range
        if not lowest <= default <= highest:
            text = f"{default} does not fit {encoding} of versions {versions}; write {lowest} to {highest}"
            yield Finding(field.part, text, "default")
            return


@folder_rule(
    summary="A field whose enum has negative numbers is no unsigned varint, which takes most bytes for them (KIP-625).",
    good=(spec(field_of("int16", enum="Light", encoding="packed16")), enum(_MINUS, _NONE)),
    bad=(spec(field_of("int16", enum="Light", encoding="upacked16")), enum(_MINUS, _NONE)),
    severity="warning",
    kafka=None,
)
def unsigned_enum(folder: Folder) -> Iterator[Finding]:
    lowest = {one.spec.name: min((value.number for value in one.spec.values), default=0) for one in folder.enums}
    for draft in folder.messages:
        for field in draft.fields:
            number = lowest.get(field.spec.enum or "", 0)
            if number >= 0 or field.spec.enum_bits or not field.part.broken.isdisjoint(_READ):
                continue
            encoding = None if "validVersions" in draft.part.broken else _unsigned(field, draft)
            if encoding is not None:
                text = f"{field.spec.enum} has {number}, for which {_costs(encoding, number)}"
                yield Finding(field.part, text, encoding_property(field.spec.type))


_READ = ("type", "encoding", "elementEncoding", "versions", "enum", "enumBits")


def _unsigned(field: FieldDraft, draft: Draft) -> Encoding | None:
    """Return the encoding of a field in its newest version, if it is an unsigned varint."""
    newest = draft.message.valid_versions.intersect(field.spec.versions)
    found = (one for versions, one in field.spec.encodings if not newest.is_empty and newest.highest in versions)
    encoding = next(found, None) if field.spec.type.is_encodable else None
    return encoding if encoding is not None and encoding.scheme == "upacked" else None


def _costs(encoding: Encoding, number: int) -> str:
    """Compare the size of a negative number in this encoding and in the shortest other one."""
    signed, fixed = _groups((-2 * number - 1).bit_length()), encoding.bits // 8
    scheme, least = ("packed", signed) if signed <= fixed else ("fixed", fixed)
    right = f"{scheme}{encoding.bits} takes {least}; write it, with a new version if this one is released"
    return f"{encoding} takes {_groups(encoding.bits)} bytes and {right}"


def _groups(bits: int) -> int:
    """Count the bytes of a varint."""
    return -(-bits // 7)


def _beyond(range_: Versions, whole: Versions) -> Versions:
    """Return the part of a range that lies outside another."""
    below = range_.intersect(Versions(0, whole.lowest - 1))
    return range_.intersect(Versions(whole.highest + 1, MAX_VERSION)) if below.is_empty else below
