"""The snapshots of logs as Arrow batches, without Spark: the state of a log before its first segment.

Only the log of controllers, `__cluster_metadata`, has snapshots. A snapshot is a file beside the segments such as
`00000000000000000612-0000000003.checkpoint`: the offset after the last record that it covers, and the epoch of that
record. Once there is a snapshot, the segments before it may be deleted (KIP-630).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

import pyarrow as pa

from kafka_messages.snapshot_header_record.v0 import SnapshotHeaderRecord
from kipwire import KipwireError
from kipwire.logs.names import snapshot_end_of
from kipwire.logs.segments import SegmentBatches, read_part
from kipwire.records import ControlRecord, RecordBatch, control_record
from kipwire.tables.arrow import TIMESTAMP, microseconds
from kipwire.tables.errors import SourceError
from kipwire.tables.files.access import names_in, open_file, path_text
from kipwire.tables.files.stores import HERE, Storage
from kipwire.tables.sources.segments import Segment

SNAPSHOT_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("end_offset", pa.int64()),
        ("epoch", pa.int32()),
        ("timestamp", TIMESTAMP),
        ("number", pa.int32()),
        ("value", pa.binary()),
        ("snapshot", pa.string()),
        ("error", pa.string()),
    ]
)
"""The columns of `kafka_snapshot`; docs/spark-sources.md explains them."""


class Snapshot(NamedTuple):
    """One snapshot of a partition's log."""

    path: str
    topic: str
    partition: int
    end_offset: int
    """Offset after the last record that it covers."""
    epoch: int
    """Epoch of the leader that wrote the last covered record."""
    storage: Storage = HERE
    """Options of its store, if its path is a URL."""


def snapshots_of(segments: Iterable[Segment]) -> list[Snapshot]:
    """Find the snapshot at the start of the log of each partition, if it has one.

    That is the oldest one that ends at the first offset of the log or later; the log continues after it without a gap.
    A log that begins at offset 0 needs only the snapshot at offset 0, which says how the cluster was formatted.

    Args:
        segments: of the logs; folders of several replicas of a partition count as one.

    Raises:
        OSError: a folder cannot be listed.
    """
    by_partition = sorted(segments, key=_partition)
    found = [_first(list(of_one)) for _, of_one in groupby(by_partition, _partition)]
    return [snapshot for snapshot in found if snapshot is not None]


def read_snapshot_or_error(snapshot: Snapshot) -> pa.RecordBatch:
    """Do as `read_snapshot`; a snapshot that cannot be used is one row with the error."""
    try:
        return read_snapshot(snapshot)
    except SourceError as error:
        row = {
            "topic": snapshot.topic,
            "partition": snapshot.partition,
            "end_offset": snapshot.end_offset,
            "epoch": snapshot.epoch,
            "snapshot": path_text(snapshot.path),
            "error": path_text(str(error)),
        }
        return pa.RecordBatch.from_pylist([row], schema=SNAPSHOT_SCHEMA)


def read_snapshot(snapshot: Snapshot) -> pa.RecordBatch:
    """Read the records of a snapshot, in its order, without the control records around them.

    Raises:
        SourceError: the file cannot be read, is damaged, or is incomplete.
    """
    try:
        with open_file(snapshot.path, snapshot.storage) as file:
            batches = list(SegmentBatches(read_part(file, snapshot.path, grows=False)))
        values = [record.value for batch in batches if not batch.is_control for record in batch.records]
        first, last = _control_at(batches, 0), _control_at(batches, -1)
    except OSError as error:
        raise SourceError(f"{snapshot.path}: cannot be read: {error.strerror or error}") from None
    except KipwireError as error:
        raise SourceError(f"{snapshot.path}: {error}") from None
    header = first.value if first is not None else None
    if not isinstance(header, SnapshotHeaderRecord):
        raise SourceError(f"{snapshot.path}: is not a snapshot: it does not begin with a snapshot header")
    if last is None or last.type != "SNAPSHOT_FOOTER":
        raise SourceError(
            f"{snapshot.path}: is incomplete: it does not end with a snapshot footer; copy the file again"
        )
    of_file = {
        "topic": snapshot.topic,
        "partition": snapshot.partition,
        "end_offset": snapshot.end_offset,
        "epoch": snapshot.epoch,
        "timestamp": microseconds(header.last_contained_log_timestamp),
        "snapshot": path_text(snapshot.path),
        "error": None,
    }
    arrays = {
        name: pa.repeat(pa.scalar(value, SNAPSHOT_SCHEMA.field(name).type), len(values))
        for name, value in of_file.items()
    }
    arrays["number"] = pa.array(range(len(values)), pa.int32())
    arrays["value"] = pa.array(values, pa.binary())
    return pa.RecordBatch.from_arrays([arrays[name] for name in SNAPSHOT_SCHEMA.names], schema=SNAPSHOT_SCHEMA)


def _partition(segment: Segment) -> tuple[str, int]:
    return segment.topic, segment.partition


def _first(segments: list[Segment]) -> Snapshot | None:
    """Find the snapshot at the start of the log of one partition."""
    start = min(segment.base_offset for segment in segments)
    found = [
        one for folder in sorted({segment.folder for segment in segments}) for one in _snapshots(folder, segments[0])
    ]
    fitting = [one for one in found if one.end_offset >= start and (start > 0 or one.end_offset == 0)]
    return min(fitting, key=lambda one: (one.end_offset, one.path), default=None)


def _snapshots(folder: str, of: Segment) -> Iterator[Snapshot]:
    for name in names_in(folder, of.storage):
        end = snapshot_end_of(name)
        if end is not None:
            yield Snapshot(f"{folder}/{name}", of.topic, of.partition, *end, of.storage)


def _control_at(batches: list[RecordBatch], index: int) -> ControlRecord | None:
    """Return the first or the last record of all, if it is a control record."""
    if not batches or not batches[index].is_control or not batches[index].records:
        return None
    return control_record(batches[index].records[index])
