"""Tagged fields (KIP-482)."""

from __future__ import annotations

from collections.abc import Iterator

from kipgen.language.versions import Versions
from kipgen.reading.draft import Draft, FieldDraft, StructDraft
from kipgen.reading.rules.examples import field_of, spec
from kipgen.reading.rules.rule import Finding, field_rule, repeated, struct_rule


@field_rule(
    needs=("tag", "taggedVersions"),
    summary="taggedVersions come with a tag.",
    good=spec(field_of("int32", versions="2+", taggedVersions="2+", tag=0)),
    bad=spec(field_of("int32", versions="2+", taggedVersions="2+")),
)
def tag_missing(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if not field.spec.tagged_versions.is_empty and field.spec.tag is None:
        text = "taggedVersions is given without a tag; add a tag, or leave taggedVersions out"
        yield Finding(field.part, text, "taggedVersions")


@field_rule(
    needs=("tag", "taggedVersions"),
    message=("flexibleVersions",),
    summary="A field with a tag is tagged in some version.",
    good=spec(field_of("int32", versions="2+", tag=0, taggedVersions="2+")),
    bad=spec(field_of("int32", versions="2+", tag=0, taggedVersions="none")),
)
def tag_unused(field: FieldDraft, draft: Draft) -> Iterator[Finding]:
    if field.spec.tag is None or not field.spec.tagged_versions.is_empty:
        return
    if "taggedVersions" in field.part.given:
        yield Finding(field.part, "a tag is given, but taggedVersions is none; leave the tag out", "taggedVersions")
    else:
        flexible = _flexible(field, draft)
        text = f"a tag is given, but none of the field's versions is flexible (flexibleVersions is {flexible})"
        yield Finding(field.part, f"{text}; leave the tag out, or change the versions", "tag")


def _flexible(field: FieldDraft, draft: Draft) -> Versions:
    """The flexible versions of a field: its own, or those of the message."""
    override = field.spec.flexible_versions
    return draft.message.flexible_versions if override is None else override


@field_rule(
    needs=("tag", "taggedVersions"),
    summary="taggedVersions have no end: a tagged field stays tagged.",
    good=spec(field_of("int32", versions="2+", taggedVersions="2+", tag=0)),
    bad=spec(field_of("int32", versions="2+", taggedVersions="2-3", tag=0)),
)
def tagged_versions_open(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    tagged = field.spec.tagged_versions
    if tagged.is_empty or tagged.is_open:
        return
    if "taggedVersions" in field.part.given:
        yield Finding(field.part, f"taggedVersions is {tagged}; write {tagged.lowest}+", "taggedVersions")
    else:
        text = f"the tag would be used only in versions {tagged}; write versions without an end"
        yield Finding(field.part, text, "versions" if "versions" in field.part.given else "tag")


@field_rule(
    needs=("tag", "versions", "taggedVersions"),
    summary="taggedVersions lie within the field's versions.",
    good=spec(field_of("int32", taggedVersions="2+", tag=0)),
    bad=spec(field_of("int32", versions="3+", taggedVersions="2+", tag=0)),
)
def tagged_outside_versions(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    versions, tagged = field.spec.versions, field.spec.tagged_versions
    if not versions.contains(tagged):
        text = f"taggedVersions {tagged} is not within the field's versions {versions}; write a range within them"
        yield Finding(field.part, text, "taggedVersions")


@field_rule(
    needs=("tag", "taggedVersions", "flexibleVersions"),
    message=("flexibleVersions",),
    summary="Fields are tagged in flexible versions only.",
    good=spec(field_of("int32", versions="1+", taggedVersions="2+", tag=0)),
    bad=spec(field_of("int32", versions="1+", taggedVersions="1+", tag=0)),
)
def tagged_outside_flexible(field: FieldDraft, draft: Draft) -> Iterator[Finding]:
    flexible = _flexible(field, draft)
    if not flexible.contains(field.spec.tagged_versions):
        whose = "message's" if field.spec.flexible_versions is None else "field's"
        text = f"taggedVersions {field.spec.tagged_versions} is not within the {whose} flexibleVersions {flexible}"
        yield Finding(field.part, f"{text}; write a range within them", "taggedVersions")


@field_rule(
    needs=("tag", "taggedVersions", "nullableVersions"),
    summary="A tagged field is nullable in all of its tagged versions or in none: that never changes (KIP-482).",
    good=spec(field_of("string", versions="2+", taggedVersions="2+", tag=0, nullableVersions="2+")),
    bad=spec(field_of("string", versions="2+", taggedVersions="2+", tag=0, nullableVersions="3+")),
)
def tagged_nullable(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    tagged, nullable = field.spec.tagged_versions, field.spec.nullable_versions
    if field.spec.type.may_be_null and not nullable.contains(tagged) and not nullable.intersect(tagged).is_empty:
        text = f"the field is tagged in {tagged}, but nullable only in {nullable}; write {tagged} for both"
        yield Finding(field.part, text, "nullableVersions")


@struct_rule(
    summary="The tags of one message or struct are different.",
    good=spec(
        field_of("int32", versions="2+", taggedVersions="2+", tag=0),
        field_of("int32", "Beta", versions="3+", taggedVersions="3+", tag=1),
    ),
    bad=spec(
        field_of("int32", versions="2+", taggedVersions="2+", tag=0),
        field_of("int32", "Beta", versions="3+", taggedVersions="3+", tag=0),
    ),
)
def duplicate_tag(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    tagged = (field for field in struct.fields if field.spec.tag is not None)
    for field, first in repeated(tagged, lambda it: it.spec.tag):
        text = f"tag {field.spec.tag} is already used by {first.spec.name} (line {first.part.location('tag').line})"
        yield Finding(field.part, f"{text}; choose another", "tag")


@struct_rule(
    summary="Tags count from 0 without gaps. KIP-482 does not require it, but Kafka's generator does.",
    good=spec(
        field_of("int32", versions="2+", taggedVersions="2+", tag=1),
        field_of("int32", "Beta", versions="2+", taggedVersions="2+", tag=0),
    ),
    bad=spec(
        field_of("int32", versions="2+", taggedVersions="2+", tag=0),
        field_of("int32", "Beta", versions="2+", taggedVersions="2+", tag=2),
    ),
    severity="warning",
)
def tag_gap(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    by_tag = {field.spec.tag: field for field in reversed(struct.fields) if field.spec.tag is not None}
    if any("tag" in field.part.broken for field in struct.fields):
        return
    known = sorted({*by_tag, *struct.spec.reserved_tags})
    for expected, tag in enumerate(known):
        if tag != expected and tag in by_tag:
            text = f"tag {tag} comes after a gap: {expected} is not used, and Kafka's generator rejects gaps"
            yield Finding(by_tag[tag].part, f"{text}; use {expected}", "tag")
            return


@field_rule(
    needs=("tag", "taggedVersions"),
    summary="A tag comes with taggedVersions. KIP-482 has a default for them, Kafka's generator does not.",
    good=spec(field_of("int32", taggedVersions="2+", tag=0)),
    bad=spec(field_of("int32", tag=0)),
    severity="warning",
)
def tag_alone(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    tagged = field.spec.tagged_versions
    if field.spec.tag is not None and "taggedVersions" not in field.part.given and tagged.is_open:
        due = f'"taggedVersions": "{tagged}"'
        text = f"the tag is used in all flexible versions; Kafka's generator also requires {due}"
        yield Finding(field.part, text, "tag")


@field_rule(
    needs=("tag", "type"),
    summary="Records are not tagged. KIP-482 allows any type, but Kafka's generator has no code for this one.",
    good=spec(field_of("bytes", versions="2+", taggedVersions="2+", tag=0)),
    bad=spec(field_of("records", versions="2+", taggedVersions="2+", tag=0)),
    severity="warning",
)
def tagged_records(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if field.spec.tag is not None and str(field.spec.type) == "records":
        yield Finding(field.part, "Kafka's generator cannot tag records; use bytes, which are written alike", "type")
