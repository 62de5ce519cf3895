"""Logs with one flipped bit in the head of a batch, and what each reader of log files says of them.

A reader has to give the same rows, or to tell that something is wrong. What it may miss is listed here, as in
docs/spark-sources.md: bytes that no checksum covers, or that a reader of heads alone has nothing to compare with.
"""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa

from kipspark.sources.log_source import KafkaLogSource
from kipwire import KipwireError
from kipwire.console.dump import reading
from kipwire.logs.accounting import Tail
from kipwire.logs.stream import StreamBuffer
from kipwire.records import Bounds, Record, RecordBatch, read_segment, write_batch
from kipwire.records.heads import LAST_OFFSET_DELTA, MAGIC
from kipwire.tables.sources.formats import log_plan

HEAD = 61
SEGMENTS, BATCHES, RECORDS = 2, 3, 3
"""Numbers of segments, of batches in each, and of records in each batch."""
_STEP = BATCHES * RECORDS
_ENTRY = struct.Struct(">ii")


def flip_in_a_head(chance: Random, batch: bytes) -> bytes:
    """Flip one bit in the head of a batch."""
    return flipped(batch, chance.randrange(HEAD), chance.randrange(8))


def flipped(batch: bytes, byte: int, bit: int) -> bytes:
    """Flip the bit of a byte."""
    return batch[:byte] + bytes((batch[byte] ^ 1 << bit,)) + batch[byte + 1 :]


class Flip(NamedTuple):
    """A bit of the log."""

    segment: int
    batch: int
    byte: int
    bit: int

    @property
    def is_in_the_last_batch(self) -> bool:
        return (self.segment, self.batch) == (SEGMENTS - 1, BATCHES - 1)


def write_log(folder: Path, flip: Flip | None = None, *, index: bool = False) -> Path:
    """Write the segments of a partition, `t-0`, sometimes with offset indexes; flip a bit of a batch."""
    place = folder / "t-0"
    place.mkdir(parents=True, exist_ok=True)
    for number in range(SEGMENTS):
        batches = [_batch(_STEP * number + RECORDS * at, number + at) for at in range(BATCHES)]
        if index:
            starts = [sum(map(len, batches[:at])) for at in range(BATCHES)]
            entries = [_ENTRY.pack(RECORDS * at + RECORDS - 1, starts[at]) for at in (1, 2)]
            (place / f"{_STEP * number:020}.index").write_bytes(b"".join(entries))
        if flip is not None and flip.segment == number:
            batches[flip.batch] = flipped(batches[flip.batch], flip.byte, flip.bit)
        (place / f"{_STEP * number:020}.log").write_bytes(b"".join(batches))
    return folder


@cache
def _batch(first: int, kind: int) -> bytes:
    records = [
        Record(offset=first + at, timestamp=1_000 + first + at, value=b"%d" % (first + at)) for at in range(RECORDS)
    ]
    return write_batch(records, compression="gzip" if kind % 2 else "none", partition_leader_epoch=5)


class Told(NamedTuple):
    """Everything that a reader says of a log."""

    rows: list[Any]
    is_told: bool


Reader = Callable[[Path], Told]


def _rows(folder: Path, **options: str) -> Told:
    plan = log_plan({"path": str(folder), **options})
    try:
        rows = [row for work in plan.work() for batch in plan.read(work) for row in _plain_rows(batch)]
    except KipwireError as error:
        assert options.get("mode") != "PERMISSIVE", error
        assert f"{folder}/t-0/" in str(error), "the error names the file"
        return Told([], True)
    return _told(rows)


def _plain_rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return rows with timestamps as numbers, since a flipped one may be beyond the years of Python."""
    names = batch.schema.names
    columns = [one.cast(pa.int64()) if pa.types.is_timestamp(one.type) else one for one in batch.columns]
    rows: list[dict[str, Any]] = pa.RecordBatch.from_arrays(columns, names=names).to_pylist()
    return rows


def _told(rows: list[dict[str, Any]]) -> Told:
    return Told([row for row in rows if row["error"] is None], any(row["error"] is not None for row in rows))


def _stream(folder: Path, **options: str) -> Told:
    """Read a stream to its end, and again after a batch is added: until then a stream waits with what is not sure."""
    source = KafkaLogSource({"path": str(folder), "mode": "PERMISSIVE", **options})
    rows: list[dict[str, Any]] = []
    reader: Any = source.streamReader(source.schema())
    kept = reader.initialOffset()
    last = max((folder / "t-0").glob("*.log"))
    before = last.read_bytes()
    try:
        for added in (b"", _batch(SEGMENTS * _STEP, 0)):
            last.write_bytes(before + added)
            for _ in range(40):
                latest = json.loads(json.dumps(reader.latestOffset(kept, reader.getDefaultReadLimit())))
                if latest == kept:
                    break
                for task in reader.partitions(kept, latest):
                    rows += [row for batch in reader.read(task) for row in _plain_rows(batch)]
                kept = latest
            else:
                raise AssertionError("the stream does not end")
    except KipwireError as error:
        assert f"{folder}/t-0" in str(error)
        return Told([], True)
    finally:
        last.write_bytes(before)
    return _told(rows)


def _segments(folder: Path, bounds: Bounds | None = None) -> Told:
    rows: list[Any] = []
    is_told = False
    for path in sorted((folder / "t-0").glob("*.log")):
        batches = read_segment(path, bounds=bounds)
        try:
            rows += [_plain(batch, bounds) for batch in batches]
            is_told |= batches.tail is not None and batches.tail.size > 0
        except KipwireError as error:
            assert str(path) in str(error)
            is_told = True
    return Told(rows, is_told)


def _dumped(folder: Path, bounds: Bounds | None = None) -> Told:
    paths = sorted((folder / "t-0").glob("*.log"))
    return _items([item for path in paths for item in reading.read_file(path, 0, bounds)], bounds)


def _piped(folder: Path, bounds: Bounds | None = None) -> Told:
    data = b"".join(path.read_bytes() for path in sorted((folder / "t-0").glob("*.log")))
    return _items(list(reading.read_input(StreamBuffer(io.BytesIO(data).read), grows=True, bounds=bounds)), bounds)


def _items(items: list[Any], bounds: Bounds | None) -> Told:
    rows = [_plain(item, bounds) for item in items if isinstance(item, RecordBatch)]
    told = [item for item in items if isinstance(item, reading.Damage) or (isinstance(item, Tail) and item.size)]
    return Told(rows, bool(told))


def _plain(batch: RecordBatch, bounds: Bounds | None) -> Any:
    names = ("timestamp_type", "producer_id", "producer_epoch", "base_sequence", "is_transactional", "is_control")
    records = [record for record in batch.records if bounds is None or bounds.has(record)]
    fields = {name: getattr(batch, name) for name in names} if bounds is None else {}
    return {**fields, "leader_epoch": batch.partition_leader_epoch, "records": records}


_SOME = {"startingOffset": "4", "endingOffset": "16"}
_BOUNDS = Bounds(first_offset=4, end_offset=16)


def _kafka_log(**options: str) -> Reader:
    return lambda folder: _rows(folder, **options)


READERS: dict[str, Reader] = {
    **{
        f"kafka_log {level} {mode} {size} {'of some' * bool(bounds)}": _kafka_log(
            level=level, mode=mode, splitBytes=size, includeTail="true", includeControl="true", **bounds
        )
        for level in ("records", "batches")
        for mode in ("PERMISSIVE", "FAILFAST")
        for size in ("1", str(1 << 26))
        for bounds in ({}, _SOME)
    },
    **{
        f"stream {level} {size}": lambda folder, level=level, size=size: _stream(  # type: ignore[misc]
            folder, level=level, maxBytesPerTrigger=size, includeControl="true"
        )
        for level in ("records", "batches")
        for size in ("1", "1000000")
    },
    "read_segment": _segments,
    "read_segment of some": lambda folder: _segments(folder, _BOUNDS),
    "dump": _dumped,
    "dump of some": lambda folder: _dumped(folder, _BOUNDS),
    "dump -": _piped,
    "dump - of some": lambda folder: _piped(folder, _BOUNDS),
}
"""The readers by name. Those `of some` have bounds of offsets."""
QUICK = [name for name in READERS if name.startswith(("read_segment", "dump"))]
"""The readers that take less than a millisecond."""

UNCHECKED = {
    "records": {"leader_epoch"},
    "batches": {
        *("leader_epoch", "base_timestamp", "max_timestamp", "base_timestamp_ms", "max_timestamp_ms"),
        *("timestamp_type", "delete_horizon", "compression"),
        *("producer_id", "producer_epoch", "base_sequence", "is_transactional", "is_control", "records_count"),
    },
}
"""Columns that may differ without an error: no checksum covers an epoch, and `batches` compares none."""


def is_told(name: str, found: Told, whole: Told, flip: Flip) -> bool:
    """Decide if a reader has the rows of the whole log, but for what it does not check, or tells that it has not."""
    if found.is_told or found.rows == whole.rows:
        return True
    unchecked = UNCHECKED["batches" if " batches" in name else "records"]
    if _without(found.rows, unchecked) == _without(whole.rows, unchecked):
        return True
    # Magic 0 in place of 2: a message of old with another end, whose checksum is not compared by `batches`, nor where
    # bounds have a batch passed over by its head. So it is with a delta that moves the end of a batch out of them.
    is_of_old = (flip.byte, flip.bit) == (MAGIC, 1)
    if is_of_old and " batches" in name:
        return True
    if "of some" in name and (is_of_old or LAST_OFFSET_DELTA <= flip.byte < LAST_OFFSET_DELTA + 4):
        return True
    # A higher offset in the last batch, of which nothing can say that it is wrong; without a name, any one.
    limit = 63 if name.startswith("dump -") else 31
    return flip.is_in_the_last_batch and flip.byte < 8 and 8 * (7 - flip.byte) + flip.bit < limit


def _without(rows: list[dict[str, Any]], names: set[str]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name not in names} for row in rows]
