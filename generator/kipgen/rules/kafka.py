"""What Kafka's own generator minds beyond the language: rules for specs that are to go upstream (`--kafka`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kipgen.rules.examples import ALPHA, layout, spec
from kipgen.rules.rule import Finding, draft_rule, field_rule, message_rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kipgen.draft import Draft, FieldDraft

_MAX_JAVA_INT = 2**31 - 1


@message_rule(
    "type",
    id="kafka-layout",
    summary="Kafka's generator does not know the type layout, which is ours.",
    good=spec(ALPHA),
    bad=layout(ALPHA),
    severity=None,
)
def kafka_layout(draft: Draft) -> Finding | None:
    if not draft.message.is_layout:
        return None
    return Finding(draft.part, "Kafka's generator refuses the type layout; it is for kipwire alone", "type")


@draft_rule(
    id="kafka-about",
    summary="Kafka's generator knows about on fields only, not on messages and common structs.",
    good=spec('{"name": "Alpha", "type": "int32", "versions": "0+", "about": "The first letter."}'),
    bad=spec(ALPHA, more='"about": "A probe."'),
    severity=None,
)
def kafka_about(draft: Draft) -> Iterator[Finding]:
    for body in draft.bodies:
        if body.kind in ("message", "common") and "about" in body.part.given:
            yield Finding(body.part, "Kafka's generator refuses about here; write a comment instead", "about")


@draft_rule(
    id="kafka-reserved-tags",
    summary="Kafka's generator does not know reservedTags, our extension of KIP-482.",
    good=spec(ALPHA, more="// Tag 0 was that of Beta, up to release 2."),
    bad=spec(ALPHA, more='"reservedTags": [0]'),
    severity=None,
)
def kafka_reserved_tags(draft: Draft) -> Iterator[Finding]:
    holders = [body.part for body in draft.bodies if body.kind in ("message", "common")]
    for part in (*holders, *(field.part for field in draft.fields)):
        if "reservedTags" in part.given:
            yield Finding(part, "Kafka's generator refuses reservedTags; write a comment instead", "reservedTags")


@message_rule(
    id="kafka-served-versions",
    summary="Kafka's generator does not know servedVersions: its validVersions are those that are served.",
    good=spec(valid="1-3"),
    bad=spec(more='"servedVersions": "1+"'),
    severity=None,
)
def kafka_served_versions(draft: Draft) -> Finding | None:
    if "servedVersions" not in draft.part.given:
        return None
    text = f"Kafka's generator refuses servedVersions; leave it out, with validVersions {draft.message.served_versions}"
    return Finding(draft.part, text, "servedVersions")


@message_rule(
    "listeners",
    id="kafka-zookeeper",
    summary="Kafka's generator no longer knows the listener zkBroker: clusters with ZooKeeper ended with Kafka 3.9.",
    good=spec(name="ProbeRequest", type_="request", more='"listeners": ["broker"]'),
    bad=spec(name="ProbeRequest", type_="request", more='"listeners": ["zkBroker", "broker"]'),
    severity=None,
)
def kafka_zookeeper(draft: Draft) -> Finding | None:
    if "zkBroker" not in draft.message.listeners:
        return None
    return Finding(draft.part, "Kafka's generator refuses zkBroker; leave it out", "listeners")


@field_rule(
    id="kafka-encoding",
    summary="Kafka's generator does not know encoding (KIP-625 was not adopted).",
    good=spec(ALPHA),
    bad=spec('{"name": "Alpha", "type": "int32", "versions": "0+", "encoding": "packed32"}'),
    severity=None,
)
def kafka_encoding(field: FieldDraft, _: Draft) -> Finding | None:
    if "encoding" not in field.part.given:
        return None
    return Finding(field.part, "Kafka's generator refuses encoding; leave it out", "encoding")


@field_rule(
    id="kafka-element-encoding",
    summary="Kafka's generator does not know elementEncoding, our extension of KIP-625.",
    good=spec('{"name": "Alpha", "type": "[]int32", "versions": "0+"}'),
    bad=spec('{"name": "Alpha", "type": "[]int32", "versions": "0+", "elementEncoding": "upacked32"}'),
    severity=None,
)
def kafka_element_encoding(field: FieldDraft, _: Draft) -> Finding | None:
    if "elementEncoding" not in field.part.given:
        return None
    return Finding(field.part, "Kafka's generator refuses elementEncoding; leave it out", "elementEncoding")


@field_rule(
    "versions",
    id="kafka-nested-versions",
    summary="Kafka's generator wants versions on every field that has fields of its own, even a tagged one.",
    good=spec(
        '{"name": "Alpha", "type": "Inner", "versions": "2+", "taggedVersions": "2+", "tag": 0, "fields": [\n'
        '      {"name": "Leaf", "type": "int32", "versions": "2+"}]}'
    ),
    bad=spec(
        '{"name": "Alpha", "type": "Inner", "taggedVersions": "2+", "tag": 0, "fields": [\n'
        '      {"name": "Leaf", "type": "int32", "versions": "2+"}]}'
    ),
    severity=None,
)
def kafka_nested_versions(field: FieldDraft, _: Draft) -> Finding | None:
    if not field.fields_given or "versions" in field.part.given:
        return None
    text = f'Kafka\'s generator needs versions where there are fields; add "versions": "{field.spec.versions}"'
    return Finding(field.part, text)


@field_rule(
    "type",
    "default",
    id="kafka-default-literal",
    summary="Kafka's generator pastes defaults into Java as they are, so some do not compile.",
    good=spec('{"name": "Alpha", "type": "uint32", "versions": "0+", "default": "0x7fffffff"}'),
    bad=spec('{"name": "Alpha", "type": "uint32", "versions": "0+", "default": "0xffffffff"}'),
    severity=None,
)
def kafka_default_literal(field: FieldDraft, _: Draft) -> Finding | None:
    default = field.spec.default
    if field.spec.type.element == "uint32" and isinstance(default, int) and default > _MAX_JAVA_INT:
        return Finding(field.part, f"{default} is no int in Java; write at most {_MAX_JAVA_INT}", "default")
    if isinstance(default, str) and (not default.isprintable() or '"' in default or "\\" in default):
        text = "quotes, backslashes and control characters in a default give Java that does not compile"
        return Finding(field.part, f"{text}; write the default without them", "default")
    return None


@field_rule(
    "type",
    id="kafka-bytes-array",
    summary="Kafka's generator makes Java for arrays of bytes that does not compile.",
    good=spec('{"name": "Alpha", "type": "[]string", "versions": "0+"}'),
    bad=spec('{"name": "Alpha", "type": "[]bytes", "versions": "0+"}'),
    severity=None,
)
def kafka_bytes_array(field: FieldDraft, _: Draft) -> Finding | None:
    if str(field.spec.type) != "[]bytes":
        return None
    return Finding(field.part, "Kafka's Java for []bytes does not compile; put the bytes into a struct", "type")


@field_rule(
    "tag",
    "zeroCopy",
    id="kafka-tagged-zero-copy",
    summary="Kafka's generator makes Java for tagged zeroCopy bytes that does not compile.",
    good=spec('{"name": "Alpha", "type": "bytes", "versions": "2+", "taggedVersions": "2+", "tag": 0}'),
    bad=spec(
        '{"name": "Alpha", "type": "bytes", "versions": "2+", "taggedVersions": "2+", "tag": 0, "zeroCopy": true}'
    ),
    severity=None,
)
def kafka_tagged_zero_copy(field: FieldDraft, _: Draft) -> Finding | None:
    if field.spec.tag is None or not field.spec.zero_copy:
        return None
    return Finding(field.part, "Kafka's Java for tagged zeroCopy bytes does not compile; leave it out", "zeroCopy")


RULES = (
    kafka_layout,
    kafka_about,
    kafka_reserved_tags,
    kafka_served_versions,
    kafka_zookeeper,
    kafka_encoding,
    kafka_element_encoding,
    kafka_nested_versions,
    kafka_default_literal,
    kafka_bytes_array,
    kafka_tagged_zero_copy,
)
