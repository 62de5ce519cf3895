"""ConsumerGroupHeartbeat, versions 0 to 1: joins, stays in or leaves a group that assigns partitions itself (KIP-848).

Unlike Kafka:

* Members of consumer groups are told to heartbeat each half second, so that rebalances are quick in tests
  (`group.consumer.heartbeat.interval.ms` is 500). Targets are computed at once
  (`group.consumer.assignment.interval.ms` is 0), and new topics match regular expressions at once, not up to ten
  seconds later.
* RE2 in C++ matches regular expressions; Kafka's RE2J also takes larger ones, such as repetitions within
  repetitions of more than 1,000 in all, and refuses two groups of one name.
* The assignor `uniform` balances as Kafka's does, but which of several equal members gets a partition may differ.
* Groups may have any number of members.
"""

from kafka_messages.enums import ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Node, Refused, Sent, Values
from kipwire.testing.broker.state import indexes_by_topic, matching
from kipwire.testing.broker.state.consumer_members import ASSIGNORS, JOINS, LEAVES, PAUSES, Beat, Place

_FIRST_WITH_OWN_IDS = 1
"""The first version in which members make their ids."""
_HEARTBEAT_INTERVAL = 500
"""Milliseconds."""
_UNCHANGED = -1
"""The rebalance timeout of a member that has said it before."""


def answer_request(node: Node, request: Request) -> Values:
    """Keep a member alive, and tell it what to read."""
    body: Sent = request.body
    _check(body, body.VERSION)
    owned = body.topic_partitions
    timeout = body.rebalance_timeout_ms
    asked = Beat(
        member_id=body.member_id,
        epoch=body.member_epoch,
        client_id=request.header.client_id or "",
        client_host=node.place.host,
        instance_id=body.instance_id,
        rack_id=body.rack_id,
        rebalance_timeout=None if timeout == _UNCHANGED else timeout / 1000,
        topics=None if body.subscribed_topic_names is None else frozenset(body.subscribed_topic_names),
        regex=getattr(body, "subscribed_topic_regex", None),
        assignor=body.server_assignor,
        owned=None if owned is None else frozenset((one.topic_id, at) for one in owned for at in one.partitions),
    )
    group = node.consumer_group(body.group_id, creates=body.member_epoch == JOINS)
    beaten = group.beat(asked, node.now())
    values = {"member_id": beaten.member_id, "member_epoch": beaten.epoch}
    if asked.epoch < JOINS:
        return values
    assigned = None if beaten.assigned is None else {"topic_partitions": _by_topic(beaten.assigned)}
    return {**values, "heartbeat_interval_ms": _HEARTBEAT_INTERVAL, "assignment": assigned}


def _check(body: Sent, version: int) -> None:
    """Check what does not depend on the group.

    Raises:
        Refused: something is missing or is not a value of its kind.
    """
    regex = getattr(body, "subscribed_topic_regex", None)
    has_id = version >= _FIRST_WITH_OWN_IDS or body.member_epoch > JOINS or body.member_epoch == LEAVES
    is_valid = body.group_id and body.instance_id != "" and body.rack_id != "" and (body.member_id or not has_id)
    if body.member_epoch == JOINS:
        has_topics = body.subscribed_topic_names is not None or regex is not None
        is_valid = is_valid and body.rebalance_timeout_ms != _UNCHANGED and has_topics and body.topic_partitions == []
    elif body.member_epoch == PAUSES:
        is_valid = is_valid and body.instance_id is not None
    if not is_valid or body.member_epoch < PAUSES:
        raise Refused(ErrorCode.INVALID_REQUEST)
    if body.server_assignor is not None and body.server_assignor not in ASSIGNORS:
        raise Refused(ErrorCode.UNSUPPORTED_ASSIGNOR)
    if body.member_epoch == JOINS and regex:
        matching(regex)  # which refuses what is none


def _by_topic(places: frozenset[Place]) -> list[Values]:
    return [{"topic_id": one, "partitions": indexes} for one, indexes in indexes_by_topic(places).items()]
