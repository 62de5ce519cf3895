"""Demands of Kafka's own generator beyond the language: rules for specs that are contributed to Kafka (`--kafka`).

Where KIP-482 and the generator differ, the language follows the KIP, and the difference is a rule. Here are those that
matter to nothing but the generator: properties that it does not know, and specs of which it makes Java that does not
compile, although the wire form is well defined. Demands that are good advice for every spec (`tag-gap`, `tag-alone`)
are warnings beside the other rules of their subject.

The facts are from runs of the published generators 4.0.0 and 4.3.1, not from documents; tests/data/spec-cases.jsonl has
cases with their verdicts. A new property of ours needs a rule here, or `--kafka` lets it through.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from kipgen.language.spec import HEADERS, KAFKA_HEADERS, MessageSpec
from kipgen.language.versions import MAX_VERSION, Versions
from kipgen.reading.draft import Draft, FieldDraft
from kipgen.reading.rules.examples import ALPHA, field_of, layout, spec, tagged_field
from kipgen.reading.rules.rule import Finding, draft_rule, field_rule, message_rule

_MAX_JAVA_INT = 2**31 - 1


@message_rule(
    needs=("type",),
    summary="Kafka's generator does not support the type layout, an extension of kipwire.",
    good=spec(ALPHA),
    bad=layout(ALPHA),
    severity=None,
)
def kafka_layout(draft: Draft) -> Iterator[Finding]:
    if draft.message.is_layout:
        yield Finding(draft.part, "Kafka's generator rejects the type layout, an extension of kipwire", "type")


@draft_rule(
    summary="Kafka's generator accepts about only on fields, not on messages and common structs.",
    good=spec(field_of("int32", about="The first letter.")),
    bad=spec(ALPHA, more='"about": "A probe."'),
    severity=None,
)
def kafka_about(draft: Draft) -> Iterator[Finding]:
    for struct in draft.structs:
        if struct.kind in ("message", "common") and "about" in struct.part.given:
            yield Finding(struct.part, "Kafka's generator rejects about here; write a comment instead", "about")


@draft_rule(
    summary="Kafka's generator does not support reservedTags, kipwire's extension of KIP-482.",
    good=spec(ALPHA, more="// Tag 0 was that of Beta, up to release 2."),
    bad=spec(ALPHA, more='"reservedTags": [0]'),
    severity=None,
)
def kafka_reserved_tags(draft: Draft) -> Iterator[Finding]:
    holders = [struct.part for struct in draft.structs if struct.kind in ("message", "common")]
    for part in (*holders, *(field.part for field in draft.fields)):
        if "reservedTags" in part.given:
            yield Finding(part, "Kafka's generator rejects reservedTags; write a comment instead", "reservedTags")


@draft_rule(
    summary="Kafka's generator does not support servedVersions: its validVersions are those that are served.",
    good=spec(valid="1-3"),
    bad=spec(more='"servedVersions": "1+"'),
    severity=None,
)
def kafka_served_versions(draft: Draft) -> Iterator[Finding]:
    if "servedVersions" in draft.part.given:
        text = "Kafka's generator rejects servedVersions; leave it out, and write "
        yield Finding(draft.part, f"{text}validVersions {draft.message.served_versions}", "servedVersions")


@message_rule(
    needs=("name", "type", "apiKey", "validVersions", "flexibleVersions"),
    summary="Kafka's generators up to 4.4 reject headerVersions; its trunk demands it in requests and responses "
    "(KIP-1313).",
    good=spec(ALPHA),
    bad=spec(name="ProbeRequest", type_="request"),
    severity=None,
    kafka="warning",
)
def kafka_header_versions(draft: Draft) -> Iterator[Finding]:
    if draft.message.type not in HEADERS or draft.part.broken & {"headerVersions"}:
        return
    if "headerVersions" in draft.part.given:
        text = "Kafka's generators up to 4.4 reject headerVersions; its trunk demands it (KIP-1313)"
        yield Finding(draft.part, text, "headerVersions")
    else:
        text = "Kafka's trunk demands headerVersions (KIP-1313), generators up to 4.4 reject it; for the trunk add "
        yield Finding(draft.part, f'{text}"headerVersions": {json.dumps(_kafka_headers(draft.message))}')


def _kafka_headers(message: MessageSpec) -> dict[str, str]:
    """Write out which versions of Kafka's header a request or a response has by its flexible versions."""
    _, flexible = KAFKA_HEADERS[HEADERS[message.type]]
    starts = {0: flexible.lowest - 1}
    if message.has_oldest_header:
        starts = {0: 0}
    else:
        if message.begins_with_oldest_header:
            starts = {0: 0, 1: flexible.lowest - 1}
        first = message.flexible_versions
        if not first.is_empty and first.lowest <= message.valid_versions.highest:
            starts[first.lowest] = flexible.lowest
    ends = [*(start - 1 for start in [*starts][1:]), MAX_VERSION]
    return {str(Versions(start, end)): str(starts[start]) for start, end in zip(starts, ends, strict=True)}


@draft_rule(
    summary="Where Kafka's generator takes headerVersions, they begin with version 0 and the last range has no end.",
    good=spec(name="ProbeRequest", type_="request", more='"headerVersions": {"0-1": "1", "2+": "2"}'),
    bad=spec(name="ProbeRequest", type_="request", more='"headerVersions": {"0-1": "1", "2-3": "2"}'),
    severity=None,
)
def kafka_header_ranges(draft: Draft) -> Iterator[Finding]:
    ranges, valid = [versions for versions, _ in draft.message.header_versions], draft.message.valid_versions
    if draft.is_retired and "headerVersions" in draft.part.given:
        text = "Kafka's generator rejects headerVersions of a message without versions; leave it out"
        yield Finding(draft.part, text, "headerVersions")
    if not ranges or draft.message.type not in HEADERS or draft.part.broken & {"type", "validVersions"}:
        return
    last = ranges[-1]
    if ranges[0].lowest:
        text = f"Kafka's generator rejects headerVersions that begin with {ranges[0].lowest}; begin with 0"
        yield Finding(draft.part, text, "headerVersions")
    elif not last.is_open:
        text = f"Kafka's generator rejects headerVersions whose last range has an end; write {last.lowest}+ for {last}"
        yield Finding(draft.part, text, "headerVersions")
    elif last.lowest > valid.highest:
        text = f"Kafka's generator rejects headerVersions from {last.lowest} on: the highest version is {valid.highest}"
        yield Finding(draft.part, f"{text}; leave them out", "headerVersions")


@draft_rule(
    summary="Kafka's generator does not support closedTaggedVersions: its taggedVersions have no end.",
    good=spec(tagged_field()),
    bad=spec(tagged_field(), more='"closedTaggedVersions": true'),
    severity=None,
)
def kafka_closed_tagged_versions(draft: Draft) -> Iterator[Finding]:
    if "closedTaggedVersions" in draft.part.given:
        text = "Kafka's generator rejects closedTaggedVersions; leave it out, and let taggedVersions have no end"
        yield Finding(draft.part, text, "closedTaggedVersions")


@draft_rule(
    summary="Kafka's generator does not support extensibleTaggedVersions: its readers refuse a tag of other versions.",
    good=spec(tagged_field()),
    bad=spec(tagged_field(), more='"extensibleTaggedVersions": true'),
    severity=None,
)
def kafka_extensible_tagged_versions(draft: Draft) -> Iterator[Finding]:
    if "extensibleTaggedVersions" in draft.part.given:
        text = "Kafka's generator rejects extensibleTaggedVersions; leave it out: Kafka's readers refuse such tags"
        yield Finding(draft.part, text, "extensibleTaggedVersions")


@draft_rule(
    summary="Kafka's generator does not support noNewVersions.",
    good=spec(ALPHA, more="// Add tagged fields only."),
    bad=spec(ALPHA, more='"noNewVersions": true'),
    severity=None,
)
def kafka_no_new_versions(draft: Draft) -> Iterator[Finding]:
    if "noNewVersions" in draft.part.given:
        text = "Kafka's generator rejects noNewVersions; write a comment instead"
        yield Finding(draft.part, text, "noNewVersions")


@draft_rule(
    summary="Kafka's generator does not support $schema, which is for editors.",
    good=spec(ALPHA),
    bad=spec(ALPHA, more='"$schema": "message-spec.schema.json"'),
    severity=None,
)
def kafka_schema(draft: Draft) -> Iterator[Finding]:
    if (*draft.part.path, "$schema") in draft.part.document.key_offsets:
        text = "Kafka's generator rejects $schema; leave it out, and set the schema in the editor's settings"
        yield Finding(draft.part, text, "$schema")


@message_rule(
    needs=("listeners",),
    summary="Kafka's generator no longer supports the listener zkBroker: clusters with ZooKeeper ended with Kafka 3.9.",
    good=spec(name="ProbeRequest", type_="request", more='"listeners": ["broker"]'),
    bad=spec(name="ProbeRequest", type_="request", more='"listeners": ["zkBroker", "broker"]'),
    severity=None,
)
def kafka_zookeeper(draft: Draft) -> Iterator[Finding]:
    if "zkBroker" in draft.message.listeners:
        yield Finding(draft.part, "Kafka's generator rejects zkBroker; leave it out", "listeners")


@field_rule(
    summary="Kafka's generator does not support encoding (KIP-625 was not adopted).",
    good=spec(ALPHA),
    bad=spec(field_of("int32", encoding="packed32")),
    severity=None,
)
def kafka_encoding(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if "encoding" in field.part.given:
        yield Finding(field.part, "Kafka's generator rejects encoding; leave it out", "encoding")


@field_rule(
    summary="Kafka's generator does not support elementEncoding, kipwire's extension of KIP-625.",
    good=spec(field_of("[]int32")),
    bad=spec(field_of("[]int32", elementEncoding="upacked32")),
    severity=None,
)
def kafka_element_encoding(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if "elementEncoding" in field.part.given:
        yield Finding(field.part, "Kafka's generator rejects elementEncoding; leave it out", "elementEncoding")


@field_rule(
    needs=("versions",),
    summary="Kafka's generator requires versions on every field that has fields of its own, even a tagged one.",
    good=spec(
        field_of("Inner", versions="2+", taggedVersions="2+", tag=0, fields=[field_of("int32", "Leaf", versions="2+")])
    ),
    bad=spec(
        '{"name": "Alpha", "type": "Inner", "taggedVersions": "2+", "tag": 0, "fields": [\n'
        '      {"name": "Leaf", "type": "int32", "versions": "2+"}]}'
    ),
    severity=None,
)
def kafka_nested_versions(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if field.fields_given and "versions" not in field.part.given:
        text = f'Kafka\'s generator requires versions where there are fields; add "versions": "{field.spec.versions}"'
        yield Finding(field.part, text)


@field_rule(
    needs=("type", "default"),
    summary="Kafka's generator copies defaults into Java unchanged, so some do not compile.",
    good=spec(field_of("uint32", default="0x7fffffff")),
    bad=spec(field_of("uint32", default="0xffffffff")),
    severity=None,
)
def kafka_default_literal(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    # A number that is pasted as it is, without `L`, is the literal of an int in Java.
    default = field.spec.default
    if field.spec.type.element == "uint32" and isinstance(default, int) and default > _MAX_JAVA_INT:
        yield Finding(field.part, f"{default} is not an int in Java; write at most {_MAX_JAVA_INT}", "default")
    elif isinstance(default, str) and (not default.isprintable() or '"' in default or "\\" in default):
        text = "quotes, backslashes and control characters in a default make Java that does not compile"
        yield Finding(field.part, f"{text}; write the default without them", "default")


@field_rule(
    needs=("type",),
    summary="Kafka's generator makes Java for arrays of bytes that does not compile.",
    good=spec(field_of("[]string")),
    bad=spec(field_of("[]bytes")),
    severity=None,
)
def kafka_bytes_array(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if str(field.spec.type) == "[]bytes":
        yield Finding(field.part, "Kafka's Java for []bytes does not compile; put the bytes into a struct", "type")


@field_rule(
    needs=("tag", "zeroCopy"),
    summary="Kafka's generator makes Java for tagged zeroCopy bytes that does not compile.",
    good=spec(field_of("bytes", versions="2+", taggedVersions="2+", tag=0)),
    bad=spec(field_of("bytes", versions="2+", taggedVersions="2+", tag=0, zeroCopy=True)),
    severity=None,
)
def kafka_tagged_zero_copy(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    if field.spec.tag is not None and field.spec.zero_copy:
        yield Finding(field.part, "Kafka's Java for tagged zeroCopy bytes does not compile; leave it out", "zeroCopy")
