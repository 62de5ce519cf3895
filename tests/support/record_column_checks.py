"""Checks of records as columns against records as objects, for both ways to columns; tests and the fuzzer run them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from kafka_records.record_batch.v2 import RecordBatch as BatchLayout
from kipwire import DecodeError
from kipwire.columns import RECORD_SCHEMA, ColumnError
from kipwire.columns.records import HEADER_KEYS
from kipwire.records import Record, RecordBatch, read_batches
from kipwire.records.model import bytes_of_key, header_key
from kipwire.records.sections import write_section
from tests.support import column_checks, native_checks

INT64 = range(-(2**63), 2**63)


def check_records(way: Any, batches: Iterable[RecordBatch]) -> int:
    """Check that every batch has the same records, or the same error, as by itself, whatever its neighbours are.

    Args:
        way: `KernelRecords`, `PythonRecords`, or a function that makes such an object.
        batches: any, also broken ones.

    Returns:
        The number of broken batches.
    """
    filled = way()
    keys: list[list[bytes]] = []
    expected: list[dict[str, Any]] = []
    broken = 0
    for number, batch in enumerate(batches):
        try:
            records = batch._decode(batch._source)
        except DecodeError as error:
            broken += 1
            assert _error_of(filled, number, batch) == (DecodeError, str(error))
            continue
        if all(record.offset in INT64 and record.timestamp in INT64 for record in records):
            filled.add(number, batch)
            expected += rows_of(number, records)
            keys += [[bytes_of_key(key) for key, _ in record.headers] for record in records]
        else:
            assert _error_of(filled, number, batch)[0] is ColumnError
        assert filled.rows == len(expected)
    assert filled.size == sum(map(_size, expected))
    has_keys = filled._header_keys
    table = filled.take(RECORD_SCHEMA.append(HEADER_KEYS) if has_keys else RECORD_SCHEMA)
    table.validate(full=True)
    assert table.select(RECORD_SCHEMA.names).to_pylist() == expected
    assert not has_keys or table.column("header_keys").to_pylist() == keys
    assert all(map(column_checks.holds_nothing_else, table.columns))
    assert (filled.rows, filled.size) == (0, 0)
    return broken


def rows_of(number: int, records: list[Record]) -> list[dict[str, Any]]:
    """Return the records of a batch of this number, as Arrow's arrays give them."""
    return [
        {
            "batch": number,
            "offset": record.offset,
            "timestamp": record.timestamp,
            "key": record.key,
            "value": record.value,
            "headers": [{"key": key, "value": value} for key, value in record.headers],
        }
        for record in records
    ]


def batch_of(section: bytes, count: int, **fields: Any) -> RecordBatch:
    """Return a batch with any bytes as its records; its checksum is right."""
    (batch,) = read_batches(BatchLayout(records=section, records_count=count, **fields).encode())
    return batch


def random_batches(chance: random.Random) -> list[RecordBatch]:
    """Return some batches; about half are damaged after their headers."""
    batches = []
    for _ in range(chance.randrange(1, 6)):
        records = [_random_record(at, chance) for at in range(chance.randrange(6))]
        section = write_section(records, 0, 0)
        if chance.random() < 0.5:
            section = native_checks.damage(section, chance)
        count = len(records)
        if chance.random() < 0.1:
            count = chance.choice((count - 1, count + 1, 2**31 - 1))
        base_offset, base_timestamp = (chance.choice((0, 5, 2**63 - 3, -(2**63))) for _ in range(2))
        batches.append(
            batch_of(
                section,
                count,
                base_offset=base_offset,
                base_timestamp=base_timestamp,
                max_timestamp=7,
                timestamp_type=chance.random() < 0.3,
            )
        )
    return batches


def _random_record(offset: int, chance: random.Random) -> Record:
    return Record(
        offset=offset,
        timestamp=chance.randrange(2 ** chance.randrange(1, 63)),
        key=chance.choice((None, b"", chance.randbytes(chance.randrange(200)))),
        value=chance.choice((None, b"", b"value" * chance.randrange(100))),
        headers=[
            ("key", None),
            ("\u00e9", b"value"),
            ("", b""),
            (header_key(chance.randbytes(chance.randrange(9))), b""),
        ][chance.randrange(5) :],
    )


def _error_of(filled: Any, number: int, batch: RecordBatch) -> tuple[type[Exception], str]:
    """Return the error of adding a broken batch, which must add nothing."""
    before = filled.rows, filled.size
    try:
        filled.add(number, batch)
    except (DecodeError, ColumnError) as error:
        assert (filled.rows, filled.size) == before
        return type(error), str(error)
    raise AssertionError(f"{batch} was added")


def _size(row: dict[str, Any]) -> int:
    headers = [part for header in row["headers"] for part in (header["key"].encode(), header["value"] or b"")]
    return sum(map(len, [row["key"] or b"", row["value"] or b"", *headers]))
