"""AlterConfigs, versions 0 to 2: gives topics new settings, in place of all that they have.

Unlike Kafka:

* The settings of the broker cannot be altered.
* AlterConfigs of a topic that is named twice, which Kafka never answers, is refused with INVALID_REQUEST.
"""

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.apis.api import Node, Refused, Sent, Values, answered
from kipwire.testing.broker.state.topics import Configs, given, replace


def answer(node: Node, body: Sent) -> Values:
    """Set all settings anew."""

    def alter(asked: Sent) -> Values:
        configs = given((one.name, one.value) for one in asked.configs)
        replace(altered_configs(node, asked), configs, is_tried=body.validate_only)
        return {}

    return answered(body, alter, is_distinct=True)


def altered_configs(node: Node, asked: Sent) -> Configs:
    """The settings of a topic that a request alters.

    Raises:
        Refused: there is no such topic.
    """
    if not asked.resource_name:
        raise Refused(ErrorCode.INVALID_REQUEST, "the settings of all brokers cannot be altered")
    return node.configs_of(asked)
