"""IncrementalAlterConfigs, versions 0 to 1: changes settings of topics one by one."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kafka_messages.enums import ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.k33_alter_configs import altered_configs
from kipwire.testing.broker.apis.rows import Values, answered
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.configs import changed, replace
from kipwire.testing.broker.state.refusals import Refused


def answer(node: Node, request: Request) -> Values:
    """Make all changes of a topic, or none."""
    body: Any = request.body
    times = Counter((one.resource_type, one.resource_name) for one in body.resources)

    def alter(asked: Any) -> Values:
        if times[asked.resource_type, asked.resource_name] > 1:
            raise Refused(ErrorCode.INVALID_REQUEST, "the request names the topic twice")
        configs = altered_configs(node, asked)
        changes = [(one.name, one.config_operation, one.value) for one in asked.configs]
        replace(configs, changed(configs, changes), is_tried=body.validate_only)
        return {}

    return answered(body, alter)
