"""Rules between the properties of a field, and between the fields of a struct.

Kafka's generator refuses most of it, too. It accepts fields of `[]int32` (`fields-on-primitive`), names that become one
(`field-name-clash`), and properties without effect, which are warnings here. At `[]records` it fails only while it
writes Java.

Encodings, tags, enums and layouts have modules of their own. A rule about another property goes here; one
that needs to know what else uses a struct goes to `structs`.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipgen.language.names import attribute_name
from kipgen.reading.draft import Draft, FieldDraft, StructDraft
from kipgen.reading.rules.examples import LEAF, field_of, spec
from kipgen.reading.rules.rule import Finding, draft_rule, field_rule, repeats, struct_rule
from kipwire.tools.text import did_you_mean

ENTITY_BASES = {
    "transactionalId": "string",
    "producerId": "int64",
    "groupId": "string",
    "topicName": "string",
    "brokerId": "int32",
}
"""Words for `entityType` with their types, as in Kafka's EntityType. An array has the entity type of its elements."""
NO_ENTITY = "unknown"
"""Kafka's word for no entity type."""


@field_rule(
    needs=("type", "nullableVersions"),
    summary="Only strings, bytes, records, arrays and structs can be null.",
    good=spec(field_of("string", nullableVersions="0+")),
    bad=spec(field_of("uuid", nullableVersions="0+")),
)
def nullable_type(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if not field.spec.nullable_versions.is_empty and not field.spec.type.may_be_null:
        text = f"{field.spec.type} cannot be null; leave nullableVersions out"
        yield Finding(field.part, text, "nullableVersions")


@field_rule(
    needs=("type", "default", "versions", "nullableVersions"),
    summary="A field whose default is null is nullable in all of its versions.",
    good=spec(field_of("string", versions="1+", nullableVersions="1+", default="null")),
    bad=spec(field_of("string", nullableVersions="1+", default="null")),
)
def default_null(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if field.spec.default is not None or str(field.spec.type) == "records":
        return  # the default of records is always null
    # Of all versions, valid or not, as in Kafka: its class has one default for all of them.
    if field.spec.nullable_versions.contains(field.spec.versions):
        return
    nullable = field.spec.nullable_versions
    where = "never nullable" if nullable.is_empty else f"nullable only in {nullable}"
    text = f"the default is null, but the field is {where}"
    yield Finding(field.part, f'{text}; write "nullableVersions": "{field.spec.versions}"', "default")


@field_rule(
    needs=("type",),
    summary="Only a struct, or an array of structs, has fields of its own.",
    good=spec(field_of("[]Inner", fields=[LEAF])),
    bad=spec(field_of("[]int32", fields=[LEAF])),
)
def fields_on_primitive(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if field.fields_given and not field.spec.type.has_struct:
        text = f"{field.spec.type} has no fields; give the type a struct's name, or leave the fields out"
        yield Finding(field.part, text, "fields")


@field_rule(
    needs=("type",),
    summary="An array cannot have records as elements.",
    good=spec(field_of("records")),
    bad=spec(field_of("[]records")),
)
def array_of_records(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if field.spec.type.is_array and field.spec.type.element == "records":
        yield Finding(field.part, "records cannot be the element of an array; put them into a struct", "type")


@field_rule(
    needs=("type", "entityType"),
    summary="An entity type goes with one type: topicName with string, brokerId with int32, others as settings say.",
    good=spec(field_of("[]int32", entityType="brokerId")),
    bad=spec(field_of("[]int64", entityType="brokerId")),
)
def entity_type(field: FieldDraft, draft: Draft) -> Iterator[Finding]:
    entity = field.spec.entity_type
    base = ENTITY_BASES.get(entity or "")
    declared = draft.entity_types.get(entity or "")
    due = base or declared
    if due is not None and due != field.spec.type.element:
        why = "" if base else " by the settings"
        text = f"{entity} goes with {due}{why}, not {field.spec.type.element}; change one of the two"
        yield Finding(field.part, text, "entityType")


@field_rule(
    needs=("type", "entityType"),
    summary="An entity type is a word of Kafka's or of the settings; it changes nothing on the wire.",
    good=spec(field_of("string", entityType="topicName")),
    bad=spec(field_of("int64", entityType="streamId")),
    severity="warning",
)
def entity_type_of_kafka(field: FieldDraft, draft: Draft) -> Iterator[Finding]:
    entity = field.spec.entity_type
    if entity is not None and entity not in ENTITY_BASES and entity not in draft.entity_types:
        known = (*ENTITY_BASES, NO_ENTITY)
        hint = did_you_mean(entity, (*known, *draft.entity_types)) or f"; Kafka's are {', '.join(known)}"
        if not field.spec.type.has_struct:
            declared = f'entity-types = {{{entity} = "{field.spec.type.element}"}}'
            hint += f"; declare a word of your own in the settings: {declared}"
        yield Finding(field.part, f"{entity} is no entity type of Kafka{hint}", "entityType")


@field_rule(
    needs=("type", "zeroCopy"),
    summary="Only bytes can be zeroCopy.",
    good=spec(field_of("bytes", zeroCopy=True)),
    bad=spec(field_of("string", zeroCopy=True)),
)
def zero_copy_type(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if field.spec.zero_copy and str(field.spec.type) != "bytes":
        yield Finding(field.part, f"{field.spec.type} cannot be zeroCopy; leave it out, only bytes can be", "zeroCopy")


@field_rule(
    needs=("type", "flexibleVersions"),
    summary="Only string and bytes fields have flexibleVersions of their own.",
    good=spec(field_of("string", flexibleVersions="none")),
    bad=spec(field_of("[]string", flexibleVersions="none")),
)
def flexible_override_type(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if field.spec.flexible_versions is not None and str(field.spec.type) not in ("string", "bytes"):
        text = f"{field.spec.type} cannot have flexibleVersions; leave it out, only string and bytes can have it"
        yield Finding(field.part, text, "flexibleVersions")


@field_rule(
    needs=("type", "flexibleVersions"),
    message=("flexibleVersions",),
    summary="A field's flexibleVersions lie within those of the message.",
    good=spec(field_of("string", flexibleVersions="3+")),
    bad=spec(field_of("string", flexibleVersions="1+")),
)
def flexible_override_range(field: FieldDraft, draft: Draft) -> Iterator[Finding]:
    # The property is for one field of Kafka: ClientId keeps its classic length in the flexible request header, because
    # a broker reads that header before it knows if it supports the version.
    override, whole = field.spec.flexible_versions, draft.message.flexible_versions
    if override is not None and not whole.contains(override) and str(field.spec.type) in ("string", "bytes"):
        text = f"flexibleVersions {override} is not within the message's {whole}; write a range within it, or none"
        yield Finding(field.part, text, "flexibleVersions")


@field_rule(
    needs=("versions", "type"),
    message=("validVersions",),
    summary="A field exists in some valid version of its message.",
    good=spec(field_of("int32", versions="3+")),
    bad=spec(field_of("int32", versions="9+")),
    severity="warning",
    kafka="warning",
)
def never_present(field: FieldDraft, draft: Draft) -> Iterator[Finding]:
    # Two rules, for Kafka's generator accepts such a field and refuses such a struct.
    if not _is_inline(field, draft):
        yield from _never_present(field, "field")


@field_rule(
    needs=("versions", "type"),
    message=("validVersions",),
    summary="A struct exists in some valid version of its message.",
    good=spec(field_of("Inner", versions="3+", fields=[LEAF])),
    bad=spec(field_of("Inner", versions="9+", fields=[LEAF])),
)
def struct_never_present(field: FieldDraft, draft: Draft) -> Iterator[Finding]:
    if _is_inline(field, draft):
        yield from _never_present(field, "struct")


def _is_inline(field: FieldDraft, draft: Draft) -> bool:
    """True if a field defines its struct."""
    return field.spec.type.has_struct and field.spec.type.element not in draft.common


def _never_present(field: FieldDraft, what: str) -> Iterator[Finding]:
    if field.present is None or field.within is None:
        return
    if field.present.is_empty and not field.within.is_empty:
        versions = f"it has versions {field.spec.versions}, but the enclosing struct or message has {field.within}"
        text = f"the {what} does not exist in any version: {versions}; widen its versions, or remove it"
        yield Finding(field.part, text, "versions")


@draft_rule(
    summary="A map key is a field of a struct, not of the message itself.",
    good=spec(field_of("[]Inner", fields=[field_of("int32", "Leaf", mapKey=True)])),
    bad=spec(field_of("int32", mapKey=True)),
)
def map_key_at_top(draft: Draft) -> Iterator[Finding]:
    # In Kafka, map keys make an array a collection that finds its elements by them. A message is never an element.
    for field in draft.structs[0].fields:
        if field.spec.map_key:
            text = "a field of the message itself cannot be a mapKey; only a field of an array's struct can"
            yield Finding(field.part, text, "mapKey")


@field_rule(
    needs=("tag", "mapKey"),
    summary="A map key is not tagged.",
    good=spec(field_of("[]Inner", versions="2+", fields=[field_of("int32", "Leaf", versions="2+", mapKey=True)])),
    bad=spec(
        field_of(
            "[]Inner",
            versions="2+",
            fields=[field_of("int32", "Leaf", versions="2+", mapKey=True, tag=0, taggedVersions="2+")],
        )
    ),
)
def map_key_tagged(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if field.spec.map_key and field.spec.tag is not None:
        yield Finding(field.part, "a tagged field cannot be a mapKey; remove the tag or the mapKey", "mapKey")


@struct_rule(
    summary="The struct of a map key is the element of an array.",
    good=spec(field_of("[]Inner", fields=[field_of("int32", "Leaf", mapKey=True)])),
    bad=spec(field_of("Inner", fields=[field_of("int32", "Leaf", mapKey=True)])),
    severity="warning",
    kafka="warning",
)
def map_key_without_array(struct: StructDraft, draft: Draft) -> Iterator[Finding]:
    keys = [field for field in struct.fields if field.spec.map_key]
    if not keys or struct.kind not in ("inline", "common"):
        return
    uses = [field.spec.type for field in draft.fields if field.spec.type.element == struct.spec.name]
    if uses and not any(type_.is_array for type_ in uses):
        for field in keys:
            text = f"{struct.spec.name} is never the element of an array, so mapKey has no effect; leave it out"
            yield Finding(field.part, text, "mapKey")


@struct_rule(
    summary="The fields of one message or struct have different names.",
    good=spec(field_of("int32", versions="0"), field_of("int64", "Beta", versions="1+")),
    bad=spec(field_of("int32", versions="0"), field_of("int64", versions="1+")),
)
def duplicate_field(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    # Also of versions that do not meet: Kafka's class is one for all versions, with one attribute for a name.
    for field, first in repeats(_named_fields(struct), lambda it: it.spec.name):
        text = f"line {first.part.location().line} already has this name; choose another, even for other versions"
        yield Finding(field.part, text)


@struct_rule(
    summary="The fields of one message or struct have different names in Python, too.",
    good=spec(field_of("int32", "FooBar"), field_of("int32", "FooBaz")),
    bad=spec(field_of("int32", "FooBar"), field_of("int32", "FooBAR")),
)
def field_name_clash(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    for field, first in repeats(_named_fields(struct), lambda it: attribute_name(it.spec.name)):
        if first.spec.name != field.spec.name:
            attribute = attribute_name(field.spec.name)
            text = f"as {first.spec.name}, the field becomes {attribute!r} in generated code; choose another name"
            yield Finding(field.part, text)


def _named_fields(struct: StructDraft) -> Iterator[FieldDraft]:
    return (field for field in struct.fields if "name" not in field.part.broken)
