"""The requests and responses of Kafka whose newer versions carry several of what older versions carry one of.

Java's client fills in whichever shape the broker's version has, so `convert` does, too, where there is one: a member
that leaves, a key, a group, topics by their names. Nothing is guessed: where there are several, the message cannot
become an older version, and the error names the version to write for. What an answer of the old shape does not say,
such as the key that was asked for, stays at its default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.message.messages import Message

Values = dict[str, Any]
"""A message as plain values, by attribute."""


class Shapes(NamedTuple):
    """An API with two shapes."""

    since: int
    """The first version of the new shape."""
    one: str
    """A field that only the old shape has."""
    several: str
    """The field of the new shape that takes its place."""
    to_old: Callable[[Values], Values | None] | None
    """Changes the values of a message of the new shape; None if they are several."""
    to_new: Callable[[Values], Values] | None
    moved: str = ""
    """A field of the elements that the old shape has without a name."""


def _only(values: Values, name: str) -> Values | None:
    """Take the one struct out of an array; None if there are others, or none."""
    several = values.pop(name)
    return None if len(several) != 1 or "unknown_tagged_fields" in several[0] else several[0]


def _one_member(values: Values) -> Values | None:
    member = _only(values, "members")
    if member is None or member.get("group_instance_id") is not None:
        return None
    return {**values, "member_id": member["member_id"]}


def _members(values: Values) -> Values:
    return {"members": [{"member_id": values.pop("member_id")}], **values}


def _one_result(values: Values) -> Values | None:
    result = _only(values, "members")
    return None if result is None else {**values, "error_code": values["error_code"] or result["error_code"]}


def _one_key(values: Values) -> Values | None:
    keys = values.pop("coordinator_keys")
    return {**values, "key": keys[0]} if len(keys) == 1 else None


def _keys(values: Values) -> Values:
    return {"coordinator_keys": [values.pop("key")], **values}


_COORDINATOR = ("node_id", "host", "port", "error_code", "error_message")


def _one_coordinator(values: Values) -> Values | None:
    coordinator = _only(values, "coordinators")
    return None if coordinator is None else {**values, **{name: coordinator[name] for name in _COORDINATOR}}


def _coordinators(values: Values) -> Values:
    return {"coordinators": [{name: values.pop(name) for name in _COORDINATOR if name in values}], **values}


def _one_group(values: Values) -> Values | None:
    group = _only(values, "groups")
    if group is None or any("name" not in topic for topic in group["topics"] or ()):
        return None  # of version 10 topics have ids alone
    return {**values, **{name: group[name] for name in ("group_id", "topics", "error_code") if name in group}}


def _groups(values: Values) -> Values:
    group = {name: values.pop(name) for name in ("group_id", "topics", "error_code") if name in values}
    return {**values, "groups": [group]}


def _one_answered_group(values: Values) -> Values | None:
    found = _one_group(values)
    return found and {name: value for name, value in found.items() if name != "group_id"}


def _names(values: Values) -> Values | None:
    topics = values.pop("topics")
    names = [topic["name"] for topic in topics if topic["name"] is not None and not topic["topic_id"].int]
    return {**values, "topic_names": names} if len(names) == len(topics) else None


def _topics(values: Values) -> Values:
    return {"topics": [{"name": name} for name in values.pop("topic_names")], **values}


SHAPES = {
    ("OffsetFetchRequest", 9): Shapes(8, "group_id", "groups", _one_group, _groups),
    ("OffsetFetchResponse", 9): Shapes(8, "topics", "groups", _one_answered_group, _groups),
    ("FindCoordinatorRequest", 10): Shapes(4, "key", "coordinator_keys", _one_key, _keys),
    ("FindCoordinatorResponse", 10): Shapes(4, "node_id", "coordinators", _one_coordinator, _coordinators),
    ("LeaveGroupRequest", 13): Shapes(3, "member_id", "members", _one_member, _members),
    ("LeaveGroupResponse", 13): Shapes(3, "error_code", "members", _one_result, None),
    ("DeleteTopicsRequest", 20): Shapes(6, "topic_names", "topics", _names, _topics, "name"),
    # Clients never write the new one, which is for brokers.
    ("AddPartitionsToTxnRequest", 24): Shapes(4, "v3_and_below_topics", "transactions", None, None),
    ("AddPartitionsToTxnResponse", 24): Shapes(
        4, "results_by_topic_v3_and_below", "results_by_transaction", None, None
    ),
}
"""By name and API key, since another protocol may have either."""


def shapes_between(source: type[Message], target: type[Message]) -> Shapes | None:
    """Find the two shapes between two versions of a message; None where both have one."""
    found = SHAPES.get((source.NAME, source.API_KEY))
    if found is None:
        return None
    older, newer = sorted((source, target), key=lambda cls: cls.VERSION)
    is_between = found.since in range(older.VERSION + 1, newer.VERSION + 1)
    return found if is_between and _has(older, found.one) and _has(newer, found.several) else None


def _has(cls: type[Message], name: str) -> bool:
    return any(field.name == name for field in cls.ATTRIBUTES)


def reshape(shapes: Shapes, values: Values, *, to_old: bool) -> Values | None:
    """Give the values of a message the other shape; None where that is not possible."""
    change = shapes.to_old if to_old else shapes.to_new
    try:
        return None if change is None else change(dict(values))
    except (AttributeError, KeyError, TypeError):  # values of other types than the fields have
        return None
