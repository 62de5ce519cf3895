"""Metadata, versions 0 to 13: the nodes that run, and topics with their leaders.

Unlike Kafka:

* Every running node has an in-sync replica of every partition.
* Metadata of a topic without name and id is refused with UNKNOWN_TOPIC_ID, not UNKNOWN_SERVER_ERROR.
"""

from typing import Any

from kipwire.testing.broker.apis.api import ErrorCode, Node, Refused, Sent, Values, expect
from kipwire.testing.broker.node import CLUSTER_ID
from kipwire.testing.broker.state.topics import NO_ID, Topic

_FIRST_WITH_IDS = 12
"""The first version of Metadata that takes topics by id; those before it have a place for ids already."""


def answer(node: Node, body: Sent) -> Values:
    """Answer with the nodes and topics; create those that do not exist, if the client and the settings allow it."""
    asked = body.topics
    has_ids = any(one.name is None or _id(one) != NO_ID for one in asked or ())
    expect(body.VERSION >= _FIRST_WITH_IDS or not has_ids, ErrorCode.INVALID_REQUEST)
    if asked is None or (body.VERSION == 0 and not asked):
        topics = [_described(node, topic) for _, topic in sorted(node.topics.by_name.items())]
    else:
        may_create = node.auto_create_topics and getattr(body, "allow_auto_topic_creation", True)
        topics = [_found(node, one, may_create) for one in asked]
    brokers = [one.address for one in node.nodes.running]
    return {"brokers": brokers, "cluster_id": CLUSTER_ID, "controller_id": node.nodes.controller, "topics": topics}


def _id(asked: Sent) -> Any:
    return getattr(asked, "topic_id", NO_ID)


def _found(node: Node, asked: Sent, may_create: bool) -> Values:
    try:
        if asked.name is not None and _id(asked) == NO_ID:
            node.topics.check_name(asked.name)
            if may_create:
                node.create_missing(asked.name)
        return _described(node, node.topic_of(asked))
    except Refused as error:
        return {"error_code": error.error, "name": asked.name, "topic_id": _id(asked)}


def _described(node: Node, topic: Topic) -> Values:
    running = [one.node_id for one in node.nodes.running]
    partitions = [
        {
            "partition_index": index,
            **log.current_leader,
            "replica_nodes": list(node.nodes.by_id),
            "isr_nodes": running,
            "offline_replicas": [one for one in node.nodes.by_id if one not in running],
        }
        for index, log in enumerate(topic.partitions)
    ]
    return {"name": topic.name, "topic_id": topic.topic_id, "partitions": partitions}
