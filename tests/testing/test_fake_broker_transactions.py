"""Transactions of the fake broker: what is committed, aborted, fenced and refused."""

from __future__ import annotations

from typing import Any

from kafka_messages.enums import ApiKey, ErrorCode
from kipwire.records import control_record, read_batches
from kipwire.testing.broker.node import Node
from tests.support.subjects.fake_broker_requests import (
    GROUP,
    TOPIC,
    TRANSACTIONAL_ID,
    ask,
    ask_newest,
    batch,
    error_codes,
    examples,
    fetch,
    fetched,
    node,
    produce,
    request,
)

READ_COMMITTED = 1


class Producer:
    """A transactional producer."""

    def __init__(self, to: Node) -> None:
        self.to = to
        begun = ask_newest(to, ApiKey.INIT_PRODUCER_ID, examples(to)[ApiKey.INIT_PRODUCER_ID])
        self.names = {
            "transactional_id": TRANSACTIONAL_ID,
            "producer_id": begun.producer_id,
            "producer_epoch": begun.producer_epoch,
        }
        self.sequence = 0

    def ask(self, api: ApiKey, **values: Any) -> list[int]:
        """The error codes of a response."""
        return error_codes(ask_newest(self.to, api, {**self.names, **values}))

    def add(self, *partitions: int) -> list[int]:
        values = {f"v3_and_below_{name}": value for name, value in self.names.items()}
        values["v3_and_below_topics"] = [{"name": TOPIC, "partitions": list(partitions)}]
        return error_codes(ask_newest(self.to, ApiKey.ADD_PARTITIONS_TO_TXN, values))

    def send(self, value: bytes) -> None:
        assert self.produced(self.batch(value, self.sequence)) == 0
        self.sequence += 1

    def produced(self, data: bytes, version: int = 11) -> int:
        """The error code of a batch in a version of Produce that adds no partition by itself."""
        topic = {"name": TOPIC, "partition_data": [{"index": 0, "records": data}]}
        values = {"transactional_id": TRANSACTIONAL_ID, "acks": -1, "timeout_ms": 1, "topic_data": [topic]}
        (found,) = error_codes(ask(self.to, request(ApiKey.PRODUCE, version, values)))
        return found

    def batch(self, value: bytes, sequence: int) -> bytes:
        numbers = {name: self.names[name] for name in ("producer_id", "producer_epoch")}
        return batch(value, base_sequence=sequence, is_transactional=True, **numbers)


def test_a_transaction_is_committed_with_its_offsets_and_another_is_aborted() -> None:
    made = node()
    producer = Producer(made)
    committing = examples(made)[ApiKey.TXN_OFFSET_COMMIT]
    for value, is_commit in ((b"kept", True), (b"gone", False)):
        assert producer.add(0) == [0]
        producer.send(value)
        assert producer.ask(ApiKey.ADD_OFFSETS_TO_TXN, group_id=GROUP) == [0]
        offset = {"partition_index": 0, "committed_offset": 2 if is_commit else 3, "committed_metadata": None}
        topics = [{"name": TOPIC, "partitions": [offset]}]
        assert producer.ask(ApiKey.TXN_OFFSET_COMMIT, **{**committing, **producer.names, "topics": topics}) == [0]
        group = {"group_id": GROUP, "topics": [{"name": TOPIC, "partition_indexes": [0]}]}
        stable = ask(made, request(ApiKey.OFFSET_FETCH, 9, {"groups": [group], "require_stable": True}))
        assert ErrorCode.UNSTABLE_OFFSET_COMMIT in error_codes(stable)
        assert producer.ask(ApiKey.END_TXN, committed=is_commit) == [0]
        assert producer.ask(ApiKey.END_TXN, committed=is_commit) == [0]  # asked again, since the answer was lost
        assert producer.ask(ApiKey.END_TXN, committed=not is_commit) == [ErrorCode.INVALID_TXN_STATE]
    assert {place: one.offset for place, one in made.groups[GROUP].offsets.committed.items()} == {(TOPIC, 0): 2}
    response = fetch(made, {"fetch_offset": 3}, isolation_level=READ_COMMITTED)
    (partition,) = response.responses[0].partitions
    assert [(one.producer_id, one.first_offset) for one in partition.aborted_transactions] == [(1000, 5)]
    batches = list(read_batches(partition.records))
    assert [control_record(one.records[0]).type for one in batches if one.is_control] == ["COMMIT", "ABORT"]


def test_readers_of_what_is_committed_wait_for_open_transactions() -> None:
    made = node()
    producer = Producer(made)
    producer.add(0)
    producer.send(b"open")
    produce(made, batch(b"plain"))
    assert fetched(fetch(made, {"fetch_offset": 3}, isolation_level=READ_COMMITTED)) == [[]]
    assert fetched(fetch(made, {"fetch_offset": 3})) == [[b"open", b"plain"]]
    partition = {"partition_index": 0, "timestamp": -1}
    values = {"isolation_level": READ_COMMITTED, "topics": [{"name": TOPIC, "partitions": [partition]}]}
    assert ask_newest(made, ApiKey.LIST_OFFSETS, values).topics[0].partitions[0].offset == 3


def test_a_producer_that_begins_again_aborts_and_fences_the_one_before_it() -> None:
    made = node()
    producer = Producer(made)
    producer.add(0)
    producer.send(b"open")
    again = Producer(made)
    assert again.names == {**producer.names, "producer_epoch": 2}  # 1 is that of the marker, as in Kafka
    assert [record.value for record in made.topics.named(TOPIC).partition(0).records(is_committed=True)][3:] == []
    assert producer.add(0) == [ErrorCode.PRODUCER_FENCED]
    ended = request(ApiKey.END_TXN, 1, {**producer.names, "committed": True})
    assert error_codes(ask(made, ended)) == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert again.ask(ApiKey.END_TXN, committed=True, producer_id=5) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]


def test_records_of_a_fenced_producer_are_never_committed() -> None:
    made = node()
    producer = Producer(made)
    producer.add(0)
    producer.send(b"open")
    again = Producer(made)
    log = made.topics.named(TOPIC).partition(0)
    assert log.stored[-1].batch.producer_epoch == 1  # the marker's, which is above the producer's
    late = producer.batch(b"late", 1)
    for version in (3, 11, 12):
        assert producer.produced(late, version) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert again.add(0) == [0]
    assert producer.produced(late) == ErrorCode.INVALID_PRODUCER_EPOCH
    again.send(b"kept")
    assert again.ask(ApiKey.END_TXN, committed=True) == [0]
    assert [record.value for record in log.records(is_committed=False)][3:] == [b"open", b"kept"]
    assert [record.value for record in log.records(is_committed=True)][3:] == [b"kept"]


def test_partitions_that_do_not_exist_are_not_made_part_of_a_transaction() -> None:
    producer = Producer(node())
    assert producer.add(0, 7) == [ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert producer.ask(ApiKey.END_TXN, committed=True) == [ErrorCode.INVALID_TXN_STATE]
