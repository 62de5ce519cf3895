"""DeleteRecords, versions 0 to 2: deletes the records of partitions before an offset.

Unlike Kafka:

* A partition that DeleteRecords names twice is answered twice.
"""

from kipwire.testing.broker.apis.api import Node, Sent, Values, by_row


@by_row
def answer(node: Node, body: Sent, topic: Sent, asked: Sent) -> Values:
    log = node.led(node.topic_of(topic), asked.partition_index)
    log.delete_before(asked.offset)
    return {"low_watermark": log.start_offset}
