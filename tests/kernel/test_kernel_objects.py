"""The kernel's objects are whole before other code can see them, and it writes to nothing but the slots of its classes.

Failures here once ended the interpreter, so most tests run in an interpreter of their own.
"""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent
from typing import Any

import pytest

from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponseBroker
from kipwire import native
from kipwire.records import Record
from tests.support import native_checks

needs_kernel = pytest.mark.skipif(not native.in_use, reason=f"the kernel is not in use: {native.reason}")
KERNEL: Any = native.kernel


def run(program: str) -> str:
    """Run a program, which must succeed; return its output."""
    done = subprocess.run([sys.executable, "-c", dedent(program)], capture_output=True, text=True)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stderr}"
    return done.stdout.strip()


COLLECTED = """
    import gc
    from kafka_messages.metadata_response.v12 import (
        MetadataResponse, MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic
    )
    from kipwire import Struct, native
    from kipwire.records import Record

    message = MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=n, host="host") for n in range(100)],
        topics=[MetadataResponseTopic(name="t", partitions=[MetadataResponsePartition(replica_nodes=[1, 2])])] * 50,
    )
    data = message.encode()
    records = [Record(offset=n, headers=[("key", b"value"), ("other", None)] * 20) for n in range(50)]
    section = native.kernel.write_records(records, 0, 0)
    looked = 0

    def look(phase, info):
        global looked
        for one in gc.get_objects():  # of the youngest, as all others are frozen
            looked += 1
            if type(one) in (list, tuple):
                [id(element) for element in one]
                len(repr(one[-1:]))
            elif isinstance(one, Record):
                repr(one)
            elif isinstance(one, Struct):
                [getattr(one, field.name) for field in one.ATTRIBUTES]

    def work():
        assert MetadataResponse.decode(data) == message
        assert native.kernel.read_records(section, 0, 0) == records

    work()
    gc.freeze()
    gc.callbacks.append(look)
    gc.set_threshold(1, 0)  # 0, so that without a GIL it does not wait for many more
    work()
    gc.set_threshold(0)
    assert looked
    print("whole")
"""


@needs_kernel
def test_collector_meets_no_list_with_empty_places_and_no_half_made_instance() -> None:
    assert run(COLLECTED) == "whole"


@needs_kernel
def test_what_is_read_is_known_to_the_collector() -> None:
    import gc

    message = MetadataResponse(brokers=[MetadataResponseBroker()])
    read = MetadataResponse.decode(message.encode())
    assert all(map(gc.is_tracked, (read, read.brokers, read.brokers[0], read.topics)))
    section = KERNEL.write_records([Record(offset=0, headers=[("a", b"")])], 0, 0)
    (record,) = KERNEL.read_records(section, 0, 0)
    assert gc.is_tracked(record) and gc.is_tracked(record.headers)


class _Large:
    __slots__ = tuple(f"slot_{number}" for number in range(100))


class _OfAnotherClass(HeartbeatRequest):
    __slots__ = ()


class _OfAnotherName(HeartbeatRequest):
    __slots__ = ()


class _OfAnotherType(HeartbeatRequest):
    __slots__ = ()


_FOREIGN_SLOTS = {
    _OfAnotherClass: vars(_Large)["slot_99"],
    _OfAnotherName: vars(HeartbeatRequest)["member_id"],
    _OfAnotherType: vars(type(lambda: 0))["__closure__"],
}
for _cls, _slot in _FOREIGN_SLOTS.items():
    type.__setattr__(_cls, "group_id", _slot)


@needs_kernel
@pytest.mark.parametrize("cls", _FOREIGN_SLOTS)
def test_slots_are_those_that_the_class_made_for_their_names(cls: Any) -> None:
    assert not KERNEL.serves(cls)
    data = HeartbeatRequest(group_id="group", member_id="member").encode()
    outcomes = []
    for decode in (KERNEL.decode, native.PYTHON["decode"]):
        try:
            outcomes.append(native_checks.content(decode(cls, data).member_id))
        except (TypeError, AttributeError) as error:
            outcomes.append((type(error), str(error)))
    assert outcomes[0] == outcomes[1]


@needs_kernel
def test_only_what_the_kernel_made_itself_is_taken_for_its_own() -> None:
    program = """
        from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
        from kipwire import native

        class Codec:
            __slots__ = ("a", "b", "c", "d")

        forged = Codec()
        forged.a, forged.b, forged.c, forged.d = HeartbeatRequest, None, b"x" * 500, ()
        HeartbeatRequest._codec = forged
        assert native.kernel.serves(HeartbeatRequest)
        message = HeartbeatRequest(group_id="group")
        assert HeartbeatRequest.decode(message.encode()) == message
        print("made again")
    """
    assert run(program) == "made again"


class _Taking:
    """A number that takes the records out of a table when it is asked for."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def __int__(self) -> int:
        self.table.take()
        return 5


@needs_kernel
@pytest.mark.parametrize("kind", ["number", "bool"])
def test_table_of_records_stays_right_whatever_its_arguments_do(kind: str) -> None:
    table = KERNEL.RecordTable()

    class TakingInt(int):
        def __bool__(self) -> bool:
            table.take()
            return True

    append_time: Any = _Taking(table) if kind == "number" else TakingInt(5)
    section = KERNEL.write_records([Record(offset=n, value=b"value") for n in range(3)], 0, 0)
    assert table.add(0, section, 3, 0, 0, None)
    assert not table.add(1, section[:-1], 3, 0, 0, append_time)  # its records are dropped again
    left = 3 * (kind == "bool")
    assert (table.count, table.size) == (left, 5 * left)
    assert [count for count, _, _ in table.take()] == [left] * 6


@needs_kernel
def test_table_is_not_added_to_while_it_is_taken() -> None:
    program = """
        import gc
        from kipwire import native
        from kipwire.records import Record

        table = native.kernel.RecordTable()
        section = native.kernel.write_records([Record(offset=n, value=b"v" * 100) for n in range(50)], 0, 0)
        refused = 0

        def add(phase, info):
            global refused
            if phase == "start":
                try:
                    table.add(0, section, 50, 0, 0, None)
                except RuntimeError:
                    refused += 1

        for _ in range(20):
            assert table.add(0, section, 50, 0, 0, None)
            count = table.count
            gc.callbacks.append(add)
            gc.set_threshold(1)
            parts = table.take()
            gc.set_threshold(0)
            gc.callbacks.clear()
            assert {rows for rows, _, _ in parts} == {count}
            for rows, buffers, _ in parts:
                assert all(buffer is None or len(memoryview(buffer)) >= 0 for buffer in buffers)
        print("whole")
    """
    assert run(program) == "whole"


@needs_kernel
def test_classes_whose_fields_say_what_the_kernel_does_not_know_are_left_to_python(monkeypatch: Any) -> None:
    class Heartbeat(HeartbeatRequest):
        __slots__ = ()

    class LaterHeartbeat(HeartbeatRequest):
        __slots__ = ()

    assert KERNEL.serves(Heartbeat)
    monkeypatch.setattr(KERNEL, "UNKNOWN_PROPERTIES", ("entity_type",))  # as if it had come after the kernel
    assert not KERNEL.serves(LaterHeartbeat)
    assert LaterHeartbeat.decode(HeartbeatRequest(group_id="a").encode()).group_id == "a"
