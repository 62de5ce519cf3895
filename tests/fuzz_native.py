"""Run a kernel that was built with sanitizers on damaged bytes and odd values, beside the Python methods.

    python tests/fuzz_native.py FOLDER [--seconds 60] [--seed 0]

The folder has the built kernel, and the packages `forms_of_every_kind` and `layouts_of_every_kind` that were generated
from tests/data. A report of AddressSanitizer or UBSan, or a difference between the two, ends the run with an exit
status other than 0.
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import os
import random
import sys
import time
from pathlib import Path
from types import ModuleType

os.environ["KIPWIRE_NATIVE"] = "0"  # the kernel of the package is another one

import golden_data
import kafka_messages
import kafka_records
import native_checks
import proposals
from kipwire import Message
from kipwire.records import Record


def load(folder: Path) -> ModuleType:
    """The kernel that a folder has."""
    (file,) = folder.glob("_kernel*.so")
    spec = importlib.util.spec_from_file_location("_kernel", file)
    assert spec is not None and spec.loader is not None
    kernel = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernel)
    return kernel


def seeds() -> list[tuple[type[Message], bytes]]:
    """Messages to damage: Kafka's golden ones, and one of defaults of every other class."""
    found = [
        (kafka_messages.message(name, version), bytes.fromhex(line["hex"]))
        for (name, version), lines in golden_data.messages().items()
        for line in lines
    ]
    generated = map(importlib.import_module, ("forms_of_every_kind", "layouts_of_every_kind"))
    for package in (kafka_records, proposals, *generated):
        for name in package.names():
            classes = [package.message(name, version) for version in package.versions(name)]
            found += 20 * [(cls, cls().encode()) for cls in classes if cls.TYPE != "layout"]
    return found


def fuzz(kernel: ModuleType, seconds: float, chance: random.Random) -> int:
    """Check until the time is over; the number of messages that were damaged."""
    pool, count, end = seeds(), 0, time.monotonic() + seconds
    with native_checks.alone(kernel):
        while time.monotonic() < end:
            at = chance.randrange(len(pool))
            cls, data = pool[at]
            message = native_checks.check_decode(kernel, cls, native_checks.damage(data, chance))
            if message is None:
                message = cls.decode(data)
            native_checks.check_encode(kernel, message, usual=True)
            if chance.random() < 0.1 and len(data) < 5000:
                pool[at] = cls, message.encode()  # go on from what was accepted
            for _ in range(3):
                spoilt = copy.deepcopy(message)
                native_checks.spoil(spoilt, chance)
                native_checks.check_encode(kernel, spoilt, usual=False)
            fuzz_records(kernel, chance)
            count += 1
    return count


def fuzz_records(kernel: ModuleType, chance: random.Random) -> None:
    """Check what the kernel does with some records, with their bytes, damaged, and with odd values in them."""
    records = [
        Record(
            offset=chance.randrange(1000),
            timestamp=chance.randrange(2 ** chance.randrange(1, 63)),
            key=chance.randbytes(chance.randrange(200)),
            value=chance.choice((None, b"value")),
            headers=[("key", None), ("\u00e9", b"value")][: chance.randrange(3)],
        )
        for _ in range(chance.randrange(1, 4))
    ]
    data = native_checks.check_write_records(kernel, records, 0, 0)
    assert data is not None
    for _ in range(3):
        native_checks.check_read_records(kernel, native_checks.damage(data, chance), 0, 0)
        spoilt = copy.deepcopy(records)
        native_checks.spoil_records(spoilt, chance)
        native_checks.check_write_records(kernel, spoilt, 0, 0)


def main() -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=60, help="how long (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers (default: %(default)s)")
    options = parser.parse_args()
    count = fuzz(load(options.folder), options.seconds, random.Random(options.seed))
    print(f"{count} messages damaged and spoilt; the kernel and Python agree, and no sanitizer has anything to report")
    return 0


if __name__ == "__main__":
    sys.exit(main())
