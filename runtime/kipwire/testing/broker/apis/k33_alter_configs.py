"""AlterConfigs, versions 0 to 2: gives topics new settings, in place of all that they have.

Unlike Kafka:

* The settings of the broker cannot be altered.
* AlterConfigs of a topic that is named twice, which Kafka never answers, is refused with INVALID_REQUEST.
"""

from __future__ import annotations

from typing import Any

from kipwire.connection import Request
from kipwire.testing.broker.apis.rows import Values, answered
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.configs import given, replace


def answer(node: Node, request: Request) -> Values:
    """Set all settings anew."""
    body: Any = request.body

    def alter(asked: Any) -> Values:
        configs = given((one.name, one.value) for one in asked.configs)
        replace(node.altered_configs(asked), configs, is_tried=body.validate_only)
        return {}

    return answered(body, alter, is_distinct=True)
