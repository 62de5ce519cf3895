"""Run a kernel that was built with sanitizers on columns of damaged bytes, and on Arrow arrays of damaged streams.

    python -m tests.fuzz.fuzz_columns FOLDER --target bytes|ipc [--seconds 60] [--seed 0]

FOLDER is the same as for fuzz_native.py. The last line has the number of inputs. A report of AddressSanitizer or UBSan,
or a difference from the generated classes and `Record`, ends the run with an exit status other than 0.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from kipwire import KipwireError, Message
from kipwire.columns.arrow_types import columns_of
from tests.fuzz import fuzz_native
from tests.support import column_checks, damaged_streams, native_checks, record_column_checks

Target = Callable[[random.Random], Iterator[None]]
"""Function that checks one input after the other, for ever; an AssertionError is a difference."""


def pool_by_class() -> dict[type[Message], list[bytes]]:
    """Return messages to begin with, by class."""
    pool: dict[type[Message], list[bytes]] = {}
    for cls, seed in fuzz_native.seeds():
        pool.setdefault(cls, []).append(seed)
    return pool


def from_bytes(chance: random.Random) -> Iterator[None]:
    """Decode damaged messages among whole ones, and encode damaged rows of them."""
    way, pool, records = column_checks.by_kernel(), pool_by_class(), several_times(chance)
    classes = list(pool)
    while True:
        cls = chance.choice(classes)
        data = [native_checks.damage(one, chance) for one in chance.choices(pool[cls], k=5)]
        mixed: list[bytes | None] = [*data, *chance.choices(pool[cls], k=5), None]
        chance.shuffle(mixed)
        column_checks.check_columns(way, cls, mixed)
        check_choice(way, cls, mixed, chance)
        write_damaged(way, cls, mixed, chance)
        record_column_checks.check_records(records, record_column_checks.random_batches(chance))
        yield from [None] * len(data)


def from_ipc(chance: random.Random) -> Iterator[None]:
    """Damage streams of messages and of rows byte by byte; the outcome must be the same as by the generated classes."""
    way, pool = column_checks.by_kernel(), pool_by_class()
    classes = list(pool)
    while True:
        cls = chance.choice(classes)
        data: list[bytes | None] = [*chance.choices(pool[cls], k=chance.choice((1, 3, 9))), None]
        array = pa.array(data, chance.choice((pa.binary(), pa.large_binary())))
        rows = way.read(cls, columns_of(cls), array)
        for given, check in ((array, damaged_streams.check_decode), (rows, damaged_streams.check_encode)):
            stream = damaged_streams.stream_of(damaged_streams.varied(given, chance), chance)
            for _ in range(10):
                damaged_streams.check(check, cls, damaged_streams.damage(stream, chance))
                yield


TARGETS: dict[str, Target] = {"bytes": from_bytes, "ipc": from_ipc}


def several_times(chance: random.Random) -> Callable[[], Any]:
    """Return a source of one `KernelRecords`, which expects records like earlier ones; at times it is a new one."""
    from kipwire.columns.kernel_engine import KernelRecords  # importable only once the kernel is loaded

    made = [KernelRecords()]

    def records() -> KernelRecords:
        if chance.random() < 0.1:
            made[0] = KernelRecords(chance.random() < 0.5)
        return made[0]

    return records


def check_choice(way: column_checks.Way, cls: type[Message], data: list[bytes | None], chance: random.Random) -> None:
    """Read some of the columns: the same rows must be valid as with all columns."""
    names = column_checks.paths(columns_of(cls))
    struct = columns_of(cls, chance.sample(names, chance.randint(0, min(3, len(names)))))
    array = pa.array(data, pa.binary())
    rows = way.read(cls, struct, array)
    rows.validate(full=True)
    assert rows.is_valid().equals(way.read(cls, columns_of(cls), array).is_valid())


def write_damaged(way: column_checks.Way, cls: type[Message], data: list[bytes | None], chance: random.Random) -> None:
    """Encode rows with partly overwritten buffers: any bytes or an error may result, but no access outside of them."""
    rows = way.read(cls, columns_of(cls), pa.array(data, pa.binary()))
    with suppress(KipwireError):
        way.write(cls, columns_of(cls), spoilt(rows, chance))


def spoilt(array: Any, chance: random.Random) -> Any:
    """Return a copy of an array with some bytes of its own buffers, or of arrays in it, overwritten or cut off."""
    own = 1 if pa.types.is_struct(array.type) else 2 if array.type.num_fields else len(array.buffers())
    buffers = [None if one is None else bytearray(one) for one in array.buffers()[:own]]
    for buffer in buffers:
        if buffer and chance.random() < 0.1:
            at = chance.randrange(len(buffer))
            buffer[at : at + 4] = chance.choice(
                (b"\xff\xff\xff\x7f", b"\xff" * 4, bytes(4), b"\x01", chance.randbytes(4))
            )
    if pa.types.is_struct(array.type):
        children = [spoilt(array.field(number), chance) for number in range(array.type.num_fields)]
    else:
        children = [spoilt(array.values, chance)] if array.type.num_fields else []
    made = [None if one is None else pa.py_buffer(bytes(one)) for one in buffers]
    try:
        return pa.Array.from_buffers(array.type, len(array), made, offset=array.offset, children=children)
    except pa.ArrowInvalid:  # Arrow itself detects the fault
        return array


def main() -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="of the built kernel and the generated packages")
    parser.add_argument("--target", choices=TARGETS, required=True)
    parser.add_argument("--seconds", type=float, default=60, help="how long (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers (default: %(default)s)")
    options = parser.parse_args()
    faulthandler.enable()
    sys.modules["kipwire._kernel"] = fuzz_native.load(options.folder)
    inputs, differences, end = 0, 0, 0.0
    try:
        for _ in TARGETS[options.target](random.Random(options.seed)):
            end = end or time.monotonic() + options.seconds  # after the slow start, at the first input
            inputs += 1
            if time.monotonic() >= end:
                break
    except Exception:  # one that no check expects is one that only one of both ways raises
        traceback.print_exc()
        differences = 1
    print(f"{options.target}: {inputs} inputs, 0 reports, {differences} differences")
    return differences


if __name__ == "__main__":
    sys.exit(main())
