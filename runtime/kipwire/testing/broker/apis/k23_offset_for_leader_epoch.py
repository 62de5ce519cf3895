"""OffsetForLeaderEpoch, versions 2 to 4: the ends of leader epochs."""

from kipwire.testing.broker.apis.api import Node, Sent, Values, answered


def answer(node: Node, body: Sent) -> Values:
    """Find the end of an epoch in each partition."""

    def find(topic: Sent, asked: Sent) -> Values:
        found = node.led(node.topic_of(topic), asked.partition, asked).end_of_epoch(asked.leader_epoch)
        return {} if found is None else {"leader_epoch": found[0], "end_offset": found[1]}

    return answered(body, find)
