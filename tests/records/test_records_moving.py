"""A batch at another offset of the log, or with the time of its append, is the same batch in everything else."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from kipwire import DecodeError, EncodeError
from kipwire.drafts.kip_82 import ProducerRecord, write_records
from kipwire.drafts.kip_98 import read_set, write_set
from kipwire.records import Record, read_batches, with_append_time, with_offsets, write_batch, write_message_set
from tests.support.golden_data import lines
from tests.support.java_append_times import batches, printed

RECORDS = [Record(offset=5, timestamp=10, key=b"k", value=b"v"), Record(offset=7, timestamp=12, value=b"w")]
BATCH = write_batch(RECORDS, producer_id=3, producer_epoch=1, base_sequence=0)


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
@pytest.mark.parametrize(("offset", "epoch"), [(0, 0), (1000, 7), (2**63 - 3, -1), (5, 2**31 - 1)])
def test_a_moved_batch_is_what_would_have_been_written_there(compression: Any, offset: int, epoch: int) -> None:
    moved = with_offsets(write_batch(RECORDS, compression=compression), offset, epoch)
    there = [
        Record(offset=one.offset - 5 + offset, timestamp=one.timestamp, key=one.key, value=one.value) for one in RECORDS
    ]
    assert moved == write_batch(there, compression=compression, partition_leader_epoch=epoch)
    (batch,) = read_batches(moved)
    assert (batch.base_offset, batch.partition_leader_epoch, batch.records) == (offset, epoch, there)


def test_the_epoch_stays_where_none_is_given() -> None:
    moved = with_offsets(write_batch(RECORDS, partition_leader_epoch=9), 1)
    assert next(iter(read_batches(moved))).partition_leader_epoch == 9
    assert with_offsets(memoryview(BATCH), 5) == BATCH  # type: ignore[arg-type]


@pytest.mark.parametrize("batch", [None, 5, "batch"])
def test_what_is_no_buffer_is_refused(batch: Any) -> None:
    with pytest.raises(TypeError, match="a message must be bytes or another buffer, not "):
        with_offsets(batch, 0)


@pytest.mark.parametrize(
    ("batch", "path", "offset", "said"),
    [
        (b"", "", 0, "0 bytes are not a batch"),
        (BATCH[:16], "", 16, "16 bytes are not a batch"),
        (BATCH[:-1], "batch_length", 8, "a batch has 49 or more"),
        (BATCH[:8] + b"\0\0\0\x30" + BATCH[12:60], "batch_length", 8, "is 48; a batch has 49 or more"),
        (BATCH[:8] + b"\xff\xff\xff\xff" + BATCH[12:], "batch_length", 8, "is -1"),
        (BATCH + BATCH, "", len(BATCH), "trailing bytes after the batch"),
        (write_message_set(RECORDS, magic=1), "magic", 16, "the magic is 1"),
    ],
)
def test_what_is_not_one_batch_is_refused(batch: bytes, path: str, offset: int, said: str) -> None:
    with pytest.raises(DecodeError, match=said) as caught:
        with_offsets(batch, 0)
    assert (caught.value.path, caught.value.offset) == (path, offset)


@pytest.mark.parametrize("offset", [2**63, -(2**63) - 1, 1.5, None])
def test_an_offset_that_does_not_fit_is_refused(offset: Any) -> None:
    with pytest.raises(EncodeError, match="base_offset"):
        with_offsets(BATCH, offset)
    if offset is not None:
        with pytest.raises(EncodeError, match="partition_leader_epoch"):
            with_offsets(BATCH, 0, offset)


# Formats that were only proposed have their checksum where a batch has the leader epoch.

SET = write_set(RECORDS, producer_id=3)
SETS = {
    "a set": SET,
    "a compressed set": write_set([Record(offset=0, timestamp=1, value=bytes(100))], compression="gzip"),
    "append time": write_set(RECORDS, timestamp_type="LogAppendTime", is_transactional=True),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("epoch", [None, 0, 7])
def test_a_set_of_the_kip_98_draft_is_not_taken_for_a_batch(name: str, epoch: int | None) -> None:
    with pytest.raises(DecodeError, match="is moved by magic_2='kip-98 draft'") as caught:
        with_offsets(SETS[name], 1000, epoch)
    assert (caught.value.path, caught.value.offset) == ("partition_leader_epoch", 12)


@pytest.mark.parametrize("epoch", [None, 7])
def test_a_message_of_kip_82_is_not_taken_for_a_batch(epoch: int | None) -> None:
    message = write_records([ProducerRecord(offset=0, timestamp=1, value=bytes(100))])
    with pytest.raises(DecodeError, match="a message of KIP-82"):
        with_offsets(message, 1000, epoch)


@pytest.mark.parametrize("name", SETS)
def test_a_set_of_the_kip_98_draft_is_moved_where_that_is_asked_for(name: str) -> None:
    moved = with_offsets(SETS[name], 1000, magic_2="kip-98 draft")
    before, after = read_set(SETS[name]), read_set(moved)
    assert after.head.base_offset == 1000
    assert [one.offset - 1000 for one in after.messages] == [
        one.offset - before.head.base_offset for one in before.messages
    ]
    assert moved[8:] == SETS[name][8:]
    with pytest.raises(EncodeError, match="has no leader epoch, but its checksum in that place"):
        with_offsets(SETS[name], 1000, 7, magic_2="kip-98 draft")


def test_only_formats_that_can_be_moved_are_named() -> None:
    with pytest.raises(ValueError, match="'kip-82' is not a format whose batches are moved"):
        with_offsets(SET, 0, magic_2="kip-82")  # type: ignore[arg-type]
    with pytest.raises(DecodeError, match="a batch has 33 or more"):
        with_offsets(SET[:8] + b"\0\0\0\x20" + SET[12:44], 0, magic_2="kip-98 draft")


def test_batches_of_every_checksum_are_moved() -> None:
    """Some begin with the same byte as the attributes of a set, and their epoch may be any number."""
    for value in range(300):
        batch = write_batch([Record(offset=0, value=value.to_bytes(2, "big"))], partition_leader_epoch=value)
        assert with_offsets(batch, 0, value) == batch


# The time of the append, which a broker sets in place.

TIMES = lines("append-times")


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_a_batch_gets_the_time_that_it_would_have_been_written_with(compression: Any) -> None:
    before = write_batch(RECORDS, compression=compression, producer_id=3, producer_epoch=1, base_sequence=0)
    after = with_append_time(before, 99)
    assert after == write_batch(
        RECORDS,
        compression=compression,
        timestamp_type="LogAppendTime",
        max_timestamp=99,
        producer_id=3,
        producer_epoch=1,
        base_sequence=0,
    )
    (batch,) = read_batches(after)
    assert [record.timestamp for record in batch.records] == [99, 99]
    assert with_append_time(memoryview(after), 100) == with_append_time(before, 100)  # type: ignore[arg-type]


def test_batches_get_the_time_as_java_gives_it() -> None:
    given = batches()
    assert len(TIMES) == 3 * len(given) == 288
    for line in TIMES:
        before = given[line["line"]]
        assert with_append_time(before, line["timestamp"]) == bytes.fromhex(line["head"]) + before[61:]


@pytest.mark.maven
def test_the_golden_times_are_what_the_program_prints(tmp_path: Path) -> None:
    assert printed(tmp_path) == TIMES


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4"])
def test_a_set_of_the_kip_98_draft_gets_its_time_in_place(compression: Any) -> None:
    before = write_set(RECORDS, compression=compression, producer_id=3, is_transactional=True)
    after = with_append_time(before, 99, magic_2="kip-98 draft")
    assert after == write_set(
        RECORDS,
        compression=compression,
        producer_id=3,
        is_transactional=True,
        timestamp_type="LogAppendTime",
        max_timestamp=99,
    )
    assert [message.timestamp for message in read_set(after).messages] == [99, 99]
    assert read_set(after).crcs == read_set(before).crcs


def test_compressed_records_stay_as_their_codec_wrote_them() -> None:
    """Another level of gzip gives other bytes than ours, and they are kept."""
    whole = write_set(RECORDS, compression="gzip")
    section = gzip.compress(gzip.decompress(whole[45:]), compresslevel=0, mtime=0)
    assert section != whole[45:]
    body = whole[16:45] + section
    before = whole[:8] + (4 + len(body)).to_bytes(4, "big") + crc32(body).to_bytes(4, "big") + body
    after = with_append_time(before, 99, magic_2="kip-98 draft")
    assert after[45:] == section
    assert read_set(after).head.max_timestamp == 99


@pytest.mark.parametrize(
    ("batch", "path", "said"),
    [
        (b"", "", "0 bytes are not a batch"),
        (BATCH[:-1], "batch_length", "a batch has 49 or more"),
        (BATCH + BATCH, "", "trailing bytes after the batch"),
        (write_message_set(RECORDS, magic=1), "magic", "the magic is 1; only batches of magic 2 are given a time"),
        (BATCH[:-1] + b"x", "crc", "a new one would hide the damage"),
        (SET, "partition_leader_epoch", "is given a time by magic_2='kip-98 draft'"),
    ],
)
def test_what_is_not_one_right_batch_gets_no_time(batch: bytes, path: str, said: str) -> None:
    with pytest.raises(DecodeError, match=said) as caught:
        with_append_time(batch, 0)
    assert caught.value.path == path


def test_a_time_of_the_append_needs_a_format_with_room_for_it() -> None:
    with pytest.raises(ValueError, match="'kip-82' is not a format whose batches are given a time"):
        with_append_time(SET, 0, magic_2="kip-82")  # type: ignore[arg-type]
    with pytest.raises(DecodeError, match="a new one would hide the damage"):
        with_append_time(BATCH, 0, magic_2="kip-98 draft")
    for wrong in (2**63, -(2**63) - 1, 1.5, None):
        with pytest.raises(EncodeError, match=r"timestamp: .* is not a whole number"):
            with_append_time(BATCH, wrong)  # type: ignore[arg-type]
    with pytest.raises(EncodeError, match="-2 is before 1970; give 0 or more, or -1 for none"):
        with_append_time(BATCH, -2)
