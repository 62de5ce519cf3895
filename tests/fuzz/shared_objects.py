"""Record batches and values of projections that several threads read, write and change; see fuzz_threads.py.

The kernel's result must be Python's result for some state that they can have, or the kernel gives up.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, NamedTuple

from kipwire import Message, Struct
from kipwire.records import Record, RecordBatch, write_message_set
from tests.support import native_checks, projection_checks

BATCHES = 12
"""Batches in the bytes that all threads read."""
OLD = Record(offset=1, timestamp=5, value=b"old")
decode_by_python = native_checks.PYTHON["decode"]
encode_by_python = native_checks.PYTHON["encode"]


def new_records(count: int = 10) -> list[Record]:
    """Return records in order, each with objects of its own."""
    return [
        Record(offset=offset, timestamp=5 + offset, value=b"value %d" % offset, headers=[(f"key {offset}", b"value")])
        for offset in range(count)
    ]


class Reading(NamedTuple):
    """An iterator over batches, and the positions of those that it gave."""

    batches: Iterator[RecordBatch]
    positions: list[int]


@dataclass
class SharedBatches:
    """Records that become batches, and batches that are read."""

    kernel: ModuleType
    records: list[Record] = field(default_factory=new_records)

    def __post_init__(self) -> None:
        native_checks.bind_all(self.kernel)
        one = native_checks.PYTHON["write_batch"](new_records())
        # After the first entry of magic 1 Python reads all others.
        self.data = one * (BATCHES - 2) + write_message_set([OLD], magic=1) + one
        self.start()
        self.first_read()

    def start(self) -> None:
        """Begin to read the bytes again."""
        self.reading = Reading(self.kernel.read_batches(self.data), [])

    def first_read(self) -> None:
        """Share a batch whose records have not been read yet."""
        self.batch = next(self.kernel.read_batches(self.data))

    def change(self, chance: random.Random) -> None:
        """Change the records, mostly so that they still can be a batch."""
        records = self.records
        with suppress(IndexError):
            one = records[chance.randrange(len(records) + 1)]
            one.timestamp = chance.choice((5, 2**40 + chance.randrange(2**20)))
            one.value = b"v" * chance.randrange(300)
            one.headers[:] = [("key" * chance.randrange(20), b"value")] * chance.randrange(4)
            if chance.random() < 0.2:
                records[-1].offset += chance.randrange(2**20)
            if chance.random() < 0.3:
                records[-1] = Record(offset=records[-1].offset, key=b"k" * chance.randrange(300))
        if chance.random() < 0.3:
            del records[chance.randrange(1, 12) :]
        if chance.random() < 0.1:
            self.records = new_records()
        elif len(records) < 30:
            with suppress(IndexError):
                records.append(Record(offset=records[-1].offset + chance.randrange(1, 2**20)))

    def write(self) -> None:
        """Write the records; the head of the batch is of the very records in it."""
        with suppress(native_checks.GaveUpError):  # when their offsets do not ascend
            written = self.kernel.write_batch(self.records)
            [batch] = native_checks.PYTHON["read_batches"](written)
            assert native_checks.PYTHON["write_batch"](native_checks.PYTHON["records_of_batch"](batch)) == written

    def read(self) -> None:
        """Read the next of the batches, each of which one thread gets."""
        batches, positions = self.reading
        try:
            batch = next(batches)
        except StopIteration:
            self.start()
        except ValueError:  # another thread has Python read the next one
            pass
        else:
            positions.append(batch.position)
            seen = list(positions)
            assert len(set(seen)) == len(seen), f"a batch was read twice: {seen}"
            assert self.kernel.records_of_batch(batch) == (new_records() if batch.magic == 2 else [OLD])

    def read_records(self, chance: random.Random) -> None:
        """Read the records of a batch that other threads read, too; all must get the same list."""
        batch = self.batch
        found = self.kernel.records_of_batch(batch)
        assert self.kernel.records_of_batch(batch) is found and len(found) == 10
        if chance.random() < 0.5:
            self.first_read()


@dataclass
class SharedProjection:
    """Chosen fields of a message, and values for them."""

    kernel: ModuleType
    cls: type[Message]
    data: bytes
    paths: tuple[str, ...]

    def __post_init__(self) -> None:
        self.served = projection_checks.projector(self.kernel, self.cls, self.paths)
        if self.served is not None:
            self.expected = native_checks.content(self.served.decode(self.data))
            self.start()

    def start(self) -> None:
        """Share the values of the message, in new lists."""
        self.values: list[Any] = list(self.served.decode(self.data))

    @property
    def has_lists(self) -> bool:
        """True if one of its values is a list that is not empty, and so can be changed."""
        return self.served is not None and any(isinstance(value, list) and value for value in self.values)

    def read(self) -> None:
        """Read the chosen values from the bytes, which no thread changes."""
        assert native_checks.content(self.served.decode(self.data)) == self.expected

    def replace(self, chance: random.Random) -> None:
        """Write the shared values into the message, which must then decode, and change them."""
        found = self.served.replace(self.data, self.values, 0, True)
        if found is not None:
            assert encode_by_python(decode_by_python(self.cls, found)) == found
        if chance.random() < 0.1:
            self.start()
        with suppress(IndexError, RuntimeError):  # another thread has made it shorter, or added to a dict
            for value in self.values:
                _change(value, chance)


def shared_projection(
    kernel: ModuleType, seeds: list[tuple[type[Message], bytes]], chance: random.Random
) -> SharedProjection:
    """Chosen fields of one of some messages, of which one at least is in an array."""
    while True:
        cls, data = chance.choice(seeds)
        paths = projection_checks.some_paths(cls, chance)
        if (found := SharedProjection(kernel, cls, data, paths)).has_lists:
            return found


def _change(value: Any, chance: random.Random) -> None:
    """Change lists at any depth and their elements, with new objects for old ones."""
    if not isinstance(value, list) or not value:
        return
    if chance.random() < 0.7:
        _change(chance.choice(value), chance)
    kind = chance.randrange(5)
    if kind == 0:
        value.append(value[0])
    elif kind == 1:
        del value[1:]
    elif kind == 2:
        value[:] = [copy.deepcopy(one) for one in value]
    else:
        at = chance.randrange(len(value))
        value[at] = _other(value[at], chance)
    del value[8:]


def _other(value: Any, chance: random.Random) -> Any:
    """Return a new object of the same type."""
    if isinstance(value, str):
        return "a" * chance.randrange(300)
    if isinstance(value, bytes):
        return b"a" * chance.randrange(300)
    if isinstance(value, (list, Struct)):
        return copy.deepcopy(value)
    return value
