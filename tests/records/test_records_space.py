"""Bytes beyond keys and values: by the figures of KIP-98's table, and beside the bytes of every writer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import space as table
from kipwire.drafts.kip_98 import write_set
from kipwire.records import Record, read_batches, read_segment, up_convert, write_batch, write_message_set
from kipwire.records.control import end_marker_key
from kipwire.records.space import Space, space_of
from tests.support.places import DATA


@pytest.mark.parametrize("count", table.DRAFT_TABLE)
@pytest.mark.parametrize("magic", [1, 2])
def test_the_drafts_table_is_what_batches_of_its_messages_have(count: int, magic: Any) -> None:
    records = [
        Record(offset=at, timestamp=table.TIMESTAMP + at, key=table.KEY, value=table.VALUE) for at in range(count)
    ]
    data = write_batch(records) if magic == 2 else write_message_set(records, magic=1)
    found = space_of(read_batches(data))
    old, new = table.DRAFT_TABLE[count]
    assert (found.records, found.contents, found.headers) == (count, 1024 * count, 0)
    assert found.beyond == {
        "magic 0": 26 * count,
        "magic 1": old,
        "kip-98 draft": new,
        "kafka": table.released_overhead(count),
    }


def test_figures_by_hand() -> None:
    records = [
        Record(offset=5, timestamp=10, key=b"k", value=b"vw", headers=[("h", b"12"), ("", None)]),
        Record(offset=300, timestamp=9, value=bytes(200)),
        Record(offset=301, timestamp=10_000, key=b"k"),
    ]
    found = space_of(read_batches(write_batch(records, compression="gzip")))
    assert (found.records, found.contents) == (3, 1 + 2 + 200 + 1)
    assert found.headers == (1 + 1 + 1 + 2) + (1 + 1)
    # Length, attributes, timestamp, offset, key's length, value's length, count of headers.
    kafka = 61 + (1 + 1 + 1 + 1 + 1 + 1 + 1) + (2 + 1 + 1 + 2 + 1 + 2 + 1) + (1 + 1 + 3 + 2 + 1 + 1 + 1)
    # Length, attributes, timestamp, offset delta, key's length where both are there, checksum.
    draft = 45 + (1 + 1 + 8 + 1 + 1 + 4) + (2 + 1 + 8 + 2 + 4) + (1 + 1 + 8 + 2 + 4)
    assert found.beyond == {"magic 0": 78, "magic 1": 102, "kip-98 draft": draft, "kafka": kafka}
    assert (found + found).beyond["kafka"] == 2 * kafka
    assert found + Space() == found


BYTES = st.none() | st.binary(max_size=140)
PARTS = st.tuples(
    st.integers(1, 200),
    st.integers(-1, 2**45),
    BYTES,
    BYTES,
    st.lists(st.tuples(st.text(max_size=3), BYTES), max_size=2),
)


@settings(deadline=None, max_examples=50)
@given(
    parts=st.lists(PARTS, min_size=1, max_size=5), compression=st.sampled_from(["none", "gzip"]), append=st.booleans()
)
def test_the_bytes_are_those_that_each_writer_writes(parts: Any, compression: Any, append: bool) -> None:
    offset, records = 3, []
    for step, timestamp, key, value, headers in parts:
        offset += step
        records.append(Record(offset=offset, timestamp=timestamp, key=key, value=value, headers=headers))
    bare = [Record(offset=one.offset, timestamp=one.timestamp, key=one.key, value=one.value) for one in records]
    kind: Any = "LogAppendTime" if append else "CreateTime"
    found = space_of(read_batches(write_batch(records, compression=compression, timestamp_type=kind)))
    contents = found.contents
    assert contents == sum(len(one.key or b"") + len(one.value or b"") for one in records)
    assert found.beyond == {
        "magic 0": len(write_message_set(_without_times(bare), magic=0)) - contents,
        "magic 1": len(write_message_set(bare, magic=1)) - contents,
        "kip-98 draft": len(write_set(bare)) - contents,
        "kafka": len(write_batch(records)) - contents - found.headers,
    }
    old = write_message_set(bare, magic=1, compression=compression)
    from_old = space_of(read_batches(old))
    assert from_old.beyond["kafka"] == len(up_convert(write_message_set(bare, magic=1), 2).data) - contents
    assert from_old.beyond["kip-98 draft"] == found.beyond["kip-98 draft"]


def _without_times(records: list[Record]) -> list[Record]:
    return [Record(offset=one.offset, timestamp=-1, key=one.key, value=one.value) for one in records]


def test_control_batches_are_left_out_and_empty_ones_are_not() -> None:
    marker = write_batch(
        [Record(offset=0, key=end_marker_key("COMMIT"), value=bytes(6))],
        is_control=True,
        is_transactional=True,
        producer_id=1,
        producer_epoch=0,
    )
    assert space_of(read_batches(marker)) == Space()
    empty = space_of(read_batches(write_batch([], base_offset=4)))
    assert (empty.records, empty.beyond) == (0, {"magic 0": 0, "magic 1": 0, "kip-98 draft": 45, "kafka": 61})


def test_a_real_segment_has_the_bytes_of_its_file() -> None:
    found = 0
    for path in sorted(Path(DATA, "segments").rglob("*.log")):
        batches = list(read_segment(path))
        if batches and all(
            batch.compression == "none" and batch.magic == 2 and not batch.is_control for batch in batches
        ):
            space = space_of(batches)
            assert sum(batch.size for batch in batches) == space.contents + space.headers + space.beyond["kafka"], path
            found += 1
    assert found > 2
