"""Run a kernel that was built with sanitizers on columns of damaged bytes, and on columns that are damaged themselves.

    python tests/fuzz_columns.py FOLDER [--seconds 60] [--seed 0]

The folder is that of fuzz_native.py. A report of AddressSanitizer or UBSan, or a difference from what the generated
classes and `Record` do, ends the run with an exit status other than 0.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

import column_checks
import fuzz_native
import native_checks
import record_column_checks
from kipwire import KipwireError, Message
from kipwire.columns.shape import shape_of


def fuzz(way: column_checks.Way, seconds: float, chance: random.Random) -> int:
    """Check until the time is over; the number of messages that were damaged."""
    pool: dict[type[Message], list[bytes]] = {}
    for cls, seed in fuzz_native.seeds():
        pool.setdefault(cls, []).append(seed)
    records = several_times(chance)
    classes, count, end = list(pool), 0, time.monotonic() + seconds
    while time.monotonic() < end:
        cls = chance.choice(classes)
        data = [native_checks.damage(one, chance) for one in chance.choices(pool[cls], k=5)]
        mixed: list[bytes | None] = [*data, *chance.choices(pool[cls], k=5), None]
        chance.shuffle(mixed)
        column_checks.check_columns(way, cls, mixed)
        check_choice(way, cls, mixed, chance)
        write_damaged(way, cls, mixed, chance)
        record_column_checks.check_records(records, record_column_checks.random_batches(chance))
        count += len(data)
    return count


def several_times(chance: random.Random) -> Callable[[], Any]:
    """What gives the same columns of records again, so that they expect what they had before, or sometimes new ones."""
    from kipwire.columns.record_kernel import KernelRecords  # which is only there once the kernel is

    made = [KernelRecords()]

    def records() -> KernelRecords:
        if chance.random() < 0.1:
            made[0] = KernelRecords()
        return made[0]

    return records


def check_choice(way: column_checks.Way, cls: type[Message], data: list[bytes | None], chance: random.Random) -> None:
    """Some of the columns, whose values are those of all of them."""
    names = column_checks.paths(shape_of(cls))
    shape = shape_of(cls, chance.sample(names, chance.randint(0, min(3, len(names)))))
    array = pa.array(data, pa.binary())
    rows = way.read(cls, shape, array)
    rows.validate(full=True)
    assert rows.is_valid().equals(way.read(cls, shape_of(cls), array).is_valid())


def write_damaged(way: column_checks.Way, cls: type[Message], data: list[bytes | None], chance: random.Random) -> None:
    """Rows whose buffers have been overwritten here and there: any bytes, or an error, but no access outside."""
    from kipwire.columns.kernel import UnusualError  # which is only there once the kernel is

    rows = way.read(cls, shape_of(cls), pa.array(data, pa.binary()))
    with suppress(KipwireError, UnusualError):
        way.write(cls, shape_of(cls), spoilt(rows, chance))


def spoilt(array: Any, chance: random.Random) -> Any:
    """A copy of an array with some bytes of its own buffers, or of arrays in it, overwritten or cut off."""
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
    except pa.ArrowInvalid:  # Arrow itself sees what is wrong
        return array


def main() -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=60, help="how long (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers (default: %(default)s)")
    options = parser.parse_args()
    sys.modules["kipwire._kernel"] = fuzz_native.load(options.folder)
    count = fuzz(column_checks.by_kernel(), options.seconds, random.Random(options.seed))
    print(f"{count} messages damaged in columns; columns and rows agree, and no sanitizer has anything to report")
    return 0


if __name__ == "__main__":
    sys.exit(main())
