"""The APIs that create, change, describe and delete topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_messages.enums import ApiKey, ConfigResourceType, ConfigSource, ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Api, Values, refusal
from kipwire.testing.broker.node import NODE_ID, Node
from kipwire.testing.broker.state.refusals import Refused


def create_topics(node: Node, request: Request) -> Values:
    """Create topics; any replication factor is accepted, though there is one replica of everything."""
    body: Any = request.body

    def create(asked: Any) -> Values:
        count = len(asked.assignments) or asked.num_partitions
        count = node.settings.default_partitions if count == -1 else count
        configs = {one.name: one.value for one in asked.configs}
        made = {"num_partitions": count, "replication_factor": 1, "configs": _created_configs(configs)}
        if body.validate_only:
            node.topics.check_new(asked.name, count)
            return made
        return {"topic_id": node.topics.create(asked.name, count, configs).topic_id, **made}

    return {"topics": [{"name": one.name, **_outcome(create, one)} for one in body.topics]}


def refuse_create_topics(body: Any, error: int) -> Values:
    """An error for each topic."""
    return {"topics": [{"name": one.name, "error_code": error} for one in body.topics]}


def delete_topics(node: Node, request: Request) -> Values:
    """Delete topics, by name or by id."""

    def delete(asked: Any) -> Values:
        topic = node.topic_of(asked)
        node.delete_topic(topic)
        return {"name": topic.name, "topic_id": topic.topic_id}

    return {"responses": [{**identity, **_outcome(delete, one)} for identity, one in _deleted(request.body)]}


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

    def extend(asked: Any) -> Values:
        topic = node.topics.check_more_partitions(asked.name, asked.count)
        if not body.validate_only:
            topic.extend(asked.count)
        return {}

    return {"results": [{"name": one.name, **_outcome(extend, one)} for one in body.topics]}


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
