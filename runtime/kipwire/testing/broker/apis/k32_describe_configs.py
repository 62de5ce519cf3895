"""DescribeConfigs, versions 1 to 4: the settings of topics.

Unlike Kafka:

* The broker has no settings, and DescribeConfigs gives no synonyms and no documentation.
"""

from kafka_messages.enums import ConfigResourceType
from kipwire.testing.broker.apis.api import Node, Sent, Values, answered
from kipwire.testing.broker.state.topics import shown_configs, type_of


def answer(node: Node, body: Sent) -> Values:
    """Describe settings."""

    def describe(asked: Sent) -> Values:
        if asked.resource_type == ConfigResourceType.BROKER and asked.resource_name in ("", str(node.node_id)):
            return {}
        configs, keys = node.configs_of(asked), asked.configuration_keys
        shown = [one for one in shown_configs(configs) if keys is None or one["name"] in keys]
        return {"configs": [{**one, "config_type": type_of(one["name"])} for one in shown]}

    return answered(body, describe)
