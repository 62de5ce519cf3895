"""DescribeLogDirs, versions 1 to 5: the one folder of the broker, and the bytes of partitions there."""

from __future__ import annotations

from typing import Any

from kipwire.connection import Request
from kipwire.testing.broker.apis.rows import Values
from kipwire.testing.broker.node import Node

_FOLDER = "/tmp/kipwire-fake-broker"


def answer(node: Node, request: Request) -> Values:
    """Describe the folder, with the partitions that are asked for and there."""
    body: Any = request.body
    asked = {name: range(len(one.partitions)) for name, one in node.topics.by_name.items()}
    if body.topics is not None:
        asked = {one.topic: one.partitions for one in body.topics}
    places = [(name, index) for name, indexes in asked.items() for index in indexes if node.topics.has(name, index)]
    topics = [
        {
            "name": name,
            "partitions": [
                {"partition_index": index, "partition_size": node.topics.named(name).partition(index).size}
                for topic, index in places
                if topic == name
            ],
        }
        for name in dict.fromkeys(name for name, _ in places)
    ]
    return {"results": [{"log_dir": _FOLDER, "topics": topics}]}
