"""Columns, other threads and references: a column holds what it needs and nothing else."""

from __future__ import annotations

import gc
import io
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

from kipwire import columns
from kipwire.columns.arrow_types import columns_of
from tests.support.subjects.hostile_columns import HeartbeatRequest, OffsetCommitValue, needs_kernel

# Other threads, and Python code in between.


def test_texts_are_utf8_whatever_another_thread_writes_meanwhile() -> None:
    text = "é" * 4000
    data = HeartbeatRequest(group_id=text).encode()
    content = bytearray(data * 20)
    offsets = pa.array([len(data) * at for at in range(21)], pa.int64())
    array = columns.split(content, offsets)
    at, done = [data.index(text.encode()) + 1 + len(data) * row for row in range(20)], threading.Event()

    def change() -> None:
        while not done.is_set():
            for one in at:
                content[one] = 0xFF
            for one in at:
                content[one] = 0xA9

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(400):
            rows = columns.decode(HeartbeatRequest, array, mode="null")
            rows.validate(full=True)
            try:
                columns.decode(HeartbeatRequest, array).validate(full=True)
            except (columns.RowDecodeError, columns.ColumnError) as error:
                assert str(error).startswith("row ")
    finally:
        done.set()
        thread.join()


@contextmanager
def collecting(callback: Any) -> Iterator[None]:
    """Have the collector run as often as it can, and call this each time."""
    before = gc.get_threshold()
    gc.callbacks.append(callback)
    gc.set_threshold(1, 1, 1)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(callback)


@needs_kernel
def test_records_cannot_be_added_while_others_are_taken() -> None:
    from kipwire import _kernel

    record = bytes([12, 0, 0, 0, 1, 1, 0])  # a length of 6; key and value are null, and there are no headers
    table = _kernel.RecordTable()
    assert table.add(0, record * 50, 50, 0, 0, None)
    spare = [([number], (number,) * 2, (number,) * 3) for number in range(5000)]  # no later allocation reuses these
    refused = []

    def add(phase: str, info: Any) -> None:
        try:
            table.add(1, record * 50, 50, 0, 0, None)
        except RuntimeError as error:
            refused.append(str(error))

    with collecting(add):
        parts = table.take()
    assert {part[0] for part in parts} == {50}
    assert set(refused) == {"another thread is adding or taking records"}
    assert len(spare) == 5000


@needs_kernel
def test_records_are_added_by_one_thread_at_a_time_whatever_its_arguments_do() -> None:
    from kipwire import _kernel

    record = bytes([12, 0, 0, 0, 1, 1, 0])
    table = _kernel.RecordTable()
    inner: list[bool] = []

    class Hostile:
        def __index__(self) -> int:
            inner.append(table.add(1, record * 2, 2, 0, 0, None))
            return 7

        __int__ = __index__

    append_time: Any = Hostile()
    assert table.add(0, record * 3, 3, 0, 0, append_time)
    assert inner == [True]
    assert table.count == 5
    assert bytes(table.take()[0][1][1]) == b"".join(n.to_bytes(4, sys.byteorder) for n in (1, 1, 0, 0, 0))


# References.


def test_no_reference_to_none_is_left_by_a_column() -> None:
    array = pa.array([OffsetCommitValue().encode()])
    columns.decode(OffsetCommitValue, array)
    before = sys.getrefcount(None)
    for _ in range(200):
        columns.decode(OffsetCommitValue, array)
    assert sys.getrefcount(None) - before < 100


@needs_kernel
def test_memory_of_a_column_is_a_read_only_buffer() -> None:
    from kipwire import _kernel
    from kipwire.columns import kernel_engine

    array = pa.array([OffsetCommitValue(offset=7).encode()] * 3)
    names = kernel_engine.names_of(columns_of(OffsetCommitValue))
    parts: Any = _kernel.read_columns(OffsetCommitValue, names, array.buffers(), False, 0, 3, True)[1]
    memory = parts[2][0][1][1]
    view = memoryview(memory)
    assert (view.nbytes, view.readonly, view.format, view.shape, view.strides) == (24, True, "B", (24,), (1,))
    assert view.cast("q").tolist() == [7, 7, 7]
    with pytest.raises(TypeError, match="read-write bytes-like object"):
        io.BytesIO(b"1").readinto(memory)
    del memory, parts
    assert view[0] == 7  # the memory lives as long as a view of it
