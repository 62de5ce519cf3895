"""The encodings of integers (KIP-625)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from kipgen.rules.examples import spec
from kipgen.rules.rule import Finding, field_rule
from kipgen.types import encoding_property
from kipgen.versions import MAX_VERSION, Versions

if TYPE_CHECKING:
    from kipgen.draft import Draft, FieldDraft


@field_rule(
    "type",
    id="encoding-type",
    summary="Only int16, int32 and int64 have an encoding (KIP-625).",
    good=spec('{"name": "Alpha", "type": "int32", "versions": "0+", "encoding": "packed32"}'),
    bad=spec('{"name": "Alpha", "type": "[]int32", "versions": "0+", "encoding": "packed32"}'),
)
def encoding_type(field: FieldDraft, _: Draft) -> Finding | None:
    if "encoding" not in field.part.given or (not field.spec.type.is_array and field.spec.type.is_encodable):
        return None
    text = f"{field.spec.type} has no encoding; leave it out, only int16, int32 and int64 have one"
    if field.spec.type.is_array and field.spec.type.is_encodable:
        text += " (the elements of an array may have an elementEncoding)"
    return Finding(field.part, text, "encoding")


@field_rule(
    "type",
    "elementEncoding",
    id="element-encoding-type",
    summary="Only arrays of int16, int32 and int64 have an elementEncoding, our extension of KIP-625.",
    good=spec('{"name": "Alpha", "type": "[]int32", "versions": "0+", "elementEncoding": "upacked32"}'),
    bad=spec('{"name": "Alpha", "type": "int32", "versions": "0+", "elementEncoding": "upacked32"}'),
)
def element_encoding_type(field: FieldDraft, _: Draft) -> Finding | None:
    if "elementEncoding" not in field.part.given or (field.spec.type.is_array and field.spec.type.is_encodable):
        return None
    text = f"{field.spec.type} has no elementEncoding; leave it out, only []int16, []int32 and []int64 have one"
    return Finding(field.part, text, "elementEncoding")


@field_rule(
    "type",
    "encoding",
    "elementEncoding",
    id="encoding-width",
    summary="An encoding is not wider than its type.",
    good=spec('{"name": "Alpha", "type": "int64", "versions": "0+", "encoding": "packed32"}'),
    bad=spec('{"name": "Alpha", "type": "int32", "versions": "0+", "encoding": "packed64"}'),
)
def encoding_width(field: FieldDraft, _: Draft) -> Finding | None:
    if not field.spec.type.is_encodable:
        return None
    bits = field.spec.type.bits
    for _versions, encoding in field.spec.encodings:
        if encoding.bits > bits:
            text = f"{encoding} may carry values that {field.spec.type} cannot hold; write {encoding.form}{bits}"
            return Finding(field.part, text, encoding_property(field.spec.type))
    return None


@field_rule(
    "type",
    "encoding",
    "elementEncoding",
    id="encoding-overlap",
    summary="A field has one encoding in each version (KIP-625).",
    good=spec(
        '{"name": "Alpha", "type": "int32", "versions": "0+", "encoding": {"0-1": "fixed32", "2+": "packed32"}}',
    ),
    bad=spec(
        '{"name": "Alpha", "type": "int32", "versions": "0+", "encoding": {"0-2": "fixed32", "2+": "packed32"}}',
    ),
)
def encoding_overlap(field: FieldDraft, _: Draft) -> Finding | None:
    if not field.spec.type.is_encodable:
        return None
    ranges = [versions for versions, _encoding in field.spec.encodings]
    for earlier, later in itertools.pairwise(ranges):
        if earlier.highest >= later.lowest:
            both = earlier.intersect(later)
            return Finding(
                field.part,
                f"{earlier} and {later} both name version {both}; keep one of them",
                encoding_property(field.spec.type),
            )
    return None


@field_rule(
    "type",
    "encoding",
    "elementEncoding",
    "versions",
    id="encoding-coverage",
    summary="The encodings name just the versions of the field, open end included (KIP-625).",
    good=spec(
        '{"name": "Alpha", "type": "int32", "versions": "0+", "encoding": {"0-1": "fixed32", "2+": "packed32"}}',
    ),
    bad=spec(
        '{"name": "Alpha", "type": "int32", "versions": "0+", "encoding": {"0": "fixed32", "2+": "packed32"}}',
    ),
)
def encoding_coverage(field: FieldDraft, _: Draft) -> Finding | None:
    if not field.spec.encodings or not field.spec.type.is_encodable:
        return None
    versions = field.spec.versions
    covered = [range_ for range_, _encoding in field.spec.encodings]
    for range_ in covered:
        if not versions.contains(range_):
            text = f"version {_beyond(range_, versions)} has an encoding, but the field's versions are {versions}"
            return Finding(field.part, f"{text}; leave it out", encoding_property(field.spec.type))
    due = versions.lowest
    for range_ in covered:
        if range_.lowest > due:
            break
        due = max(due, range_.highest + 1)
    if due > versions.highest:
        return None
    text = f"version {due} of the field's versions {versions} has no encoding; add it"
    return Finding(field.part, text, encoding_property(field.spec.type))


def _beyond(range_: Versions, whole: Versions) -> Versions:
    """The part of a range that lies outside another."""
    below = range_.intersect(Versions(0, whole.lowest - 1))
    return range_.intersect(Versions(whole.highest + 1, MAX_VERSION)) if below.is_empty else below


RULES = (encoding_type, element_encoding_type, encoding_width, encoding_overlap, encoding_coverage)
