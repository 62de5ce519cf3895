"""Any records, and any bytes, in other message formats: what can be held comes back, and damage is an error."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kipwire import DecodeError, EncodeError
from kipwire.records import Record, down_convert, read_batches, up_convert, write_batch, write_message_set
from tests.support.converted_records import contents, with_crcs
from tests.support.subjects.batch_bytes import with_bytes
from tests.support.subjects.converted_examples import ENTRIES, MAGIC_2, RECORDS, lowered, records_of

BYTES = st.none() | st.binary(max_size=20)
PARTS = st.tuples(st.integers(1, 100), st.integers(-1, 2**62), BYTES, BYTES, st.lists(st.tuples(st.text(), BYTES)))
OLD_CODECS = st.sampled_from(["none", "gzip", "snappy", "lz4"])


@st.composite
def logs(draw: st.DrawFn) -> list[tuple[list[Record], str, bool]]:
    """Return batches in the order of their offsets: records, codec, and True if the broker sets the timestamps."""
    offset = draw(st.integers(0, 2**40))
    batches = []
    for parts in draw(st.lists(st.lists(PARTS, min_size=1, max_size=4), max_size=3)):
        records = []
        for step, timestamp, key, value, headers in parts:
            offset += step
            records.append(Record(offset=offset, timestamp=timestamp, key=key, value=value, headers=headers))
        batches.append((records, draw(OLD_CODECS), draw(st.booleans())))
    return batches


@settings(deadline=None)
@given(log=logs(), magic=st.sampled_from([0, 1]))
def test_down_and_up_again_keeps_what_the_older_format_can_hold(log: list[Any], magic: Any) -> None:
    data = b"".join(
        write_batch(records, compression=codec, timestamp_type="LogAppendTime" if append else "CreateTime")
        for records, codec, append in log
    )
    down = down_convert(data, magic)
    assert records_of(down.data) == lowered(magic, records_of(data))
    assert (not down.lost) == (
        all(not record.headers and (magic or record.timestamp == -1) for record in records_of(data))
        and (magic == 1 or not any(append for _, _, append in log))
    )
    up = up_convert(down.data, 2)
    assert (records_of(up.data), up.lost) == (records_of(down.data), [])
    assert {batch.magic for batch in read_batches(up.data)} <= {2}
    again = down_convert(up.data, magic)
    assert contents(again.data) == contents(down.data)
    assert again.lost == []


@settings(deadline=None)
@given(
    data=st.binary(max_size=120),
    magic=st.sampled_from([0, 1]),
    sort=st.sampled_from(["kafka", "kip-82", "kip-98 draft"]),
)
def test_random_bytes_are_converted_or_refused(data: bytes, magic: Any, sort: Any) -> None:
    for convert in (down_convert, up_convert):
        try:
            found = convert(data, magic if convert is down_convert else magic + 1, magic_2=sort, check_crcs=False)
        except (DecodeError, EncodeError):
            continue
        assert all(batch.magic <= magic for batch in read_batches(found.data)) or convert is up_convert


SMALL = [
    MAGIC_2,
    write_batch(RECORDS, compression="gzip"),
    with_crcs(ENTRIES[1]),
    write_message_set(lowered(0), magic=0, compression="lz4"),
]


@settings(deadline=None)
@given(
    number=st.integers(0, len(SMALL) - 1), at=st.integers(0, 200), byte=st.integers(0, 255), target=st.integers(0, 2)
)
def test_damaged_records_are_converted_or_refused(number: int, at: int, byte: int, target: Any) -> None:
    data = with_bytes(SMALL[number], at % len(SMALL[number]), bytes((byte,)))
    try:
        found = up_convert(data, 2, check_crcs=False) if target == 2 else down_convert(data, target, check_crcs=False)
        assert {batch.magic for batch in read_batches(found.data)} <= ({2} if target == 2 else set(range(target + 1)))
    except (DecodeError, EncodeError) as error:
        assert error.path
