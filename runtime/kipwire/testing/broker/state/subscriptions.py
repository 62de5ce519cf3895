"""Subscriptions of consumers, in bytes and as regular expressions; and assignments, in bytes and how they are found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from kafka_messages import REGISTRY
from kafka_messages.enums import ErrorCode
from kipwire import build
from kipwire.model.errors import DecodeError
from kipwire.model.extras import missing_extra
from kipwire.testing.broker.state import Refused, TopicPartition, indexes_by_topic

# Regular expressions are RE2's, as in Kafka: they take time in proportion to the text, whatever a client asks for.
# google-re2 is imported when there is an expression, since few tests have one.

_MOST_SHOWN = 100
"""Characters of an expression."""


@lru_cache(128)  # each heartbeat of a group needs the expressions of all members
def matching(regex: str) -> Callable[[str], bool]:
    """A function that tells whether an expression matches a whole name; refuses what is none.

    Raises:
        MissingExtraError: google-re2 is not installed.
    """
    try:
        import re2
    except ImportError:
        raise missing_extra("regular expressions need", "google-re2", "testing") from None
    options = re2.Options()
    options.log_errors = False  # to standard error
    try:
        found = re2.compile(regex, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        what = repr(regex[:_MOST_SHOWN]) + ("..." if len(regex) > _MOST_SHOWN else "")
        reason = f"{what} is no regular expression: {reason.partition(':')[0]}"  # after which comes the whole of it
        raise Refused(ErrorCode.INVALID_REGULAR_EXPRESSION, reason) from None
    return lambda name: found.fullmatch(name) is not None


# The bytes that consumers of the classic protocol exchange.

_SUBSCRIPTION, _ASSIGNMENT = "ConsumerProtocolSubscription", "ConsumerProtocolAssignment"


class Subscription(NamedTuple):
    """The subscription with which a consumer joins."""

    topics: frozenset[str]
    owned: frozenset[TopicPartition]
    """The partitions that it has kept, if its assignor is a cooperative one."""
    rack_id: str | None


def subscription_of(data: bytes) -> Subscription:
    """The subscription in the metadata of a member; refuses other bytes."""
    found = _decoded(_SUBSCRIPTION, data)
    owned = ((one.topic, index) for one in getattr(found, "owned_partitions", ()) for index in one.partitions)
    return Subscription(frozenset(found.topics), frozenset(owned), getattr(found, "rack_id", None))


def assigned_in(data: bytes) -> frozenset[TopicPartition]:
    """The partitions of an assignment; refuses other bytes, and data that an assignor has added."""
    if not data:
        return frozenset()
    found = _decoded(_ASSIGNMENT, data)
    if found.user_data:
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    return frozenset((one.topic, index) for one in found.assigned_partitions for index in one.partitions)


def assignment_of(places: Iterable[TopicPartition], like: bytes) -> bytes:
    """The bytes of an assignment, in the version of some other bytes of the protocol."""
    version = _version(_ASSIGNMENT, like)
    rows = [{"topic": topic, "partitions": indexes} for topic, indexes in indexes_by_topic(places).items()]
    message = build(REGISTRY.message(_ASSIGNMENT, version), {"assigned_partitions": rows})
    return version.to_bytes(2, "big") + message.encode()


def _decoded(name: str, data: bytes) -> Any:
    try:
        return REGISTRY.message(name, _version(name, data)).decode(data[2:])
    except DecodeError:
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL) from None


def _version(name: str, data: bytes) -> int:
    """The version of some bytes; one that is not known yet begins as the newest that is."""
    return min(int.from_bytes(data[:2], "big"), REGISTRY.versions(name)[-1])


# The assignors of consumer groups (KIP-848): which member is to read which partitions.

Place = tuple[UUID, int]
"""A partition, by the id of its topic."""
Readers = Mapping[str, Set[UUID]]
"""The topics that each member reads."""
Counts = Mapping[UUID, int]
"""The number of partitions of each topic."""
Targets = dict[str, frozenset[Place]]
"""The partitions that each member is to have."""


def uniform(readers: Readers, counts: Counts, before: Targets) -> Targets:
    """As many partitions for each member as its topics allow; they stay where they were before, if that is so."""
    by_topic = {topic: [one for one in readers if topic in readers[one]] for topic in counts}
    owned = {one: {place for place in before.get(one, ()) if place[0] in topics} for one, topics in readers.items()}
    taken = {place for places in owned.values() for place in places}

    def least(place: Place) -> str:
        return min(by_topic[place[0]], key=lambda one: len(owned[one]))

    for place in ((topic, index) for topic, count in counts.items() for index in range(count)):
        if place not in taken and by_topic[place[0]]:
            owned[least(place)].add(place)
    is_moved = True
    while is_moved:
        is_moved = False
        for giver in sorted(owned, key=lambda one: -len(owned[one])):
            for place in sorted(owned[giver], reverse=True):
                taker = least(place)
                if len(owned[taker]) + 1 < len(owned[giver]):
                    owned[giver].remove(place)
                    owned[taker].add(place)
                    is_moved = True
    return {one: frozenset(places) for one, places in owned.items()}


def ranges(readers: Readers, counts: Counts, before: Targets) -> Targets:
    """Neighbouring partitions of each topic for each member, so that equal numbers of several topics go to one member.

    They stay where they were before, if that is so.
    """
    owned: dict[str, set[Place]] = {one: set() for one in readers}
    for topic, count in counts.items():
        members = [one for one in readers if topic in readers[one]]
        if not members:
            continue
        quota, extra = divmod(count, len(members))
        kept: dict[str, list[Place]] = {}
        wanting: list[tuple[str, int]] = []
        for one in members:
            had = sorted(place for place in before.get(one, ()) if place[0] == topic)
            has_extra = len(had) > quota and extra > 0
            extra -= has_extra
            kept[one] = had[: quota + has_extra]
            if not has_extra:
                wanting.append((one, quota - len(kept[one])))
        staying = {place for places in kept.values() for place in places}
        free = [(topic, index) for index in range(count) if (topic, index) not in staying]
        for one, missing in wanting:
            wanted = missing + (extra > 0)
            extra -= extra > 0
            kept[one] += free[:wanted]
            del free[:wanted]
        for one, places in kept.items():
            owned[one].update(places)
    return {one: frozenset(places) for one, places in owned.items()}


ASSIGNORS: dict[str, Callable[[Readers, Counts, Targets], Targets]] = {"uniform": uniform, "range": ranges}
"""By name; the first is the usual one."""
