"""Record batches and message sets: read as Java reads them, written as Java writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kipwire.records import Record, RecordBatch, control_record, read_batches, write_batch, write_message_set
from kipwire.records.compression import decompress, lz4_from_magic_0
from tests.support.golden_data import lines

GOLDEN = lines("record-batches")
ENOUGH = 1 << 24
HEADER = 61
LENGTH_AND_CRC = (slice(8, 12), slice(17, 21))


def case_name(number: int) -> str:
    line = GOLDEN[number]
    return f"{number} magic {line['magic']} {line['label'].partition(' (value')[0]}"


every_line = pytest.mark.parametrize("number", range(len(GOLDEN)), ids=case_name)


def golden_batches(line: dict[str, Any]) -> list[tuple[dict[str, Any], bytes]]:
    """Return the fields and the bytes of each batch of magic 2 in a line."""
    parts = line["batches"] if line["kind"] == "record_batches" else [line]
    return [(part["fields"], bytes.fromhex(part["hex"])) for part in parts]


BATCHES = [(line["label"], *batch) for line in GOLDEN if line["magic"] == 2 for batch in golden_batches(line)]
SETS = [line for line in GOLDEN if line["kind"] == "message_set"]


def value_of(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


def headers_of(record: dict[str, Any]) -> list[tuple[str, bytes | None]]:
    return [(header["key"], value_of(header["value"])) for header in record["headers"]]


def java_records(records: list[dict[str, Any]]) -> list[Record]:
    """Return the records as Java's classes report them."""
    return [
        Record(
            offset=record["offset"],
            timestamp=record["timestamp"],
            key=value_of(record["key"]),
            value=value_of(record["value"]),
            headers=headers_of(record),
        )
        for record in records
    ]


def batches_of_lines() -> Iterator[tuple[dict[str, Any], int]]:
    """Yield Java's report on each batch and each entry, and its magic, over all lines in order."""
    for line in GOLDEN:
        if line["magic"] == 2:
            for fields, _ in golden_batches(line):
                yield fields, 2
        else:
            for entry in line["entries"]:
                yield entry, line["magic"]


def test_golden_file_has_what_its_readme_says() -> None:
    assert len(GOLDEN) == 144
    assert len(list(batches_of_lines())) == 169


@every_line
def test_batches_read_as_java_reads_them(number: int) -> None:
    line = GOLDEN[number]
    data = bytes.fromhex(line["hex"])
    found = list(read_batches(data))
    if line["magic"] == 2:
        expected = [fields for fields, _ in golden_batches(line)]
        for batch, fields in zip(found, expected, strict=True):
            check_batch(batch, fields)
    else:
        for batch, entry in zip(found, line["entries"], strict=True):
            check_entry(batch, entry)
    assert [batch.position for batch in found] == [sum(one.size for one in found[:i]) for i in range(len(found))]
    assert sum(batch.size for batch in found) == len(data)


def check_batch(batch: RecordBatch, fields: dict[str, Any]) -> None:
    assert {
        "baseOffset": batch.base_offset,
        "batchLength": batch.size - 12,
        "partitionLeaderEpoch": batch.partition_leader_epoch,
        "magic": batch.magic,
        "crc": batch.crc,
        "attributes": batch.attributes,
        "lastOffsetDelta": batch.last_offset_delta,
        "baseTimestamp": batch.base_timestamp,
        "maxTimestamp": batch.max_timestamp,
        "producerId": batch.producer_id,
        "producerEpoch": batch.producer_epoch,
        "baseSequence": batch.base_sequence,
        "recordsCount": batch.records_count,
        "compression": batch.compression,
        "timestampType": batch.timestamp_type,
        "isTransactional": batch.is_transactional,
        "isControlBatch": batch.is_control,
        "deleteHorizonMs": batch.delete_horizon,
        "lastOffset": batch.last_offset,
        "lastSequence": batch.last_sequence,
    }.items() <= fields.items()
    assert batch.records == java_records(fields["records"])
    assert [batch.sequence(record) for record in batch.records] == [one["sequence"] for one in fields["records"]]
    if batch.is_control:
        controls = [control_record(record) for record in batch.records]
        assert [one.type for one in controls] == [one["controlType"] for one in fields["records"]]
        assert [one.type_id for one in controls] == [one["controlTypeId"] for one in fields["records"]]


def check_entry(batch: RecordBatch, entry: dict[str, Any]) -> None:
    assert {
        "messageSize": batch.size - 12,
        "magic": batch.magic,
        "crc": batch.crc,
        "attributes": batch.attributes,
        "compression": batch.compression,
        "timestampType": batch.timestamp_type,
        "timestamp": None if batch.magic == 0 else batch.base_timestamp,
        "maxTimestamp": batch.max_timestamp,
        "baseOffset": batch.base_offset,
        "lastOffset": batch.last_offset,
        "offset": batch.last_offset,
    }.items() <= entry.items()
    assert batch.records_count == (1 if batch.compression == "none" else None)
    assert batch.records == java_records(entry["records"])
    assert [batch.sequence(record) for record in batch.records] == [one["sequence"] for one in entry["records"]]


def test_formats_may_be_mixed_in_one_buffer() -> None:
    data = b"".join(bytes.fromhex(line["hex"]) for line in GOLDEN)
    found = [(batch.magic, batch.crc, batch.records) for batch in read_batches(data)]
    assert found == [(magic, ours["crc"], java_records(ours["records"])) for ours, magic in batches_of_lines()]


def given_to_java(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments for a batch, without values that can be computed from the records."""
    arguments = {
        "compression": fields["compression"],
        "base_offset": fields["baseOffset"],
        "timestamp_type": fields["timestampType"],
        "delete_horizon": fields["deleteHorizonMs"],
        "partition_leader_epoch": fields["partitionLeaderEpoch"],
        "producer_id": fields["producerId"],
        "producer_epoch": fields["producerEpoch"],
        "base_sequence": fields["baseSequence"],
        "is_transactional": fields["isTransactional"],
        "is_control": fields["isControlBatch"],
    }
    if not fields["records"] or fields["deleteHorizonMs"] is not None:  # compaction may have taken the last record
        arguments["last_offset_delta"] = fields["lastOffsetDelta"]
    if not fields["records"] or fields["timestampType"] == "LogAppendTime":
        arguments["max_timestamp"] = fields["maxTimestamp"]
    return arguments


@pytest.mark.parametrize(("label", "fields", "data"), BATCHES, ids=[label for label, _, _ in BATCHES])
def test_batches_are_written_as_java_writes_them(label: str, fields: dict[str, Any], data: bytes) -> None:
    expected = [{**one, "timestamp": fields["baseTimestamp"] + one["timestampDelta"]} for one in fields["records"]]
    written = write_batch(java_records(expected), **given_to_java(fields))
    if fields["compression"] == "none":
        assert written == data
    else:
        assert without_length_and_crc(written) == without_length_and_crc(data)
        section = decompress(fields["compression"], written[HEADER:], ENOUGH)
        assert section.hex() == fields["recordsSectionUncompressedHex"]
        assert next(read_batches(written)).records == java_records(fields["records"])


def without_length_and_crc(batch: bytes) -> bytearray:
    """Return the header with zeros in the fields that depend on the compressed bytes."""
    header = bytearray(batch[:HEADER])
    for part in LENGTH_AND_CRC:
        header[part] = bytes(4)
    return header


@pytest.mark.parametrize("line", SETS, ids=[f"magic {line['magic']} {line['label']}" for line in SETS])
def test_message_sets_are_written_as_java_writes_them(line: dict[str, Any]) -> None:
    entries = line["entries"]
    written = write_message_set(
        [record for entry in entries for record in java_records(entry["records"])],
        magic=line["magic"],
        compression=entries[0]["compression"],
        timestamp_type=entries[0]["timestampType"],
    )
    if entries[0]["compression"] == "none":
        assert written.hex() == line["hex"]
        return
    batch = next(read_batches(written))
    assert {
        "offset": batch.last_offset,
        "attributes": batch.attributes,
        "timestamp": None if batch.magic == 0 else batch.max_timestamp,
    }.items() <= entries[0].items()
    assert batch.records == java_records(entries[0]["records"])
    value = written[34 if line["magic"] else 26 :]
    if line["magic"] == 0 and entries[0]["compression"] == "lz4":
        assert value[:7].hex() == entries[0]["value"][:14]  # the header with Kafka's own checksum
        value = lz4_from_magic_0(value)
    assert decompress(entries[0]["compression"], value, ENOUGH).hex() == entries[0]["innerUncompressedHex"]
