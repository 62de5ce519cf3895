"""ConsumerGroupHeartbeat, versions 0 to 1: joins, stays in or leaves a group that assigns partitions itself (KIP-848).

Unlike Kafka:

* Members heartbeat each half second (`group.consumer.heartbeat.interval.ms` is 500), so that rebalances are quick.
* Targets (`group.consumer.assignment.interval.ms` is 0) and topics of regular expressions, for which Kafka takes ten
  seconds, update at once.
* Kafka's RE2J takes larger regular expressions than RE2, such as over 1,000 nested repetitions, and refuses two
  groups of one name.
* `uniform` may give a partition to another of several equal members.
* Groups may have any number of members.
"""

from kipwire.testing.broker.apis.api import ErrorCode, Node, Request, Sent, Values, expect
from kipwire.testing.broker.state import indexes_by_topic, matching
from kipwire.testing.broker.state.consumer_members import ASSIGNORS, JOINS, LEAVES, PAUSES, Beat

_FIRST_WITH_OWN_IDS = 1
"""The first version in which members make their ids."""
_HEARTBEAT_INTERVAL = 500
"""Milliseconds."""
_UNCHANGED = -1
"""The rebalance timeout of a member that has said it before."""


def answer_request(node: Node, request: Request) -> Values:
    body: Sent = request.body
    _check(body)
    owned = body.topic_partitions
    timeout = body.rebalance_timeout_ms
    asked = Beat(
        member_id=body.member_id,
        epoch=body.member_epoch,
        client_id=request.header.client_id or "",
        client_host=node.listener.host,
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
    assignment = None
    if beaten.assigned is not None:
        by_topic = indexes_by_topic(beaten.assigned)
        assignment = {"topic_partitions": [{"topic_id": one, "partitions": found} for one, found in by_topic.items()]}
    return {**values, "heartbeat_interval_ms": _HEARTBEAT_INTERVAL, "assignment": assignment}


def _check(body: Sent) -> None:
    """Check what does not depend on the group."""
    regex = getattr(body, "subscribed_topic_regex", None)
    has_id = body.VERSION >= _FIRST_WITH_OWN_IDS or body.member_epoch > JOINS or body.member_epoch == LEAVES
    is_valid = body.group_id and body.instance_id != "" and body.rack_id != "" and (body.member_id or not has_id)
    if body.member_epoch == JOINS:
        has_topics = body.subscribed_topic_names is not None or regex is not None
        is_valid = is_valid and body.rebalance_timeout_ms != _UNCHANGED and has_topics and body.topic_partitions == []
    elif body.member_epoch == PAUSES:
        is_valid = is_valid and body.instance_id is not None
    expect(is_valid and body.member_epoch >= PAUSES, ErrorCode.INVALID_REQUEST)
    expect(body.server_assignor is None or body.server_assignor in ASSIGNORS, ErrorCode.UNSUPPORTED_ASSIGNOR)
    if body.member_epoch == JOINS and regex:
        matching(regex)  # which refuses what is none
