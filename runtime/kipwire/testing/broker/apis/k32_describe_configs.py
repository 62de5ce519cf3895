"""DescribeConfigs, versions 1 to 4: the settings of topics.

Unlike Kafka:

* The broker has no settings, and DescribeConfigs gives no synonyms and no documentation.
"""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ConfigResourceType
from kipwire.connection import Request
from kipwire.testing.broker.apis.rows import Values, answered
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.configs import shown_configs, type_of

_FIRST_WITH_TYPES = 3


def answer(node: Node, request: Request) -> Values:
    """Describe settings."""

    def describe(asked: Any) -> Values:
        if asked.resource_type == ConfigResourceType.BROKER and asked.resource_name in ("", str(node.node_id)):
            return {}
        configs, keys = node.configs_of(asked), asked.configuration_keys
        shown = [one for one in shown_configs(configs) if keys is None or one["name"] in keys]
        if request.api_version >= _FIRST_WITH_TYPES:
            shown = [{**one, "config_type": type_of(one["name"])} for one in shown]
        return {"configs": shown}

    return answered(request.body, describe)
