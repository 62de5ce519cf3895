"""Log segments: torn, damaged and pre-allocated files, and positions to go on from."""

from __future__ import annotations

import pickle
import tracemalloc
from contextlib import nullcontext
from io import BytesIO
from pathlib import Path

import pytest

from kipwire import DecodeError
from kipwire.codec.checksums import crc32c
from kipwire.logs import accounting
from kipwire.logs.accounting import Damage, Tail
from kipwire.logs.offsets import Offsets
from kipwire.logs.segments import read_part
from kipwire.records import (
    Record,
    RecordBatch,
    read_batches,
    read_segment,
    with_offsets,
    write_batch,
    write_message_set,
)
from kipwire.records.heads import FORMATS

BATCHES = [write_batch([Record(offset=i, timestamp=i, value=b"v" * 100 * i)]) for i in range(5)]
WHOLE = b"".join(BATCHES)
STARTS = [sum(map(len, BATCHES[:i])) for i in range(6)]


def offsets(path: Path, **options: int) -> list[int]:
    return [batch.base_offset for batch in read_segment(path, **options)]  # type: ignore[arg-type]


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(WHOLE)
    return path


def test_batches_have_the_positions_that_they_have_in_the_file(segment: Path) -> None:
    assert [(batch.position, batch.size) for batch in read_segment(str(segment))] == [
        (start, len(batch)) for start, batch in zip(STARTS, BATCHES, strict=False)
    ]


def test_reading_goes_on_where_it_ended(segment: Path) -> None:
    torn = STARTS[3] + 40
    segment.write_bytes(WHOLE[:torn])
    first = list(read_segment(segment))
    assert [batch.base_offset for batch in first] == [0, 1, 2]
    segment.write_bytes(WHOLE)
    rest = list(read_segment(segment, start=first[-1].position + first[-1].size))
    assert [(batch.base_offset, batch.position) for batch in rest] == [(3, STARTS[3]), (4, STARTS[4])]


def test_torn_last_batch_ends_reading(segment: Path) -> None:
    for size in range(0, len(WHOLE), 7):
        segment.write_bytes(WHOLE[:size])
        assert offsets(segment) == [i for i in range(5) if STARTS[i + 1] <= size]


@pytest.mark.parametrize("zeros", [1, 12, 17, 100, 3_000_000])
def test_zeros_of_a_preallocated_segment_end_reading(segment: Path, zeros: int) -> None:
    segment.write_bytes(WHOLE + bytes(zeros))
    assert offsets(segment) == [0, 1, 2, 3, 4]


def test_zeros_before_other_bytes_are_an_error(segment: Path) -> None:
    segment.write_bytes(WHOLE + bytes(3_000_000) + b"\1")
    with pytest.raises(DecodeError) as caught:
        offsets(segment)
    assert caught.value.path == "batches[5].batch_length"
    assert caught.value.offset == len(WHOLE) + 8


def test_error_names_the_file_and_the_place_in_it(segment: Path) -> None:
    damaged = bytearray(WHOLE)
    damaged[STARTS[3] + 70] ^= 1
    segment.write_bytes(damaged)
    found: list[RecordBatch] = []
    with pytest.raises(DecodeError) as caught:
        found.extend(read_segment(segment, start=STARTS[2]))
    assert (caught.value.path, caught.value.offset) == ("batches[1].crc", STARTS[3] + 17)
    assert caught.value.reason.endswith(f"(in {segment})")
    assert offsets(segment, check_crcs=False) == [0, 1, 2, 3, 4]


def test_error_inside_of_the_records_names_the_file_too(segment: Path) -> None:
    segment.write_bytes(WHOLE + write_batch([Record(offset=9, value=bytes(10_000))], compression="zstd"))
    *_, last = read_segment(segment, max_decompressed_size=1000)
    with pytest.raises(DecodeError) as caught:
        assert last.records
    assert (caught.value.path, caught.value.offset) == ("batches[5].records", len(WHOLE) + 61)
    assert str(segment) in caught.value.reason


@pytest.mark.parametrize("torn", [0, 1])
def test_size_beyond_the_file_takes_no_memory(segment: Path, torn: int) -> None:
    lie = bytearray(BATCHES[1])
    lie[8:12] = (2**31 - 1).to_bytes(4, "big")
    segment.write_bytes(WHOLE + lie[: len(lie) - torn])
    found: list[int] = []
    tracemalloc.start()
    try:
        with nullcontext() if torn else pytest.raises(DecodeError, match="but its checksum is right for the bytes bef"):
            found.extend(offset.base_offset for offset in read_segment(segment))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert found == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("mode", ["live", "followed"])
def test_the_bytes_that_are_left_can_be_asked_for(segment: Path, mode: str) -> None:
    end = STARTS[4] + 100
    for data, is_zeros in ((WHOLE[:end], False), (WHOLE[: STARTS[4]] + bytes(100), True)):
        segment.write_bytes(data)
        batches = read_segment(segment, grows=mode == "live")
        if mode == "live":
            assert [batch.base_offset for batch in batches] == [0, 1, 2, 3]
            assert batches.tail == (STARTS[4], 100, is_zeros)
        else:
            with pytest.raises(DecodeError, match="zero bytes up to byte" if is_zeros else "where it has to end"):
                list(batches)
    segment.write_bytes(WHOLE)
    batches = read_segment(segment)
    assert len(list(batches)) == 5
    assert batches.tail == (len(WHOLE), 0, False)


def test_only_the_last_segment_of_a_log_may_end_within_a_batch(segment: Path) -> None:
    segment.write_bytes(WHOLE[:-1])
    assert offsets(segment) == [0, 1, 2, 3]
    following = segment.with_name(f"{5:020}.log")
    following.write_bytes(BATCHES[4][:-1])
    with pytest.raises(DecodeError, match=f"goes beyond byte {len(WHOLE) - 1}, where it has to end"):
        offsets(segment)
    assert offsets(following) == []
    snapshot = segment.with_name(f"{5:020}-{1:010}.checkpoint")
    snapshot.write_bytes(WHOLE[:-1])
    with pytest.raises(DecodeError, match=f"goes beyond byte {len(WHOLE) - 1}"):
        offsets(snapshot)


def test_a_length_beyond_the_end_hides_no_batch_after_it(segment: Path) -> None:
    for broken in range(5):
        for length in (2**31 - 1, len(WHOLE), STARTS[5] - STARTS[broken]):
            data = bytearray(WHOLE)
            data[STARTS[broken] + 8 : STARTS[broken] + 12] = length.to_bytes(4, "big")
            segment.write_bytes(data)
            found: list[int] = []
            with pytest.raises(DecodeError) as caught:
                found.extend(batch.base_offset for batch in read_segment(segment))
            assert (found, caught.value.offset) == ([*range(broken)], STARTS[broken] + 8)
            with segment.open("rb") as file:
                items = list(read_part(file, "a.log", grows=True))
            after = [RecordBatch] * (4 - broken)
            assert [type(item) for item in items] == [*[RecordBatch] * broken, Damage, *after, Tail]


def test_a_batch_within_a_value_is_no_batch_of_the_log(segment: Path) -> None:
    nested = write_batch([Record(offset=70, timestamp=1, value=BATCHES[2])])
    damaged = bytearray(nested)
    damaged[8:12] = (10**6).to_bytes(4, "big")
    segment.write_bytes(WHOLE + damaged + with_offsets(BATCHES[1], 71))
    with segment.open("rb") as file:
        *_, damage, last, _ = read_part(file, "a.log", grows=True)
    assert isinstance(damage, Damage)
    assert (damage.position, damage.end) == (len(WHOLE), len(WHOLE) + len(nested))
    assert isinstance(last, RecordBatch)


def test_hostile_heads_cost_a_small_multiple_of_their_bytes(segment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 1 << 20
    head = bytearray(BATCHES[1][:61])
    head[8:12] = (size // 2).to_bytes(4, "big")
    segment.write_bytes(bytes(head[:16]) + b"\xff" + bytes(head) * (size // 61))
    computed = 0

    def counted(data: bytes, _: int) -> int:
        nonlocal computed
        computed += len(data)
        return 1

    monkeypatch.setattr(accounting, "formats_of", lambda _: (*FORMATS[:2], FORMATS[2]._replace(checksum=counted)))
    with segment.open("rb") as file:
        assert len(list(read_part(file, "a.log", grows=True))) >= 1
    assert computed < 32 * size


def test_hostile_heads_between_whole_batches_cost_no_more(segment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = bytearray(BATCHES[1][:61])
    head[8:12] = (1 << 12).to_bytes(4, "big")
    part = BATCHES[1][:16] + b"\xff" + bytes(head) * 200 + BATCHES[2] + BATCHES[3]
    segment.write_bytes(part * 80 + bytes(1 << 20))
    computed = 0

    def counted(data: bytes, value: int) -> int:
        nonlocal computed
        computed += len(data)
        return crc32c(data, value)

    monkeypatch.setattr(accounting, "formats_of", lambda _: (*FORMATS[:2], FORMATS[2]._replace(checksum=counted)))
    with segment.open("rb") as file:
        items = list(read_part(file, "a.log", grows=True))
    assert sum(isinstance(item, Damage) for item in items) > 1
    assert computed < 32 * segment.stat().st_size


def test_one_batch_is_in_memory_at_a_time(segment: Path) -> None:
    with segment.open("wb") as file:
        for i in range(64):
            file.write(write_batch([Record(offset=i, value=bytes(1 << 18))]))
    tracemalloc.start()
    try:
        assert sum(batch.size for batch in read_segment(segment)) == segment.stat().st_size
        assert tracemalloc.get_traced_memory()[1] < 8 << 18
    finally:
        tracemalloc.stop()


def test_message_formats_may_be_mixed_in_a_segment(segment: Path) -> None:
    sets = [
        write_message_set([Record(offset=0, value=b"old")], magic=0),
        write_message_set([Record(offset=1, value=b"older"), Record(offset=2)], magic=1, compression="gzip"),
    ]
    segment.write_bytes(b"".join(sets) + BATCHES[3])
    found = [(batch.magic, batch.base_offset, batch.last_offset) for batch in read_segment(segment)]
    assert found == [(0, 0, 0), (1, 1, 2), (2, 3, 3)]


@pytest.mark.parametrize("start", [-1, len(WHOLE) + 1])
def test_start_outside_the_file_is_refused(segment: Path, start: int) -> None:
    with pytest.raises(ValueError, match=rf"position {start} is outside .*\.log, which has {len(WHOLE)} bytes"):
        offsets(segment, start=start)


def test_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        offsets(tmp_path / "none.log")


def test_batches_may_be_pickled_before_their_records_are_read(segment: Path) -> None:
    copies = [pickle.loads(pickle.dumps(batch)) for batch in read_segment(segment)]
    assert [copy.records for copy in copies] == [batch.records for batch in read_batches(WHOLE)]


def test_segment_that_becomes_shorter_ends_reading(segment: Path) -> None:
    segment.write_bytes(
        WHOLE + b"".join(with_offsets(BATCHES[4], 5 + at) for at in range(1000))
    )  # more than is read in advance
    batches = read_segment(segment)
    assert next(batches).base_offset == 0
    segment.write_bytes(WHOLE[: STARTS[1] + 20])
    assert len(list(batches)) < 1004


def heads_in(data: bytes, start: int = 0) -> list[tuple[int, int]]:
    heads = accounting.batch_heads(BytesIO(data), start, len(data))
    return [(head.position, head.offset) for head in heads]


@pytest.mark.parametrize("damage", [b"\xff", b"\0", b"\x01" * 70, b"\xff" * 5000])
def test_heads_go_on_after_damage_of_any_length(damage: bytes) -> None:
    whole = [(start, number) for number, start in enumerate(STARTS[:5])]
    assert heads_in(WHOLE) == whole
    for number in range(5):
        at = STARTS[number]
        after = [(start + len(damage), offset) for start, offset in whole[number:]]
        assert heads_in(WHOLE[:at] + damage + WHOLE[at:]) == whole[:number] + after


def test_offsets_of_a_segment_end_where_the_next_one_begins() -> None:
    some = Offsets(first=5, end=10, base=3)
    assert not some.exclude(3, 5) and not some.exclude(9, 9)
    for first, last, fault in (
        (3, 4, "ends at offset 4; offsets there are from 5 to 9"),
        (9, 10, "ends at offset 10; offsets there are from 5 to 9"),
        (2, 5, "begins at offset 2; offsets there are from 3 to 9"),
        (7, 6, "begins at offset 7, but ends at offset 6"),
        (7, 2**63, "ends at offset 9223372036854775808, which exceeds 64 bits"),
    ):
        assert some.exclude(first, last) and some.fault(first, last) == fault
    assert not Offsets().exclude(0, 2**63 - 1)
