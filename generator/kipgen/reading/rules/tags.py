"""Tagged fields, and the tags of removed fields, which are not used again (KIP-482).

The language follows the KIP: a tag alone means all flexible versions, tags are any 31-bit numbers, and any type may be
tagged. Kafka's generator also demands `taggedVersions`, tags without gaps and no tagged records. Those rules are
warnings, and errors under `--kafka`. The other way round, the KIP lets tagged versions end, and the generator does not.
There the stricter one holds, unless the message has `closedTaggedVersions`: peers that know the tag no longer get the
field.

A tag belongs to its struct, in all versions together: two fields of versions that do not meet cannot share one. A
reader takes the tag of another version for a mistake, as Kafka's readers do. Where the message has
`extensibleTaggedVersions`, it is an unknown one to keep, as in the KIP.

What is fixed for ever is in `language.tagged_forms`, for this module and for `commands.compat`, which finds what a
single spec cannot show: a tag that is gone and comes back as another field.
"""

from __future__ import annotations

from collections.abc import Iterator

from kipgen.language.spec import Location
from kipgen.language.tagged_forms import TaggedPart, WireForm, lowest_free_tag, tagged_parts
from kipgen.language.types import encoding_property
from kipgen.language.versions import Versions
from kipgen.reading.draft import Draft, FieldDraft, StructDraft
from kipgen.reading.rules.examples import field_of, spec, tagged_field
from kipgen.reading.rules.rule import Finding, draft_rule, field_rule, repeats, struct_rule


@field_rule(
    needs=("tag", "taggedVersions"),
    summary="taggedVersions come with a tag.",
    good=spec(tagged_field()),
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
    """Find the flexible versions of a field: its own, or else the message's."""
    override = field.spec.flexible_versions
    return draft.message.flexible_versions if override is None else override


@field_rule(
    needs=("tag", "taggedVersions"),
    summary="taggedVersions have no end, as in Kafka's specs. Under closedTaggedVersions they may have one, "
    "as in KIP-482: after it the field is plain, or gone.",
    good=spec(field_of("int32", versions="2+", taggedVersions="2", tag=0), more='"closedTaggedVersions": true'),
    bad=spec(field_of("int32", versions="2+", taggedVersions="2-3", tag=0)),
)
def tagged_versions_open(field: FieldDraft, draft: Draft) -> Iterator[Finding]:
    tagged = field.spec.tagged_versions
    if tagged.is_empty or tagged.is_open or draft.message.closed_tagged_versions:
        return
    allow = 'or allow an end with "closedTaggedVersions": true in the message'
    if "taggedVersions" in field.part.given:
        yield Finding(field.part, f"taggedVersions is {tagged}; write {tagged.lowest}+, {allow}", "taggedVersions")
    else:
        text = f"the tag would be used only in versions {tagged}; write versions without an end, {allow}"
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
    bad=spec(tagged_field(versions="1+")),
)
def tagged_outside_flexible(field: FieldDraft, draft: Draft) -> Iterator[Finding]:
    flexible = _flexible(field, draft)
    if not flexible.contains(field.spec.tagged_versions):
        whose = "message's" if field.spec.flexible_versions is None else "field's"
        text = f"taggedVersions {field.spec.tagged_versions} is not within the {whose} flexibleVersions {flexible}"
        yield Finding(field.part, f"{text}; write a range within them", "taggedVersions")


@draft_rule(
    summary="A tagged field has one form in all of its tagged versions: encoding, nullability, and the plain fields of "
    "the structs in it never change (KIP-482). Where it is plain, it may have another form.",
    good=spec(field_of("int32", taggedVersions="2+", tag=0, encoding={"0-1": "fixed32", "2+": "packed32"})),
    bad=spec(field_of("int32", taggedVersions="2+", tag=0, encoding={"0-2": "fixed32", "3+": "packed32"})),
)
def tagged_form(draft: Draft) -> Iterator[Finding]:
    drafts = {field.spec.location: field for field in draft.fields}
    # A common struct may be in the data of several tagged fields; its field is reported once.
    found: set[tuple[Location, str]] = set()
    for part in tagged_parts(draft.struct_fields):
        field, forms = drafts[part.field.location], part.forms
        is_known = all(drafts[one.location].part.broken.isdisjoint(_FORM) for one in (part.field, part.owner))
        property_ = _form_property(field, forms)
        if len(forms) > 1 and is_known and (part.field.location, property_) not in found:
            found.add((part.field.location, property_))
            yield Finding(field.part, _form_text(part, forms), property_)


_FORM = (
    *("type", "tag", "versions", "taggedVersions", "flexibleVersions", "nullableVersions"),
    *("encoding", "elementEncoding"),
)
"""Properties that determine a form."""
_WireForms = tuple[tuple[Versions, WireForm | None], ...]


def _form_text(part: TaggedPart, forms: _WireForms) -> str:
    texts = [f"{form or 'absent'} in {versions}" for versions, form in forms]
    where = f"is part of the tagged {part.owner.name}" if part.is_inside else "is tagged"
    listed = f"{', '.join(texts[:-1])} and {texts[-1]}"
    return (
        f"the field {where}, but is {listed}; a tagged field keeps its form: write one for {part.versions}, "
        "or add a tagged field with another tag"
    )


def _form_property(field: FieldDraft, forms: _WireForms) -> str:
    """Name the property that makes the first two of the forms differ."""
    # Doubled, because the caller also passes the forms of a field that has only one.
    (_, before), (_, after), *_more = (*forms, *forms)
    if before is None or after is None:
        return "versions"
    if before.written != after.written:
        return encoding_property(field.spec.type)
    return "flexibleVersions" if before.compact != after.compact else "nullableVersions"


@struct_rule(
    summary="The tags of one message or struct are different.",
    good=spec(tagged_field(), tagged_field("Beta", 1, versions="3+")),
    bad=spec(tagged_field(), tagged_field("Beta", 0, versions="3+")),
)
def duplicate_tag(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    tagged = [field for field in struct.fields if field.spec.tag is not None]
    for field, first in repeats(tagged, lambda it: it.spec.tag):
        text = f"tag {field.spec.tag} is already used by {first.spec.name} (line {first.part.location('tag').line})"
        yield Finding(field.part, f"{text}; {_free(struct)}", "tag")


def _free(struct: StructDraft) -> str:
    """Say which tag a field can get: the rule sees one spec, not the history in which others may have been used."""
    taken = {*struct.spec.reserved_tags, *(field.spec.tag for field in struct.fields if field.spec.tag is not None)}
    return f"the lowest free tag is {lowest_free_tag(taken)}"


@struct_rule(
    summary="Tags count from 0 without gaps. KIP-482 does not require it, but Kafka's generator does.",
    good=spec(tagged_field(tag=1), tagged_field("Beta")),
    bad=spec(tagged_field(), tagged_field("Beta", 2)),
    severity="warning",
)
def tag_gap(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    # Reversed, so that the first counts where two fields have one tag, which is the fault of `duplicate-tag`.
    by_tag = {field.spec.tag: field for field in reversed(struct.fields) if field.spec.tag is not None}
    if any("tag" in field.part.broken for field in struct.fields):
        return
    # A removed field's gap must stay, whatever Kafka's generator makes of it: KIP-482 forbids to use the tag again.
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


# Tags of removed fields, which are listed in `reservedTags`.


@struct_rule(
    summary="A field does not use a reserved tag: older peers may still send the field that had it (KIP-482).",
    good=spec(tagged_field(), more='"reservedTags": [1]'),
    bad=spec(tagged_field(), more='"reservedTags": [0]'),
)
def reserved_tag_used(struct: StructDraft, _: Draft) -> Iterator[Finding]:
    for field in struct.fields:
        if field.spec.tag in struct.spec.reserved_tags:
            line = struct.part.location("reservedTags").line
            text = f"tag {field.spec.tag} is reserved (line {line}): another field once had it; {_free(struct)}"
            yield Finding(field.part, text, "tag")


@struct_rule(
    summary="reservedTags names each tag once.",
    good=spec(tagged_field(), more='"reservedTags": [1, 2]'),
    bad=spec(tagged_field(), more='"reservedTags": [1, 1]'),
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
    good=spec(field_of("Inner", versions="2+", reservedTags=[0], fields=[tagged_field(tag=1)])),
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
