"""Properties that only layouts have, and properties that they lack: rules for a message or a field alone.

A layout must describe bytes that can be both read and written without a choice. So each property is refused wherever
it would have no effect, or two of them would decide the same thing. `layout_fields` has the rules between fields of one
struct, and `layout_structs` has those between structs and their uses.

Which types a property goes with is data (`language.layout_properties.PROPERTIES`), so a new property needs no rule for
that.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipgen.language.layout_properties import PROPERTIES, REST, VERSION, has_size
from kipgen.reading.draft import Draft, FieldDraft
from kipgen.reading.rules.examples import ALPHA, LEAF, field_of, layout, spec
from kipgen.reading.rules.rule import Finding, draft_rule, layout_field_rule, message_rule

_CHOICES = (("size", "count"), ("presentIf", "absentIf"), ("sizeOf", "checksum", "constant", "bits"))
"""Groups of properties that exclude each other."""

_WITHOUT = {
    "sizeOf": ("default", "mapKey", "ignorable", "entityType", "required"),
    "checksum": ("default", "mapKey", "ignorable", "entityType", "encoding", "required"),
    "constant": ("default", "mapKey", "ignorable", "entityType", "encoding", "required"),
    "bits": ("default", "mapKey", "entityType", "encoding", "required"),
}
"""The properties of fields without an attribute, each with the properties that it excludes."""


_NAMES = [one.name for one in PROPERTIES.values()]


@draft_rule(
    summary=f"Only fields of layouts have {', '.join(_NAMES[:-1])} and {_NAMES[-1]}.",
    good=layout(field_of("string", size="uvarint")),
    bad=spec(field_of("string", size="uvarint")),
)
def layouts_only(draft: Draft) -> Iterator[Finding]:
    if draft.message.is_layout or "type" in draft.part.broken:
        return
    for field in draft.fields:
        for name in _NAMES:
            if name in field.part.given and name not in field.part.broken:
                text = f"only layouts have {name}; leave it out, since the type {draft.message.type} has one wire form"
                yield Finding(field.part, text, name)


@message_rule(
    needs=("type", "apiKey"),
    summary="A layout has no apiKey: it is in no registry.",
    good=layout(ALPHA),
    bad=layout(ALPHA, more='"apiKey": 7'),
)
def layout_api_key(draft: Draft) -> Iterator[Finding]:
    if draft.message.is_layout and draft.message.api_key is not None:
        yield Finding(draft.part, "a layout is in no registry; leave apiKey out", "apiKey")


@message_rule(
    needs=("type", "flexibleVersions"),
    summary="A layout has no flexible versions: its bytes are exactly what its fields describe.",
    good=layout(ALPHA),
    bad=spec(ALPHA, type_="layout", flexible="2+"),
)
def layout_inflexible(draft: Draft) -> Iterator[Finding]:
    flexible = draft.message.flexible_versions
    if draft.message.is_layout and not flexible.is_empty:
        text = f"flexibleVersions of a layout is {flexible}; write none, or leave it out"
        yield Finding(draft.part, text, "flexibleVersions")


@layout_field_rule(
    needs=("type",),
    summary="Each property of layouts is for certain types: size for those that have one, count for arrays, and so on.",
    good=layout(field_of("[]int32", count="varint")),
    bad=layout(field_of("[]int32", size="varint")),
)
def wire_form_type(field: FieldDraft, _draft: Draft) -> Iterator[Finding]:
    type_ = field.spec.type
    for name, types, _ in PROPERTIES.values():
        if name in field.part.given and name not in field.part.broken and not types.have(type_):
            yield Finding(field.part, f"{type_} cannot have {name}; leave it out, only {types.words} can have it", name)


@layout_field_rule(
    summary="A field has a size or a count, presentIf or absentIf, and one of sizeOf, checksum, constant and bits.",
    good=layout(field_of("int8", constant="version")),
    bad=layout(field_of("int8", constant="version", bits=[{"name": "IsLast", "bits": "0"}])),
)
def wire_form_choice(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    for choice in _CHOICES:
        given = [name for name in choice if name in field.part.given]
        for name in given[1:]:
            yield Finding(field.part, f"{given[0]} is given too; leave one of the two out", name)


@layout_field_rule(
    needs=("type",),
    summary="An integer that is computed or made of bits is not an attribute: it has no default, mapKey or entityType. "
    "It is not required, has no encoding, except for sizeOf, and no ignorable, except for bits.",
    good=layout(field_of("int32", sizeOf="rest", encoding="packed32")),
    bad=layout(field_of("int32", sizeOf="rest", default="7")),
)
def no_attribute(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    # Nothing is said about an encoding where the type has none anyway.
    given = field.part.given - (
        set() if field.spec.type.is_encodable and not field.spec.type.is_array else {"encoding"}
    )
    for kind, without in _WITHOUT.items():
        for name in without if kind in given else ():
            if name in given and name not in field.part.broken:
                yield Finding(field.part, f"a field with {kind} cannot have {name}; leave one of the two out", name)


@layout_field_rule(
    needs=("type", "constant", "versions"),
    summary="A constant is a value of its field's type; for version, so is every version number.",
    good=layout(field_of("int8", constant="127")),
    bad=layout(field_of("int8", constant="128")),
)
def constant_fits(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    # For the word `version` the highest version is enough, which `valid-versions-closed` makes finite.
    constant, present = field.spec.layout.constant, field.present
    if constant is None or present is None or present.is_open or not field.spec.type.is_integer:
        return
    value = present.highest if constant == VERSION else int(constant)
    lowest, highest = field.spec.type.range
    if not lowest <= value <= highest and not present.is_empty:
        text = f"{value} does not fit {field.spec.type}, which holds {lowest} to {highest}"
        yield Finding(field.part, f"{text}; write another value, or a wider type", "constant")


@layout_field_rule(
    needs=("type", "bits"),
    summary="Bits are within their integer: 0 to 7 of an int8, 0 to 31 of an int32 or uint32.",
    good=layout(field_of("int8", bits=[{"name": "Codec", "bits": "5-7"}])),
    bad=layout(field_of("int8", bits=[{"name": "Codec", "bits": "6-8"}])),
)
def bits_width(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if not field.spec.type.is_integer:
        return
    width = field.spec.type.bits
    for index, bits in enumerate(field.spec.layout.bits):
        if bits.highest >= width:
            text = f"{field.spec.type} has no bit {bits.highest}; write bits from 0 to {width - 1}"
            yield Finding(field.part, text, "bits", (index, "bits"))


@layout_field_rule(
    needs=("bits",),
    summary="A bit has at most one name.",
    good=layout(field_of("int8", bits=[{"name": "Codec", "bits": "0-2"}, {"name": "IsLast", "bits": "3"}])),
    bad=layout(field_of("int8", bits=[{"name": "Codec", "bits": "0-2"}, {"name": "IsLast", "bits": "2"}])),
)
def bits_overlap(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    owners: dict[int, str] = {}
    for index, bits in enumerate(field.spec.layout.bits):
        for bit in range(bits.lowest, bits.highest + 1):
            owner = owners.setdefault(bit, bits.name)
            if owner != bits.name:
                text = f"bit {bit} already belongs to {owner}; use other bits"
                yield Finding(field.part, text, "bits", (index, "bits"))
                break


@layout_field_rule(
    needs=("type", "nullableVersions", "versions", "size", "count", "presentIf", "absentIf", "sizeOnlyWith"),
    summary="A field that may be null can express it: a uvarint, a rest and a size that may be missing cannot, "
    "so they need presentIf or absentIf.",
    good=layout(
        field_of("int8", "Flags", bits=[{"name": "IsNull", "bits": "0"}]),
        field_of("bytes", size="rest", nullableVersions="0+", absentIf="IsNull"),
    ),
    bad=layout(field_of("bytes", size="rest", nullableVersions="0+")),
)
def null_form(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    layout, type_ = field.spec.layout, field.spec.type
    prefix = layout.size or layout.count
    if not _may_be_null(field) or layout.presence_bit or not (has_size(type_) or type_.is_array):
        return
    if prefix in ("uvarint", REST) or layout.size_only_with:
        what = "sizeOnlyWith" if prefix not in ("uvarint", REST) else prefix
        text = f"{what} cannot express null; add presentIf or absentIf, or leave nullableVersions out"
        yield Finding(field.part, text, "nullableVersions")


@layout_field_rule(
    needs=("type", "nullableVersions", "versions"),
    summary="A struct of a layout is never null: only other messages have the marker for it.",
    good=layout(field_of("Inner", fields=[LEAF])),
    bad=layout(field_of("Inner", nullableVersions="0+", fields=[LEAF])),
)
def null_struct(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if field.spec.type.is_struct and _may_be_null(field):
        text = "a struct of a layout cannot be null; leave nullableVersions out, or make it an array with presentIf"
        yield Finding(field.part, text, "nullableVersions")


@layout_field_rule(
    needs=("type", "nullableVersions", "versions", "sorted", "sameLengthAs"),
    summary="An array that is sorted, or as long as another, is never null.",
    good=layout(field_of("[]int32"), field_of("[]int32", "Beta", sameLengthAs="Alpha")),
    bad=layout(field_of("[]int32"), field_of("[]int32", "Beta", sameLengthAs="Alpha", nullableVersions="0+")),
)
def null_order(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    layout = field.spec.layout
    if field.spec.type.is_array and _may_be_null(field) and (layout.is_sorted or layout.same_length_as):
        what = "sorted" if layout.is_sorted else "sameLengthAs"
        text = f"an array with {what} cannot be null; leave nullableVersions out and use an empty array"
        yield Finding(field.part, text, "nullableVersions")


def _may_be_null(field: FieldDraft) -> bool:
    """True if there is a version in which the field may be null."""
    versions = field.spec.versions if field.present is None else field.present
    return not versions.intersect(field.spec.nullable_versions).is_empty
