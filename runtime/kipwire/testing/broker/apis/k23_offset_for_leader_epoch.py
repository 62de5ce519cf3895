"""OffsetForLeaderEpoch, versions 2 to 4: the ends of leader epochs."""

from kipwire.testing.broker.apis.api import Node, Sent, Values, by_row


@by_row
def answer(node: Node, body: Sent, topic: Sent, asked: Sent) -> Values:
    found = node.led(node.topic_of(topic), asked.partition, asked).end_of_epoch(asked.leader_epoch)
    return {} if found is None else {"leader_epoch": found[0], "end_offset": found[1]}
