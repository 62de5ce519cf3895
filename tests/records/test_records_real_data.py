"""Records of a real cluster: log segments of its brokers, and the Produce and Fetch messages of the same run."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

import kafka_messages
from kipwire import Message
from kipwire.records import Record, control_record, partitions, read_batches, read_committed, read_segment, write_batch
from tests.support.places import DATA, ROOT

SEGMENTS = DATA / "segments"
CAPTURE = ROOT / "examples" / "capture"

PRODUCED = 5 * 200 + 6 * 5 + 400
"""Records in topic `orders`: 200 with each compression, 6 transactions of 5, and 400 of the Java performance tool."""
ABORTED = 2 * 5
"""Records of aborted transactions: every third of the 6."""

COUNTS = {
    "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint": (2, 4),
    "__cluster_metadata-0/00000000000000000000.log": (135, 178),
    "__consumer_offsets-0/00000000000000000000.log": (16, 27),
    "__consumer_offsets-1/00000000000000000000.log": (19, 43),
    "__consumer_offsets-3/00000000000000000000.log": (5, 18),
    "__share_group_state-0/00000000000000000000.log": (1, 1),
    "__transaction_state-0/00000000000000000000.log": (8, 8),
    "__transaction_state-2/00000000000000000000.log": (29, 29),
    "compacted-0/00000000000000000000.log": (1, 4),
    "orders-0/00000000000000000000.log": (16, 323),
    "orders-1/00000000000000000000.log": (17, 511),
    "orders-2/00000000000000000000.log": (21, 617),
}
"""Batches and records of each segment, control records included, as kafka-python counts them (of snappy, lz4 and zstd,
by the counts in their headers)."""


def segment(name: str) -> Path:
    return SEGMENTS / name / "00000000000000000000.log"


def test_every_segment_is_counted() -> None:
    assert {str(path.relative_to(SEGMENTS)) for path in SEGMENTS.glob("*/*")} == set(COUNTS)


@pytest.mark.parametrize("name", COUNTS)
def test_segments_hold_what_another_reader_finds(name: str) -> None:
    batches = list(read_segment(SEGMENTS / name))
    records = [record for batch in batches for record in batch.records]
    assert (len(batches), len(records)) == COUNTS[name]
    assert batches[-1].position + batches[-1].size == (SEGMENTS / name).stat().st_size
    offsets = [record.offset for record in records]
    assert offsets == list(range(len(records)))


@pytest.mark.parametrize("name", COUNTS)
def test_batches_without_compression_come_back_byte_for_byte(name: str) -> None:
    data = (SEGMENTS / name).read_bytes()
    plain = [batch for batch in read_batches(data) if batch.compression == "none"]
    assert plain
    for batch in plain:
        written = write_batch(
            batch.records,
            partition_leader_epoch=batch.partition_leader_epoch,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            is_transactional=batch.is_transactional,
            is_control=batch.is_control,
        )
        assert written == data[batch.position : batch.position + batch.size]


def test_records_of_all_codecs_are_those_that_were_produced() -> None:
    found = {}
    for partition in range(3):
        for batch in read_segment(segment(f"orders-{partition}")):
            for record in batch.records:
                if (record.value or b"").startswith(b"{"):
                    sent = json.loads(record.value or b"")
                    found[sent["codec"] or "none", sent["id"]] = (record, batch.compression)
    assert len(found) == 5 * sum(1 for i in range(200) if i % 11 or not i % 5)
    for (codec, number), (record, compression) in found.items():
        assert compression == codec
        assert record.key == (f"k{number % 17}".encode() if number % 5 else None)
        headers = [("trace", f"t-{number}".encode()), ("empty", b""), ("bin", b"\0\xff")]
        assert record.headers == headers[: number % 4]


def test_control_records_end_all_transactions() -> None:
    ends: Counter[str] = Counter()
    data = 0
    for partition in range(3):
        for batch in read_segment(segment(f"orders-{partition}")):
            if batch.is_control:
                assert batch.is_transactional
                ends.update(control_record(record).type for record in batch.records)
            else:
                data += len(batch.records)
    assert data == PRODUCED
    assert set(ends) == {"COMMIT", "ABORT"}
    assert sum(ends.values()) == sum(COUNTS[f"orders-{n}/{segment('').name}"][1] for n in range(3)) - PRODUCED


def test_snapshot_has_its_header_voters_and_footer() -> None:
    path = SEGMENTS / "__cluster_metadata-0" / "00000000000000000000-0000000000.checkpoint"
    controls = [control_record(record) for batch in read_segment(path) for record in batch.records]
    assert [one.type for one in controls] == ["SNAPSHOT_HEADER", "KRAFT_VERSION", "KRAFT_VOTERS", "SNAPSHOT_FOOTER"]
    voters = controls[2].value
    assert voters is not None
    assert [voter["voterId"] for voter in voters.to_json()["voters"]] == [1]


@cache
def captured_messages() -> list[tuple[str, Message, bool]]:
    """Return all messages of the capture with records: client, message, and True if it reads only committed records."""
    data = gzip.decompress((CAPTURE / "frames.bin.gz").read_bytes())
    index = gzip.decompress((CAPTURE / "frames.jsonl.gz").read_bytes()).decode()
    committed_only = {}
    found = []
    for line in map(json.loads, index.splitlines()):
        frame = data[line["off"] + 4 : line["off"] + 4 + line["len"]]
        exchange = line["conn"], line["correlation_id"]
        if line["dir"] == "req":
            _, body = kafka_messages.decode_request(frame)
            committed_only[exchange] = bool(getattr(body, "isolation_level", 0))
        else:
            _, body = kafka_messages.decode_response(frame, line["api_key"], line["api_version"])
        if body.NAME in {"ProduceRequest", "FetchResponse"}:
            found.append((line["client_id"], body, committed_only.get(exchange, False)))
    return found


def test_produce_requests_carry_what_was_produced() -> None:
    counts: Counter[str] = Counter()
    codecs = set()
    for client, message, _ in captured_messages():
        if message.NAME == "ProduceRequest":
            for part in partitions(message):
                for batch in read_batches(part.records):
                    counts[client] += len(batch.records)
                    codecs.add(batch.compression)
    assert codecs == {"none", "gzip", "snappy", "lz4", "zstd"}
    assert counts.pop("console-producer") == 4
    assert counts == {
        **{f"kp-prod-{codec}": 200 for codec in (None, "gzip", "snappy", "lz4", "zstd")},
        "kp-txn": 30,
        "perf-producer-client": 400,
    }


def fetched(client: str, *, committed: bool) -> dict[tuple[object, int], list[Record]]:
    """Return the data records sent to a client, by topic and partition: each once, and only the ones that it shows."""
    found: dict[tuple[object, int], dict[int, Record]] = defaultdict(dict)
    for name, message, committed_only in captured_messages():
        if message.NAME == "FetchResponse" and name == client:
            assert committed_only is committed
            for part in partitions(message):
                batches = read_batches(part.records)
                shown = read_committed(batches, part.aborted_transactions) if committed else batches
                for batch in shown:
                    if not batch.is_control:
                        found[part.topic or part.topic_id, part.partition].update(
                            {record.offset: record for record in batch.records}
                        )
    return {key: list(records.values()) for key, records in found.items()}


def test_fetch_responses_carry_what_the_segments_hold() -> None:
    by_partition = {partition: records for (_, partition), records in fetched("java-cc", committed=False).items()}
    assert sum(map(len, by_partition.values())) == PRODUCED
    for partition, records in by_partition.items():
        kept = read_segment(segment(f"orders-{partition}"))
        assert records == [record for batch in kept if not batch.is_control for record in batch.records]


def test_committed_records_are_those_that_a_real_consumer_may_see() -> None:
    shown = [record for records in fetched("java-kip848", committed=True).values() for record in records]
    assert len(shown) == PRODUCED - ABORTED
    values = {record.value for record in shown if (record.value or b"").startswith(b"txn")}
    assert values == {f"txn{t}-{i}".encode() for t in range(6) if t % 3 != 2 for i in range(5)}


def test_older_fetch_responses_name_their_topic() -> None:
    parts = [
        part
        for client, message, _ in captured_messages()
        if message.NAME == "FetchResponse" and client == "kp-cons-1"
        for part in partitions(message)
    ]
    assert {(part.topic, part.topic_id, part.partition) for part in parts if part.records} == {
        ("orders", None, partition) for partition in range(3)
    }
    assert sum(len(batch.records) for part in parts for batch in read_batches(part.records)) == 1215


def test_message_without_records_is_refused() -> None:
    message = kafka_messages.message("HeartbeatRequest", 4)()
    with pytest.raises(ValueError, match="HeartbeatRequest has no record batches; ProduceRequest"):
        next(partitions(message))
