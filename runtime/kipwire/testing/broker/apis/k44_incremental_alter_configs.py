"""IncrementalAlterConfigs, versions 0 to 1: changes settings of topics one by one."""

from collections import Counter

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.apis.api import Node, Refused, Sent, Values, answered
from kipwire.testing.broker.apis.k33_alter_configs import altered_configs
from kipwire.testing.broker.state.topics import changed, replace


def answer(node: Node, body: Sent) -> Values:
    """Make all changes of a topic, or none."""
    times = Counter((one.resource_type, one.resource_name) for one in body.resources)

    def alter(asked: Sent) -> Values:
        if times[asked.resource_type, asked.resource_name] > 1:
            raise Refused(ErrorCode.INVALID_REQUEST, "the request names the topic twice")
        configs = altered_configs(node, asked)
        changes = [(one.name, one.config_operation, one.value) for one in asked.configs]
        replace(configs, changed(configs, changes), is_tried=body.validate_only)
        return {}

    return answered(body, alter)
