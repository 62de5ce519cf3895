"""DescribeProducers, version 0: the idempotent and transactional producers of partitions."""

from kipwire.testing.broker.apis.api import Node, Sent, Values, by_row


@by_row
def answer(node: Node, body: Sent, topic: Sent, index: int) -> Values:
    node.topics.check_name(topic.name)
    log = node.led(node.topics.named(topic.name), index)
    found = [
        {
            "producer_id": producer_id,
            "producer_epoch": one.epoch,
            "last_sequence": one.recent[-1].last if one.recent else -1,
            "last_timestamp": one.last_timestamp,
            "coordinator_epoch": one.coordinator_epoch,
            "current_txn_start_offset": -1 if one.first_of_transaction is None else one.first_of_transaction,
        }
        for producer_id, one in sorted(log.producers.by_id.items())
    ]
    return {"active_producers": found}
