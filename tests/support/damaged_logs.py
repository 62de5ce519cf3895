"""Logs with random damage, and checks that readers account for every byte of them.

A reader turns the bytes of a segment into stretches: a batch, an error, or a tail. The stretches of a segment have to
fill it without a gap and without an overlap, whatever is damaged, and however the segment is split. A batch whose bytes
are intact is among the rows, or an error covers it.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any, Literal, NamedTuple

from kipspark.sources.log_source import KafkaLogSource
from kipwire import KipwireError
from kipwire.logs.accounting import Damage, Tail
from kipwire.logs.names import segment_after
from kipwire.logs.offsets import Misplaced
from kipwire.logs.segments import may_grow, offsets_of_file, read_part
from kipwire.records import Record, RecordBatch, read_segment, write_batch, write_message_set
from kipwire.records.heads import SIZE, SIZE_END
from kipwire.tables.errors import SourceError

_LOST = re.compile(r"bytes (\d+) to (\d+) are not read$")
_TAIL = re.compile(r"^([\d,]+) bytes? from byte (\d+) on: ")
_INDEX_ENTRY = struct.Struct(">ii")


class Stretch(NamedTuple):
    """Bytes of a segment that belong together."""

    start: int
    end: int
    kind: str
    """`batch`, `error` or `tail`."""


class Written(NamedTuple):
    """A batch as it was written."""

    data: bytes
    offsets: tuple[int, ...]


class Log(NamedTuple):
    """A log as it was written, before it was damaged."""

    root: Path
    segments: dict[Path, list[Written]]

    def intact(self) -> Iterator[tuple[Path, int, Written]]:
        """Yield the batches whose bytes are still there: their segment and their position. No two are alike."""
        for path, batches in self.segments.items():
            data = path.read_bytes()
            for batch in batches:
                position = data.find(batch.data)
                if position >= 0:
                    yield path, position, batch


def written_log(chance: Random, root: Path) -> Log:
    """Write a log of up to three segments into the folder `t-0` below `root`, sometimes with an offset index."""
    folder = root / "t-0"
    folder.mkdir(parents=True)
    offset, segments = chance.choice((0, 7, 2**33)), {}
    for _ in range(chance.randrange(1, 4)):
        base, batches = offset, []
        for _ in range(chance.randrange(0, 9)):
            batch = _written(chance, offset)
            batches.append(batch)
            offset = batch.offsets[-1] + chance.choice((1, 1, 1, 4))
        path = folder / f"{base:020}.log"
        if path in segments:  # the one before is empty
            continue
        path.write_bytes(b"".join(batch.data for batch in batches))
        segments[path] = batches
        if chance.random() < 0.5:
            path.with_suffix(".index").write_bytes(_index(chance, base, batches))
    return Log(root, segments)


def _written(chance: Random, offset: int) -> Written:
    offsets = tuple(range(offset, offset + chance.randrange(1, 4)))
    records = [
        Record(offset=one, timestamp=1_700_000_000_000 + one, value=chance.randbytes(chance.choice((0, 3, 40, 300))))
        for one in offsets
    ]
    compression: Literal["none", "gzip"] = chance.choice(("none", "none", "gzip"))
    if chance.random() < 0.15:
        magic: Literal[0, 1] = chance.choice((0, 1))
        for record in records:
            record.key = b"%d" % record.offset  # no two entries are alike
            record.timestamp = record.timestamp if magic else -1
        if compression == "none":  # each record would be an entry of its own
            del records[1:]
            offsets = offsets[:1]
        return Written(write_message_set(records, magic=magic, compression=compression), offsets)
    return Written(write_batch(records, compression=compression), offsets)


def _index(chance: Random, base: int, batches: Sequence[Written]) -> bytes:
    entries, position = b"", 0
    for batch in batches:
        if position and chance.random() < 0.6:
            entries += _INDEX_ENTRY.pack(batch.offsets[-1] - base, position)
        position += len(batch.data)
    return entries


def damage(chance: Random, log: Log) -> None:
    """Damage some bytes of a log, or none."""
    for _ in range(chance.choice((0, 1, 1, 1, 2, 4))):
        path = chance.choice(list(log.segments))
        data = bytearray(path.read_bytes())
        starts, position = [], 0
        for batch in log.segments[path]:
            starts.append(position)
            position += len(batch.data)
        _DAMAGES[chance.randrange(len(_DAMAGES))](chance, data, [start for start in starts if start < len(data)])
        path.write_bytes(data)


def _flip(chance: Random, data: bytearray, starts: Sequence[int]) -> None:
    if data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _flip_in_a_head(chance: Random, data: bytearray, starts: Sequence[int]) -> None:
    if starts:
        at = chance.choice(starts) + chance.randrange(61)
        if at < len(data):
            data[at] ^= 1 << chance.randrange(8)


def _lie(chance: Random, data: bytearray, starts: Sequence[int]) -> None:
    """Another length: beyond the file, at another batch, within the batch, none at all."""
    if not starts:
        return
    start = chance.choice(starts)
    lengths = [
        2**31 - 1,
        len(data),
        len(data) - start - SIZE_END,
        chance.choice(starts) - start - SIZE_END,
        chance.randrange(1 << 17),
        chance.randrange(100),
        0,
        -1,
    ]
    data[start + SIZE : start + SIZE_END] = struct.pack(">i", chance.choice(lengths))


def _zeros(chance: Random, data: bytearray, starts: Sequence[int]) -> None:
    if data:
        start = chance.randrange(len(data))
        end = min(len(data), start + chance.choice((1, 8, 61, 500, len(data))))
        data[start:end] = bytes(end - start)


def _cut(chance: Random, data: bytearray, starts: Sequence[int]) -> None:
    del data[chance.randrange(len(data) + 1) :]


def _remove(chance: Random, data: bytearray, starts: Sequence[int]) -> None:
    if data:
        start = chance.randrange(len(data))
        del data[start : start + chance.choice((1, 12, 61, 200))]


def _insert(chance: Random, data: bytearray, starts: Sequence[int]) -> None:
    start = chance.randrange(len(data) + 1)
    data[start:start] = chance.choice((b"\0", bytes(100), chance.randbytes(30), b"\xff" * 20))


def _append(chance: Random, data: bytearray, starts: Sequence[int]) -> None:
    """Append zeros, anything, or the start of a batch, but not a whole batch again: offsets go up in any log."""
    start = bytes(data[: chance.randrange(min(90, starts[1] if len(starts) > 1 else len(data)) or 1)])
    data += chance.choice((bytes(chance.randrange(1, 3000)), chance.randbytes(50), start))


_DAMAGES = (_flip, _flip_in_a_head, _flip_in_a_head, _lie, _lie, _lie, _zeros, _cut, _remove, _insert, _append)


def check(chance: Random, log: Log) -> str:
    """Read a log in one of the ways that there are, with random options, and check what the reader says.

    Returns:
        The way and its options, for a failure.
    """
    way = chance.choice((_check_parts, _check_segments, _check_rows, _check_rows, _check_stream, _check_errors))
    return f"{way.__name__}: {way(chance, log)}"


def _check_parts(chance: Random, log: Log) -> str:
    check_crcs = chance.random() < 0.7
    found = {}
    for path in log.segments:
        with path.open("rb") as file:
            offsets = offsets_of_file(path, segment_after(path))
            items = list(read_part(file, str(path), grows=may_grow(path), check_crcs=check_crcs, offsets=offsets))
        found[path] = [_stretch(item) for item in items]
    _expect_all(log, found)
    return f"{check_crcs=}"


Item = RecordBatch | Misplaced | Damage | Tail


def _stretch(item: Item) -> Stretch:
    if isinstance(item, Misplaced):
        return Stretch(item.batch.position, item.batch.position + item.batch.size, "error")
    if isinstance(item, Damage):
        return Stretch(item.position, item.end, "error")
    return Stretch(item.position, item.position + item.size, "tail" if isinstance(item, Tail) else "batch")


def _check_segments(chance: Random, log: Log) -> str:
    """Check that `read_segment` raises an error if, and only if, there is damage, and has the same batches before."""
    for path in log.segments:
        items = _items(path)
        broken = next((number for number, item in enumerate(items) if isinstance(item, Damage | Misplaced)), None)
        batches = read_segment(path)
        found: list[tuple[int, int]] = []
        raised = False
        try:
            found.extend((batch.position, batch.size) for batch in batches)
        except KipwireError:
            raised = True
        assert raised == (broken is not None)
        assert found == [(one.position, one.size) for one in items[:broken] if isinstance(one, RecordBatch)]
        if not raised and may_grow(path):
            assert batches.tail == items[-1]
    return ""


def _options(chance: Random) -> dict[str, str]:
    level = chance.choice(("records", "batches"))
    return {
        "level": level,
        "columns": f"{'offset' if level == 'records' else 'base_offset'},segment,batch_position,error",
        "splitBytes": str(chance.choice((1, 200, 1000, 1 << 26))),
        "includeTail": "true",
        "includeControl": "true",
    }


def _check_rows(chance: Random, log: Log) -> str:
    options = _options(chance)
    source = KafkaLogSource({"path": str(log.root), "mode": "PERMISSIVE", **options})
    reader: Any = source.reader(source.schema())
    rows = [row for task in reader.partitions() for batch in reader.read(task) for row in batch.to_pylist()]
    found = _stretches(log, rows)
    _expect_all(log, found)
    _expect_rows(log, rows, found)
    return json.dumps(options)


def _check_errors(chance: Random, log: Log) -> str:
    """Without PERMISSIVE an error says that there is damage, whatever the splits; else everything is there."""
    options = _options(chance)
    del options["includeTail"]
    source = KafkaLogSource({"path": str(log.root), **options})
    reader: Any = source.reader(source.schema())
    is_damaged = any(item.kind == "error" for path in log.segments for item in _whole(path))
    has_tail = any(item.kind == "tail" and item.end > item.start for path in log.segments for item in _whole(path))
    try:
        rows = [row for task in reader.partitions() for batch in reader.read(task) for row in batch.to_pylist()]
    except KipwireError:
        # An index may show that a tail is more than one batch, although none of them is whole.
        assert is_damaged or has_tail
        return json.dumps(options)
    assert not is_damaged or options["level"] == "batches"  # it checks no checksum
    found = _stretches(log, rows)
    last = max(log.segments)
    reached = max((one.end for one in found[last]), default=0)
    found[last].append(Stretch(reached, last.stat().st_size, "tail"))
    _expect_all(log, found)
    _expect_rows(log, rows, found)
    return json.dumps(options)


def _whole(path: Path) -> list[Stretch]:
    return [_stretch(item) for item in _items(path)]


def _items(path: Path) -> list[Item]:
    with path.open("rb") as file:
        return list(
            read_part(file, str(path), grows=may_grow(path), offsets=offsets_of_file(path, segment_after(path)))
        )


def _check_stream(chance: Random, log: Log) -> str:
    options = _options(chance) | {"maxBytesPerTrigger": str(chance.choice((1, 500, 1 << 30)))}
    del options["includeTail"]
    again = chance.random() < 0.5
    source = KafkaLogSource({"path": str(log.root), "mode": "PERMISSIVE", **options})
    reader: Any = source.streamReader(source.schema())
    kept = reader.initialOffset()
    rows: list[dict[str, Any]] = []

    def read_to_the_end() -> None:
        nonlocal reader, kept, rows
        for _ in range(200):
            if again:  # as after a restart: only the checkpoint is known
                reader = source.streamReader(source.schema())
            latest = json.loads(json.dumps(reader.latestOffset(kept, reader.getDefaultReadLimit())))
            if latest == kept:
                return
            tasks = reader.partitions(kept, latest)
            rows += [row for task in tasks for batch in reader.read(task) for row in batch.to_pylist()]
            kept = latest
        raise AssertionError("the stream does not end")

    read_to_the_end()
    # Bytes after the last whole batch of the log are read once other batches follow.
    last = max(log.segments)
    before = last.read_bytes()
    reached = next(iter(kept["next_offsets"].values()), 0)
    next_offset = _grow(chance, log)
    try:
        read_to_the_end()
        found = _stretches(log, rows)
        read = max((one.end for one in found[last]), default=0)
        assert read >= len(before), f"{last.name}: the bytes from {read} to {len(before)} are not read"
        found[last].append(Stretch(read, last.stat().st_size, "tail"))
        _expect_all(log, found, is_stream=True)
        _expect_rows(log, rows, found)
    except SourceError as error:
        # The stream went by a damaged offset, which no checksum covers; it reports that, and does not go on.
        assert reached > next_offset and "before offset" in str(error)
    finally:
        last.write_bytes(before)
    return json.dumps({**options, "again": again})


def _grow(chance: Random, log: Log) -> int:
    """Add batches to the last segment: more than a damaged length can hide. Return the first offset of them."""
    path = max(log.segments)
    offset = first = max(
        [int(path.stem), *(max(one.offsets) + 1 for batches in log.segments.values() for one in batches)]
    )
    end = next((item for item in reversed(_items(path)) if _stretch(item).end > _stretch(item).start), None)
    with path.open("ab") as file:
        if isinstance(end, Damage) or (isinstance(end, Tail) and not end.is_zeros):
            file.write(b"\xff")  # or zeros of the next offset might complete a copy of a batch that has been read
        for _ in range(3):
            batch = _written(chance, offset)
            file.write(batch.data)
            offset = batch.offsets[-1] + 1
    return first


def _stretches(log: Log, rows: list[dict[str, Any]]) -> dict[Path, list[Stretch]]:
    """Return the stretches that rows of `kafka_log` cover."""
    found: dict[Path, set[Stretch]] = {path: set() for path in log.segments}
    for row in rows:
        path, position, error = Path(row["segment"]), row["batch_position"], row["error"]
        if error is None:
            found[path].add(Stretch(position, position + _size_at(path, position), "batch"))
        elif (lost := _LOST.search(error)) is not None:
            assert int(lost[1]) == position
            found[path].add(Stretch(position, int(lost[2]) + 1, "error"))
        elif (tail := _TAIL.search(error)) is not None:
            assert int(tail[2]) == position
            found[path].add(Stretch(position, position + int(tail[1].replace(",", "")), "tail"))
        else:
            found[path].add(Stretch(position, position + _size_at(path, position), "error"))
    return {path: list(stretches) for path, stretches in found.items()}


def _size_at(path: Path, position: int) -> int:
    with path.open("rb") as file:
        file.seek(position + SIZE)
        (length,) = struct.unpack(">i", file.read(4))
    return int(length) + SIZE_END


def _expect_all(log: Log, found: dict[Path, list[Stretch]], *, is_stream: bool = False) -> None:
    """Expect that stretches fill each segment, that a tail is at the end alone, and that it has no intact batch.

    A stream may report an error twice, and less of it, since it begins again in what may hide a batch.
    """
    for path, stretches in found.items():
        position = 0
        for one in sorted(stretches):
            is_again = is_stream and one.start < position
            assert one.start == position or is_again, f"{path.name}: bytes {position} to {one.start}: {stretches}"
            position = max(position, one.end)
        assert position == path.stat().st_size, f"{path.name}: the bytes from {position} on are not accounted for"
        tails = [one for one in stretches if one.kind == "tail" and one.end > one.start]
        assert not tails or path == max(log.segments), f"{path.name} is complete, and has a tail"
        for of, start, _ in log.intact():
            if of == path:
                assert not any(one.start <= start < one.end for one in tails), f"{path.name}: a batch is in {tails}"


def _expect_rows(log: Log, rows: list[dict[str, Any]], found: dict[Path, list[Stretch]]) -> None:
    """Expect rows of each intact batch unless an error covers it, once; level `batches` has no checksum to go by."""
    counts: dict[tuple[str, int], int] = {}
    for row in rows:
        key = (row["segment"], row["batch_position"])
        counts[key] = counts.get(key, 0) + (row["error"] is None)
    is_records = bool(rows) and "offset" in rows[0]
    for path, start, batch in log.intact():
        covered = [one for one in found[path] if one.start < start + len(batch.data) and start < one.end]
        has_error = any(one.kind == "error" for one in covered)
        if is_records and Stretch(start, start + len(batch.data), "batch") in covered:
            count = counts[str(path), start]
            assert count == len(batch.offsets) or (has_error and count < len(batch.offsets)), (path.name, start)
        elif is_records:
            # A batch that lost its last byte, a zero, may be whole with the first byte of the next one, which is not.
            has_lost_a_byte = any(one.kind == "batch" and one.start < start < one.end for one in covered)
            assert has_lost_a_byte or has_error, (path.name, start, covered)
