"""Rules between the parts of an enum, and between fields and enums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kipgen.language.spec import ERROR_CODE
from kipgen.reading.draft import Draft, FieldDraft, SpecPart
from kipgen.reading.enum_spec import EnumDraft, EnumValue
from kipgen.reading.rules.examples import ALPHA, enum, field_of, spec
from kipgen.reading.rules.rule import Finding, Folder, enum_rule, field_rule, folder_rule, reading_rule

_ON = '{"value": 1, "name": "ON", "about": "It burns."}'
_OFF = '{"value": 0, "name": "OFF", "about": "It does not."}'
_FIELD = field_of("int8", enum="Light")

enum_text = reading_rule(
    "enum-text",
    summary="An enum and each of its values say what they mean.",
    good=enum(_OFF, _ON),
    bad=enum('{"value": 0, "name": "OFF", "about": " "}'),
)


@enum_rule(
    summary="An enum has values of its own, or valuesFrom: one of the two.",
    good=(enum(_OFF, _ON), enum(name="ApiKey", more='"valuesFrom": {"type": "request"}')),
    bad=enum(),
)
def enum_values(draft: EnumDraft) -> Iterator[Finding]:
    # An empty list is given, but has no first element with an offset.
    given = draft.part.given & {"values", "valuesFrom"}
    if not draft.part.broken.isdisjoint(("values", "valuesFrom")):
        return
    if len(given) == 2:
        yield Finding(draft.part, "both values and valuesFrom are given; leave one of them out", "valuesFrom")
    elif not given or draft.part.document.value_offsets.keys().isdisjoint((("values", 0), ("valuesFrom",))):
        yield Finding(draft.part, "the enum has no values; add values, or valuesFrom")


@enum_rule(
    summary="The numbers of an enum ascend, so each occurs once.",
    good=enum(_OFF, _ON),
    bad=enum(_ON, _OFF),
)
def enum_order(draft: EnumDraft) -> Iterator[Finding]:
    for before, value, part in zip(draft.spec.values, draft.spec.values[1:], draft.values[1:], strict=False):
        if value.number <= before.number:
            text = f"{value.number} comes after {before.number}; write the numbers in ascending order, each once"
            yield Finding(part, text, "value")


@enum_rule(
    summary="The names in an enum are different.",
    good=enum(_OFF, _ON),
    bad=enum(_OFF, _ON.replace("ON", "OFF")),
)
def enum_member_taken(draft: EnumDraft) -> Iterator[Finding]:
    seen: dict[str, EnumValue] = {}
    for value, part in zip(draft.spec.values, draft.values, strict=True):
        # Of a row that is there twice, number and all, `enum-order` reports the number.
        first = seen.setdefault(value.name, value)
        if first is value or first.number == value.number:
            continue
        text = f"{value.given_name} is already the name of {first.number}"
        if first.given_name != value.given_name:
            text = f"{value.given_name} gives the constant {value.name}, as {first.given_name} of {first.number} does"
        yield Finding(part, f"{text}; rename one of the two")


@enum_rule(
    summary="Either all values of an enum say whether they are retriable, or none does.",
    good=enum(_OFF.replace("}", ', "retriable": false}'), _ON.replace("}", ', "retriable": true}')),
    bad=enum(_OFF.replace("}", ', "retriable": false}'), _ON),
)
def enum_retriable(draft: EnumDraft) -> Iterator[Finding]:
    lacking = [
        part
        for value, part in zip(draft.spec.values, draft.values, strict=True)
        if value.retriable is None and "retriable" not in part.broken
    ]
    if 0 < len(lacking) < len(draft.values):
        for part in lacking:
            yield Finding(part, "'retriable' is missing, which other values of the enum have; add it")


@enum_rule(
    summary="No value of an enum has a reserved number or name: older peers may still send the value that had it.",
    good=enum(_OFF, _ON, more='"reservedValues": [2], "reservedNames": ["DIM"]'),
    bad=enum(_OFF, _ON, more='"reservedValues": [1], "reservedNames": ["DIM"]'),
)
def enum_reserved_used(draft: EnumDraft) -> Iterator[Finding]:
    numbers, names = set(draft.spec.reserved_values), set(draft.spec.reserved_names)
    for value, part in zip(draft.spec.values, draft.values, strict=True):
        if value.number in numbers:
            yield Finding(part, _reserved_text(draft, value.number, "number", "reservedValues"), "value")
        if value.name in names:
            yield Finding(part, _reserved_text(draft, value.given_name, "name", "reservedNames"), "name")


def _reserved_text(draft: EnumDraft, taken: object, what: str, property_: str) -> str:
    line = draft.part.location(property_).line
    return f"{taken} is reserved (line {line}): an earlier value had it; choose another {what}"


@enum_rule(
    summary="reservedValues and reservedNames have each number and each name once.",
    good=enum(_OFF, _ON, more='"reservedValues": [2, 3]'),
    bad=enum(_OFF, _ON, more='"reservedValues": [2, 2]'),
)
def enum_reserved_twice(draft: EnumDraft) -> Iterator[Finding]:
    reserved = (("reservedValues", draft.spec.reserved_values), ("reservedNames", draft.spec.reserved_names))
    for property_, listed in reserved:
        for one, count in Counter[object](listed).items():
            if count > 1:
                yield Finding(draft.part, f"{one} is listed {count} times; list it once", property_)


@enum_rule(
    summary="Only an enum with values of its own reserves numbers and names; those of messages stay with the messages.",
    good=enum(name="ApiKey", more='"valuesFrom": {"type": "request"}'),
    bad=enum(name="ApiKey", more='"valuesFrom": {"type": "request"}, "reservedValues": [1]'),
)
def enum_reserved_place(draft: EnumDraft) -> Iterator[Finding]:
    if "valuesFrom" in draft.part.given and "values" not in draft.part.given:
        for property_ in ("reservedValues", "reservedNames"):
            if property_ in draft.part.given:
                text = f"a message keeps its number with its spec (validVersions none); leave {property_} out"
                yield Finding(draft.part, text, property_)


@folder_rule(
    summary="The enums of a package have different names.",
    good=(spec(), enum(_OFF, _ON), enum(_OFF, _ON, name="Lamp")),
    bad=(spec(), enum(_OFF, _ON), enum(_OFF)),
)
def enum_name_taken(folder: Folder) -> Iterator[Finding]:
    seen: dict[str, SpecPart] = {}
    for draft in folder.enums:
        first = seen.setdefault(draft.spec.name, draft.part)
        if first is not draft.part:
            yield Finding(draft.part, f"another enum already has this name ({first.location()}); rename one of the two")


@field_rule(
    needs=("type", "enum"),
    summary="Only integers, and arrays of them, have an enum.",
    good=spec(ALPHA),
    bad=spec(field_of("string", enum="Light")),
    kafka=None,
)
def enum_type(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if field.spec.enum is not None and field.spec.type.kind != "integer":
        yield Finding(field.part, f"{field.spec.type} has no numbers to name; leave the enum out", "enum")


@field_rule(
    needs=("enum", "enumBits"),
    summary="Only a field with an enum has enumBits.",
    good=spec(ALPHA),
    bad=spec(field_of("int32", enumBits=True)),
    kafka=None,
)
def enum_bits(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if field.spec.enum_bits and field.spec.enum is None:
        yield Finding(
            field.part, "enumBits needs the enum that names the bits; add 'enum', or leave it out", "enumBits"
        )


@folder_rule(
    summary="The enum of a field is one of its package.",
    good=(spec(_FIELD), enum(_OFF, _ON)),
    bad=(spec(_FIELD), enum(_OFF, _ON, name="Lamp")),
    kafka=None,
)
def enum_unknown(folder: Folder) -> Iterator[Finding]:
    names = sorted(draft.spec.name for draft in folder.enums)
    for draft in folder.messages:
        for field in draft.fields:
            name = field.spec.enum
            if name is not None and name not in names and "enum" not in field.part.broken:
                known = f"it has {', '.join(names)}" if names else "it has none"
                yield Finding(field.part, f"the package has no enum {name} in a file *.enum.json; {known}", "enum")


@field_rule(
    summary="Kafka's generator does not support enum and enumBits, kipwire's names for numbers.",
    good=spec(ALPHA),
    bad=spec(_FIELD),
    severity=None,
)
def kafka_enum(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    # Reported in place of the rules above, which have no severity for Kafka: without the property they have no subject.
    for name in ("enum", "enumBits"):
        if name in field.part.given:
            text = f"Kafka's generator rejects {name}; leave it out (a field named {ERROR_CODE} needs none)"
            yield Finding(field.part, text, name)
