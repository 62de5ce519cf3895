"""Columns of forged data: a ColumnError or right values, and never memory outside of the given buffers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import kafka_messages
from kipwire import EncodeError, Message, columns, native
from kipwire.columns.arrow_types import columns_of
from tests.support import golden_data
from tests.support.cases import of_each
from tests.support.subjects.hostile_columns import HeartbeatRequest, OffsetCommitValue, needs_kernel

HeartbeatResponse: Any = kafka_messages.message("HeartbeatResponse", 4)
MetadataResponse: Any = kafka_messages.message("MetadataResponse", 12)
EMPTY: Any = kafka_messages.message("ListGroupsRequest", 0)

# Numbers whose products with a width of 1, 2, 4, 8 or 16 wrap, or become small again.
NEAR_THE_END = [2**power + more for power in (59, 60, 61, 62) for more in (-1, 0, 1)] + [2**63 - 8, 2**63 - 1]


def ipc(*arrays: pa.Array) -> bytes:
    """Return a stream with one batch."""
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([*arrays], names=[f"column {number}" for number in range(len(arrays))])
    options = pa.ipc.IpcWriteOptions(allow_64bit=True)  # arrays of any length
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream


def first_column(stream: bytes) -> pa.Array:
    """Return the first column of the first batch; pyarrow does not check it."""
    return pa.ipc.open_stream(stream).read_next_batch().column(0)


def renumbered(parts: tuple[Any, ...], count: int | None, first: int | None) -> tuple[Any, ...]:
    """Parts of arrays as the kernel gets them, all with another number of values or another first one."""
    old_count, old_first, buffers, children = parts
    new = old_count if count is None else count, old_first if first is None else first
    return *new, buffers, [renumbered(child, count, first) for child in children]


# Lengths whose sizes wrap.


@needs_kernel
@of_each("name", sorted({name for name, _ in golden_data.every_message_and_version()}), together=lambda name: name)
def test_no_length_wraps_in_the_kernel_when_columns_are_written(name: str) -> None:
    from kipwire import _kernel
    from kipwire.columns import kernel_engine

    cls = kafka_messages.message(name, kafka_messages.versions(name)[-1])
    struct = columns_of(cls)
    rows = columns.decode(cls, [cls().encode()] * 3)
    given = kernel_engine.kernel_input(struct, rows)
    names = kernel_engine.names_of(struct, rows.type)
    assert _kernel.write_columns(cls, names, given)[0] == -1
    for number in NEAR_THE_END:
        for count, first in ((number, None), (number, 1), (number, number)):
            with pytest.raises((ValueError, OverflowError)):
                _kernel.write_columns(cls, names, renumbered(given, count, first))
        if struct.columns:
            with pytest.raises(ValueError, match=r"a buffer has \d+ bytes|no buffer holds"):
                _kernel.write_columns(cls, names, renumbered(given, None, number))


@needs_kernel
@pytest.mark.parametrize("large", [False, True])
def test_no_length_wraps_in_the_kernel_when_columns_are_read(large: bool) -> None:
    from kipwire import _kernel

    array = pa.array([b""] * 3, pa.large_binary() if large else pa.binary())
    _, offsets, content = array.buffers()
    buffers = None, offsets, content or b""
    assert _kernel.read_columns(EMPTY, (), buffers, large, 0, 3, True)[0] == -1
    for number in [*NEAR_THE_END, -1]:
        for first, count in ((0, number), (number, 1), (number, number), (1, number)):
            with pytest.raises(ValueError, match=r"no buffer holds|the buffer of offsets is too short"):
                _kernel.read_columns(EMPTY, (), buffers, large, first, count, True)


@pytest.mark.parametrize("number", NEAR_THE_END)
def test_rows_without_columns_are_as_many_as_offsets_can_declare(number: int) -> None:
    forged = pa.Array.from_buffers(pa.struct([]), number, [None], children=[])
    assert len(first_column(ipc(forged))) == number
    for rows in (forged, first_column(ipc(forged)), pa.chunked_array([forged])):
        with pytest.raises(columns.ColumnError, match="more than 2"):
            columns.encode(EMPTY, rows)


@pytest.mark.parametrize("cls", [HeartbeatRequest, HeartbeatResponse, MetadataResponse, OffsetCommitValue], ids=str)
@pytest.mark.parametrize("number", NEAR_THE_END)
def test_lengths_of_a_stream_are_checked(cls: type[Message], number: int) -> None:
    count = 4099  # no other number of the stream has this value
    data = [cls().encode()] * count
    for array, convert in ((columns.decode(cls, data), columns.encode), (pa.array(data), columns.decode)):
        stream = ipc(array)
        old = count.to_bytes(8, "little")
        assert stream.count(old) >= 2  # once for the batch, and once for each column
        forged = first_column(stream.replace(old, number.to_bytes(8, "little")))
        assert len(forged) == number
        with pytest.raises(columns.ColumnError):
            convert(cls, forged)


def test_rows_without_bytes_are_limited() -> None:
    many = 2**30
    nothing = pa.Array.from_buffers(pa.struct([]), many, [None], children=[])
    nulls = pa.Array.from_buffers(pa.null(), many, [None])
    fields = [pa.field(one.name, pa.null()) for one in columns.schema(HeartbeatRequest)]
    of_nulls = pa.Array.from_buffers(pa.struct(fields), many, [None], children=[nulls] * len(fields))
    without_width = pa.Array.from_buffers(pa.binary(0), many, [None, pa.py_buffer(b"")])
    for cls, given in ((EMPTY, nothing), (HeartbeatRequest, of_nulls)):
        for rows in (given, pa.RecordBatch.from_struct_array(given), pa.chunked_array([given])):
            with pytest.raises(
                columns.ColumnError, match="1073741824 rows without bytes: take 16777216 of them at a time"
            ):
                columns.encode(cls, rows)
    for messages in (nulls, without_width):
        with pytest.raises(columns.ColumnError, match="rows without bytes"):
            columns.decode(EMPTY, messages)


def test_elements_without_bytes_are_limited() -> None:
    (topics,) = [one for one in columns.schema(MetadataResponse) if one.name == "topics"]
    assert pa.types.is_list(topics.type)
    rows = columns.decode(MetadataResponse, [MetadataResponse().encode()])
    elements = pa.Array.from_buffers(pa.null(), 2**30, [None])
    offsets = pa.py_buffer(pa.array([0, 2**30], pa.int32()).buffers()[1])
    forged = pa.Array.from_buffers(pa.list_(pa.null()), 1, [None, offsets], children=[elements])
    parts = [forged if one.name == "topics" else rows.field(one.name) for one in rows.type]
    with pytest.raises(columns.ColumnError, match="rows without bytes"):
        columns.encode(MetadataResponse, pa.StructArray.from_arrays(parts, [one.name for one in rows.type]))


def test_many_rows_of_messages_without_fields_are_written() -> None:
    rows = columns.decode(EMPTY, [b""] * 100_000)
    assert len(columns.encode(EMPTY, rows)) == 100_000
    null = pa.nulls(100_000)
    assert columns.decode(EMPTY, null).null_count == 100_000


# Arrays that are not sound.


def damaged_rows() -> Iterator[tuple[str, pa.Array]]:
    """Yield rows of HeartbeatRequest with something wrong within one column."""
    rows = columns.decode(HeartbeatRequest, [HeartbeatRequest(group_id="group").encode()] * 3)

    def having(name: str, array: pa.Array) -> pa.Array:
        parts = [array if one.name == name else rows.field(one.name) for one in rows.type]
        return pa.StructArray.from_arrays(parts, [one.name for one in rows.type])

    def text(type_: pa.DataType, offsets: pa.Array, content: bytes) -> pa.Array:
        return pa.Array.from_buffers(type_, 3, [None, offsets.buffers()[1], pa.py_buffer(content)])

    for type_, width in ((pa.string(), pa.int32()), (pa.large_string(), pa.int64())):
        yield f"{type_}: descends", having("group_id", text(type_, pa.array([0, 5, 3, 5], width), b"group"))
        yield f"{type_}: outside", having("group_id", text(type_, pa.array([0, 5, 2**30, 5], width), b"group"))
        yield f"{type_}: negative", having("group_id", text(type_, pa.array([0, -5, 2, 5], width), b"group"))
        yield f"{type_}: no text", having("group_id", text(type_, pa.array([0, 1, 2, 3], width), b"a\xffb"))
    view = bytes.fromhex("64000000 61626364 63000000 00001000") * 3  # 100 bytes of buffer 99
    yield "view", having("group_id", pa.Array.from_buffers(pa.string_view(), 3, [None, pa.py_buffer(view)]))
    entries = rows.field("unknown_tagged_fields").values
    for type_, size in ((pa.list_(entries.type), pa.int32()), (pa.large_list(entries.type), pa.int64())):
        offsets = pa.array([0, 2**30, 0, 0], size).buffers()[1]
        lists = pa.Array.from_buffers(type_, 3, [None, offsets], children=[entries])
        yield f"{type_}", having("unknown_tagged_fields", lists)
    starts = pa.array([2**30] * 3, pa.int32()).buffers()[1]
    sizes = pa.array([1] * 3, pa.int32()).buffers()[1]
    lists = pa.Array.from_buffers(pa.list_view(entries.type), 3, [None, starts, sizes], children=[entries])
    yield "list view", having("unknown_tagged_fields", lists)
    short = pa.Array.from_buffers(pa.int32(), 3, [None, pa.py_buffer(bytes(12))])
    stream = ipc(having("generation_id", short))
    del short
    at = stream.index((12).to_bytes(8, "little"))
    yield "short", first_column(stream[:at] + (4).to_bytes(8, "little") + stream[at + 8 :])


@pytest.mark.parametrize("way", ["kernel", "python"])
def test_damaged_rows_are_refused(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "python":
        monkeypatch.setattr(native, "in_use", False)
    for name, rows in damaged_rows():
        for given in (rows, rows.slice(1), pa.RecordBatch.from_struct_array(rows), pa.chunked_array([rows])):
            with pytest.raises(columns.ColumnError) as caught:
                columns.encode(HeartbeatRequest, given)
            assert str(caught.value).startswith("the array of rows is damaged: "), name


@pytest.mark.parametrize("way", ["kernel", "python"])
def test_damaged_messages_are_refused(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "python":
        monkeypatch.setattr(native, "in_use", False)
    rows = columns.decode(EMPTY, [None] * 3)
    view = bytes.fromhex("64000000 61626364 63000000 00001000") * 3
    for type_, width in ((pa.binary(), pa.int32()), (pa.large_binary(), pa.int64())):
        for offsets in ([0, 5, 3, 5], [0, 5, 2**30, 5], [0, -1, 0, 5]):
            buffers = [None, pa.array(offsets, width).buffers()[1], pa.py_buffer(bytes(5))]
            forged = pa.Array.from_buffers(type_, 3, buffers)
            for given in (forged, pa.chunked_array([forged])):
                for call in (columns.decode, lambda cls, data: columns.explain(cls, data, rows)):
                    with pytest.raises(columns.ColumnError, match="the array of messages is damaged: "):
                        call(EMPTY, given)
    views = pa.Array.from_buffers(pa.binary_view(), 3, [None, pa.py_buffer(view)])
    with pytest.raises(columns.ColumnError, match="the array of messages is damaged: "):
        columns.decode(EMPTY, views)


@pytest.mark.parametrize("way", ["kernel", "python"])
@pytest.mark.parametrize("mode", ["strict", "null"])
def test_offsets_count_where_nothing_is_read_by_them(way: str, mode: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Offsets of null rows are checked, and so are offsets after a broken message."""
    if way == "python":
        monkeypatch.setattr(native, "in_use", False)
    content, nothing, two_valid = pa.py_buffer(b"\xff" * 5), pa.py_buffer(b"\x00"), pa.py_buffer(b"\x05")
    for offsets, validity in (([0, 5, 3, 5], nothing), ([0, 0, 2**30, 0], two_valid), ([0, 5, 2, 5], None)):
        forged = pa.Array.from_buffers(pa.binary(), 3, [validity, pa.array(offsets, pa.int32()).buffers()[1], content])
        with pytest.raises(columns.ColumnError, match="the array of messages is damaged: "):
            columns.decode(HeartbeatRequest, forged, mode=mode)


def test_types_that_have_other_arrays_in_them_are_refused() -> None:
    data = pa.array([b"", b""])
    for messages in (data.dictionary_encode(), pa.RunEndEncodedArray.from_arrays([2], [b""])):
        with pytest.raises(columns.ColumnError, match="messages must be of type binary or large_binary, not "):
            columns.decode(EMPTY, messages)
    rows = columns.decode(HeartbeatRequest, [HeartbeatRequest().encode()] * 2)
    for other in (pa.array(["a", "b"]).dictionary_encode(), pa.array([b"\0" * 16] * 2, pa.uuid())):
        parts = [other if one.name == "group_id" else rows.field(one.name) for one in rows.type]
        with pytest.raises(EncodeError, match="group_id: must be a column of string, not "):
            columns.encode(HeartbeatRequest, pa.StructArray.from_arrays(parts, [one.name for one in rows.type]))


@pytest.mark.parametrize("whole", [False, True])
def test_names_of_columns_that_are_not_utf8_are_refused(whole: bool) -> None:
    rows = columns.decode(OffsetCommitValue, [OffsetCommitValue().encode()])
    sink = pa.BufferOutputStream()
    batch = pa.RecordBatch.from_struct_array(rows)
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    damaged = sink.getvalue().to_pybytes().replace(b"metadata", b"meta\xff\xff\xff\xff")
    read = pa.ipc.open_stream(damaged).read_next_batch()
    with pytest.raises(columns.ColumnError, match=r"damaged.*utf-8"):
        columns.encode(OffsetCommitValue, read if whole else read.to_struct_array())


def test_null_is_what_pyarrow_counts_as_null() -> None:
    data = [HeartbeatRequest(generation_id=at).encode() for at in range(3)]
    none = pa.py_buffer(b"\0")
    array = pa.array(data)
    uncounted = pa.Array.from_buffers(array.type, 3, [none, *array.buffers()[1:]], null_count=0)
    assert uncounted.to_pylist() == data
    rows = columns.decode(HeartbeatRequest, uncounted)
    assert rows.field("generation_id").to_pylist() == [0, 1, 2]
    children = [rows.field(number) for number in range(rows.type.num_fields)]
    given = pa.Array.from_buffers(rows.type, 3, [none], null_count=0, children=children)
    assert columns.encode(HeartbeatRequest, given).to_pylist() == data


def misaligned(buffer: pa.Buffer | None) -> pa.Buffer | None:
    """Return a copy of a buffer that starts at an odd address."""
    return None if buffer is None else pa.py_buffer(b"\0" + buffer.to_pybytes())[1:]


def moved(array: pa.Array) -> pa.Array:
    """Return an array whose buffers all start at odd addresses."""
    children = [moved(array.field(number)) for number in range(array.type.num_fields)] if array.type.num_fields else []
    own = [misaligned(one) for one in array.buffers()[: 1 if children else None]]
    return pa.Array.from_buffers(array.type, len(array), own, offset=array.offset, children=children)


def test_buffers_may_start_at_any_address() -> None:
    data = [OffsetCommitValue(offset=at, metadata=str(at)).encode() for at in range(20)]
    for type_ in (pa.binary(), pa.large_binary()):
        array = moved(pa.array(data, type_))
        assert array.buffers()[1].address % 2 == 1
        rows = columns.decode(OffsetCommitValue, array)
        assert rows.field("offset").to_pylist() == [*range(20)]
        assert columns.encode(OffsetCommitValue, moved(rows)).to_pylist() == data
