"""Produce, versions 3 to 13: records of producers, idempotent ones and those with transactions too.

Unlike Kafka:

* Records that `kipwire.records` cannot read, such as compressed ones with wrong sizes, are refused with
  INVALID_RECORD; Kafka stores some.
* Produce with null records, which Kafka never answers, is refused with INVALID_RECORD.
"""

from kipwire.testing.broker.apis.api import ErrorCode, NoAnswer, Node, Refused, Sent, Values, answered, expect
from kipwire.testing.broker.apis.rows import with_endpoints
from kipwire.testing.broker.state.logs import sent_batch
from kipwire.testing.broker.state.producers import Numbers
from kipwire.testing.broker.state.topics import limits_of

_BEFORE_THE_LOG = (ErrorCode.CORRUPT_MESSAGE, ErrorCode.MESSAGE_TOO_LARGE)
"""Refusals of the log without its first offset."""
_FIRST_ABORTABLE, _FIRST_THAT_ADDS = 11, 12
"""The first version whose clients have TRANSACTION_ABORTABLE, and the first that adds the partition."""


def answer(node: Node, body: Sent) -> Values:
    transactional_id = getattr(body, "transactional_id", None)
    is_allowed = transactional_id is not None or not any(_is_transactional(one) for one in body.topic_data)
    expect(is_allowed, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)

    def append(topic: Sent, partition: Sent) -> Values:
        found = node.topic_of(topic)
        log = node.led(found, partition.index)
        data = bytes(partition.records or b"")
        batch = sent_batch(data, body.VERSION)
        if transactional_id is not None and batch.is_transactional and not log.producers.has_open_transaction(batch):
            is_abortable, adds = body.VERSION >= _FIRST_ABORTABLE, body.VERSION >= _FIRST_THAT_ADDS
            log.producers.note_unverified(batch, begins=adds)
            numbers, place = Numbers(batch.producer_id, batch.producer_epoch), (found.name, partition.index)
            node.expect_part(transactional_id, numbers, places={place}, adds=adds, is_abortable=is_abortable)
        expect(body.acks in (-1, 0, 1), ErrorCode.INVALID_REQUIRED_ACKS, f"acks is {body.acks}; it may be -1, 0 or 1")
        try:
            base_offset = log.append(data, limits_of(found.configs, node.milliseconds()))
        except Refused as error:
            if error.error not in _BEFORE_THE_LOG:
                error.values["log_start_offset"] = log.start_offset
            raise
        return {"base_offset": base_offset, "log_start_offset": log.start_offset}

    appended = answered(body, append)
    rows = (row for topic in appended["responses"] for row in topic["partition_responses"])
    if body.acks == 0 and any("error_code" in row for row in rows):
        raise NoAnswer
    return with_endpoints(node, appended)


def _is_transactional(topic: Sent) -> bool:
    """Tell whether a topic of a Produce has a batch of a transaction."""
    for partition in topic.partition_data:
        try:
            if sent_batch(bytes(partition.records or b"")).is_transactional:
                return True
        except Refused:
            pass  # which the partition answers
    return False
