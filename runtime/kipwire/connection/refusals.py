"""Refusals of whole requests, made from the fields of the response: the error code wherever it has codes.

Kafka's own classes have a function for each API. Here one rule serves all of them, also those of the next release: each
array of the response whose rows have codes answers an array of the request, and repeats what names its elements.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from kipwire.message.conversion import build
from kipwire.message.messages import Message
from kipwire.model.structs import Field, Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_CODE, _TEXT = "error_code", "error_message"
_PARTITION = ("partition_index", "partition", "index", "partition_id")
_TOPIC = ("name", "topic", "topic_name")
_GROUP = ("group_id", "group")
_ALWAYS_THE_SAME = (
    *("topic_id", "transactional_id", "resource_type", "resource_name", "key", "member_id", "group_instance_id"),
    *("user", "entity_type", "entity_name", "id", "producer_id", "broker_id", "path", "log_dir"),
)
_REPEATED = {
    **{name: (name,) for name in _ALWAYS_THE_SAME},
    **{name: (name, *same) for same in (_PARTITION, _TOPIC, _GROUP) for name in same},
    "user": ("user", "name"),
}
"""What a row repeats to name the element that it answers, by its name in the response: its names in the request.

Nothing else may be repeated: other fields of these names are facts that a refusal does not have, such as timestamps, or
secrets, such as the bytes of SaslAuthenticate.
"""


def refusal(request: Message, error: int, text: str | None = None) -> Message:
    """The response that refuses a request: an error code wherever the response has one.

    It has a row for each topic, partition, group or whatever else the request names, as Kafka's broker gives them. A
    response without a place for a code, such as that to Metadata v12 for all topics, has no rows.

    Args:
        request: of any version.
        error: the code, such as one of `kafka_messages.enums.ErrorCode`.
        text: for people, beside each code that can have one.
    """
    response: type[Message] = type(request).RESPONSE  # type: ignore[attr-defined]
    return build(response, _values(response, request, {_CODE: error, _TEXT: text}))


class _Candidate(NamedTuple):
    """An array of a request, or one within its elements, in which each element may have a row of the response."""

    way: tuple[str, ...]
    """The attributes that lead to it."""
    is_of_structs: bool
    likeness: int
    """How many fields of a row can be copied from an element."""


def _values(struct: Any, asked: Any, refused: dict[str, Any]) -> dict[str, Any]:
    """The values of a struct that answers what was asked."""
    values = {} if issubclass(struct, Message) else repeated(struct, asked)
    is_named = bool(values)
    has_code = any(field.name.endswith(_CODE) for field in struct.ATTRIBUTES)
    for field in struct.ATTRIBUTES:
        if field.name.endswith(_CODE):
            values[field.name] = refused[_CODE]
        elif field.name == _TEXT and refused[_TEXT] is not None:
            values[_TEXT] = refused[_TEXT]
        elif field.array and field.struct and isinstance(asked, Struct):
            row = field.struct
            if _has_codes(row):
                cls: Any = type(asked)  # a class can be hashed, its instances cannot
                rows = _rows(cls, field, has_code)
                values[field.name] = [_values(row, one, refused) for way in rows for one in _elements(asked, way)]
            elif not is_named and field.name in _names(asked):  # such as the entity of a quota, which has several parts
                values[field.name] = [repeated(row, one) for one in getattr(asked, field.name) or ()]
    return values


@cache
def _has_codes(struct: Any) -> bool:
    return any(
        field.name.endswith(_CODE) or (field.array and field.struct is not None and _has_codes(field.struct))
        for field in struct.ATTRIBUTES
    )


def _elements(struct: Any, way: tuple[str, ...]) -> Iterator[Any]:
    name, *rest = way
    for one in getattr(struct, name) or ():
        if rest:
            yield from _elements(one, tuple(rest))
        else:
            yield one


@cache
def _rows(asked: Any, field: Field, has_code: bool) -> tuple[tuple[str, ...], ...]:
    """The ways to the arrays that an array of the response answers: those most like it, and the outermost of them.

    Args:
        asked: what has the arrays.
        field: the array of the response.
        has_code: whether there is a code beside that array, so that it can do without rows.
    """
    found = [*_candidates(asked, field)]
    best = max((one.likeness for one in found), default=0)
    if not best:  # rows without names, which are as many as the elements, such as those of CreateAcls
        return () if has_code else tuple(one.way for one in found if len(one.way) == 1 and one.is_of_structs)[:1]
    alike = [one.way for one in found if one.likeness == best]
    depth = min(map(len, alike))
    return tuple(way for way in alike if len(way) == depth)


def _candidates(asked: type[Struct], field: Field, way: tuple[str, ...] = ()) -> Iterator[_Candidate]:
    assert field.struct is not None
    for one in asked.ATTRIBUTES:
        if one.array:
            here = (*way, one.name)
            yield _Candidate(here, one.struct is not None, _likeness(field.struct, one))
            if one.struct is not None:
                yield from _candidates(one.struct, field, here)


def _likeness(row: type[Struct], asked: Field) -> int:
    if asked.struct is None:
        return int(_plain_name(row, asked.element) is not None)
    names = {field.name: field for field in asked.struct.ATTRIBUTES}
    copied = sum(_source(field, names) is not None for field in row.ATTRIBUTES)
    arrays = [field.name for field in row.ATTRIBUTES if field.array and field.struct is not None]
    return copied + any(names[one].struct is not None for one in arrays if one in names)


def repeated(row: type[Struct], asked: Any) -> dict[str, Any]:
    """What a row repeats of the element that it answers, which may be a struct, or a name, a number or an id."""
    if not isinstance(asked, Struct):
        kind = {str: "string", int: "int32"}.get(type(asked), "uuid")
        name = _plain_name(row, kind)
        return {} if name is None else {name: asked}
    classes: Any = row, type(asked)  # classes can be hashed; mypy asks their instances
    found = ((field, getattr(asked, name)) for field, name in _sources(*classes))
    return {field.name: value for field, value in found if value is not None or field.nullable}


@cache
def _sources(row: Any, asked: Any) -> tuple[tuple[Field, str], ...]:
    """The fields of a row that repeat something, each with the name of what it repeats."""
    names = {field.name: field for field in asked.ATTRIBUTES}
    sources = ((field, _source(field, names)) for field in row.ATTRIBUTES)
    return tuple((field, name) for field, name in sources if name is not None)


def _source(field: Field, names: dict[str, Field]) -> str | None:
    """The name of the field of an element that a field of a row repeats."""
    if field.array or field.struct is not None or field.name.endswith(_CODE) or field.name == _TEXT:
        return None
    same = _REPEATED.get(field.name, ())
    return next((name for name in same if name in names and names[name].type == field.type), None)


def _plain_name(row: type[Struct], kind: str) -> str | None:
    """The field of a row that repeats an element which is no struct, such as the name of a group."""
    return next((field.name for field in row.ATTRIBUTES if field.type == kind and field.name != _TEXT), None)


def _names(struct: Struct) -> frozenset[str]:
    return frozenset(field.name for field in struct.ATTRIBUTES)
