"""AlterConfigs, versions 0 to 2: gives topics new settings, in place of all that they have.

Unlike Kafka:

* The settings of the broker cannot be altered.
* AlterConfigs of a topic that is named twice, which Kafka never answers, is refused with INVALID_REQUEST.
"""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.rows import Values, answered
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.configs import Configs, given, replace
from kipwire.testing.broker.state.refusals import Refused


def answer(node: Node, request: Request) -> Values:
    """Set all settings anew."""
    body: Any = request.body

    def alter(asked: Any) -> Values:
        configs = given((one.name, one.value) for one in asked.configs)
        replace(altered_configs(node, asked), configs, is_tried=body.validate_only)
        return {}

    return answered(body, alter, is_distinct=True)


def altered_configs(node: Node, asked: Any) -> Configs:
    """The settings of a topic that a request alters.

    Raises:
        Refused: there is no such topic.
    """
    if not asked.resource_name:
        raise Refused(ErrorCode.INVALID_REQUEST, "the settings of all brokers cannot be altered")
    return node.configs_of(asked)
