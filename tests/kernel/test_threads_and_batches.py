"""Threads may use the same batches, records and values of projections; a single thread could get each result, too."""

from __future__ import annotations

import threading
from typing import Any

from kafka_messages.metadata_response.v12 import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kipwire import native
from kipwire.records import Record, RecordBatch, read_batches, write_batch, write_message_set
from tests.kernel.test_threads import CALLS, at_once, meanwhile
from tests.support import projection_checks
from tests.support.subjects.kernel_classes import KERNEL, needs_kernel


def new_records(count: int) -> list[Record]:
    return [Record(offset=offset, timestamp=offset, value=b"value") for offset in range(count)]


def test_threads_that_read_the_batches_of_one_iterator_get_each_batch_once() -> None:
    one, count = write_batch(new_records(3)), 20
    old = write_message_set([Record(offset=1, value=b"old")], magic=1)  # from there on Python reads
    for _ in range(50):
        batches = read_batches(one * count + old + one * count)

        def use(batches: Any = batches) -> list[int]:
            found = []
            while True:
                try:
                    found.append(next(batches).position)
                except StopIteration:
                    return found
                except ValueError:  # another thread reads the next one
                    pass

        positions = [position for found in at_once(use, 4) for position in found]  # type: ignore[attr-defined]
        assert sorted(positions) == [batch.position for batch in read_batches(one * count + old + one * count)]


def test_threads_that_ask_for_the_records_of_a_batch_at_the_same_time_get_the_same_list() -> None:
    [batch] = read_batches(write_batch(new_records(3)))
    decode, found = batch._decode, []

    def decode_while_another_thread_asks(source: Any) -> list[Record]:
        batch._decode = decode
        other = threading.Thread(target=lambda: found.append(batch.records))
        other.start()
        other.join()
        return decode(source)

    batch._decode = decode_while_another_thread_asks
    assert batch.records is found[0] is batch.records


@needs_kernel
def test_records_of_a_new_batch_are_one_list_for_all_threads() -> None:
    data = write_batch(new_records(50))
    for _ in range(50):
        [batch] = KERNEL.read_batches(data)

        def use(batch: RecordBatch = batch) -> int:
            return id(batch.records)

        assert set(at_once(use, 4)) == {id(batch.records)}


@needs_kernel
def test_a_batch_of_records_that_other_threads_change_has_the_head_of_the_records_in_it() -> None:
    records = new_records(20)

    def move() -> None:
        for record in records[:]:
            record.timestamp = (record.timestamp * 7 + 1) % 2**50

    def grow() -> None:
        records[-1] = Record(offset=records[-1].offset, timestamp=2**51, key=b"key" * 100)
        records.append(Record(offset=records[-1].offset + 1, timestamp=2**52))
        del records[20:]

    with meanwhile(move, grow):
        for _ in range(CALLS // 3):
            data = write_batch(records)
            [batch] = read_batches(data)
            assert native.PYTHON["write_batch"](batch.records) == data


@needs_kernel
def test_values_of_a_projection_that_other_threads_change_make_a_message() -> None:
    partitions = [MetadataResponsePartition(isr_nodes=[1, 2, 3]) for _ in range(3)]
    message = MetadataResponse(
        brokers=[MetadataResponseBroker(host="host") for _ in range(3)],
        topics=[MetadataResponseTopic(name="topic", partitions=partitions) for _ in range(3)],
    )
    data = message.encode()
    paths = "brokers", "topics.name", "topics.partitions.isr_nodes"
    served = projection_checks.projector(KERNEL, MetadataResponse, paths)
    values: list[Any] = list(served.decode(data))

    def put_in() -> None:
        values[0].append(MetadataResponseBroker(host="another" * 20))
        values[1][:] = ["new" * 50 for _ in range(3)]
        values[2][0] = [[5] * 20 for _ in range(3)]
        values[2][1][1] = [2**20 + number for number in range(50)]

    def take_out() -> None:
        del values[0][1:], values[2][1][1][2:]
        del values[1][2:]
        values[2][0].clear()

    with meanwhile(put_in, take_out):
        for _ in range(CALLS):
            found = served.replace(data, values, 0, True)  # None where lists have other lengths
            if found is not None:
                assert KERNEL.encode(KERNEL.decode(MetadataResponse, found)) == found
    put_in()
    assert served.replace(data, values, 0, True) is not None
