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
    attributes = {
        **facts,
        "FIELDS": fields,
        "OTHER_TAGS": frozenset(struct.other_tags),
        "__init__": _Instance.__init__,
        "_write": _Instance._write,
    }
    flexible = (FlexibleStruct,) if struct.flexible else ()
    made: type[Struct] = type(struct.class_name, (*flexible, *bases) or (Struct,), attributes)
    return made


def _field(item: WireField, owner: WireStruct, structs: dict[str, type[Struct]]) -> Field:
    arguments: dict[str, Any] = item.arguments(flexible=owner.flexible, is_bounded=owner.is_bounded)
    if item.struct:
        arguments["struct"] = structs[item.struct]
    return Field(item.attribute, item.spec_name, str(item.type), **arguments)
