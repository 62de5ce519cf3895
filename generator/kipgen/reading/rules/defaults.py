"""Defaults that depend on more than the field's type."""

from __future__ import annotations

from collections.abc import Iterator

from kipgen.reading.draft import Draft, FieldDraft
from kipgen.reading.rules.examples import field_of, spec
from kipgen.reading.rules.rule import Finding, field_rule


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
    needs=("type", "default", "encoding"),
    summary="A default fits every encoding of the field: otherwise it could not be sent to some peers (KIP-625).",
    good=spec(field_of("int64", default="7", encoding={"0-1": "fixed32", "2+": "fixed64"})),
    bad=spec(field_of("int64", default="4294967296", encoding={"0-1": "fixed32", "2+": "fixed64"})),
)
def default_encoding(field: FieldDraft, _: Draft) -> Iterator[Finding]:
    default = field.spec.default
    if not isinstance(default, int):
        return
    for versions, encoding in field.spec.encodings:
        lowest, highest = encoding.range
        if not lowest <= default <= highest:
            text = f"{default} does not fit {encoding} of versions {versions}; write {lowest} to {highest}"
            yield Finding(field.part, text, "default")
            return
