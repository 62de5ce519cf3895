"""DeleteRecords, versions 0 to 2: deletes the records of partitions before an offset.

Unlike Kafka:

* A partition that DeleteRecords names twice is answered twice.
"""

from __future__ import annotations

from typing import Any

from kipwire.connection import Request
from kipwire.testing.broker.apis.rows import Values, answered
from kipwire.testing.broker.node import Node


def answer(node: Node, request: Request) -> Values:
    """Move the first offset of partitions."""

    def delete(topic: Any, asked: Any) -> Values:
        log = node.led(node.topic_of(topic), asked.partition_index)
        log.delete_before(asked.offset)
        return {"low_watermark": log.start_offset}

    return answered(request.body, delete)
