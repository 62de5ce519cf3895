"""Batches of magic 2: the kernel and plain Python give the same batches, bytes and errors."""

from __future__ import annotations

import gc
import inspect
import pickle
import random
import sys

import pytest

from kipwire import native
from kipwire.records import Record, RecordBatch, read_batches, write_batch, write_message_set
from tests.support import batch_checks, native_checks
from tests.support.subjects.kernel_classes import KERNEL, needs_kernel

OFFSETS = (0, 5, 2**40, 2**62)
STEPS = (1, 1, 1, 7, 2**31 - 2, 2**31)
TIMESTAMPS = (-1, 0, 5, 2**62, 1_700_000_000_000)
OLD = write_message_set([Record(offset=1, value=b"a")], magic=1)


def random_records(chance: random.Random) -> list[Record]:
    offset, records = chance.choice(OFFSETS), []
    for _ in range(chance.randrange(5)):
        record = Record(
            offset=offset,
            timestamp=chance.choice((*TIMESTAMPS, chance.randrange(2**40))),
            key=chance.choice((None, b"", b"k", chance.randbytes(200))),
            value=chance.choice((None, b"value")),
            headers=[("key", None), ("\u00e9", b"v")][: chance.randrange(3)],
        )
        records.append(record)
        offset += chance.choice(STEPS)
    return records


@needs_kernel
@pytest.mark.parametrize("seed", range(8))
def test_kernel_and_python_agree_on_batches(seed: int) -> None:
    chance, written, read = random.Random(seed), 0, 0
    for _ in range(200):
        records = random_records(chance)
        batch = batch_checks.check_write(KERNEL, records, batch_checks.random_arguments(records, chance))
        if batch is not None:
            written += 1
            several = [chance.choice((batch_checks.damaged_batch(batch, chance), batch, OLD)) for _ in range(3)]
            read += batch_checks.check_read(KERNEL, b"".join(several), **batch_checks.random_options(chance))
        if records:
            native_checks.spoil_records(records, chance)
            batch_checks.check_write(KERNEL, records, {})
    assert written > 20 and read > 20


@needs_kernel
def test_functions_of_the_kernel_look_like_those_that_they_replace() -> None:
    for function in (read_batches, write_batch):
        python = native.PYTHON[function.__name__]
        assert function is not python
        assert (inspect.signature(function), function.__doc__) == (inspect.signature(python), python.__doc__)
        assert pickle.loads(pickle.dumps(function)) is function  # as programs send it to other processes
    assert "decompressed and decoded" in str(RecordBatch.records.__doc__)


@needs_kernel
def test_a_batch_by_itself_is_not_copied_and_others_do_not_keep_their_buffer() -> None:
    batch = write_batch([Record(offset=0, value=b"v" * 1000)])
    alone, of_two = next(read_batches(batch)), next(read_batches(batch + batch))
    assert alone._source[0] is batch
    assert of_two._source[0] == batch


@needs_kernel
def test_references_are_neither_lost_nor_kept() -> None:
    records = [Record(offset=9, timestamp=10**12, key=b"key", value=b"value", headers=[("header", None)])]
    data = write_batch(records, base_offset=5)
    broken = data[:-1] + b"!"

    def use() -> None:
        assert next(read_batches(data)).records == records
        assert [batch.size for batch in read_batches(data * 3)] == [len(data)] * 3
        with pytest.raises(ValueError, match="crc"):
            list(read_batches(data + broken))
        with pytest.raises(ValueError, match="offset"):
            write_batch(records * 2)

    use()
    counted = (data, None, "CreateTime", "none", next(read_batches(data))._decode)
    gc.collect()  # garbage of other tests refers to None, too
    before = [sys.getrefcount(one) for one in counted]
    for _ in range(100):
        use()
    assert all(abs(sys.getrefcount(one) - count) < 50 for one, count in zip(counted, before, strict=True))


@needs_kernel
@pytest.mark.parametrize(
    "source",
    [None, (), (b"",), (b"short", (0, 0, None), None), (bytes(61), (0, 0, None), (1, 2)), (bytes(61), None, None)],
    ids=["nothing", "empty", "one", "short", "other limits", "no limits"],
)
def test_a_batch_with_a_forged_source_is_an_error_and_nothing_worse(source: object) -> None:
    batch = next(read_batches(write_batch([Record(offset=0)])))
    batch._source = source
    with pytest.raises((TypeError, ValueError, AttributeError, IndexError)):
        _ = batch.records
    batch = next(read_batches(write_batch([Record(offset=0)])))
    del batch._records
    with pytest.raises(AttributeError):
        _ = batch.records


def test_reading_without_checksums_computes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain Python computes none; the kernel leaves them out in the same place."""

    def fail(_value: int, _data: bytes) -> int:
        raise AssertionError("a checksum is computed")

    records = [Record(offset=0, value=b"v")]
    data = write_batch(records)
    monkeypatch.setattr("kipwire.codec.checksums.fastest_crc32c", lambda: fail)
    with native_checks.without_kernel():
        batch = next(native.PYTHON["read_batches"](data, check_crcs=False))
        assert batch.records == records
        with pytest.raises(AssertionError, match="a checksum is computed"):
            next(native.PYTHON["read_batches"](data))
