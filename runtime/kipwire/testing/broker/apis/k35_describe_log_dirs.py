"""DescribeLogDirs, versions 1 to 5: the one folder of the broker, and the bytes of partitions there."""

from kipwire.testing.broker.apis.api import Node, Sent, Values

_FOLDER = "/tmp/kipwire-fake-broker"


def answer(node: Node, body: Sent) -> Values:
    """Describe the folder, with the partitions that are asked for and there."""
    asked = {name: range(len(one.partitions)) for name, one in node.topics.by_name.items()}
    if body.topics is not None:
        asked = {one.topic: one.partitions for one in body.topics}
    places = [(name, index) for name, indexes in asked.items() for index in indexes if node.topics.has(name, index)]
    topics = [
        {
            "name": name,
            "partitions": [
                {"partition_index": index, "partition_size": node.topics.log(name, index).size}
                for topic, index in places
                if topic == name
            ],
        }
        for name in dict.fromkeys(name for name, _ in places)
    ]
    return {"results": [{"log_dir": _FOLDER, "topics": topics}]}
