"""The bytes of one version as nested boxes: the order of the values, and how many bytes each takes."""

from __future__ import annotations

from dataclasses import dataclass

from kipgen.resolve.wire import WireField, WireMessage, WireStruct
from kipwire.model.types import TYPES

_LONGEST_VARINT = {16: 3, 32: 5, 64: 10}
"""Bytes, by the bits of the number."""


@dataclass(frozen=True, slots=True)
class Box:
    """Some neighbouring bytes. A box with inner boxes has only their bytes."""

    name: str
    size: str
    """Number of bytes, such as `4` or `1 to 5`; for inner boxes the repetition, such as `for each`."""
    kind: str
    """Kind of box: `value`, `length`, `tags`, or `group` for one with inner boxes."""
    inner: tuple[Box, ...] = ()
    about: str = ""


def boxes(message: WireMessage) -> tuple[Box, ...]:
    """Return the boxes of a message in the order of its bytes."""
    structs = {struct.class_name: struct for struct in message.structs}
    return _of_struct(message.root, structs, ())


def _of_struct(struct: WireStruct, structs: dict[str, WireStruct], around: tuple[str, ...]) -> tuple[Box, ...]:
    found = [_of_field(field, structs, around) for field in struct.fields if field.tag is None]
    if struct.flexible:
        tagged = sorted((field for field in struct.fields if field.tag is not None), key=lambda it: it.tag or 0)
        inner = tuple(
            Box(f"tag {field.tag}", "if not its default", "group", (_TAG, _SIZE, _of_field(field, structs, around)))
            for field in tagged
        )
        found.append(Box("tagged fields", "", "group", (_TAG_COUNT, *inner)) if inner else _TAG_COUNT)
    return tuple(found)


_TAG_COUNT = Box("tag count", "1 to 5", "tags", about="How many tagged fields follow, known and unknown ones.")
_TAG = Box("tag", "1 to 5", "tags")
_SIZE = Box("size", "1 to 5", "tags", about="Bytes of the value after it.")


def _of_field(field: WireField, structs: dict[str, WireStruct], around: tuple[str, ...]) -> Box:
    if field.type.is_array:
        element = _element(field, structs, around)
        count = Box("count", "1 to 5" if field.compact else "4", "length", about=_null(field))
        return Box(field.attribute, "", "group", (count, Box("element", "for each", "group", element)), field.about)
    if field.struct is not None:
        inner = _inner(field.struct, structs, around)
        if field.nullable:
            marker = Box("marker", "1", "length", about="Whether the struct is present; if not, nothing follows.")
            inner = (marker, *inner)
        return Box(field.attribute, "", "group", inner, field.about)
    value = _value(field, field.attribute, field.about)
    if not field.is_sized:
        return value
    return Box(field.attribute, "", "group", (_length(field, _null(field)), value), field.about)


def _element(field: WireField, structs: dict[str, WireStruct], around: tuple[str, ...]) -> tuple[Box, ...]:
    if field.struct is not None:
        return _inner(field.struct, structs, around)
    value = _value(field, field.type.element, "")
    return (_length(field, ""), value) if field.type.element in ("string", "bytes") else (value,)


def _length(field: WireField, about: str) -> Box:
    """Return the box of a length; the compact one of a string is short, since strings have at most 32,767 bytes."""
    is_string = field.type.element == "string"
    if field.compact:
        return Box("length", "1 to 3" if is_string else "1 to 5", "length", (), about)
    return Box("length", "2" if is_string else "4", "length", (), about)


def _inner(name: str, structs: dict[str, WireStruct], around: tuple[str, ...]) -> tuple[Box, ...]:
    if name in around:
        return (Box(name, "as above", "value"),)
    return _of_struct(structs[name], structs, (*around, name))


def _value(field: WireField, name: str, about: str) -> Box:
    if field.encoding is not None:
        bits = field.encoding.bits
        size = str(bits // 8) if field.encoding.scheme == "fixed" else f"1 to {_LONGEST_VARINT[bits]}"
        return Box(name, size, "value", (), about)
    element = field.type.element
    width = TYPES[element].width if element in TYPES else 0
    return Box(name, str(width) if width else "length", "value", (), about)


def _null(field: WireField) -> str:
    plain = "How many bytes or elements follow" + (", plus 1" if field.compact else "")
    return f"{plain}; {0 if field.compact else -1} is null." if field.nullable else f"{plain}."
