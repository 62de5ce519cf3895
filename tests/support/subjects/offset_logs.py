"""Small log folders with commits: made at times that a test chooses, in seconds since `START`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from kafka_messages.offset_commit_key.v0 import OffsetCommitKey
from kafka_messages.offset_commit_value.v4 import OffsetCommitValue
from kipwire.records import Record, write_batch

START = datetime(2026, 1, 1, tzinfo=UTC)
_SEGMENT = "0" * 20 + ".log"


class Batch(NamedTuple):
    """One batch of a topic."""

    first: int
    """The offset of its first record; the others follow."""
    times: Sequence[float | None]
    """The time of each record."""
    append_time: float | None = None
    """Time at which a broker appended it, if its records have this time."""


class Commit(NamedTuple):
    """One commit; without an offset it deletes the one before."""

    group: str
    partition: int
    offset: int | None
    time: float


def at(seconds: float) -> datetime:
    """Return a time of these logs."""
    return START + timedelta(seconds=seconds)


def write_logs(
    folder: Path, topic: str, partitions: Mapping[int, Sequence[Batch | bytes]], commits: Sequence[Commit | Record]
) -> Path:
    """Write a folder with the partitions of one topic, and with the commits; the folder.

    Args:
        folder: to make.
        topic: its name.
        partitions: batches, some of which may be bytes.
        commits: and other records of coordinators, whose offsets do not matter.
    """
    for number, batches in partitions.items():
        of_topic = (one if isinstance(one, bytes) else _batch(one) for one in batches)
        _write(folder / f"{topic}-{number}", b"".join(of_topic))
    records = (
        (
            Record(offset=offset, timestamp=one.timestamp, key=one.key, value=one.value)
            if isinstance(one, Record)
            else _commit(offset, topic, one)
        )
        for offset, one in enumerate(commits)
    )
    _write(folder / "__consumer_offsets-0", b"".join(write_batch([one]) for one in records))
    return folder


def _write(folder: Path, data: bytes) -> None:
    folder.mkdir(parents=True)
    (folder / _SEGMENT).write_bytes(data)


def ms(seconds: float | None) -> int:
    """Return a time of these logs in milliseconds since 1970; -1 for none."""
    return -1 if seconds is None else round(at(seconds).timestamp() * 1000)


def _batch(batch: Batch) -> bytes:
    records = [
        Record(offset=batch.first + index, timestamp=ms(time), value=b"v") for index, time in enumerate(batch.times)
    ]
    if batch.append_time is None:
        return write_batch(records)
    first, last = records[0].timestamp, ms(batch.append_time)
    return write_batch(records, timestamp_type="LogAppendTime", base_timestamp=first, max_timestamp=last)


def _commit(offset: int, topic: str, commit: Commit) -> Record:
    key = b"\0\1" + OffsetCommitKey(group=commit.group, topic=topic, partition=commit.partition).encode()
    value = None
    if commit.offset is not None:
        value = b"\0\4" + OffsetCommitValue(offset=commit.offset, commit_timestamp=ms(commit.time)).encode()
    return Record(offset=offset, timestamp=ms(commit.time), key=key, value=value)
