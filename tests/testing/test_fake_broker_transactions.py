"""Transactions of the fake broker: commits, aborts, fencing and refusals."""

from __future__ import annotations

import math
from typing import Any

import pytest

from kafka_messages.enums import ApiKey, ErrorCode
from kipwire.records import control_record, read_batches
from kipwire.records.producer_sequence import HIGHEST_EPOCH
from kipwire.testing.broker.apis import SERVED
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
BEFORE_EPOCHS = {ApiKey.ADD_PARTITIONS_TO_TXN: 3, ApiKey.TXN_OFFSET_COMMIT: 4, ApiKey.END_TXN: 4}
"""The last versions of the protocol before KIP-890's second part."""


class Producer:
    """A transactional producer."""

    def __init__(self, to: Node) -> None:
        self.to = to
        values = examples(to)[ApiKey.INIT_PRODUCER_ID]
        begun = ask_newest(to, ApiKey.INIT_PRODUCER_ID, {**values, "transaction_timeout_ms": 10_000})
        self.names = {
            "transactional_id": TRANSACTIONAL_ID,
            "producer_id": begun.producer_id,
            "producer_epoch": begun.producer_epoch,
        }
        self.sequence = 0

    def ask(self, api: ApiKey, **values: Any) -> list[int]:
        """Return the error codes of a response."""
        version = BEFORE_EPOCHS.get(api, SERVED[api][-1])
        return error_codes(ask(self.to, request(api, version, {**self.names, **values})))

    def add(self, *partitions: int) -> list[int]:
        values = {f"v3_and_below_{name}": value for name, value in self.names.items()}
        values["v3_and_below_topics"] = [{"name": TOPIC, "partitions": list(partitions)}]
        return self.ask(ApiKey.ADD_PARTITIONS_TO_TXN, **values)

    def send(self, value: bytes) -> None:
        assert self.produced(self.batch(value, self.sequence)) == 0
        self.sequence += 1

    def produced(self, data: bytes, version: int = 11) -> int:
        """Return the error code of a batch in a version of Produce that adds no partition by itself."""
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
    assert again.names == {**producer.names, "producer_epoch": 2}  # the marker took 1, as in Kafka
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


def test_a_producer_gets_its_next_epoch_at_each_end() -> None:
    made = node()
    producer = Producer(made)
    log = made.topics.named(TOPIC).partition(0)
    for number, is_commit in enumerate((True, False, True)):
        assert producer.produced(producer.batch(b"%d" % number, 0), 12) == 0  # this adds the partition
        ended = request(ApiKey.END_TXN, 5, {**producer.names, "committed": is_commit})
        first, again = ask(made, ended), ask(made, ended)  # asked again, since the answer was lost
        assert (first.error_code, first.producer_epoch) == (again.error_code, again.producer_epoch) == (0, number + 1)
        assert log.stored[-1].batch.producer_epoch == number + 1
        producer.names["producer_epoch"] = first.producer_epoch
    assert [record.value for record in log.records(is_committed=True)][3:] == [b"0", b"2"]


def test_a_producer_whose_epochs_are_used_up_gets_another_id_at_the_end() -> None:
    made = node()
    producer = Producer(made)
    transaction = made.producers.transactions[TRANSACTIONAL_ID]
    transaction.epoch = producer.names["producer_epoch"] = HIGHEST_EPOCH - 1
    assert producer.produced(producer.batch(b"last", 0), 12) == 0
    ended = request(ApiKey.END_TXN, 5, {**producer.names, "committed": True})
    first, again = ask(made, ended), ask(made, ended)
    assert (first.producer_id, first.producer_epoch) == (again.producer_id, again.producer_epoch)
    assert first.producer_id != producer.names["producer_id"] and first.producer_epoch == 0
    assert made.topics.named(TOPIC).partition(0).stored[-1].batch.producer_epoch == HIGHEST_EPOCH


def test_a_transaction_that_lasts_too_long_is_aborted_and_its_producer_fenced(monkeypatch: pytest.MonkeyPatch) -> None:
    made = node()
    producer = Producer(made)
    producer.add(0)
    producer.send(b"open")
    log = made.topics.named(TOPIC).partition(0)
    late = made.now() + 10.0
    monkeypatch.setattr(Node, "now", staticmethod(lambda: late - 1))
    made.expire_transactions()
    assert log.last_stable_offset == 3 and made.producers.next_expiry <= late
    monkeypatch.setattr(Node, "now", staticmethod(lambda: late + 1))
    assert fetched(fetch(made, {"fetch_offset": 3}, isolation_level=READ_COMMITTED)) == [[b"open", b"\0\0\0\0\0\0"]]
    assert log.last_stable_offset == log.end_offset == 5 and made.producers.next_expiry == math.inf
    assert producer.ask(ApiKey.END_TXN, committed=True) == [ErrorCode.PRODUCER_FENCED]
    assert producer.produced(producer.batch(b"late", 1)) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert [record.value for record in log.records(is_committed=True)][3:] == []


def test_a_reader_that_waits_is_woken_when_a_transaction_is_aborted() -> None:
    made = node()
    begun = ask_newest(made, ApiKey.INIT_PRODUCER_ID, examples(made)[ApiKey.INIT_PRODUCER_ID])
    producer = Producer(made)
    made.producers.transactions[TRANSACTIONAL_ID].timeout = 50
    assert begun.error_code == 0 and producer.add(0) == [0]
    producer.send(b"open")
    found = fetch(made, {"fetch_offset": 3}, isolation_level=READ_COMMITTED, max_wait_ms=600_000)
    assert fetched(found) == [[b"open", b"\0\0\0\0\0\0"]]
