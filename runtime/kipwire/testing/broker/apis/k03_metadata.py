"""Metadata, versions 0 to 13: the nodes that run, and topics with their leaders.

Unlike Kafka:

* Every running node has an in-sync replica of every partition.
* Metadata of a topic without name and id is refused with UNKNOWN_TOPIC_ID, not UNKNOWN_SERVER_ERROR.
"""

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.apis.api import Node, Refused, Sent, Values
from kipwire.testing.broker.node import CLUSTER_ID
from kipwire.testing.broker.state.topics import NO_ID, Topic

_FIRST_WITH_IDS = 12
"""The first version of Metadata that takes topics by id; those before it have a place for ids already."""


def answer(node: Node, body: Sent) -> Values:
    """The nodes and topics; those that do not exist are created, if the client and the settings allow it."""
    asked = body.topics
    if body.VERSION < _FIRST_WITH_IDS and any(_has_id(one) for one in asked or ()):
        raise Refused(ErrorCode.INVALID_REQUEST)
    if asked is None or (body.VERSION == 0 and not asked):
        topics = [_described(node, topic) for _, topic in sorted(node.topics.by_name.items())]
    else:
        may_create = node.settings.auto_create_topics and getattr(body, "allow_auto_topic_creation", True)
        topics = [_found(node, one, may_create) for one in asked]
    return {**_cluster(node), "topics": topics}


def _has_id(asked: Sent) -> bool:
    return asked.name is None or getattr(asked, "topic_id", NO_ID) != NO_ID


def _cluster(node: Node) -> Values:
    brokers = [one.address for one in node.nodes.running]
    return {"brokers": brokers, "cluster_id": CLUSTER_ID, "controller_id": node.nodes.controller}


def _found(node: Node, asked: Sent, may_create: bool) -> Values:
    try:
        has_id = getattr(asked, "topic_id", NO_ID) != NO_ID
        if asked.name is not None and not has_id:
            node.topics.check_name(asked.name)
        if may_create and asked.name is not None and not has_id and asked.name not in node.topics.by_name:
            node.topics.create(asked.name, node.settings.default_partitions)
        return _described(node, node.topic_of(asked))
    except Refused as error:
        return {"error_code": error.error, "name": asked.name, "topic_id": getattr(asked, "topic_id", NO_ID)}


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
