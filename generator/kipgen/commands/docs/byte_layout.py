"""The bytes of one version as nested boxes: the order of the values, and how many bytes each takes."""

from __future__ import annotations

from dataclasses import dataclass

from kipgen.resolve.wire import WireMessage
from kipwire.description.plan import Item, Plan, struct_plan

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


_Texts = dict[object, dict[str, str]]
"""The texts of the fields of each class, by their names in the spec."""


def boxes(message: type[WireMessage]) -> tuple[Box, ...]:
    """Return the boxes of a message in the order of its bytes."""
    texts: _Texts = {struct: struct.TEXTS for struct in (*message.STRUCTS, message)}
    return _of_struct(struct_plan(message), texts, ())


def _of_struct(plan: Plan, texts: _Texts, around: tuple[Plan, ...]) -> tuple[Box, ...]:
    about = texts[plan.cls]
    found = [_of_item(item, about[item.field.spec_name], texts, around) for item in plan.items]
    if plan.flexible:
        inner = []
        for item in plan.tagged:
            parts = (_TAG, _SIZE, _of_item(item, about[item.field.spec_name], texts, around))
            inner.append(Box(f"tag {item.tag}", "if not its default", "group", parts))
        found.append(Box("tagged fields", "", "group", (_TAG_COUNT, *inner)) if inner else _TAG_COUNT)
    return tuple(found)


_TAG_COUNT = Box("tag count", "1 to 5", "tags", about="How many tagged fields follow, known and unknown ones.")
_TAG = Box("tag", "1 to 5", "tags")
_SIZE = Box("size", "1 to 5", "tags", about="Bytes of the value after it.")


def _of_item(item: Item, about: str, texts: _Texts, around: tuple[Plan, ...]) -> Box:
    if item.array:
        element = _element(item, texts, around)
        count = Box("count", "1 to 5" if item.compact else "4", "length", about=_null(item))
        return Box(item.name, "", "group", (count, Box("element", "for each", "group", element)), about)
    if item.plan is not None:
        inner = _inner(item.plan, texts, around)
        if item.nullable:
            marker = Box("marker", "1", "length", about="Whether the struct is present; if not, nothing follows.")
            inner = (marker, *inner)
        return Box(item.name, "", "group", inner, about)
    value = _value(item, item.name, about)
    if not item.prefix:
        return value
    return Box(item.name, "", "group", (_length(item, _null(item)), value), about)


def _element(item: Item, texts: _Texts, around: tuple[Plan, ...]) -> tuple[Box, ...]:
    if item.plan is not None:
        return _inner(item.plan, texts, around)
    value = _value(item, item.field.element, "")
    return (_length(item, ""), value) if item.element_prefix else (value,)


def _length(item: Item, about: str) -> Box:
    """Return the box of a length; the compact one of a string is short, since strings have at most 32,767 bytes."""
    is_string = item.kind == "string"
    if item.compact:
        return Box("length", "1 to 3" if is_string else "1 to 5", "length", (), about)
    return Box("length", "2" if is_string else "4", "length", (), about)


def _inner(plan: Plan, texts: _Texts, around: tuple[Plan, ...]) -> tuple[Box, ...]:
    if plan in around:
        return (Box(plan.cls.__name__, "as above", "value"),)
    return _of_struct(plan, texts, (*around, plan))


def _value(item: Item, name: str, about: str) -> Box:
    if item.varint is not None:
        return Box(name, f"1 to {_LONGEST_VARINT[item.varint.bits]}", "value", (), about)
    return Box(name, str(item.element_width or "length"), "value", (), about)


def _null(item: Item) -> str:
    plain = "How many bytes or elements follow" + (", plus 1" if item.compact else "")
    return f"{plain}; {0 if item.compact else -1} is null." if item.nullable else f"{plain}."
