"""AlterConfigs, versions 0 to 2: gives topics new settings, in place of all that they have.

Unlike Kafka:

* AlterConfigs of a topic named twice, which Kafka never answers, is refused with INVALID_REQUEST.
"""

from kipwire.testing.broker.apis.api import ErrorCode, Node, Sent, Values, by_distinct_row, expect
from kipwire.testing.broker.apis.k32_describe_configs import topic_configs
from kipwire.testing.broker.state.topics import Configs, replace


@by_distinct_row
def answer(node: Node, body: Sent, asked: Sent) -> Values:
    configs = {one.name: one.value for one in asked.configs}
    expect(None not in configs.values(), ErrorCode.INVALID_REQUEST, "a setting has no value")
    replace(altered_configs(node, asked), configs, is_tried=body.validate_only)
    return {}


def altered_configs(node: Node, asked: Sent) -> Configs:
    """Find the settings of the topic that a request alters."""
    expect(asked.resource_name, ErrorCode.INVALID_REQUEST, "the settings of all brokers cannot be altered")
    return topic_configs(node, asked)
