"""Classes straight from wire descriptions: with the fields of generated ones, and without their code.

Vectors judge what is generated, so they are made without it: by these classes and the plans of their fields.
"""

from __future__ import annotations

from typing import Any

from kipgen.language.spec import MessageSpec
from kipgen.resolve.wire import WireField, WireMessage, WireStruct, resolve
from kipwire.conformance.writing import write
from kipwire.model.structs import Field, FlexibleStruct, Root, Struct


class _Instance(Struct):
    """A struct that keeps its values as they are given, and defaults for the others."""

    def __init__(self, **values: Any) -> None:
        self._unknown_tagged_fields = None
        for field in self.ATTRIBUTES:
            setattr(self, field.name, values[field.name] if field.name in values else field.default_value())

    def _write(self, parts: list[bytes]) -> None:
        parts.append(write(self))


def classes_of(spec: MessageSpec) -> list[type[Root]]:
    """Make the class of each version of a message."""
    return [_message(resolve(spec, version)) for version in spec.valid_versions.each()]


def _message(message: WireMessage) -> type[Root]:
    structs: dict[str, type[Struct]] = {}
    for struct in message.structs:
        structs[struct.class_name] = _class(struct, structs, (), {})
    versions = message.spec.valid_versions
    facts = {
        "NAME": message.spec.name,
        "TYPE": message.spec.type,
        "API_KEY": message.spec.api_key,
        "VERSION": message.version,
        "MIN_VERSION": versions.lowest,
        "MAX_VERSION": versions.highest,
    }
    root = _class(message.root, structs, (Root,), facts)
    assert issubclass(root, Root)
    return root


def _class(
    struct: WireStruct, structs: dict[str, type[Struct]], bases: tuple[type, ...], facts: dict[str, Any]
) -> type[Struct]:
    fields = tuple(_field(one, struct, structs) for item in struct.items for one in (item, *item.inner))
    own = {item.tag for item in struct.items if item.tag is not None}
    attributes = {
        **facts,
        "FIELDS": fields,
        "OTHER_TAGS": frozenset(tag for tag in struct.declared_tags if tag not in own),
        "__init__": _Instance.__init__,
        "_write": _Instance._write,
    }
    flexible = (FlexibleStruct,) if struct.flexible else ()
    made: type[Struct] = type(struct.class_name, (*flexible, *bases) or (Struct,), attributes)
    return made


def _field(item: WireField, owner: WireStruct, structs: dict[str, type[Struct]]) -> Field:
    return Field(
        item.attribute,
        item.spec_name,
        str(item.type),
        default=b"" if item.default == () and not item.is_mutable else item.default,
        struct=structs[item.struct] if item.struct else None,
        nullable=item.nullable,
        compact=item.compact if item.is_sized else None,
        tag=item.tag,
        encoding=str(item.encoding) if item.encoding else None,
        role=item.role,
        bits=item.bits,
        bit=item.bit,
        ignorable=item.ignorable,
        map_key=item.map_key,
        entity_type=item.entity_type,
        prefix=(item.prefix or "") if owner.is_bounded else "",
        sized=item.sized,
        size_only_with=item.size_only_with or "",
        present_if=item.present_if or "",
        absent_if=item.absent_if or "",
        required_if=item.required_if or "",
        sorted_by=item.sorted_by or "",
        same_length_as=item.same_length_as or "",
        algorithm=item.algorithm or "",
        start=item.start or "",
    )
