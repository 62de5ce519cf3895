"""DescribeConfigs."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ConfigResourceType, ConfigSource, ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Values, outcome
from kipwire.testing.broker.node import NODE_ID, Node
from kipwire.testing.broker.state.refusals import Refused


def answer(node: Node, request: Request) -> Values:
    """The configuration that topics were created with; the broker itself has none."""
    body: Any = request.body

    def describe(asked: Any) -> Values:
        keys = asked.configuration_keys
        configs = _configs_of(node, asked)
        shown = {name: value for name, value in configs.items() if keys is None or name in keys}
        source = ConfigSource.TOPIC_CONFIG
        return {"configs": [{"name": name, "value": value, "config_source": source} for name, value in shown.items()]}

    return {"results": [{**_resource(one), **outcome(describe, one)} for one in body.resources]}


def _resource(asked: Any) -> Values:
    return {"resource_type": asked.resource_type, "resource_name": asked.resource_name}


def _configs_of(node: Node, asked: Any) -> dict[str, str | None]:
    if asked.resource_type == ConfigResourceType.TOPIC:
        node.topics.check_name(asked.resource_name)
        return node.topics.named(asked.resource_name).configs
    if asked.resource_type == ConfigResourceType.BROKER and asked.resource_name in ("", str(NODE_ID)):
        return {}
    raise Refused(ErrorCode.INVALID_REQUEST, "only topics and the broker have a configuration")


def refuse(body: Any, error: int) -> Values:
    """An error for each resource."""
    return {"results": [{**_resource(one), "error_code": error} for one in body.resources]}
