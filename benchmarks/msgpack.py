"""Equal content in MessagePack, by msgspec: the fastest library of Python for typed messages of any format.

The structs are made from the `ATTRIBUTES` of kipwire's classes, as arrays without names, which comes closest to Kafka's
form.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import msgspec

from kipwire.model.structs import Field, Struct

_TYPES: dict[str, type] = {"bool": bool, "string": str, "bytes": bytes, "records": bytes, "uuid": uuid.UUID}
"""Primitives that are not numbers."""

_STRUCTS: dict[type[Struct], type[msgspec.Struct]] = {}
"""Classes made so far: an instance must be of the very class that its parent names."""


def codec(message: Struct) -> tuple[Callable[[], object], Callable[[], bytes]]:
    """Return functions that decode and encode a copy of the message in MessagePack."""
    copied = _copy(message)
    encode = msgspec.msgpack.Encoder().encode
    decode = msgspec.msgpack.Decoder(_struct(type(message))).decode
    data = encode(copied)
    return lambda: decode(data), lambda: encode(copied)


def _struct(cls: type[Struct]) -> type[msgspec.Struct]:
    if cls not in _STRUCTS:
        fields = [(field.name, _annotation(field)) for field in cls.ATTRIBUTES]
        _STRUCTS[cls] = msgspec.defstruct(cls.__name__, fields, array_like=True)
    return _STRUCTS[cls]


def _annotation(field: Field) -> Any:
    if field.struct:
        one: Any = _struct(field.struct)
    elif field.element in _TYPES:
        one = _TYPES[field.element]
    else:
        one = float if field.element == "float64" else int
    whole = list[one] if field.array else one
    return whole | None if field.nullable else whole


def _copy(value: Any) -> Any:
    if isinstance(value, list):
        return [_copy(one) for one in value]
    if isinstance(value, Struct):
        return _struct(type(value))(*(_copy(getattr(value, field.name)) for field in value.ATTRIBUTES))
    return value
