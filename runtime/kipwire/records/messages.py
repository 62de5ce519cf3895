"""The records that Produce and Fetch messages carry."""

from __future__ import annotations

from typing import NamedTuple

from kipwire.message.messages import Message, described

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any
    from uuid import UUID

    from kipwire.records.control import AbortedTransaction

_FIELDS = {
    "ProduceRequest": ("topic_data", "partition_data", "index"),
    "FetchResponse": ("responses", "partitions", "partition_index"),
    "ShareFetchResponse": ("responses", "partitions", "partition_index"),
    "Kip82ProduceRequest": ("topic_data", "partition_data", "index"),
    "Kip82FetchResponse": ("responses", "partitions", "partition_index"),
}
"""Names of the arrays of topics and of partitions, and of the field with a partition's number, by message."""


class PartitionRecords(NamedTuple):
    """The records of one partition in a message."""

    topic: str | None
    """The topic's name; None in versions that have its id instead."""
    topic_id: UUID | None
    """The topic's id; None in versions that have its name instead."""
    partition: int
    records: bytes
    """Batches for `read_batches`; empty if the message has null."""
    aborted_transactions: Sequence[AbortedTransaction]
    """Aborted transactions for `read_committed`, only in Fetch responses."""


def partitions(message: Message) -> Iterator[PartitionRecords]:
    """Yield the records of a ProduceRequest, FetchResponse or ShareFetchResponse of any version, by partition.

    KIP-82's Kip82ProduceRequest and Kip82FetchResponse will do, too; their magic 2 is "kip-82" for `read_batches`.

    Raises:
        ValueError: the message is another one.
    """
    called = message.NAME if isinstance(message, Message) else described(message)
    if called not in _FIELDS:
        raise ValueError(f"{called} has no record batches; {', '.join(_FIELDS)} do")
    topics, parts, number = _FIELDS[called]
    topic: Any
    part: Any
    for topic in getattr(message, topics):
        name = getattr(topic, "topic", None) or getattr(topic, "name", None)
        for part in getattr(topic, parts):
            yield PartitionRecords(
                topic=name,
                topic_id=getattr(topic, "topic_id", None),
                partition=getattr(part, number),
                records=part.records or b"",
                aborted_transactions=getattr(part, "aborted_transactions", None) or (),
            )
