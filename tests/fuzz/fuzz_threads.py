"""Run a kernel while several threads read, write and change the same messages, records, batches, values and tables.

    python -m tests.fuzz.fuzz_threads FOLDER --target threads [--seconds 60] [--seed 0]

FUZZ_THREADS in the environment is the number of threads (4). A message that no other thread uses must have exactly the
bytes and values that it has in a single thread. A message that other threads change must still be written as some
message, as long as all its values always have the right types. See fuzzing.py.

docs/native.md explains how to run it without a GIL and under ThreadSanitizer.
"""

from __future__ import annotations

import os
import random
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any

from kipwire import EncodeError, KipwireError, Message
from kipwire.records import Record
from tests.fuzz import fuzzing
from tests.fuzz.shared_objects import SharedBatches, SharedProjection, shared_projection
from tests.support import native_checks

THREADS = int(os.environ.get("FUZZ_THREADS", "4"))
ROUND = 25
"""Actions of a thread between two looks at whether it is to stop."""

GIVING_UP = ("decode", "read", "encode", "encoded_size", "convert", "write_batch")
"""Functions that leave nothing to Python here; for the others Python must have the same result."""
decode_by_python = native_checks.PYTHON["decode"]
encode_by_python = native_checks.PYTHON["encode"]


@dataclass
class Shared:
    """Objects that all threads use."""

    kernel: ModuleType
    golden: list[tuple[type[Message], bytes, bytes]]
    """Class, bytes of a message, and the bytes that Python writes for this message again."""
    message: Message
    record_format: Message
    records: list[Record]
    section: bytes
    table: Any
    batches: SharedBatches
    projections: list[SharedProjection]
    failures: list[BaseException] = field(default_factory=list)


def use_its_own(shared: Shared, chance: random.Random) -> None:
    """Read and write a message that no other thread uses."""
    cls, data, expected = chance.choice(shared.golden)
    message = shared.kernel.decode(cls, data)
    assert shared.kernel.encode(message) == expected
    assert shared.kernel.encoded_size(message) == len(expected)
    records = shared.kernel.read_records(shared.section, 0, 0)
    assert shared.kernel.ordered_records(records, 2) == records
    assert shared.kernel.write_records(records, 0, 0) == shared.section


def replace(shared: Shared, chance: random.Random) -> None:
    """Put another message in the place of the one that all use, of a class whose first use is now."""
    cls, data, _ = chance.choice(shared.golden)
    if chance.random() < 0.3:
        cls = type(cls.__name__, (cls,), {"__slots__": ()})
    shared.message = decode_by_python(cls, data)  # by Python, so that the kernel first uses the class in writing


def write(shared: Shared, chance: random.Random) -> None:
    """Write a message that other threads change, read it, and convert it."""
    message = shared.message
    written = shared.kernel.encode(message)
    again = decode_by_python(type(message), written)
    assert shared.kernel.encode(again) == encode_by_python(again) == written
    assert shared.kernel.encoded_size(message) >= 0
    with suppress(native_checks.GaveUpError):  # a loss in the other version, or a derived class
        older = shared.kernel.convert(message, chance.randint(message.MIN_VERSION, message.MAX_VERSION))
        if older is not message:  # then no other thread has it
            assert encode_by_python(decode_by_python(type(older), encode_by_python(older))) == encode_by_python(older)


def write_record_format(shared: Shared, chance: random.Random) -> None:
    """Write a record format that other threads change; its values depend on each other, and may be wrong at times."""
    message = shared.record_format
    with suppress(native_checks.GaveUpError):
        decode_by_python(type(message), shared.kernel.encode(message))
    if chance.random() < 0.1:
        shared.record_format = fuzzing.filled(chance.choice(fuzzing.layouts()), chance)
    with suppress(AttributeError, IndexError):  # another thread has made it shorter
        native_checks.spoil(message, chance)


def write_by_python(shared: Shared, _: random.Random) -> None:
    """Python's own methods see what others do; no more than an error may come of it."""
    with suppress(KipwireError):
        encode_by_python(shared.message)


def change(shared: Shared, chance: random.Random) -> None:
    """Change lists, slots and unknown tagged fields of the message, in a way that it stays a message."""
    item: Any
    for item in list(native_checks.structs_in(shared.message)):
        for one in item.ATTRIBUTES:
            value = getattr(item, one.name)
            if isinstance(value, list) and value and one.struct is not None:
                _change_list(item, one.name, value, chance)
            elif one.type == "string" and isinstance(value, str):
                setattr(item, one.name, chance.choice(("", "a" * chance.randrange(300), "é" * 20)))
            elif one.type == "int64" and one.encoding is None:
                setattr(item, one.name, chance.randrange(2**62))
        if item.FLEXIBLE:
            unknown = item.unknown_tagged_fields
            assert item.unknown_tagged_fields is not None
            change = (partial(unknown.update, {999: b"x" * chance.randrange(300)}), unknown.clear)
            chance.choice(change)()
            if chance.random() < 0.3:
                item._unknown_tagged_fields = chance.choice((None, {998: b"y"}))


def _change_list(item: Any, name: str, value: list[Any], chance: random.Random) -> None:
    kind = chance.randrange(4)
    if kind == 0:
        with suppress(IndexError):  # another thread has made it empty
            value.append(value[0])
        del value[8:]
    elif kind == 1:
        del value[1:]
    elif kind == 2:
        setattr(item, name, list(value))
    else:
        value.sort(key=id)


def change_records(shared: Shared, chance: random.Random) -> None:
    """Change a list of records and write it."""
    records = shared.records
    with suppress(IndexError):
        records[chance.randrange(len(records) + 1)].headers[:] = [("key", b"value")] * chance.randrange(5)
    if len(records) < 20:
        records.append(Record(offset=chance.randrange(100), key=b"k" * chance.randrange(300)))
    else:
        del records[chance.randrange(5) :]
    written = shared.kernel.write_records(records, 0, 0)
    assert written is not None and shared.kernel.read_records(written, 0, 0) is not None
    with suppress(EncodeError):  # their offsets need not ascend
        shared.kernel.ordered_records(records, 2)


def use_table(shared: Shared, _: random.Random) -> None:
    """Fill and empty the table of records."""
    with suppress(RuntimeError):  # a table refuses a second call at a time
        shared.table.add(0, shared.section, 10, 0, 0, None)
        assert shared.table.count % 10 == 0 and shared.table.size % (10 * (5 + 3 + 5)) == 0
        counts = {count for count, _, _ in shared.table.take()}
        assert len(counts) == 1 and counts.pop() % 10 == 0


def write_batch(shared: Shared, chance: random.Random) -> None:
    """Write a list of records as a batch, and change the list."""
    shared.batches.write()
    shared.batches.change(chance)


def read_batches(shared: Shared, chance: random.Random) -> None:
    """Read the next of the batches that all threads read, and the records of one that all have."""
    shared.batches.read()
    shared.batches.read_records(chance)


def project(shared: Shared, chance: random.Random) -> None:
    """Read and replace chosen fields, with values that others change."""
    projection = chance.choice(shared.projections)
    projection.read()
    projection.replace(chance)


def use_new_projection(shared: Shared, chance: random.Random) -> None:
    """Choose fields of a class whose first use is now."""
    at = chance.randrange(len(shared.projections))
    one = shared.projections[at]
    cls = type(one.cls.__name__, (one.cls,), {"__slots__": ()})
    shared.projections[at] = SharedProjection(shared.kernel, cls, one.data, one.paths)
    shared.projections[at].read()


ACTIONS: tuple[tuple[Callable[[Shared, random.Random], None], int], ...] = (
    (use_its_own, 4),
    (replace, 1),
    (write, 6),
    (write_record_format, 2),
    (write_by_python, 1),
    (change, 4),
    (change_records, 2),
    (use_table, 1),
    (write_batch, 3),
    (read_batches, 3),
    (project, 5),
    (use_new_projection, 1),
)
"""Actions of a thread, each with its weight."""


def threads(kernel: ModuleType, chance: random.Random) -> Iterator[None]:
    """Run rounds of THREADS threads, with ROUND actions each."""
    shared = _shared(kernel, chance)
    actions = [action for action, weight in ACTIONS for _ in range(weight)]

    def work(own: random.Random) -> None:
        counts: Counter[str] = Counter()
        try:
            for _ in range(ROUND):
                action = own.choice(actions)
                action(shared, own)
                counts[action.__name__] += 1
        except BaseException as failure:
            shared.failures.append(failure)
        results.append(counts)

    results: list[Counter[str]] = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with native_checks.alone(kernel, *GIVING_UP):
            while True:
                workers = [
                    threading.Thread(target=work, args=(random.Random(chance.randrange(2**32)),))
                    for _ in range(THREADS)
                ]
                for worker in workers:
                    worker.start()
                for worker in workers:
                    worker.join()
                if shared.failures:
                    raise shared.failures[0]
                yield
    finally:
        sys.setswitchinterval(interval)
        total = sum(results, Counter[str]())
        said = ", ".join(f"{name} {count}" for name, count in sorted(total.items()))
        has_gil = getattr(sys, "_is_gil_enabled", lambda: True)()
        print(f"{THREADS} threads, {'with' if has_gil else 'without'} a GIL: {total.total()} actions ({said})")


def _shared(kernel: ModuleType, chance: random.Random) -> Shared:
    seeds = [(cls, data) for cls, data in fuzzing.seeds() if len(data) < 2000]
    native_checks.bind_all(kernel)
    records = [Record(offset=number, value=b"value", headers=[("key", b"value")]) for number in range(10)]
    section = kernel.write_records(records, 0, 0)
    return Shared(
        kernel=kernel,
        golden=[(cls, data, encode_by_python(decode_by_python(cls, data))) for cls, data in seeds],
        message=decode_by_python(*chance.choice(seeds)),
        record_format=fuzzing.filled(chance.choice(fuzzing.layouts()), chance),
        records=records,
        section=section,
        table=kernel.RecordTable(),
        batches=SharedBatches(kernel),
        projections=[shared_projection(kernel, seeds, chance) for _ in range(8)],
    )


if __name__ == "__main__":
    fuzzing.run(__doc__, {"threads": threads})
