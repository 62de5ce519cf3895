"""Threads may use the same classes and messages.

With a GIL a call of the kernel is one step; without one it reads every struct and list at one moment. What is made on
first use is made once.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponseBroker
from kipwire import DEFAULT, LazyStruct, native
from kipwire.description.plan import struct_plan
from kipwire.records import Record
from tests.support import native_checks

needs_kernel = pytest.mark.skipif(not native.in_use, reason=f"the kernel is not in use: {native.reason}")
KERNEL: Any = native.kernel

CALLS = 3000


@contextmanager
def meanwhile(*changes: Callable[[], object]) -> Iterator[None]:
    """Within it each of these is called over and over in a thread of its own, and at least once."""
    interval, counts, stop = sys.getswitchinterval(), [0] * len(changes), threading.Event()
    failures: list[Exception] = []

    def work(number: int) -> None:
        try:
            while counts[number] == 0 or not stop.is_set():
                changes[number]()
                counts[number] += 1
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(changes))]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert not failures


@needs_kernel
def test_message_that_other_threads_change_is_written_as_it_was_at_one_moment() -> None:
    names = ["", "a", "long" * 1000]
    message = MetadataResponse(brokers=[MetadataResponseBroker(host=names[0]) for _ in range(20)])
    turn = [0]

    def grow() -> None:
        message.brokers.append(MetadataResponseBroker(host="new" * 100))
        message.unknown_tagged_fields = {9: b"x" * 300}

    def shrink() -> None:
        del message.brokers[5:]
        message.unknown_tagged_fields.clear()

    def rename() -> None:  # all of them in one step: one value of the list's slot
        turn[0] += 1
        name = names[turn[0] % 3]
        message.brokers = [MetadataResponseBroker(host=name) for _ in range(turn[0] % 7)]

    with native_checks.alone(KERNEL), meanwhile(grow, shrink, rename):
        for _ in range(CALLS):
            data = KERNEL.encode(message)
            again = KERNEL.decode(MetadataResponse, data)
            assert KERNEL.encode(again) == data
            assert KERNEL.encoded_size(again) == len(data)


@needs_kernel
def test_records_that_other_threads_change_are_written_as_they_were_at_one_moment() -> None:
    records = [Record(offset=number, value=b"value") for number in range(20)]

    def grow() -> None:
        records.append(Record(offset=5, key=b"key" * 100))
        records[0].headers.append(("key", b"value"))

    def shrink() -> None:
        del records[1:]
        records[0].headers.clear()

    with meanwhile(grow, shrink):
        for _ in range(CALLS):
            data = KERNEL.write_records(records, 0, 0)
            assert data is not None
            assert KERNEL.write_records(KERNEL.read_records(data, 0, 0), 0, 0) == data


@needs_kernel
def test_one_table_of_records_is_for_one_call_at_a_time() -> None:
    table = KERNEL.RecordTable()
    section = KERNEL.write_records([Record(offset=number, value=b"v" * 50) for number in range(300)], 0, 0)
    refused = [0]

    def use() -> None:
        try:
            table.add(0, section, 300, 0, 0, None)
            assert table.count % 300 == 0
            parts = table.take()
        except RuntimeError:
            refused[0] += 1
        else:
            assert len({count for count, _, _ in parts}) == 1
            assert parts[0][0] % 300 == 0

    with meanwhile(use, use):
        for _ in range(300):
            use()
    table.take()
    assert table.add(0, section, 300, 0, 0, None) and table.count == 300


# Objects made on first use.


def at_once(action: Callable[[], object], count: int = 8) -> list[object]:
    """Run an action in several threads that begin together; return the results."""
    found: list[object] = []
    together = threading.Barrier(count)

    def work() -> None:
        together.wait()
        found.append(action())

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(found) == count, "a thread has failed"
    return found


@needs_kernel
def test_threads_that_use_a_class_first_at_the_same_time_share_what_is_made_of_it() -> None:
    data = MetadataResponse(cluster_id="one").encode()
    for _ in range(30):
        cls: Any = type("Derived", (MetadataResponse,), {"__slots__": ()})

        def use(cls: Any = cls) -> tuple[Any, Any]:
            assert KERNEL.decode(cls, data).cluster_id == "one"
            return vars(cls)["_codec"], struct_plan(cls)

        assert len(set(at_once(use))) == 1


class Meeting:
    """A default that is made while another thread asks for it, too."""

    def __init__(self) -> None:
        self.found: list[object] = []

    def make(self) -> object:
        if not self.found:
            self.found.append(None)
            other = threading.Thread(target=self.ask)
            other.start()
            other.join(0.2)  # it has to wait for this thread, which cannot wait for it
            self.other = other
        return object()

    def ask(self) -> None:
        self.found.append(self.holder.value)

    def run(self) -> list[object]:
        """Return the values that this thread got, a later read, and the other thread."""
        make = self.make

        class Holder:
            __slots__ = ("_lazy_value",)
            value = LazyStruct(make)

            def __init__(self) -> None:
                self._lazy_value = DEFAULT

        self.holder = Holder()
        first = self.holder.value
        self.other.join()
        return [first, self.holder.value, *self.found[1:]]


def test_threads_that_read_a_lazy_struct_at_the_same_time_get_the_same_one() -> None:
    first, later, others = Meeting().run()
    assert first is later is others


class Growing(int):
    """A tag that adds one to the fields that it is in when it is looked at, as another thread may."""

    fields: dict[int, bytes]

    def __ge__(self, other: int) -> bool:
        self.fields[self + 1] = b""
        return int(self) >= other

    __hash__ = int.__hash__


def test_unknown_tagged_fields_may_be_added_while_python_writes_them() -> None:
    message = MetadataResponse()
    tag = Growing(990)
    fields: dict[int, bytes] = {tag: b"x"}
    tag.fields = message.unknown_tagged_fields = fields
    written = native.PYTHON["encode"](message)
    assert MetadataResponse.decode(written).unknown_tagged_fields == {990: b"x"}
