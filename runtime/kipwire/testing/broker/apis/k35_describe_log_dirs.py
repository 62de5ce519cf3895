"""DescribeLogDirs, versions 1 to 5: the one folder of the broker, and the bytes of partitions there."""

from kipwire.testing.broker.apis.api import Node, Sent, Values

_FOLDER = "/tmp/kipwire-fake-broker"


def answer(node: Node, body: Sent) -> Values:
    asked = {name: range(len(one.partitions)) for name, one in node.topics.by_name.items()}
    if body.topics is not None:
        asked = {one.topic: one.partitions for one in body.topics}
    found = {
        name: [
            {"partition_index": index, "partition_size": node.topics.log(name, index).size}
            for index in indexes
            if node.topics.has(name, index)
        ]
        for name, indexes in asked.items()
    }
    topics = [{"name": name, "partitions": partitions} for name, partitions in found.items() if partitions]
    return {"results": [{"log_dir": _FOLDER, "topics": topics}]}
