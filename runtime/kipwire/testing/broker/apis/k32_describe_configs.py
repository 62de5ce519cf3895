"""DescribeConfigs, versions 1 to 4: the settings that topics were given.

Unlike Kafka:

* Settings that were given are described, and no defaults; the broker has none.
"""

from __future__ import annotations

from typing import Any

from kipwire.connection import Request
from kipwire.testing.broker.apis.rows import Values, answered
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.configs import shown_configs


def answer(node: Node, request: Request) -> Values:
    """Describe settings."""

    def describe(asked: Any) -> Values:
        keys, configs = asked.configuration_keys, node.configs_of(asked.resource_type, asked.resource_name)
        return {"configs": shown_configs({one: configs[one] for one in configs if keys is None or one in keys})}

    return answered(request.body, describe)
