"""What a field's properties demand of each other, and fields of one struct of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kipgen.names import attribute_name
from kipgen.rules.examples import spec
from kipgen.rules.rule import Finding, body_rule, draft_rule, field_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kipgen.draft import Body, Draft, FieldDraft

_ENTITY_BASES = {
    "transactionalId": "string",
    "producerId": "int64",
    "groupId": "string",
    "topicName": "string",
    "brokerId": "int32",
}


@field_rule(
    "type",
    "nullableVersions",
    id="nullable-type",
    summary="Only strings, bytes, records, arrays and structs can be null.",
    good=spec('{"name": "Alpha", "type": "string", "versions": "0+", "nullableVersions": "0+"}'),
    bad=spec('{"name": "Alpha", "type": "uuid", "versions": "0+", "nullableVersions": "0+"}'),
)
def nullable_type(field: FieldDraft, _: Draft) -> Finding | None:
    if field.spec.nullable_versions.is_empty or field.spec.type.may_be_null:
        return None
    text = f"{field.spec.type} cannot be null; leave nullableVersions out"
    return Finding(field.part, text, "nullableVersions")


@field_rule(
    "type",
    id="fields-on-primitive",
    summary="Only a struct, or an array of structs, has fields of its own.",
    good=spec(
        '{"name": "Alpha", "type": "[]Inner", "versions": "0+", "fields": [\n'
        '      {"name": "Leaf", "type": "int32", "versions": "0+"}]}'
    ),
    bad=spec(
        '{"name": "Alpha", "type": "[]int32", "versions": "0+", "fields": [\n'
        '      {"name": "Leaf", "type": "int32", "versions": "0+"}]}'
    ),
)
def fields_on_primitive(field: FieldDraft, _: Draft) -> Finding | None:
    if not field.fields_given or field.spec.type.has_struct:
        return None
    text = f"{field.spec.type} has no fields; give the type a struct's name, or leave the fields out"
    return Finding(field.part, text, "fields")


@field_rule(
    "type",
    id="array-of-records",
    summary="There are no arrays of records.",
    good=spec('{"name": "Alpha", "type": "records", "versions": "0+"}'),
    bad=spec('{"name": "Alpha", "type": "[]records", "versions": "0+"}'),
)
def array_of_records(field: FieldDraft, _: Draft) -> Finding | None:
    if not (field.spec.type.is_array and field.spec.type.element == "records"):
        return None
    return Finding(field.part, "records cannot be the element of an array; put them into a struct", "type")


@field_rule(
    "type",
    "entityType",
    id="entity-type",
    summary="An entity type goes with one type: topicName with string, brokerId with int32, and so on.",
    good=spec('{"name": "Alpha", "type": "[]int32", "versions": "0+", "entityType": "brokerId"}'),
    bad=spec('{"name": "Alpha", "type": "[]int64", "versions": "0+", "entityType": "brokerId"}'),
)
def entity_type(field: FieldDraft, _: Draft) -> Finding | None:
    entity = field.spec.entity_type
    if entity is None or _ENTITY_BASES[entity] == field.spec.type.element:
        return None
    text = f"{entity} goes with {_ENTITY_BASES[entity]}, not {field.spec.type.element}; change one of the two"
    return Finding(field.part, text, "entityType")


@field_rule(
    "type",
    "zeroCopy",
    id="zero-copy-type",
    summary="Only bytes can be zeroCopy.",
    good=spec('{"name": "Alpha", "type": "bytes", "versions": "0+", "zeroCopy": true}'),
    bad=spec('{"name": "Alpha", "type": "string", "versions": "0+", "zeroCopy": true}'),
)
def zero_copy_type(field: FieldDraft, _: Draft) -> Finding | None:
    if not field.spec.zero_copy or str(field.spec.type) == "bytes":
        return None
    return Finding(field.part, f"{field.spec.type} cannot be zeroCopy; leave it out, only bytes can be", "zeroCopy")


@field_rule(
    "type",
    "flexibleVersions",
    id="flexible-override-type",
    summary="Only string and bytes fields have flexibleVersions of their own.",
    good=spec('{"name": "Alpha", "type": "string", "versions": "0+", "flexibleVersions": "none"}'),
    bad=spec('{"name": "Alpha", "type": "[]string", "versions": "0+", "flexibleVersions": "none"}'),
)
def flexible_override_type(field: FieldDraft, _: Draft) -> Finding | None:
    if field.spec.flexible_versions is None or str(field.spec.type) in ("string", "bytes"):
        return None
    text = f"{field.spec.type} has no flexibleVersions of its own; leave it out, only string and bytes have"
    return Finding(field.part, text, "flexibleVersions")


@field_rule(
    "type",
    "flexibleVersions",
    message=("flexibleVersions",),
    id="flexible-override-range",
    summary="A field's flexibleVersions lie within those of the message.",
    good=spec('{"name": "Alpha", "type": "string", "versions": "0+", "flexibleVersions": "3+"}'),
    bad=spec('{"name": "Alpha", "type": "string", "versions": "0+", "flexibleVersions": "1+"}'),
)
def flexible_override_range(field: FieldDraft, draft: Draft) -> Finding | None:
    override, whole = field.spec.flexible_versions, draft.message.flexible_versions
    if override is None or whole.contains(override) or str(field.spec.type) not in ("string", "bytes"):
        return None
    text = f"flexibleVersions {override} reaches beyond the message's {whole}; write a part of those, or none"
    return Finding(field.part, text, "flexibleVersions")


@field_rule(
    "versions",
    "type",
    message=("validVersions",),
    id="never-present",
    summary="A field exists in some valid version of its message.",
    good=spec('{"name": "Alpha", "type": "int32", "versions": "3+"}'),
    bad=spec('{"name": "Alpha", "type": "int32", "versions": "9+"}'),
    severity="warning",
    kafka="warning",
)
def never_present(field: FieldDraft, draft: Draft) -> Finding | None:
    is_inline = field.spec.type.has_struct and field.spec.type.element not in draft.common
    if is_inline or field.present is None or field.within is None:
        return None
    if field.within.is_empty or not field.present.is_empty:
        return None
    text = f"the field exists in no version: {_versions_text(field)}; widen its versions, or remove it"
    return Finding(field.part, text, "versions")


@field_rule(
    "versions",
    "type",
    message=("validVersions",),
    id="struct-never-present",
    summary="A struct exists in some valid version of its message.",
    good=spec(
        '{"name": "Alpha", "type": "Inner", "versions": "3+", "fields": [\n'
        '      {"name": "Leaf", "type": "int32", "versions": "0+"}]}'
    ),
    bad=spec(
        '{"name": "Alpha", "type": "Inner", "versions": "9+", "fields": [\n'
        '      {"name": "Leaf", "type": "int32", "versions": "0+"}]}'
    ),
)
def struct_never_present(field: FieldDraft, draft: Draft) -> Finding | None:
    is_inline = field.spec.type.has_struct and field.spec.type.element not in draft.common
    if not is_inline or field.present is None or field.within is None:
        return None
    if field.within.is_empty or not field.present.is_empty:
        return None
    text = f"the struct exists in no version: {_versions_text(field)}; widen its versions, or remove it"
    return Finding(field.part, text, "versions")


def _versions_text(field: FieldDraft) -> str:
    return f"its versions are {field.spec.versions}, those around it {field.within}"


@draft_rule(
    id="map-key-at-top",
    summary="A map key is a field of a struct, not of the message itself.",
    good=spec(
        '{"name": "Alpha", "type": "[]Inner", "versions": "0+", "fields": [\n'
        '      {"name": "Leaf", "type": "int32", "versions": "0+", "mapKey": true}]}'
    ),
    bad=spec('{"name": "Alpha", "type": "int32", "versions": "0+", "mapKey": true}'),
)
def map_key_at_top(draft: Draft) -> Iterator[Finding]:
    for field in draft.bodies[0].fields:
        if field.spec.map_key:
            text = "a field of the message itself cannot be a mapKey; only a field of an array's struct can"
            yield Finding(field.part, text, "mapKey")


@field_rule(
    "tag",
    "mapKey",
    id="map-key-tagged",
    summary="A map key is not tagged.",
    good=spec(
        '{"name": "Alpha", "type": "[]Inner", "versions": "2+", "fields": [\n'
        '      {"name": "Leaf", "type": "int32", "versions": "2+", "mapKey": true}]}'
    ),
    bad=spec(
        '{"name": "Alpha", "type": "[]Inner", "versions": "2+", "fields": [\n'
        '      {"name": "Leaf", "type": "int32", "versions": "2+", "mapKey": true, "tag": 0, "taggedVersions": "2+"}]}'
    ),
)
def map_key_tagged(field: FieldDraft, _: Draft) -> Finding | None:
    if not field.spec.map_key or field.spec.tag is None:
        return None
    return Finding(field.part, "a tagged field cannot be a mapKey; take the tag or the mapKey away", "mapKey")


@body_rule(
    id="map-key-without-array",
    summary="The struct of a map key is the element of an array.",
    good=spec(
        '{"name": "Alpha", "type": "[]Inner", "versions": "0+", "fields": [\n'
        '      {"name": "Leaf", "type": "int32", "versions": "0+", "mapKey": true}]}'
    ),
    bad=spec(
        '{"name": "Alpha", "type": "Inner", "versions": "0+", "fields": [\n'
        '      {"name": "Leaf", "type": "int32", "versions": "0+", "mapKey": true}]}'
    ),
    severity="warning",
    kafka="warning",
)
def map_key_without_array(body: Body, draft: Draft) -> Iterator[Finding]:
    keys = [field for field in body.fields if field.spec.map_key]
    if not keys or body.kind not in ("inline", "common"):
        return
    uses = [field.spec.type for field in draft.fields if field.spec.type.element == body.spec.name]
    if uses and not any(type_.is_array for type_ in uses):
        for field in keys:
            text = f"{body.spec.name} is never the element of an array, so mapKey has no effect; leave it out"
            yield Finding(field.part, text, "mapKey")


@body_rule(
    id="duplicate-field",
    summary="The fields of one message or struct have different names.",
    good=spec(
        '{"name": "Alpha", "type": "int32", "versions": "0"}',
        '{"name": "Beta", "type": "int64", "versions": "1+"}',
    ),
    bad=spec(
        '{"name": "Alpha", "type": "int32", "versions": "0"}',
        '{"name": "Alpha", "type": "int64", "versions": "1+"}',
    ),
)
def duplicate_field(body: Body, _: Draft) -> Iterator[Finding]:
    seen: dict[str, FieldDraft] = {}
    for field in _named(body):
        first = seen.setdefault(field.spec.name, field)
        if first is not field:
            text = f"the name was taken in line {first.part.place().line}; choose another, even in other versions"
            yield Finding(field.part, text)


@body_rule(
    id="field-name-clash",
    summary="The fields of one message or struct have different names in Python, too.",
    good=spec(
        '{"name": "FooBar", "type": "int32", "versions": "0+"}',
        '{"name": "FooBaz", "type": "int32", "versions": "0+"}',
    ),
    bad=spec(
        '{"name": "FooBar", "type": "int32", "versions": "0+"}',
        '{"name": "FooBAR", "type": "int32", "versions": "0+"}',
    ),
)
def field_name_clash(body: Body, _: Draft) -> Iterator[Finding]:
    seen: dict[str, FieldDraft] = {}
    for field in _named(body):
        attribute = attribute_name(field.spec.name)
        first = seen.setdefault(attribute, field)
        if first.spec.name != field.spec.name:
            text = f"as {first.spec.name}, the field becomes {attribute!r} in generated code; choose another name"
            yield Finding(field.part, text)


def _named(body: Body) -> Iterator[FieldDraft]:
    return (field for field in body.fields if "name" not in field.part.broken)


RULES = (
    nullable_type,
    fields_on_primitive,
    array_of_records,
    entity_type,
    zero_copy_type,
    flexible_override_type,
    flexible_override_range,
    never_present,
    struct_never_present,
    map_key_at_top,
    map_key_tagged,
    map_key_without_array,
    duplicate_field,
    field_name_clash,
)
