"""Refusals of whole requests, made from the fields of the response: the error code in the outermost place for one.

Kafka's own classes have a function for each API, `getErrorResponse`, whose bytes test_refusals_like_java.py compares.
One rule serves all of them, and the APIs of the next release: a response with a code of its own needs no rows; else
each array whose rows have codes answers an array of the request, and repeats what names its elements.
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

CODES = ("error_code", "partition_error_code")
_TEXT = "error_message"
_WITH_ROWS = {1: range(13), 3: range(99), 43: range(99), 45: range(99), 50: range(99)}
"""The APIs, by key, whose responses have a code and rows too, in these versions."""
_NOT_YET = dict.fromkeys(("issue_timestamp_ms", "expiry_timestamp_ms", "max_timestamp_ms"), -1)
_BESIDE: dict[int, dict[str, Any]] = {
    0: {"base_offset": -1},
    1: {"high_watermark": -1, "records": b""},
    9: {"committed_offset": -1},
    10: {"node_id": -1, "port": -1},
    11: {"protocol_name": None},
    21: {"low_watermark": -1},
    22: {"producer_epoch": -1},
    38: {
        **_NOT_YET,
        **dict.fromkeys(("principal_type", "token_requester_principal_type"), "User"),
        **dict.fromkeys(("principal_name", "token_requester_principal_name"), "ANONYMOUS"),
    },
    48: {"entries": None},
    88: dict.fromkeys(("active_tasks", "standby_tasks", "warmup_tasks")),
}
"""Values other than defaults that accompany an error code, by API key and field; None for fields that may be null."""
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
"""Fields that a row repeats to name the element that it answers: name in the response to names in the request.

No other fields may be repeated, although both sides have their names: they are facts that a refusal does not have, such
as timestamps, or secrets, such as the bytes of SaslAuthenticate.
"""


def refusal(request: Message, error: int, text: str | None = None) -> Message:
    """Make the response that refuses a request: an error code wherever the response has one.

    If it has no code of its own, it has a row for each topic, partition, group or whatever else the request names, as
    Kafka's classes make them. A response without a place for a code, such as the response to Metadata v12 for all
    topics, has no rows.

    Args:
        request: of any version.
        error: the code, such as one of `kafka_messages.enums.ErrorCode`.
        text: for people, beside each code that can have one.
    """
    response: type[Message] = type(request).RESPONSE  # type: ignore[attr-defined]
    values = _values(response, request, _Refused(response.API_KEY, error, text))
    if any(field.name == "session_id" for field in response.ATTRIBUTES):
        values["session_id"] = getattr(request, "session_id", 0)
    return build(response, values)


class _Refused(NamedTuple):
    api_key: int
    error: int
    text: str | None


class _Candidate(NamedTuple):
    """An array of a request, or one within its elements, in which each element may have a row of the response."""

    way: tuple[str, ...]
    """The attributes that lead to the array."""
    is_of_structs: bool
    likeness: int
    """Number of fields of a row that can be copied from an element."""


def _values(struct: Any, asked: Any, refused: _Refused) -> dict[str, Any]:
    """Choose the values of a struct that answers what was asked."""
    is_whole = issubclass(struct, Message)
    values = {} if is_whole else repeat_values(struct, asked)
    is_named = bool(values)
    has_code = any(field.name in CODES for field in struct.ATTRIBUTES)
    needs_rows = not has_code or (is_whole and struct.VERSION in _WITH_ROWS.get(struct.API_KEY, ()))
    for field in struct.ATTRIBUTES:
        if field.name in CODES:
            values[field.name] = refused.error
        elif field.name == _TEXT and (field.nullable or refused.text is not None):
            values[_TEXT] = refused.text
        elif field.array and field.struct and isinstance(asked, Struct):
            row = field.struct
            if has_codes(row):
                cls: Any = type(asked)  # a class can be hashed, its instances cannot
                rows = _rows(cls, field, has_code) if needs_rows else ()
                values[field.name] = [_values(row, one, refused) for way in rows for one in _elements(asked, way)]
            elif not is_named and field.name in _names(asked):  # such as the entity of a quota, which has several parts
                values[field.name] = [repeat_values(row, one) for one in getattr(asked, field.name) or ()]
    return values | beside(struct, refused.api_key)


@cache
def has_codes(struct: Any) -> bool:
    """True if a struct of a response, or a row in it, has a place for a code."""
    return any(
        field.name in CODES or (field.struct is not None and has_codes(field.struct)) for field in struct.ATTRIBUTES
    )


@cache
def beside(struct: Any, api_key: int) -> dict[str, Any]:
    """Find the values beside the error code of a refusal in a struct of the response that are not the defaults."""
    values = _BESIDE.get(api_key, {})
    fields = (field for field in struct.ATTRIBUTES if field.name in values)
    return {field.name: values[field.name] for field in fields if values[field.name] is not None or field.nullable}


def has_code(struct: Any, error: int) -> bool:
    """True if a response has an error code, itself or in a row; one without rows may have no place for it."""
    for field in struct.ATTRIBUTES:
        value = getattr(struct, field.name)
        if field.name in CODES and value == error:
            return True
        if field.array and field.struct is not None and any(has_code(row, error) for row in value or ()):
            return True
    return False


def match_elements(asked: Any, field: Field) -> list[Any]:
    """Find the elements of a request, or of a struct of it, that the rows of an array of its response answer."""
    cls: Any = type(asked)
    return [one for way in _rows(cls, field, False) for one in _elements(asked, way)]


def _elements(struct: Any, way: tuple[str, ...]) -> Iterator[Any]:
    name, *rest = way
    for one in getattr(struct, name) or ():
        if rest:
            yield from _elements(one, tuple(rest))
        else:
            yield one


@cache
def _rows(asked: Any, field: Field, has_code: bool) -> tuple[tuple[str, ...], ...]:
    """Find the ways to the arrays that an array of the response answers: those most like it, and the outermost of them.

    Args:
        asked: what has the arrays.
        field: the array of the response.
        has_code: whether there is a code beside that array, so that it can do without rows.
    """
    found = [*_candidates(asked, field)]
    best = max((one.likeness for one in found), default=0)
    if not best:  # rows without names, one for each element, such as CreateAcls has
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


def repeat_values(row: type[Struct], asked: Any) -> dict[str, Any]:
    """Copy the values that a row repeats of the element that it answers: a struct, or a name, a number or an id."""
    if not isinstance(asked, Struct):
        kind = {str: "string", int: "int32"}.get(type(asked), "uuid")
        name = _plain_name(row, kind)
        return {} if name is None else {name: asked}
    classes: Any = row, type(asked)  # classes can be hashed; mypy asks their instances
    found = ((field, getattr(asked, name)) for field, name in _sources(*classes))
    return {field.name: value for field, value in found if value is not None or field.nullable}


@cache
def _sources(row: Any, asked: Any) -> tuple[tuple[Field, str], ...]:
    """Find the fields of a row that repeat something, each with the name of what it repeats."""
    names = {field.name: field for field in asked.ATTRIBUTES}
    sources = ((field, _source(field, names)) for field in row.ATTRIBUTES)
    return tuple((field, name) for field, name in sources if name is not None)


def _source(field: Field, names: dict[str, Field]) -> str | None:
    """Find the name of the field of an element that a field of a row repeats."""
    if field.array or field.struct is not None or field.name in CODES or field.name == _TEXT:
        return None
    same = _REPEATED.get(field.name, ())
    return next((name for name in same if name in names and names[name].type == field.type), None)


def _plain_name(row: type[Struct], kind: str) -> str | None:
    """Find the field of a row that repeats an element which is no struct, such as the name of a group."""
    return next((field.name for field in row.ATTRIBUTES if field.type == kind and field.name != _TEXT), None)


def _names(struct: Struct) -> frozenset[str]:
    return frozenset(field.name for field in struct.ATTRIBUTES)
