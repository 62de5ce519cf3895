"""Produce, versions 3 to 13: records of producers, idempotent ones and those with transactions too.

Unlike Kafka:

* Records that `kipwire.records` cannot read are refused with INVALID_RECORD. Kafka stores some of them, such as
  compressed records whose sizes are wrong.
* A Produce with null records, which Kafka never answers, is refused with INVALID_RECORD.
"""

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.apis.api import NoAnswer, Node, Refused, Sent, Values, answered, with_endpoints
from kipwire.testing.broker.state.logs import sent_batch
from kipwire.testing.broker.state.topics import limits_of

_BEFORE_THE_LOG = (ErrorCode.CORRUPT_MESSAGE, ErrorCode.MESSAGE_TOO_LARGE)
"""Refusals of the log without its first offset."""


def answer(node: Node, body: Sent) -> Values:
    """Append batches."""
    transactional_id = getattr(body, "transactional_id", None)
    if transactional_id is None and any(_is_transactional(one) for one in body.topic_data):
        raise Refused(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)

    def append(topic: Sent, partition: Sent) -> Values:
        found = node.topic_of(topic)
        log = node.led(found, partition.index)
        data = bytes(partition.records or b"")
        batch = sent_batch(data, body.VERSION)
        node.verify((found.name, partition.index), batch, transactional_id, body.VERSION)
        if body.acks not in (-1, 0, 1):
            raise Refused(ErrorCode.INVALID_REQUIRED_ACKS, f"acks is {body.acks}; it may be -1, 0 or 1")
        try:
            base_offset = log.append(data, limits_of(found.configs, node.milliseconds()))
        except Refused as error:
            if error.error not in _BEFORE_THE_LOG:
                error.values["log_start_offset"] = log.start_offset
            raise
        return {"base_offset": base_offset, "log_start_offset": log.start_offset}

    appended = answered(body, append)
    if body.acks == 0 and any(
        "error_code" in one for topic in appended["responses"] for one in topic["partition_responses"]
    ):
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
