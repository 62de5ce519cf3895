"""The subscriptions and assignments that consumers of the classic protocol exchange in bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from kafka_messages import REGISTRY
from kafka_messages.enums import ErrorCode
from kipwire import build
from kipwire.model.errors import DecodeError
from kipwire.testing.broker.state.offsets import TopicPartition, indexes_by_topic
from kipwire.testing.broker.state.refusals import Refused

_SUBSCRIPTION, _ASSIGNMENT = "ConsumerProtocolSubscription", "ConsumerProtocolAssignment"


class Subscription(NamedTuple):
    """The subscription with which a consumer joins."""

    topics: frozenset[str]
    owned: frozenset[TopicPartition]
    """The partitions that it has kept, if its assignor is a cooperative one."""
    rack_id: str | None


def subscription_of(data: bytes) -> Subscription:
    """The subscription in the metadata of a member.

    Raises:
        Refused: there is none.
    """
    try:
        found = _decoded(_SUBSCRIPTION, data)
    except DecodeError:
        raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL) from None
    owned = ((one.topic, index) for one in getattr(found, "owned_partitions", ()) for index in one.partitions)
    return Subscription(frozenset(found.topics), frozenset(owned), getattr(found, "rack_id", None))


def places_of(data: bytes) -> tuple[frozenset[TopicPartition], bool]:
    """The partitions of an assignment, and whether its assignor has added data of its own.

    Raises:
        DecodeError: the bytes are of another kind.
    """
    if not data:
        return frozenset(), False
    found = _decoded(_ASSIGNMENT, data)
    places = ((one.topic, index) for one in found.assigned_partitions for index in one.partitions)
    return frozenset(places), bool(found.user_data)


def assignment_of(places: Iterable[TopicPartition], like: bytes) -> bytes:
    """The bytes of an assignment, in the version of some other bytes of the protocol."""
    version = _version(_ASSIGNMENT, like)
    rows = [{"topic": topic, "partitions": indexes} for topic, indexes in indexes_by_topic(places).items()]
    message = build(REGISTRY.message(_ASSIGNMENT, version), {"assigned_partitions": rows})
    return version.to_bytes(2, "big") + message.encode()


def _decoded(name: str, data: bytes) -> Any:
    return REGISTRY.message(name, _version(name, data)).decode(data[2:])


def _version(name: str, data: bytes) -> int:
    """The version of some bytes; one that is not known yet begins as the newest that is."""
    return min(int.from_bytes(data[:2], "big"), REGISTRY.versions(name)[-1])
