"""Tagged fields (KIP-482)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kipgen.rules.examples import spec
from kipgen.rules.rule import Finding, body_rule, field_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kipgen.draft import Body, Draft, FieldDraft


@field_rule(
    "tag",
    "taggedVersions",
    id="tag-missing",
    summary="taggedVersions come with a tag.",
    good=spec('{"name": "Alpha", "type": "int32", "versions": "2+", "taggedVersions": "2+", "tag": 0}'),
    bad=spec('{"name": "Alpha", "type": "int32", "versions": "2+", "taggedVersions": "2+"}'),
)
def tag_missing(field: FieldDraft, _: Draft) -> Finding | None:
    if field.spec.tagged_versions.is_empty or field.spec.tag is not None:
        return None
    text = "there are taggedVersions, but no tag; add one, or leave taggedVersions out"
    return Finding(field.part, text, "taggedVersions")


@field_rule(
    "tag",
    "taggedVersions",
    message=("flexibleVersions",),
    id="tag-unused",
    summary="A field with a tag is tagged in some version.",
    good=spec('{"name": "Alpha", "type": "int32", "versions": "2+", "tag": 0, "taggedVersions": "2+"}'),
    bad=spec('{"name": "Alpha", "type": "int32", "versions": "2+", "tag": 0, "taggedVersions": "none"}'),
)
def tag_unused(field: FieldDraft, draft: Draft) -> Finding | None:
    if field.spec.tag is None or not field.spec.tagged_versions.is_empty:
        return None
    if "taggedVersions" in field.part.given:
        return Finding(field.part, "there is a tag, but taggedVersions is none; leave the tag out", "taggedVersions")
    override = field.spec.flexible_versions
    flexible = draft.message.flexible_versions if override is None else override
    text = f"there is a tag, but none of the field's versions is flexible (flexibleVersions are {flexible})"
    return Finding(field.part, f"{text}; leave the tag out, or change the versions", "tag")


@field_rule(
    "tag",
    "taggedVersions",
    id="tagged-versions-open",
    summary="taggedVersions have no end: a tagged field stays tagged.",
    good=spec('{"name": "Alpha", "type": "int32", "versions": "2+", "taggedVersions": "2+", "tag": 0}'),
    bad=spec('{"name": "Alpha", "type": "int32", "versions": "2+", "taggedVersions": "2-3", "tag": 0}'),
)
def tagged_versions_open(field: FieldDraft, _: Draft) -> Finding | None:
    tagged = field.spec.tagged_versions
    if tagged.is_empty or tagged.is_open:
        return None
    if "taggedVersions" in field.part.given:
        return Finding(field.part, f"taggedVersions is {tagged}; write {tagged.lowest}+", "taggedVersions")
    text = f"the tag would be used in versions {tagged} only; a tagged field stays: write versions without an end"
    return Finding(field.part, text, "versions" if "versions" in field.part.given else "tag")


@field_rule(
    "tag",
    "versions",
    "taggedVersions",
    id="tagged-outside-versions",
    summary="taggedVersions lie within the field's versions.",
    good=spec('{"name": "Alpha", "type": "int32", "versions": "0+", "taggedVersions": "2+", "tag": 0}'),
    bad=spec('{"name": "Alpha", "type": "int32", "versions": "3+", "taggedVersions": "2+", "tag": 0}'),
)
def tagged_outside_versions(field: FieldDraft, _: Draft) -> Finding | None:
    versions, tagged = field.spec.versions, field.spec.tagged_versions
    if versions.contains(tagged):
        return None
    text = f"taggedVersions {tagged} reach beyond the field's versions {versions}; write a part of those"
    return Finding(field.part, text, "taggedVersions")


@field_rule(
    "tag",
    "taggedVersions",
    "flexibleVersions",
    message=("flexibleVersions",),
    id="tagged-outside-flexible",
    summary="Fields are tagged in flexible versions only.",
    good=spec('{"name": "Alpha", "type": "int32", "versions": "1+", "taggedVersions": "2+", "tag": 0}'),
    bad=spec('{"name": "Alpha", "type": "int32", "versions": "1+", "taggedVersions": "1+", "tag": 0}'),
)
def tagged_outside_flexible(field: FieldDraft, draft: Draft) -> Finding | None:
    override = field.spec.flexible_versions
    flexible = draft.message.flexible_versions if override is None else override
    if flexible.contains(field.spec.tagged_versions):
        return None
    whose = "message's" if override is None else "field's"
    text = f"taggedVersions {field.spec.tagged_versions} reach beyond the {whose} flexibleVersions {flexible}"
    return Finding(field.part, f"{text}; write a part of those", "taggedVersions")


@field_rule(
    "tag",
    "taggedVersions",
    "nullableVersions",
    id="tagged-nullable",
    summary="A tagged field is nullable in all of its tagged versions or in none: that never changes (KIP-482).",
    good=spec(
        '{"name": "Alpha", "type": "string", "versions": "2+", "taggedVersions": "2+", "tag": 0,\n'
        '      "nullableVersions": "2+"}'
    ),
    bad=spec(
        '{"name": "Alpha", "type": "string", "versions": "2+", "taggedVersions": "2+", "tag": 0,\n'
        '      "nullableVersions": "3+"}'
    ),
)
def tagged_nullable(field: FieldDraft, _: Draft) -> Finding | None:
    tagged, nullable = field.spec.tagged_versions, field.spec.nullable_versions
    if not field.spec.type.may_be_null or nullable.contains(tagged) or nullable.intersect(tagged).is_empty:
        return None
    text = f"the field is tagged in {tagged}, but nullable only in {nullable}; write {tagged} for both"
    return Finding(field.part, text, "nullableVersions")


@body_rule(
    id="duplicate-tag",
    summary="The tags of one message or struct are different.",
    good=spec(
        '{"name": "Alpha", "type": "int32", "versions": "2+", "taggedVersions": "2+", "tag": 0}',
        '{"name": "Beta", "type": "int32", "versions": "3+", "taggedVersions": "3+", "tag": 1}',
    ),
    bad=spec(
        '{"name": "Alpha", "type": "int32", "versions": "2+", "taggedVersions": "2+", "tag": 0}',
        '{"name": "Beta", "type": "int32", "versions": "3+", "taggedVersions": "3+", "tag": 0}',
    ),
)
def duplicate_tag(body: Body, _: Draft) -> Iterator[Finding]:
    seen: dict[int, FieldDraft] = {}
    for field in body.fields:
        if field.spec.tag is not None:
            first = seen.setdefault(field.spec.tag, field)
            if first is not field:
                text = f"tag {field.spec.tag} is {first.spec.name}'s (line {first.part.place('tag').line})"
                yield Finding(field.part, f"{text}; choose another", "tag")


@body_rule(
    id="tag-gap",
    summary="Tags count from 0 without gaps. KIP-482 does not ask for it, but Kafka's generator does.",
    good=spec(
        '{"name": "Alpha", "type": "int32", "versions": "2+", "taggedVersions": "2+", "tag": 1}',
        '{"name": "Beta", "type": "int32", "versions": "2+", "taggedVersions": "2+", "tag": 0}',
    ),
    bad=spec(
        '{"name": "Alpha", "type": "int32", "versions": "2+", "taggedVersions": "2+", "tag": 0}',
        '{"name": "Beta", "type": "int32", "versions": "2+", "taggedVersions": "2+", "tag": 2}',
    ),
    severity="warning",
)
def tag_gap(body: Body, _: Draft) -> Iterator[Finding]:
    by_tag = {field.spec.tag: field for field in reversed(body.fields) if field.spec.tag is not None}
    if any("tag" in field.part.broken for field in body.fields):
        return
    known = sorted({*by_tag, *body.spec.reserved_tags})
    for expected, tag in enumerate(known):
        if tag != expected and tag in by_tag:
            text = f"tag {tag} comes after a gap: {expected} is not used; Kafka's generator takes no gaps"
            yield Finding(by_tag[tag].part, f"{text}, so use {expected}", "tag")
            return


@field_rule(
    "tag",
    "taggedVersions",
    id="tag-alone",
    summary="A tag comes with taggedVersions. KIP-482 lets them be all flexible versions, Kafka's generator does not.",
    good=spec('{"name": "Alpha", "type": "int32", "versions": "0+", "taggedVersions": "2+", "tag": 0}'),
    bad=spec('{"name": "Alpha", "type": "int32", "versions": "0+", "tag": 0}'),
    severity="warning",
)
def tag_alone(field: FieldDraft, _: Draft) -> Finding | None:
    tagged = field.spec.tagged_versions
    if field.spec.tag is None or "taggedVersions" in field.part.given or not tagged.is_open:
        return None
    text = f'the tag is used in all flexible versions; Kafka\'s generator needs "taggedVersions": "{tagged}" as well'
    return Finding(field.part, text, "tag")


@field_rule(
    "tag",
    "type",
    id="tagged-records",
    summary="Records are not tagged. KIP-482 allows any type, but Kafka's generator has no code for this one.",
    good=spec('{"name": "Alpha", "type": "bytes", "versions": "2+", "taggedVersions": "2+", "tag": 0}'),
    bad=spec('{"name": "Alpha", "type": "records", "versions": "2+", "taggedVersions": "2+", "tag": 0}'),
    severity="warning",
)
def tagged_records(field: FieldDraft, _: Draft) -> Finding | None:
    if field.spec.tag is None or str(field.spec.type) != "records":
        return None
    return Finding(field.part, "Kafka's generator cannot tag records; use bytes, which look the same", "type")


RULES = (
    tag_missing,
    tag_unused,
    tagged_versions_open,
    tagged_outside_versions,
    tagged_outside_flexible,
    tagged_nullable,
    duplicate_tag,
    tag_gap,
    tag_alone,
    tagged_records,
)
