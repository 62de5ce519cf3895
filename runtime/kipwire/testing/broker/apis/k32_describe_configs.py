"""DescribeConfigs, versions 1 to 4: the settings of topics.

Unlike Kafka:

* The broker has no settings to describe or alter; DescribeConfigs gives no synonyms or documentation.
"""

from kafka_messages.enums import ConfigResourceType
from kipwire.testing.broker.apis.api import ErrorCode, Node, Sent, Values, by_row, expect
from kipwire.testing.broker.state.topics import SETTINGS, Configs, shown_configs


@by_row
def answer(node: Node, body: Sent, asked: Sent) -> Values:
    if asked.resource_type == ConfigResourceType.BROKER and asked.resource_name in ("", str(node.node_id)):
        return {}
    configs, keys = topic_configs(node, asked), asked.configuration_keys
    shown = [one for one in shown_configs(configs) if keys is None or one["name"] in keys]
    return {"configs": [{**one, "config_type": SETTINGS[one["name"]].type} for one in shown]}


def topic_configs(node: Node, asked: Sent) -> Configs:
    """Find the settings of the topic that a request names; changes to them have their effect."""
    expect(asked.resource_type == ConfigResourceType.TOPIC, ErrorCode.INVALID_REQUEST, "only topics have settings")
    node.topics.check_name(asked.resource_name)
    return node.topics.named(asked.resource_name).configs
