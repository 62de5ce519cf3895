"""The files beside a real broker's segments say what Kafka's own tool shows of them; damaged ones are refused."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kipwire.logs import read_segment
from kipwire.logs.index_checks import aborted_misfits, disordered, offset_misfits, time_misfits
from kipwire.logs.partition_files import (
    LeaderEpoch,
    OffsetIndexEntry,
    PartitionOffset,
    TimeIndexEntry,
    aborted_transactions,
    leader_epochs,
    offset_index,
    partition_offsets,
    producer_snapshot,
    time_index,
)
from kipwire.model.errors import DecodeError
from kipwire.records import Record, read_batches, write_batch
from tests.support.places import DATA

FOLDER = DATA / "partition_files" / "payments-0"
BASE = 44
ZEROS = bytes(120)


def file(suffix: str, base: int = BASE) -> bytes:
    """Return the content of a file of the segment that begins there."""
    return (FOLDER / f"{base:020}{suffix}").read_bytes()


# The expected values are those that kafka-dump-log 4.3.1 shows of the same files.


@pytest.mark.parametrize("tail", [b"", ZEROS], ids=["closed", "with space taken in advance"])
def test_an_offset_index_is_that_of_kafkas_tool(tail: bytes) -> None:
    assert list(offset_index(io.BytesIO(file(".index") + tail), BASE)) == [
        OffsetIndexEntry(53, 735),
        OffsetIndexEntry(64, 1457),
        OffsetIndexEntry(65, 2073),
        OffsetIndexEntry(76, 3118),
        OffsetIndexEntry(87, 4224),
    ]


@pytest.mark.parametrize("base", [44, 88])
def test_every_entry_of_an_offset_index_is_a_batch_of_its_segment(base: int) -> None:
    batches = {batch.position: batch.last_offset for batch in read_batches(file(".log", base))}
    for entry in offset_index(io.BytesIO(file(".index", base)), base):
        assert batches[entry.position] == entry.offset


@pytest.mark.parametrize("tail", [b"", ZEROS], ids=["closed", "with space taken in advance"])
def test_a_time_index_is_that_of_kafkas_tool(tail: bytes) -> None:
    assert list(time_index(io.BytesIO(file(".timeindex") + tail), BASE)) == [
        TimeIndexEntry(1795361072913, 49),
        TimeIndexEntry(1795361073765, 59),
        TimeIndexEntry(1795361073792, 65),
        TimeIndexEntry(1795361074619, 76),
        TimeIndexEntry(1795361075436, 87),
    ]


def test_aborted_transactions_are_those_of_kafkas_tool() -> None:
    found = [
        (one.producer_id, one.first_offset, one.last_offset, one.last_stable_offset)
        for one in aborted_transactions(io.BytesIO(file(".txnindex")))
    ]
    assert found == [(0, 45, 54, 55), (0, 82, 87, 88)]


def test_producers_are_those_of_kafkas_tool() -> None:
    first, second = producer_snapshot(file(".snapshot")).producer_entries
    assert (first.producer_id, first.last_sequence, first.last_offset, first.offset_delta) == (0, 19, 42, 4)
    assert (first.coordinator_epoch, first.current_txn_first_offset, first.timestamp) == (0, -1, 1795361072100)
    assert (second.producer_id, second.last_sequence, second.last_offset, second.coordinator_epoch) == (1, 19, 37, -1)


def test_checkpoints_are_read() -> None:
    assert leader_epochs((FOLDER / "leader-epoch-checkpoint").read_text()) == [LeaderEpoch(0, 0)]
    offsets = partition_offsets((FOLDER.parent / "replication-offset-checkpoint").read_text())
    assert PartitionOffset("payments", 0, 133) in offsets
    assert len(offsets) == 5


@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex"])
def test_an_index_that_ends_within_an_entry_says_where(suffix: str) -> None:
    data = file(suffix)
    readers: dict[str, Callable[[], Iterator[object]]] = {
        ".index": lambda: offset_index(io.BytesIO(data[:-1]), BASE),
        ".timeindex": lambda: time_index(io.BytesIO(data[:-1]), BASE),
        ".txnindex": lambda: aborted_transactions(io.BytesIO(data[:-1])),
    }
    size = {".index": 8, ".timeindex": 12, ".txnindex": 34}[suffix]
    with pytest.raises(DecodeError, match=f"need {size} bytes, but only {size - 1} are left") as error:
        list(readers[suffix]())
    assert error.value.path == f"entries[{len(data) // size - 1}]"
    assert (error.value.offset, error.value.version) == (len(data) - size, 0)


def test_entries_that_go_back_are_refused() -> None:
    twice = file(".index")[:16] + file(".index")[:8]
    with pytest.raises(
        DecodeError, match=r"entries\[2\].*offset 53 at position 735 is not after offset 64 at position 1457"
    ):
        list(offset_index(io.BytesIO(twice), BASE))
    with pytest.raises(DecodeError, match=r"entries\[5\].*1795361072913 at offset 49 is not after 1795361075436"):
        list(time_index(io.BytesIO(file(".timeindex") * 2), BASE))


@pytest.mark.parametrize("at", range(0, 102, 7))
def test_a_damaged_producer_snapshot_is_refused(at: int) -> None:
    data = bytearray(file(".snapshot"))
    data[at] ^= 0x40
    with pytest.raises(DecodeError, match="ProducerSnapshot v"):
        producer_snapshot(bytes(data))


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\1", b"\0\2" + bytes(40)])
def test_what_is_not_a_producer_snapshot_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError, match=r"v0: version at byte 0: (need 6 bytes|is 2; only 1 is known)"):
        producer_snapshot(data)


def test_a_transaction_index_of_another_version_is_refused() -> None:
    with pytest.raises(DecodeError, match=r"index v0: entries\[0\].version at byte 0: is 7; only 0 is known"):
        list(aborted_transactions(io.BytesIO(b"\0\7" + bytes(32))))


def test_a_checkpoint_into_which_nothing_was_written_yet_is_empty() -> None:
    assert leader_epochs("") == []
    assert partition_offsets("") == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("\n", "line 1: expected a version, found ''"),
        ("x\n1\n", "line 1: expected a version, found 'x'"),
        ("1\n0\n", "line 1: the version is 1; only 0 is known"),
        ("0\n", "line 2: expected a number of lines, found the end"),
        ("0\n2\n0 0\n", "line 2: expected 2 lines after it, found 1"),
        ("0\n1\n0\n", "line 3: expected epoch and start offset, found '0'"),
        ("0\n1\n0 ²\n", "line 3: expected epoch and start offset, found '0 ²'"),
    ],
)
def test_what_is_not_a_checkpoint_is_refused_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        leader_epochs(text)


def test_a_large_index_is_read_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "large.index"
    with path.open("wb") as out:
        out.write(file(".index"))
        out.truncate(1 << 40)  # a sparse file that no memory could hold
    with path.open("rb") as opened:
        assert len(list(offset_index(opened, BASE))) == 5


@pytest.mark.parametrize(
    ("read", "line"),
    [
        (leader_epochs, "2147483648 0"),
        (leader_epochs, "0 9223372036854775808"),
        (leader_epochs, "0 -9223372036854775809"),
        (partition_offsets, "orders 4294967296 0"),
        (partition_offsets, "orders 0 99999999999999999999"),
    ],
)
def test_numbers_of_checkpoints_that_no_broker_can_have_are_refused(read: Callable[[str], Any], line: str) -> None:
    with pytest.raises(ValueError, match=f"line 3: expected .* offset, found '{line}'"):
        read(f"0\n1\n{line}\n")


@pytest.mark.parametrize(("read", "entry"), [(offset_index, ">ii"), (time_index, ">qi")])
def test_an_offset_of_an_index_has_at_most_64_bits(read: Callable[..., Any], entry: str) -> None:
    with pytest.raises(DecodeError, match=r"entries\[0\].*: offset 9223372036854775807 \+ 1 has more than 64 bits"):
        list(read(io.BytesIO(struct.pack(entry, 1, 1)), 2**63 - 1))


def log_of(random: Random) -> bytes:
    """Write the batches of a segment, with gaps between offsets and times that go back."""
    data, offset = b"", 0
    for _ in range(random.randrange(1, 12)):
        offset += random.randrange(3)
        count = random.randrange(1, 4)
        times = [random.choice((-1, 5, 1000 + random.randrange(50))) for _ in range(count)]
        data += write_batch(
            [
                Record(offset=offset + at, timestamp=time, value=b"v" * random.randrange(9))
                for at, time in enumerate(times)
            ]
        )
        offset += count
    return data


@pytest.mark.parametrize("seed", range(40))
def test_an_index_fits_its_segment_as_brokers_write_it_and_no_changed_one_does(seed: int) -> None:
    random = Random(seed)
    batches = list(read_batches(log_of(random)))
    ends = {batch.last_offset for batch in batches}
    starts = {batch.position: batch for batch in batches}
    offsets, times, highest, at = [], [], -1, 0
    while at < len(batches):  # written together, as by a follower
        part = batches[at : at + random.randrange(1, 4)]
        at += len(part)
        offsets.append(OffsetIndexEntry(part[-1].last_offset, part[0].position))
        for batch in part:
            if batch.max_timestamp > highest:
                highest = batch.max_timestamp
                times.append(TimeIndexEntry(highest, batch.last_offset))
    assert all(one.is_of_old_brokers for one in offset_misfits(offsets, batches))
    assert not time_misfits(times, batches)

    number = random.randrange(len(offsets))
    offset, position = offsets[number]
    changed = OffsetIndexEntry(offset + random.randrange(-3, 4), position + random.choice((0, 0, -1, 1, 10**6)))
    there = starts.get(changed.position)
    fits = there is not None and there.base_offset <= changed.offset and changed.offset in ends
    wrong_offsets = [*offsets[:number], changed, *offsets[number + 1 :]]
    found = [one.number for one in offset_misfits(wrong_offsets, batches) if not one.is_of_old_brokers]
    assert found == ([] if fits else [number])
    for number, (time, offset) in enumerate(times):
        wrong = [*times[:number], TimeIndexEntry(time + 1, offset), *times[number + 1 :]]
        assert [one.number for one in time_misfits(wrong, batches)] == [number]


def test_an_entry_is_compared_with_the_one_before_it_where_there_is_no_segment() -> None:
    entries = [OffsetIndexEntry(2, 90), OffsetIndexEntry(7, 700), OffsetIndexEntry(5, 800), OffsetIndexEntry(8, 900)]
    (found,) = disordered(entries)
    assert found.number == 2
    assert found.reason == "offset 5 at position 800 is not after offset 7 at position 700"


def test_a_time_index_that_goes_beyond_its_segment_does_not_fit() -> None:
    batches = list(read_batches(log_of(Random(0))))
    end, highest = batches[-1].last_offset, max(batch.max_timestamp for batch in batches)
    assert not time_misfits([TimeIndexEntry(highest, end)], batches)
    (found,) = time_misfits([TimeIndexEntry(highest, end + 1)], batches)
    assert found.reason == f"offset {end + 1} is in no batch of the segment"


def test_a_time_is_of_the_batch_at_its_offset() -> None:
    data = write_batch([Record(offset=5, timestamp=900)]) + write_batch([Record(offset=6, timestamp=800)])
    batches = list(read_batches(data))
    assert not time_misfits([TimeIndexEntry(900, 5)], batches)
    (found,) = time_misfits([TimeIndexEntry(900, 6)], batches)
    assert found.reason == "900 is of a batch before offset 6"
    batches = list(read_batches(write_batch([Record(offset=5, timestamp=900), Record(offset=6)])))
    assert time_misfits([TimeIndexEntry(900, 5)], batches) == [
        (0, "offset 5 is within the batch of offsets 5 to 6", True)
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"producer_id": 7}, "offset 54 is no ABORT marker of producer 7"),
        ({"last_offset": 53, "last_stable_offset": 54}, "offset 53 is no ABORT marker of producer 0"),
        ({"last_offset": 10_000}, "offset 10000 is no ABORT marker of producer 0"),
        ({"first_offset": 55}, "first offset 55 is after last offset 54"),
        ({"last_stable_offset": 56}, "last stable offset 56 is after last offset 54"),
    ],
)
def test_an_aborted_transaction_ends_at_its_marker(change: dict[str, int], reason: str) -> None:
    entries = list(aborted_transactions(io.BytesIO(file(".txnindex"))))
    segment = FOLDER / f"{BASE:020}.log"
    assert not aborted_misfits(entries, read_segment(segment))
    for name, value in change.items():
        setattr(entries[0], name, value)
    assert aborted_misfits(entries, read_segment(segment)) == [(0, reason, False)]
