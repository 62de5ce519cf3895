"""The columns of `kafka_log`: their types, and functions that make them from records and their batches.

What all records of a batch share is found once for each batch, and a column with one value is kept from the last Arrow
batch (`Repeated`); only offset, timestamp, key, value and headers are made for each record, by `kipwire.columns`.
Columns that are not asked for are not made. docs/spark-sources.md promises the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from kipwire.records import RecordBatch
from kipwire.records.producer_sequence import HIGHEST_SEQUENCE
from kipwire.tables.arrow import TIMESTAMP, microseconds, pc
from kipwire.tables.files.access import path_text

_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

LOG_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", TIMESTAMP),
        ("timestamp_type", pa.string()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", _HEADERS),
        ("producer_id", pa.int64()),
        ("producer_epoch", pa.int16()),
        ("sequence", pa.int32()),
        ("is_transactional", pa.bool_()),
        ("is_control", pa.bool_()),
        ("leader_epoch", pa.int32()),
        ("magic", pa.int8()),
        ("compression", pa.string()),
        ("segment", pa.string()),
        ("batch_position", pa.int64()),
        ("error", pa.string()),
    ]
)
"""The columns of `kafka_log` where damage is rows, which need a place; docs/spark-sources.md explains them."""

PLACES = ("segment", "batch_position")
DEFAULT_LOG_SCHEMA = pa.schema([field for field in LOG_SCHEMA if field.name not in PLACES])
"""The columns of `kafka_log` otherwise, unless others are named: the name of a file in each row costs much."""

HEADER_KEYS = "header_keys"
ALL_LOG_COLUMNS = LOG_SCHEMA.append(pa.field(HEADER_KEYS, pa.list_(pa.binary())))
"""All columns, with the one that is made only if it is named: the keys of `headers` as bytes, in the same order."""


class Origin(NamedTuple):
    """The origin of rows; the same for all rows of an Arrow batch."""

    topic: str
    partition: int
    segment: str | None
    """Path of the file, as text; None for records from a broker."""


class OfBatch(NamedTuple):
    """Values that all records of a batch share, by the names of the columns."""

    timestamp_type: str
    producer_id: int
    producer_epoch: int
    is_transactional: bool
    is_control: bool
    leader_epoch: int
    magic: int
    compression: str
    batch_position: int | None
    """None for records from a broker."""
    sequence: int | None
    """Sequence number of a record minus its offset, modulo 2**31; None if the batch has no sequence numbers."""


def of_batch(batch: RecordBatch, is_in_file: bool) -> OfBatch:
    """Return the values that all records of a batch share."""
    has_sequence = batch.base_sequence >= 0
    return OfBatch(
        batch.timestamp_type,
        batch.producer_id,
        batch.producer_epoch,
        batch.is_transactional,
        batch.is_control,
        batch.partition_leader_epoch,
        batch.magic,
        batch.compression,
        batch.position if is_in_file else None,
        (batch.base_sequence - batch.base_offset) & HIGHEST_SEQUENCE if has_sequence else None,
    )


class Broken(NamedTuple):
    """A batch that cannot be read."""

    position: int | None
    """None for records from a broker."""
    error: str


class Repeated:
    """Makes columns of one repeated value, and caches the last of each name, which the next batch mostly needs."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Any, pa.Array]] = {}

    def column(self, name: str, value: Any, count: int) -> pa.Array:
        """Return `count` times this value, with the type that the column of this name has in `ALL_LOG_COLUMNS`."""
        kept, array = self._kept.get(name, (None, None))
        if array is None or kept != value or len(array) < count:
            array = pa.repeat(pa.scalar(value, ALL_LOG_COLUMNS.field(name).type), count)
            self._kept[name] = value, array
        return array.slice(0, count)


def record_rows(
    origin: Origin, records: pa.RecordBatch, batches: Sequence[OfBatch], schema: pa.Schema, repeated: Repeated
) -> pa.RecordBatch:
    """Return the rows of records.

    Args:
        origin: where the records are from.
        records: rows as `kipwire.columns.decode_records` gives them, with `header_keys` if the schema has them.
        batches: the shared values of their batches, by the numbers in the column `batch`.
        schema: the columns to make, of `ALL_LOG_COLUMNS`.
        repeated: makes the columns in which all rows have the same value.
    """
    of_batches = dict(zip(OfBatch._fields, zip(*batches, strict=True), strict=True))
    number = records.column("batch")

    def share(name: str) -> pa.Array:
        values = of_batches[name]
        if values.count(values[0]) == len(values):
            return repeated.column(name, values[0], len(number))
        return pa.array(values, LOG_SCHEMA.field(name).type).take(number)

    def sequences() -> pa.Array:
        if all(above is None for above in of_batches["sequence"]):
            return repeated.column("sequence", -1, len(number))
        return _sequences(records.column("offset"), share("sequence"))

    made: dict[str, Callable[[], pa.Array]] = {name: partial(share, name) for name in OfBatch._fields} | {
        "offset": lambda: records.column("offset"),
        "timestamp": lambda: microseconds(records.column("timestamp")),
        "key": lambda: records.column("key"),
        "value": lambda: records.column("value"),
        "headers": lambda: records.column("headers").cast(_HEADERS),
        HEADER_KEYS: lambda: records.column(HEADER_KEYS).cast(ALL_LOG_COLUMNS.field(HEADER_KEYS).type),
        "sequence": sequences,
    }
    found = {name: make() for name, make in made.items() if name in schema.names}
    return _rows(origin, len(records), found, schema, repeated)


def _sequences(offset: pa.Int64Array, above: pa.Int32Array) -> pa.Int32Array:
    """Return sequence numbers as in `RecordBatch.sequence`: 0 follows the highest, and -1 means none."""
    numbers = pc.bit_wise_and(pc.add(offset, above.cast(pa.int64())), HIGHEST_SEQUENCE)  # sums wrap around
    return pc.fill_null(numbers.cast(pa.int32()), -1)


def broken_rows(origin: Origin, broken: Sequence[Broken], schema: pa.Schema, repeated: Repeated) -> pa.RecordBatch:
    """Return the rows for batches that cannot be read, with columns of `ALL_LOG_COLUMNS`."""
    found = {
        "batch_position": pa.array([one.position for one in broken], pa.int64()),
        "error": pa.array([path_text(one.error) for one in broken], pa.string()),
    }
    return _rows(origin, len(broken), found, schema, repeated)


def _rows(
    origin: Origin, count: int, found: dict[str, pa.Array], schema: pa.Schema, repeated: Repeated
) -> pa.RecordBatch:
    """Return `count` rows with the given columns and the columns of their origin; all others are null."""
    known = origin._asdict()
    arrays = [found[name] if name in found else repeated.column(name, known.get(name), count) for name in schema.names]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
