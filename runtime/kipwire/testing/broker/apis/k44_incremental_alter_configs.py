"""IncrementalAlterConfigs, versions 0 to 1: changes settings of topics, all that are asked for a topic or none."""

from collections import Counter

from kipwire.testing.broker.apis.api import ErrorCode, Node, Sent, Values, answered, expect
from kipwire.testing.broker.apis.k33_alter_configs import altered_configs
from kipwire.testing.broker.state.topics import changed, replace


def answer(node: Node, body: Sent) -> Values:
    times = Counter((one.resource_type, one.resource_name) for one in body.resources)

    def alter(asked: Sent) -> Values:
        is_once = times[asked.resource_type, asked.resource_name] == 1
        expect(is_once, ErrorCode.INVALID_REQUEST, "the topic occurs twice in the request")
        configs = altered_configs(node, asked)
        changes = [(one.name, one.config_operation, one.value) for one in asked.configs]
        replace(configs, changed(configs, changes), is_tried=body.validate_only)
        return {}

    return answered(body, alter)
