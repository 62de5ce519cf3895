"""Open transactions of partitions and of coordinators, from logs that are made for it."""

from __future__ import annotations

from pathlib import Path
from struct import pack
from uuid import UUID

import pytest

from kafka_messages.partition_record.v0 import PartitionRecord
from kafka_messages.producer_snapshot.v1 import ProducerEntry, ProducerSnapshot
from kafka_messages.topic_record.v0 import TopicRecord
from kafka_messages.transaction_log_key.v0 import TransactionLogKey
from kafka_messages.transaction_log_value.v1 import PartitionsSchema, TransactionLogValue
from kipjobs.engines import Session
from kipjobs.jobs.transactions.command import transactions_report
from kipjobs.report.report import Report, chart_rows, total_row
from kipwire.codec.checksums import crc32c
from kipwire.records import Record, write_batch
from tests.support.subjects.broker_logs import NOW, marker, numbered, table, write_log

# All of them in one process, where they share a session.
pytestmark = [
    pytest.mark.xdist_group("spark"),
    # py4j and Spark leave sockets and files to be collected, and pandas has deprecated what Spark still uses.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def data(offset: int, producer: int, count: int = 1, sequence: int = 0, epoch: int = 0) -> bytes:
    """Return a batch of a transaction."""
    some = [Record(offset=offset + at, timestamp=NOW + offset, key=b"k", value=b"v") for at in range(count)]
    return write_batch(some, producer_id=producer, producer_epoch=epoch, base_sequence=sequence, is_transactional=True)


def plain(offset: int, count: int = 1) -> bytes:
    return write_batch([Record(offset=offset + at, timestamp=NOW + offset, value=b"v") for at in range(count)])


def known(transactional_id: str, producer: int, status: int, partitions: dict[str, list[int]] | None) -> Record:
    """Return a record as a coordinator writes it about a transactional id."""
    named = None if partitions is None else [PartitionsSchema(topic=t, partition_ids=p) for t, p in partitions.items()]
    value = TransactionLogValue(
        producer_id=producer,
        transaction_timeout_ms=60_000,
        transaction_status=status,
        transaction_partitions=named,
        transaction_last_update_timestamp_ms=NOW,
        transaction_start_timestamp_ms=NOW - 5,
    )
    return Record(
        offset=0,
        timestamp=NOW,
        key=pack(">h", 0) + TransactionLogKey(transactional_id=transactional_id).encode(),
        value=pack(">h", 1) + value.encode(),
    )


def snapshot(*producers: ProducerEntry) -> bytes:
    """Return a producer snapshot, as brokers write it."""
    body = ProducerSnapshot(producer_entries=list(producers)).encode()
    return pack(">hI", 1, crc32c(body[4:])) + body[4:]


def write_transactions(logs: Path) -> None:
    """Logs in which the producers 1, 3, 4 and 5 have transactions open."""
    write_log(
        logs / "orders-0",
        data(0, 1, 2),
        marker(2, 1, 7),
        data(3, 1, 2, sequence=2),
        plain(5, 4),
        data(9, 2),
        marker(10, 2, 8, epoch=1),
        data(11, 3, 3, sequence=10, epoch=2),
    )
    write_log(logs / "orders-1", data(0, 2), marker(1, 2, 9, is_empty=True), plain(2))
    # The segments before it are gone; only the snapshot has the transactions that were open then.
    write_log(logs / "orders-2", plain(50, 2), marker(52, 6, 4), data(53, 6, sequence=1), base=50)
    common = {"timestamp": NOW, "offset_delta": 0}
    (logs / "orders-2" / f"{50:020}.snapshot").write_bytes(
        snapshot(
            ProducerEntry(
                producer_id=4,
                last_sequence=6,
                last_offset=41,
                coordinator_epoch=3,
                current_txn_first_offset=40,
                **common,
            ),
            ProducerEntry(
                producer_id=6,
                last_sequence=0,
                last_offset=49,
                coordinator_epoch=3,
                current_txn_first_offset=49,
                **common,
            ),
        )
    )
    # A later one, with which the log does not begin.
    (logs / "orders-2" / f"{53:020}.snapshot").write_bytes(
        snapshot(ProducerEntry(producer_id=99, current_txn_first_offset=51, **common))
    )
    for number in (0, 1):
        write_log(logs / f"__transaction_state-{number}")
    write_log(
        logs / "__transaction_state-1",
        numbered(
            known("shop", 1, 0, None),
            known("done", 2, 4, {}),
            known("shop", 1, 1, {"orders": [1, 0]}),
            known("lost", 3, 1, {"orders": [1]}),
            known("gone", 8, 4, {}),
            Record(
                offset=0,
                timestamp=NOW,
                key=pack(">h", 0) + TransactionLogKey(transactional_id="gone").encode(),
                value=None,
            ),
        ),
    )


def write_metadata(logs: Path, partitions: int) -> None:
    """Write the metadata log of a cluster whose coordinators' topic has so many partitions."""
    topic, other = UUID(int=1), UUID(int=2)
    given = [
        (2, TopicRecord(name="__transaction_state", topic_id=topic)),
        (2, TopicRecord(name="orders", topic_id=other)),
        *[(3, PartitionRecord(partition_id=number, topic_id=topic)) for number in range(partitions)],
        *[(3, PartitionRecord(partition_id=number, topic_id=other)) for number in range(9)],
    ]
    records = [
        Record(offset=at, timestamp=NOW, value=bytes((1, type_, 0)) + message.encode())
        for at, (type_, message) in enumerate(given)
    ]
    write_log(logs / "__cluster_metadata-0", write_batch(records))


@pytest.fixture(scope="module")
def report(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Report:
    logs = tmp_path_factory.mktemp("logs")
    write_transactions(logs)
    write_metadata(logs, 2)
    return transactions_report(session, logs)


def test_the_chart_has_a_line_for_each_transaction_with_open_ones_first(report: Report) -> None:
    (chart,) = report.charts
    rows = chart_rows(chart)
    hanging = [row["name"] for row in rows if row["is_hanging"]]
    assert sorted(hanging) == ["lost in orders-0", "producer 6 in orders-2"]  # 4 began before the log
    are_open = [row["end"] is None for row in rows]
    assert are_open == sorted(are_open, reverse=True)
    assert {row["name"] for row in rows} - set(hanging) <= {
        row["transactional_id"] for row in table(report, "transactions")
    }
    assert all(row["end"] is None or row["time"] <= row["end"] for row in rows)


def test_open_transactions_are_those_without_a_later_marker(report: Report) -> None:
    keys = ("topic", "partition", "producer_id", "coordinator_epoch", "start_offset", "records", "held_back")
    found = {tuple(row[key] for key in (*keys, "transactional_id", "is_hanging")) for row in table(report, "open")}
    assert found == {
        ("orders", 0, 1, 7, 3, 2, 10, "shop", False),
        ("orders", 0, 3, -1, 11, 3, 0, "lost", True),  # its coordinator has it in another partition alone
        ("orders", 2, 4, 3, 40, None, 3, None, True),  # held back are the two that are left, and one of 6
        ("orders", 2, 6, 4, 53, 1, 0, None, True),
    }
    stable = {
        row["partition"]: (row["log_start"], row["last_stable_offset"], row["end_offset"], row["held_back"])
        for row in table(report, "partitions")
        if row["topic"] == "orders"
    }
    assert stable == {0: (0, 3, 14, 10), 1: (0, 3, 3, 0), 2: (50, 50, 54, 3)}


def test_totals_count_what_is_open_what_hangs_and_what_readers_do_not_get(report: Report) -> None:
    assert report.tables[0].is_wrong
    assert total_row(report) == {"transactional_ids": 3, "open": 4, "hanging": 3, "held_back_records": 13}


def test_producers_are_as_a_broker_loads_them(report: Report) -> None:
    keys = ("partition", "producer_id", "producer_epoch", "coordinator_epoch", "last_sequence", "start_offset")
    assert {tuple(row[key] for key in keys) for row in table(report, "producers")} == {
        (0, 1, 0, 7, 3, 3),
        (0, 2, 1, 8, -1, None),  # its marker has begun a new epoch, whose sequence numbers begin anew
        (0, 3, 2, -1, 12, 11),
        (1, 2, 0, -1, 0, None),  # compaction has left only the head of its marker
        (2, 4, 0, 3, 6, 40),
        (2, 6, 0, 4, 1, 53),
    }
    before_the_log = [row for row in table(report, "producers") if row["producer_id"] == 4]
    assert [row["started"] for row in before_the_log] == [None]


def test_transactional_ids_are_in_their_last_state(report: Report) -> None:
    found = {
        row["transactional_id"]: (row["coordinator_partition"], row["producer_id"], row["state"], row["partitions"])
        for row in table(report, "transactions")
    }
    assert found == {
        "shop": (1, 1, "Ongoing", ["orders-0", "orders-1"]),
        "done": (1, 2, "CompleteCommit", []),
        "lost": (1, 3, "Ongoing", ["orders-1"]),
    }


def test_replicas_and_their_lag_change_nothing(session: Session, report: Report, tmp_path: Path) -> None:
    for replica in ("one", "two"):
        write_transactions(tmp_path / replica)
        write_metadata(tmp_path / replica, 2)
    # This replica has not got the ends of transactions yet.
    write_log(tmp_path / "two" / "orders-0", data(0, 1, 2), marker(2, 1, 7), data(3, 1, 2, sequence=2), data(9, 2))
    both = transactions_report(session, tmp_path)
    for name in ("open", "partitions", "producers", "transactions"):
        assert sorted(table(both, name), key=repr) == sorted(table(report, name), key=repr)


def test_who_may_be_known_by_a_missing_coordinator_is_not_said_to_hang(session: Session, tmp_path: Path) -> None:
    hanging = {1: False, 3: True, 4: None, 6: None}
    write_transactions(tmp_path)
    unsaid = transactions_report(session, tmp_path)
    assert {row["producer_id"]: row["is_hanging"] for row in table(unsaid, "open")} == hanging
    assert (
        "No metadata log says whether __transaction_state has more partitions than those here (0, 1)" in unsaid.notes[1]
    )
    write_metadata(tmp_path, 3)
    fewer = transactions_report(session, tmp_path)
    assert {row["producer_id"]: row["is_hanging"] for row in table(fewer, "open")} == hanging
    assert "Only 2 of 3 partitions of __transaction_state (0, 1) could be read" in fewer.notes[1]
    (tmp_path / "__transaction_state-0" / f"{0:020}.log").unlink()
    write_metadata(tmp_path, 2)
    without_first = transactions_report(session, tmp_path)
    assert {row["producer_id"]: row["is_hanging"] for row in table(without_first, "open")} == hanging
    assert "Only 1 of 2 partitions of __transaction_state (1) could be read" in without_first.notes[1]


def test_where_coordinators_know_all_producers_their_number_is_not_looked_for(session: Session, tmp_path: Path) -> None:
    write_transactions(tmp_path)
    (tmp_path / "orders-2" / f"{50:020}.log").unlink()
    unreadable = Record(offset=0, timestamp=NOW, value=b"not a metadata record")
    write_log(tmp_path / "__cluster_metadata-0", write_batch([unreadable]))
    report = transactions_report(session, tmp_path)
    assert {row["producer_id"]: row["is_hanging"] for row in table(report, "open")} == {1: False, 3: True}
    assert len(report.notes) == 1
