"""Segments of formats that were only proposed: read whole, damaged, through a pipe and within bounds.

Right bytes are never called damaged, whatever format they are read as.
"""

from __future__ import annotations

import io
import sys
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kipwire import DecodeError
from kipwire.drafts import kip_82, kip_98
from kipwire.logs.accounting import Damage, Tail, batch_heads
from kipwire.logs.offsets import Misplaced, OffsetOrder, Offsets
from kipwire.logs.segments import read_part
from kipwire.logs.stream import StreamBuffer, read_stream
from kipwire.records import Bounds, Record, RecordBatch, read_batches, read_segment, write_batch, write_message_set

FORMATS: tuple[Any, ...] = ("kip-82", "kip-98 draft")
CODECS: tuple[Any, ...] = ("none", "gzip", "lz4")


def written(magic_2: str, records: list[Record], codec: Any = "none", **options: Any) -> bytes:
    """Return the records in a format: one batch or set, or one message for each if they are not compressed."""
    if magic_2 == "kafka":
        return write_batch(records, compression=codec, **options)
    if magic_2 == "kip-98 draft":
        return kip_98.write_set(records, compression=codec, **options)
    return kip_82.write_records(
        [
            kip_82.ProducerRecord(
                offset=one.offset, timestamp=one.timestamp, key=one.key, value=one.value, headers={1: b"h"}
            )
            for one in records
        ],
        compression=codec,
        **options,
    )


def log_of(magic_2: str, seed: int = 0) -> bytes:
    """Return a log with messages of old before batches of a format, some compressed, some with the broker's time."""
    chance = Random(seed)
    offset, parts = 0, [write_message_set([Record(offset=0, timestamp=5, value=b"old")], magic=1)]
    for codec in CODECS * 2:
        records = []
        for _ in range(3):
            offset += chance.randrange(1, 3)
            records.append(Record(offset=offset, timestamp=chance.randrange(1, 60), value=chance.randbytes(9)))
        parts.append(written(magic_2, records, codec, timestamp_type=chance.choice(["CreateTime", "LogAppendTime"])))
    return b"".join(parts)


def placed(item: Any) -> Any:
    """Return the batch of a misplaced one: a changed offset is not covered by a checksum."""
    return item.batch if isinstance(item, Misplaced) else item


def parts_of(items: list[Any]) -> list[object]:
    """Return what can be compared of batches, damage and tails."""
    return [
        (
            (one.position, one.size, one.crc, one.records)
            if isinstance(one, RecordBatch)
            else (
                one
                if isinstance(one, Tail)
                else (one.position, one.end, one.is_batch, one.error.offset, one.error.reason)
            )
        )
        for one in map(placed, items)
    ]


def through_a_pipe(data: bytes, magic_2: Any, **options: Any) -> list[Any]:
    return list(read_stream(StreamBuffer(io.BytesIO(data).read), "x", magic_2=magic_2, **options))


@pytest.mark.parametrize("magic_2", FORMATS)
def test_a_segment_has_the_batches_of_its_bytes(magic_2: Any, tmp_path: Path) -> None:
    data = log_of(magic_2)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data + bytes(100))
    expected = parts_of(list(read_batches(data, magic_2=magic_2)))
    found = read_segment(path, magic_2=magic_2)
    assert parts_of(list(found)) == expected
    assert found.tail == Tail(len(data), 100, True)
    assert parts_of(through_a_pipe(data, magic_2)) == [*expected, Tail(len(data), 0, False)]
    heads = list(batch_heads(io.BytesIO(data), 0, len(data), magic_2))
    batches = list(read_batches(data, magic_2=magic_2))
    assert [(head.position, head.size, head.last_offset) for head in heads] == [
        (batch.position, batch.size, batch.last_offset) for batch in batches
    ]
    with pytest.raises(ValueError, match="'kip-83' is not a format with magic 2; give one of kafka, kip-82, kip-98"):
        list(read_segment(path, magic_2="kip-83"))  # type: ignore[arg-type]


@pytest.mark.parametrize("magic_2", FORMATS)
def test_batches_damage_and_a_tail_fill_a_damaged_log(magic_2: Any) -> None:
    whole = log_of(magic_2)
    starts = {batch.position for batch in read_batches(whole, magic_2=magic_2)}
    chance = Random(7)
    for _ in range(60):
        at = chance.randrange(len(whole))
        data = bytearray(whole)
        data[at] ^= 1 << chance.randrange(8)
        if chance.random() < 0.3:
            del data[chance.randrange(at, len(whole)) :]
        found = [placed(one) for one in read_part(io.BytesIO(bytes(data)), "x", grows=True, magic_2=magic_2)]
        ends = [one.position + one.size if not isinstance(one, Damage) else one.end for one in found]
        assert [one.position for one in found] == [0, *ends][: len(found)]
        assert ends[-1] == len(data)
        read = {one.position for one in found if isinstance(one, RecordBatch)}
        untouched = {start for start, end in pairwise([*sorted(starts), len(whole)]) if end <= at}
        after = {start for start, end in pairwise([*sorted(starts), len(whole)]) if start > at and end <= len(data)}
        assert read >= untouched | after, "a whole batch was lost"
        assert parts_of(through_a_pipe(bytes(data), magic_2)) == parts_of(found)


@pytest.mark.parametrize("magic_2", FORMATS)
def test_no_batch_with_wanted_records_is_passed_over(magic_2: Any) -> None:
    data = log_of(magic_2, 3)
    records = [record for batch in read_batches(data, magic_2=magic_2) for record in batch.records]
    chance = Random(5)
    passed = 0
    for _ in range(80):
        numbers = sorted(chance.randrange(-1, 30) for _ in range(2))
        times = sorted(chance.randrange(0, 70) for _ in range(2))
        bounds = Bounds(*numbers) if chance.random() < 0.5 else Bounds(None, None, *times)
        batches = list(read_part(io.BytesIO(data), "x", grows=False, bounds=bounds, magic_2=magic_2))
        found = [one for batch in batches if isinstance(batch, RecordBatch) for one in batch.records if bounds.has(one)]
        assert found == [one for one in records if bounds.has(one)]
        assert parts_of(through_a_pipe(data, magic_2, bounds=bounds, grows=False)) == parts_of(batches)
        passed += len(batches) < 10
    assert passed > 20


def test_a_set_without_messages_has_the_offsets_of_its_head() -> None:
    empty = kip_98.write_set([], base_offset=4, offset_delta=3)
    data = empty + kip_98.write_set([Record(offset=7)])
    order = OffsetOrder(Offsets(4), "x")
    for batch in read_batches(data, magic_2="kip-98 draft"):
        assert order.placed(batch, 0) is batch
    found = list(read_part(io.BytesIO(data), "x", grows=False, bounds=Bounds(6, 7), magic_2="kip-98 draft"))
    assert [placed(one).position for one in found] == [0]


def test_compressed_messages_are_put_in_their_place_without_being_decompressed() -> None:
    whole = written("kip-82", [Record(offset=4), Record(offset=9, value=b"v")], "gzip")
    (batch,) = read_batches(whole[:-3] + b"xyz", magic_2="kip-82", check_crcs=False)
    assert OffsetOrder(Offsets(3, 12, 3), "x").placed(batch, 0) is batch
    with pytest.raises(DecodeError):
        batch.base_offset  # noqa: B018


# Right bytes of another format.


@settings(deadline=None, max_examples=60)
@given(
    is_in=st.sampled_from(["kafka", *FORMATS]),
    asked=st.sampled_from(["kafka", *FORMATS]),
    values=st.lists(st.none() | st.binary(max_size=40), min_size=1, max_size=3),
    codec=st.sampled_from(CODECS),
    time=st.sampled_from([-1, 0, 1_700_000_000_000]),
)
def test_right_bytes_of_another_format_are_named_and_not_called_damaged(
    is_in: Any, asked: Any, values: Any, codec: Any, time: int
) -> None:
    records = [Record(offset=3 + at, timestamp=time, value=value) for at, value in enumerate(values)]
    data = written(is_in, records, codec)
    found = list(read_part(io.BytesIO(data), "x.log", grows=False, magic_2=asked))
    if is_in == asked:
        assert all(isinstance(one, RecordBatch) for one in found)
        return
    for one in found:
        assert isinstance(one, Damage)
        assert f"and their checksum is right; give magic_2={is_in!r}" in one.error.reason
        assert "but the bytes after it have" not in one.error.reason
    with pytest.raises(DecodeError, match=rf"batches\[0\]\.magic .*give magic_2='{is_in}'"):
        list(read_batches(data, magic_2=asked))


@pytest.mark.parametrize("asked", ["kafka", *FORMATS])
def test_wrong_bytes_are_of_no_format(asked: Any) -> None:
    for is_in in ("kafka", *FORMATS):
        data = written(is_in, [Record(offset=3, timestamp=9, value=bytes(60))])
        for at in (*range(17, len(data), 7), len(data) - 1):
            wrong = data[:at] + bytes((data[at] ^ 4,)) + data[at + 1 :]
            with pytest.raises(DecodeError) as caught:
                list(read_batches(wrong, magic_2=asked))
            assert "checksum is right" not in caught.value.reason


def test_a_set_whose_codec_is_not_installed_is_named_too(monkeypatch: pytest.MonkeyPatch) -> None:
    data = written("kip-98 draft", [Record(offset=3, value=bytes(60))], "lz4")
    monkeypatch.setitem(sys.modules, "cramjam", None)
    with pytest.raises(DecodeError, match="these bytes are a set of the KIP-98 draft"):
        list(read_batches(data))
