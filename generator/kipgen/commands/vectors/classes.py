"""Classes straight from specs: with the fields of generated ones, and without their code.

Vectors judge what is generated, so they are made without it: by these classes and the plans of their fields.
"""

from __future__ import annotations

from typing import Any

from kipgen.language.spec import MessageSpec
from kipgen.resolve.headers import HeaderVersions, resolve_versions
from kipgen.resolve.wire import WireMessage
from kipwire.conformance.writing import write
from kipwire.model.structs import Root, Struct

_OF_KAFKA = HeaderVersions()


def classes_of(spec: MessageSpec, headers: HeaderVersions = _OF_KAFKA) -> list[type[Root]]:
    """Make the class of each version of a message; the headers of its package, by default Kafka's, are before them."""
    return [_with_instances(one) for one in resolve_versions(spec, headers)]


def _with_instances(message: type[WireMessage]) -> type[Root]:
    """Let instances be made of a message's classes; they are written by their plans."""
    for cls in (*message.STRUCTS, message):
        setattr(cls, "__init__", _init)  # noqa: B010 - a type checker would compare the signatures
        cls._write = _write
    return message


def _init(self: Struct, **values: Any) -> None:
    """Keep values as they are given, and defaults for the others."""
    self._unknown_tagged_fields = None
    for field in self.ATTRIBUTES:
        value = values[field.name] if field.name in values else field.default_value()
        setattr(self, field.name, value)
        if field.is_lazy:
            setattr(self, field.slot, value)  # generated classes have it there, and a representation shows it


def _write(self: Struct, parts: list[bytes]) -> None:
    parts.append(write(self))
