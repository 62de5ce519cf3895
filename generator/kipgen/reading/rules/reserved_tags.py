"""Tags of removed fields: they are listed in `reservedTags`, so that they are not used again (KIP-482)."""

from __future__ import annotations

from collections.abc import Iterator

from kipgen.reading.draft import Draft, FieldDraft, StructDraft
from kipgen.reading.rules.examples import field_of, spec
from kipgen.reading.rules.rule import Finding, draft_rule, field_rule, struct_rule

_TAG_1 = field_of("int32", versions="2+", taggedVersions="2+", tag=1)
_TAG_0 = field_of("int32", versions="2+", taggedVersions="2+", tag=0)


@struct_rule(
    summary="A field does not use a reserved tag: older peers may still send the field that had it (KIP-482).",
    good=spec(_TAG_0, more='"reservedTags": [1]'),
    bad=spec(_TAG_0, more='"reservedTags": [0]'),
)
def reserved_tag_used(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    for field in struct.fields:
        if field.spec.tag in struct.spec.reserved_tags:
            line = struct.part.location("reservedTags").line
            text = f"tag {field.spec.tag} is reserved (line {line}): another field once had it; choose another tag"
            yield Finding(field.part, text, "tag")


@struct_rule(
    summary="reservedTags names each tag once.",
    good=spec(_TAG_0, more='"reservedTags": [1, 2]'),
    bad=spec(_TAG_0, more='"reservedTags": [1, 1]'),
)
def reserved_tag_twice(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    tags = struct.spec.reserved_tags
    for tag in sorted({tag for tag in tags if tags.count(tag) > 1}):
        yield Finding(struct.part, f"tag {tag} is listed {tags.count(tag)} times; list it once", "reservedTags")


@draft_rule(
    summary="Only a message with flexible versions reserves tags; others never had tags (KIP-482).",
    good=spec(flexible="2+", more='"reservedTags": [0]'),
    bad=spec(flexible="none", more='"reservedTags": [0]'),
)
def reserved_tags_inflexible(draft: Draft) -> Iterator[Finding]:
    if draft.is_retired or not draft.message.flexible_versions.is_empty or "flexibleVersions" in draft.part.broken:
        return
    for struct in draft.structs:
        if struct.spec.reserved_tags:
            text = "the message has no flexible versions, so no field of it ever had a tag; leave reservedTags out"
            yield Finding(struct.part, text, "reservedTags")


@field_rule(
    needs=("type", "reservedTags"),
    summary="reservedTags are listed where the fields are: in the message, in a common struct, or in the field "
    "that defines its struct.",
    good=spec(field_of("Inner", versions="2+", reservedTags=[0], fields=[_TAG_1])),
    bad=spec(field_of("int32", versions="2+", reservedTags=[0])),
)
def reserved_tags_place(field: FieldDraft, draft: Draft) -> Iterator[Finding]:
    if "reservedTags" not in field.part.given:
        return
    struct = draft.common.get(field.spec.type.element)
    if not field.spec.type.has_struct:
        text = f"{field.spec.type} has no fields, so no tags; leave reservedTags out"
        yield Finding(field.part, text, "reservedTags")
    elif struct is not None:
        text = f"{struct.spec.name} is a common struct (line {struct.part.location().line}); reserve its tags there"
        yield Finding(field.part, text, "reservedTags")
