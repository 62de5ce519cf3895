"""Share groups, tiered storage and files next to segments, from logs that are made for it."""

from __future__ import annotations

from pathlib import Path
from struct import pack
from typing import Any
from uuid import UUID

import pytest

from kafka_messages.remote_log_segment_metadata_record.v0 import RemoteLogSegmentMetadataRecord
from kafka_messages.remote_log_segment_metadata_update_record.v0 import RemoteLogSegmentMetadataUpdateRecord
from kafka_messages.remote_partition_delete_metadata_record.v0 import RemotePartitionDeleteMetadataRecord
from kafka_messages.share_snapshot_key.v0 import ShareSnapshotKey
from kafka_messages.share_snapshot_value.v0 import ShareSnapshotValue
from kafka_messages.share_snapshot_value.v0 import StateBatch as OfSnapshot
from kafka_messages.share_update_key.v0 import ShareUpdateKey
from kafka_messages.share_update_value.v0 import ShareUpdateValue
from kafka_messages.share_update_value.v0 import StateBatch as OfUpdate
from kipjobs.engines import Session
from kipjobs.jobs.share.command import share_report
from kipjobs.jobs.tiered.command import tiered_report
from kipjobs.report.report import total_row
from kipwire import Message, build
from kipwire.records import Record
from tests.support.places import DATA
from tests.support.subjects.broker_logs import NOW, numbered, table, write_log
from tests.support.subjects.spark_tables import SEGMENTS, rows

# All of them in one process, where they share a session.
pytestmark = [
    pytest.mark.xdist_group("spark"),
    # py4j and Spark leave sockets and files to be collected, and pandas has deprecated what Spark still uses.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def coordinated(number: int, key: Message, value: Message | None) -> Record:
    written = None if value is None else pack(">h", value.VERSION) + value.encode()
    return Record(offset=0, timestamp=NOW, key=pack(">h", number) + key.encode(), value=written)


def test_share_groups_are_where_their_last_records_say(session: Session, tmp_path: Path) -> None:
    topic = UUID(bytes=b"topic id of two.")
    of: dict[str, Any] = {"group_id": "readers", "topic_id": topic, "partition": 1}
    gone = {**of, "partition": 0}
    taken = ShareSnapshotValue(
        snapshot_epoch=3,
        start_offset=10,
        delivery_complete_count=0,
        write_timestamp=NOW,
        state_batches=[OfSnapshot(first_offset=10, last_offset=19, delivery_state=0, delivery_count=1)],
    )
    done = ShareUpdateValue(
        snapshot_epoch=3,
        start_offset=12,
        delivery_complete_count=2,
        state_batches=[OfUpdate(first_offset=13, last_offset=14, delivery_state=2, delivery_count=1)],
    )
    write_log(
        tmp_path / "__share_group_state-0",
        numbered(
            coordinated(0, ShareSnapshotKey(**gone), taken),
            coordinated(0, ShareSnapshotKey(**of), taken),
            coordinated(1, ShareUpdateKey(**of), done),
            coordinated(0, ShareSnapshotKey(**gone), None),
        ),
    )
    report = share_report(session, tmp_path)
    (found,) = table(report, "partitions")
    assert (found["group"], found["partition"], found["start_offset"], found["topic"]) == ("readers", 1, 12, None)
    assert (found["snapshot_epoch"], found["batches"], found["delivery_complete_count"]) == (3, 3, 2)
    states = {(row["first_offset"], row["last_offset"], row["state"]) for row in table(report, "batches")}
    assert states == {(12, 12, "AVAILABLE"), (13, 14, "ACKNOWLEDGED"), (15, 19, "AVAILABLE")}


def test_the_topics_of_share_groups_have_names_and_lag(session: Session) -> None:
    (found,) = table(share_report(session, SEGMENTS), "partitions")
    assert (found["group"], found["topic"], found["partition"], found["end_offset"]) == ("java-share", "orders", 1, 511)
    assert (found["start_offset"], found["lag"]) == (None, None)


def remote(message: Message) -> Record:
    return Record(offset=0, timestamp=NOW, value=bytes([1, message.API_KEY or 0, message.VERSION]) + message.encode())


def tiered_records() -> list[Record]:
    """Return records about two segments, one complete and one deleted, and about a removed partition."""
    of = {"topic_id_partition": {"name": "orders", "id": UUID(int=7), "partition": 3}}
    some = []
    for number, last in ((1, 1), (2, 3)):
        segment = {**of, "id": UUID(int=number)}
        values: dict[str, Any] = {
            "start_offset": number * 100,
            "end_offset": number * 100 + 99,
            "segment_size_in_bytes": 5000,
        }
        values |= {"segment_leader_epochs": [{"leader_epoch": 4, "offset": number * 100}]}
        some += [
            build(RemoteLogSegmentMetadataRecord, {"remote_log_segment_id": segment, "broker_id": 1, **values}),
            build(
                RemoteLogSegmentMetadataUpdateRecord,
                {"remote_log_segment_id": segment, "broker_id": 2, "remote_log_segment_state": last},
            ),
        ]
    removed = {"topic_id_partition": {**of["topic_id_partition"], "name": "old"}, "remote_partition_delete_state": 1}
    return [remote(one) for one in (*some, build(RemotePartitionDeleteMetadataRecord, removed))]


def test_tiered_storage_is_in_its_last_state(session: Session, tmp_path: Path) -> None:
    later = Record(offset=0, timestamp=NOW, value=b"\1\x09\0a type of a later Kafka")
    write_log(tmp_path / "__remote_log_metadata-7", numbered(*tiered_records(), later))
    report = tiered_report(session, tmp_path)
    keys = ("topic", "partition", "start_offset", "last_offset", "size", "state", "broker_id")
    assert {tuple(row[key] for key in keys) for row in table(report, "segments")} == {
        ("orders", 3, 100, 199, 5000, "COPY_SEGMENT_FINISHED", 2),
        ("orders", 3, 200, 299, 5000, "DELETE_SEGMENT_FINISHED", 2),
    }
    assert [row["leader_epochs"] for row in table(report, "segments") if row["start_offset"] == 100] == [
        [{"epoch": 4, "start_offset": 100}]
    ]
    of_partition = ("topic", "segments", "size", "start_offset", "last_offset", "deletion")
    assert total_row(report) == {"partitions": 2, "segments": 1, "bytes": 5000, "unfinished_segments": 0}
    assert {tuple(row[key] for key in of_partition) for row in table(report, "partitions")} == {
        ("orders", 1, 5000, 100, 199, None),
        ("old", 0, 0, None, None, "DELETE_PARTITION_STARTED"),
    }


def test_files_next_to_segments_are_rows(session: Session) -> None:
    files = session.read.format("kafka_partition_files").option("kind", "aborted_transaction")
    found = rows(files.load(str(DATA / "partition_files")).select("topic", "base_offset"))
    assert sorted(row["base_offset"] for row in found) == [44, 44, 88]
    some = session.read.format("kafka_partition_files").options(kind="partition_offset", topics="none")
    assert rows(some.load(str(DATA / "partition_files"))) == []
