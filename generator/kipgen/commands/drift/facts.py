"""A draft -> its facts: what it says about each message, struct and field, in one form for all ways to write it."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from kipgen.language.defaults import type_default
from kipgen.language.spec import Default, FieldSpec, MessageSpec, StructSpec
from kipgen.language.types import encoding_property
from kipgen.reading.draft import Draft, FieldDraft, SpecPart, StructDraft

Value = str | int | bool | list[str] | dict[str, str]
"""A fact as it is written in a spec."""

PROPERTIES = (
    *("apiKey", "type", "listeners", "name", "validVersions", "deprecatedVersions", "flexibleVersions"),
    *("latestVersionUnstable", "versions", "tag", "taggedVersions", "nullableVersions", "default", "encoding"),
    *("elementEncoding", "ignorable", "mapKey", "zeroCopy", "entityType"),
)
"""The properties that are facts, in the order in which they are written; of a field, the name goes first."""


@dataclass(frozen=True, slots=True)
class Node:
    """A message, a struct that several fields share, or a field."""

    kind: str
    """`message`, `struct` or `field`."""
    path: str
    """The names that lead to it, such as `Topics.Name` or `struct Cursor.TopicName`; "" for the message."""
    facts: Mapping[str, Value]
    """By property; those that say no more than the language's default are left out."""
    part: SpecPart
    children: tuple[str, ...]
    """The paths of its own fields, in their order."""


def nodes(draft: Draft, oldest: int = 0) -> dict[str, Node]:
    """Everything that a spec has, by path: outer before inner, the message first.

    Args:
        draft: a spec that could be read as a whole.
        oldest: what only versions below this one have is left out.
    """
    structs = {struct.spec.name: struct for struct in draft.structs if struct.kind == "inline"}
    found: dict[str, Node] = {}

    def add(kind: str, path: str, facts: dict[str, Value], part: SpecPart, struct: StructDraft | None) -> None:
        fields = [field for field in struct.fields if _exists(field.spec, oldest)] if struct is not None else []
        inner = [(f"{path}.{field.spec.name}" if path else field.spec.name, field) for field in fields]
        found[path] = Node(kind, path, _stated(facts), part, tuple(one for one, _ in inner))
        for one, field in inner:
            add("field", one, _field_facts(field.spec), field.part, _own_struct(field, structs))

    for struct in draft.structs:
        if struct.kind == "message":
            add("message", "", _message_facts(draft.message), struct.part, struct)
        elif struct.kind == "common" and _exists(struct.spec, oldest):
            facts: dict[str, Value] = {"name": struct.spec.name, "versions": str(struct.spec.versions)}
            add("struct", f"struct {struct.spec.name}", facts, struct.part, struct)
    return found


def _exists(spec: FieldSpec | StructSpec, oldest: int) -> bool:
    """Whether some version from the oldest on has it, or none at all."""
    return spec.versions.is_empty or spec.versions.highest >= oldest


def _own_struct(field: FieldDraft, structs: Mapping[str, StructDraft]) -> StructDraft | None:
    """The struct that a field defines, which shares the field's location in the document."""
    struct = structs.get(field.spec.type.element)
    return struct if struct is not None and struct.part.path == field.part.path else None


def _message_facts(spec: MessageSpec) -> dict[str, Value]:
    """What a message says of itself. Kafka's valid versions are those that are served; earlier ones it leaves out."""
    return {
        "name": spec.name,
        "type": spec.type,
        "apiKey": "" if spec.api_key is None else spec.api_key,
        "validVersions": str(spec.served_versions),
        "flexibleVersions": "" if spec.valid_versions.is_empty else str(spec.flexible_versions),
        "deprecatedVersions": "" if spec.deprecated_versions.is_empty else str(spec.deprecated_versions),
        "listeners": sorted(spec.listeners),
        "latestVersionUnstable": spec.latest_version_unstable,
    }


def _field_facts(spec: FieldSpec) -> dict[str, Value]:
    return {
        "name": spec.name,
        "type": str(spec.type),
        "versions": str(spec.versions),
        "tag": "" if spec.tag is None else spec.tag,
        "taggedVersions": "" if spec.tagged_versions.is_empty else str(spec.tagged_versions),
        "flexibleVersions": "" if spec.flexible_versions is None else str(spec.flexible_versions),
        "nullableVersions": "" if spec.nullable_versions.is_empty else str(spec.nullable_versions),
        # By their texts: -0.0 equals 0.0, and NaN not even itself.
        "default": "" if repr(spec.default) == repr(type_default(spec.type)) else _default_text(spec.default),
        encoding_property(spec.type): {str(versions): str(encoding) for versions, encoding in spec.encodings},
        "ignorable": spec.ignorable,
        "mapKey": spec.map_key,
        "zeroCopy": spec.zero_copy,
        "entityType": spec.entity_type or "",
    }


def _stated(facts: dict[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in facts.items() if value is not False and value not in ("", [], {})}


def _default_text(default: Default) -> str:
    if default is None:
        return "null"
    if isinstance(default, bool):
        return "true" if default else "false"
    if isinstance(default, UUID):
        return urlsafe_b64encode(default.bytes).decode().rstrip("=")
    return str(default)
