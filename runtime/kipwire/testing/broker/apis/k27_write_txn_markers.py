"""WriteTxnMarkers, versions 1 to 2: ends transactions in partitions, as operators ask for who abort what hangs.

The coordinator of a transaction learns nothing of it, as in Kafka.
"""

from kipwire.testing.broker.apis.api import ErrorCode, Node, Sent, Values, by_row, expect, numbers_of
from kipwire.testing.broker.node import end_marker


@by_row
def answer(node: Node, body: Sent, marker: Sent, topic: Sent, index: int) -> Values:
    node.topics.check_name(topic.name)
    log = node.led(node.topics.named(topic.name), index)
    known = log.producers.by_id.get(marker.producer_id)
    if known is not None:
        expect(marker.producer_epoch >= known.epoch, ErrorCode.INVALID_PRODUCER_EPOCH)
        is_current = marker.coordinator_epoch >= known.coordinator_epoch
        expect(is_current, ErrorCode.TRANSACTION_COORDINATOR_FENCED)
    data = end_marker(numbers_of(marker), marker.coordinator_epoch, is_commit=marker.transaction_result)
    log.append_marker(data, marker.producer_id, marker.producer_epoch, is_commit=marker.transaction_result)
    return {}
