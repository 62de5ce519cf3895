"""The kernel frees instances as Python does: with finalizers, in cycles, nested deeply, of derived classes."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest

from kipwire import native

pytestmark = pytest.mark.skipif(not native.in_use, reason=f"the kernel is not in use: {native.reason}")

BEFORE = """
import gc, sys, weakref
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponseTopic
from kipwire import native

assert native.kernel.serves(HeartbeatRequest) and native.kernel.serves(MetadataResponse)
"""


def run(program: str) -> str:
    """What a program prints, which must end well: what fails here ends the interpreter."""
    done = subprocess.run([sys.executable, "-c", BEFORE + dedent(program)], capture_output=True, text=True)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stderr}"
    return done.stdout.strip()


@pytest.mark.parametrize("link", ["[inner]", "inner", "(inner,)", "{'': inner}"])
def test_structs_nested_beyond_the_c_stack_are_freed(link: str) -> None:
    program = f"""
        before = sys.getrefcount(MetadataResponse)
        inner = None
        for _ in range(200_000):
            inner = MetadataResponse(cluster_id="cluster" * 2, brokers={link})
        inner = None
        print(sys.getrefcount(MetadataResponse) - before)
    """
    assert run(program) == "0"


def test_classes_values_and_memory_are_given_back() -> None:
    program = """
        value = object()
        before = sys.getrefcount(value), sys.getrefcount(HeartbeatRequest), sys.getallocatedblocks()
        for _ in range(1000):
            message = HeartbeatRequest(group_id=value, member_id=[value])
            del message.generation_id
        del message
        after = sys.getrefcount(value), sys.getrefcount(HeartbeatRequest), sys.getallocatedblocks()
        assert before[:2] == after[:2], (before, after)
        print(abs(after[2] - before[2]) < 50)
    """
    assert run(program) == "True"


def test_finalizers_of_a_served_class_run_once_and_may_keep_the_instance() -> None:
    program = """
        kept, ended = [], []

        def end(self):
            ended.append(self.group_id)
            if self.group_id == "kept":
                kept.append(self)

        HeartbeatRequest.__del__ = end
        for name in ("dropped", "kept"):
            HeartbeatRequest(group_id=name)
        assert ended == ["dropped", "kept"] and kept[0].group_id == "kept"
        kept.clear()
        in_cycle = HeartbeatRequest(group_id="cycle")
        in_cycle.member_id = in_cycle
        del in_cycle
        gc.collect()
        print(*ended)
    """
    assert run(program) == "dropped kept cycle"


def test_instances_of_subclasses_are_freed_with_what_they_have_more() -> None:
    program = """
        class Named(HeartbeatRequest):
            __slots__ = ("name", "__weakref__")

        class Open(HeartbeatRequest):
            def __del__(self):
                print("end", self.note)

        class Plain(HeartbeatRequest):
            __slots__ = ()

        value = object()
        assert not native.kernel.serves(Open) and native.kernel.serves(Plain) and native.kernel.serves(Named)
        before = sys.getrefcount(value), sys.getrefcount(Named), sys.getrefcount(Open), sys.getrefcount(Plain)
        for cls in (Named, Open, Plain):
            item = cls(group_id=value)
            if cls is not Plain:
                setattr(item, "name" if cls is Named else "note", [value])
            if cls is Named:
                reference = weakref.ref(item)
            del item
        assert reference() is None
        item = Plain(group_id=value)
        item.__class__ = HeartbeatRequest
        item.member_id = item
        del item, cls
        gc.collect()
        after = sys.getrefcount(value), sys.getrefcount(Named), sys.getrefcount(Open), sys.getrefcount(Plain)
        assert after == before, (before, after)
    """
    assert run(program).startswith("end [<object object")


def test_cycles_through_structs_and_lists_are_collected() -> None:
    program = """
        class Canary:
            pass

        found = []
        for _ in range(100):
            message = MetadataResponse(topics=[MetadataResponseTopic(name="t")])
            message.cluster_id = Canary()
            found.append(weakref.ref(message.cluster_id))
            message.topics[0].partitions.append(message)
        del message
        gc.collect()
        print(sum(one() is not None for one in found))
    """
    assert run(program) == "0"


def test_records_and_their_batches_are_freed_with_all_they_hold() -> None:
    program = """
        from kipwire.records import Record, RecordBatch, read_batches, write_batch

        class Named(Record):
            __slots__ = ("name", "__weakref__")

        data = write_batch([Record(offset=i, value=b"v", headers=[("k", b"h")]) for i in range(3)], compression="gzip")
        value = object()
        counted = value, Record, RecordBatch, Named, data

        def use():
            batch = next(read_batches(data))
            batch.records[0].key = batch  # a cycle
            batch.records[1].headers.append(value)
            batch.records.append(Record(offset=9, value=value))
            named = Named(offset=9, key=value)
            named.name, named.value = [value], named
            reference = weakref.ref(named)
            del batch, named
            gc.collect()
            assert reference() is None

        use()
        before = [*map(sys.getrefcount, counted)], sys.getallocatedblocks()
        for _ in range(50):
            use()
        after = [*map(sys.getrefcount, counted)], sys.getallocatedblocks()
        assert before[0] == after[0], (before, after)
        print(abs(after[1] - before[1]) < 50)
    """
    assert run(program) == "True"


def test_records_nested_beyond_the_c_stack_are_freed() -> None:
    program = """
        from kipwire.records import Record

        before = sys.getrefcount(Record)
        inner = None
        for _ in range(200_000):
            inner = Record(offset=1, value=inner)
        inner = None
        print(sys.getrefcount(Record) - before)
    """
    assert run(program) == "0"
