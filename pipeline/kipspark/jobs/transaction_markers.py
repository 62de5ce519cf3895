"""What the markers that end transactions say, read from where they are. Spark's tasks run this, without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from kafka_messages.end_txn_marker.v0 import EndTxnMarker
from kipspark.errors import SourceError
from kipwire import KipwireError
from kipwire.records import control_record, read_segment

MARKER_FIELDS = (("marker_type", pa.string()), ("coordinator_epoch", pa.int32()))
"""The columns that `with_markers` adds: COMMIT or ABORT, and the epoch of the coordinator that had it written."""


def with_markers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows with the columns `marker_segment` and `marker_position`, and what is at these places.

    Null where a row has no place, where the broker has removed the segment since, and of a marker of which compaction
    has left the head alone.
    """
    for batch in batches:
        places = zip(
            batch.column("marker_segment").to_pylist(), batch.column("marker_position").to_pylist(), strict=True
        )
        found = [_marker(segment, position) for segment, position in places]
        added = [pa.array(column, type_) for column, (_, type_) in zip(_transposed(found), MARKER_FIELDS, strict=True)]
        schema = pa.schema([*batch.schema, *MARKER_FIELDS])
        yield pa.RecordBatch.from_arrays([*batch.columns, *added], schema=schema)


def _transposed(found: list[tuple[str | None, int | None]]) -> list[list[str | int | None]]:
    return [[one[column] for one in found] for column in range(len(MARKER_FIELDS))]


def _marker(segment: str | None, position: int | None) -> tuple[str | None, int | None]:
    if segment is None or position is None or not Path(segment).exists():
        return None, None
    try:
        for batch in read_segment(segment, start=position, grows=True):
            for record in batch.records:
                type_, _, value = control_record(record)
                return type_, value.coordinator_epoch if isinstance(value, EndTxnMarker) else None
            return None, None
    except OSError as error:
        raise SourceError(f"{segment}: cannot be read: {error.strerror or error}") from None
    except (KipwireError, ValueError) as error:
        raise SourceError(f"{segment}: {error}") from None
    return None, None
