"""The APIs that create, change, describe and delete topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from kafka_messages.enums import ApiKey, ConfigResourceType, ConfigSource, ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Api, Values, refusal
from kipwire.testing.broker.node import NODE_ID, Node
from kipwire.testing.broker.state.refusals import Refused
from kipwire.testing.broker.state.topics import MOST_PARTITIONS, NO_ID, expect_valid_configs

_DUPLICATE = Refused(ErrorCode.INVALID_REQUEST, "the request names the topic twice")


def create_topics(node: Node, request: Request) -> Values:
    """Create topics; any replication factor above 0 is accepted, though there is one replica of everything."""
    body: Any = request.body
    counts = [len(one.assignments) or node.partitions_of(one.num_partitions) for one in body.topics]
    if sum(1 + max(count, 0) for count in counts) > MOST_PARTITIONS:
        raise Refused(ErrorCode.POLICY_VIOLATION, "one request asks for too many partitions")

    def create(asked: Any) -> Values:
        if times[asked.name] > 1:
            raise _DUPLICATE
        configs = {one.name: one.value for one in asked.configs}
        node.topics.check_free(asked.name)
        expect_valid_configs(configs)
        count = len(asked.assignments) or node.partitions_of(asked.num_partitions)
        _expect_assignment(asked)
        node.topics.check_new(asked.name, count)
        made = {"num_partitions": count, "replication_factor": 1, "configs": _created_configs(configs)}
        made["error_message"] = None
        if body.validate_only:
            return made
        return {"topic_id": node.topics.create(asked.name, count, configs).topic_id, **made}

    times = Counter(one.name for one in body.topics)
    distinct = {one.name: one for one in body.topics}.values()
    return {"topics": [{"name": one.name, **_outcome(create, one)} for one in distinct]}


def _expect_assignment(asked: Any) -> None:
    """Check the replicas that a client wants.

    Raises:
        Refused: it says twice how many, or leaves out a partition, or a partition has none.
    """
    if not asked.assignments:
        if asked.replication_factor < -1 or asked.replication_factor == 0:
            raise Refused(
                ErrorCode.INVALID_REPLICATION_FACTOR, "give a replication factor above 0, or -1 for the usual"
            )
        return
    if asked.replication_factor != -1 or asked.num_partitions != -1:
        reason = "an assignment says how many partitions and replicas there are; both numbers have to be -1"
        raise Refused(ErrorCode.INVALID_REQUEST, reason)
    indexes = sorted(one.partition_index for one in asked.assignments)
    if indexes != list(range(len(indexes))):
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "the partitions of an assignment have to be 0, 1, 2 and so on"
        )
    _expect_brokers(asked.assignments)


def _expect_brokers(assignments: Any) -> None:
    for one in assignments:
        if not one.broker_ids or len(set(one.broker_ids)) < len(one.broker_ids):
            raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "each partition needs replicas, on different brokers")


def refuse_create_topics(body: Any, error: int) -> Values:
    """An error for each topic."""
    return {"topics": [{"name": one.name, "error_code": error} for one in body.topics]}


def delete_topics(node: Node, request: Request) -> Values:
    """Delete topics, by name or by id."""

    def delete(asked: Any) -> Values:
        topic_id = getattr(asked, "topic_id", NO_ID)
        if (asked.name is None) == (topic_id == NO_ID):
            raise Refused(ErrorCode.INVALID_REQUEST, "name a topic by its name or by its id, not by both")
        if times[asked.name, topic_id] > 1:
            raise _DUPLICATE
        topic = node.topic_of(asked)
        node.delete_topic(topic)
        return {"name": topic.name, "topic_id": topic.topic_id, "error_message": None}

    asked = _deleted(request.body)
    times = Counter((one.name, getattr(one, "topic_id", NO_ID)) for _, one in asked)
    distinct = {(one.name, getattr(one, "topic_id", NO_ID)): (identity, one) for identity, one in asked}.values()
    return {"responses": [{**identity, **_outcome(delete, one)} for identity, one in distinct]}


def refuse_delete_topics(body: Any, error: int) -> Values:
    """An error for each topic."""
    return {"responses": [{**identity, "error_code": error} for identity, _ in _deleted(body)]}


class _Named:
    """A topic that a request has as a mere name."""

    def __init__(self, name: str) -> None:
        self.name = name


def _deleted(body: Any) -> list[tuple[Values, Any]]:
    """The topics of a request, each with what names it in the response."""
    if hasattr(body, "topic_names"):
        return [({"name": name}, _Named(name)) for name in body.topic_names]
    return [({"name": one.name, "topic_id": one.topic_id}, one) for one in body.topics]


def create_partitions(node: Node, request: Request) -> Values:
    """Give topics more partitions."""
    body: Any = request.body
    times = Counter(one.name for one in body.topics)
    distinct = {one.name: one for one in body.topics}.values()
    known = [(one.count, node.topics.by_name[one.name]) for one in distinct if one.name in node.topics.by_name]
    if sum(max(count - len(topic.partitions), 0) for count, topic in known) > MOST_PARTITIONS:
        raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "one request asks for too many partitions")

    def extend(asked: Any) -> Values:
        if times[asked.name] > 1:
            raise _DUPLICATE
        topic = node.topics.check_more_partitions(asked.name, asked.count)
        if asked.assignments is not None:
            if len(asked.assignments) != asked.count - len(topic.partitions):
                raise Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "each new partition needs an assignment")
            _expect_brokers(asked.assignments)
        if not body.validate_only:
            topic.extend(asked.count)
        return {"error_message": None}

    return {"results": [{"name": one.name, **_outcome(extend, one)} for one in distinct]}


def refuse_create_partitions(body: Any, error: int) -> Values:
    """An error for each topic."""
    return {"results": [{"name": one.name, "error_code": error} for one in body.topics]}


def describe_configs(node: Node, request: Request) -> Values:
    """The configuration that topics were created with; the broker itself has none."""
    body: Any = request.body

    def describe(asked: Any) -> Values:
        keys = asked.configuration_keys
        configs = _configs_of(node, asked)
        shown = {name: value for name, value in configs.items() if keys is None or name in keys}
        source = ConfigSource.TOPIC_CONFIG
        return {"configs": [{"name": name, "value": value, "config_source": source} for name, value in shown.items()]}

    return {"results": [{**_resource(one), **_outcome(describe, one)} for one in body.resources]}


def refuse_describe_configs(body: Any, error: int) -> Values:
    """An error for each resource."""
    return {"results": [{**_resource(one), "error_code": error} for one in body.resources]}


def _resource(asked: Any) -> Values:
    return {"resource_type": asked.resource_type, "resource_name": asked.resource_name}


def _configs_of(node: Node, asked: Any) -> dict[str, str | None]:
    if asked.resource_type == ConfigResourceType.TOPIC:
        node.topics.check_name(asked.resource_name)
        return node.topics.named(asked.resource_name).configs
    if asked.resource_type == ConfigResourceType.BROKER and asked.resource_name in ("", str(NODE_ID)):
        return {}
    raise Refused(ErrorCode.INVALID_REQUEST, "only topics and the broker have a configuration")


def _created_configs(configs: dict[str, str | None]) -> list[Values]:
    source = ConfigSource.TOPIC_CONFIG
    return [{"name": name, "value": value, "config_source": source} for name, value in configs.items()]


def _outcome(action: Callable[[Any], Values], asked: Any) -> Values:
    try:
        return action(asked)
    except Refused as error:
        return refusal(error)


APIS = {
    ApiKey.CREATE_TOPICS: Api(create_topics, refuse_create_topics),
    ApiKey.DELETE_TOPICS: Api(delete_topics, refuse_delete_topics),
    ApiKey.CREATE_PARTITIONS: Api(create_partitions, refuse_create_partitions),
    ApiKey.DESCRIBE_CONFIGS: Api(describe_configs, refuse_describe_configs),
}
