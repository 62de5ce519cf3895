"""Damages logs, and checks that every reader of them accounts for every byte: none loses a record silently.

    python -m tests.fuzz.fuzz_logs build/fuzz --target logs [--seconds 60] [--seed 0]

An input is a log with random damage, read in one of the ways that there are: by parts, as segments, by `kafka_log` with
random options, as a stream. `tests/support/damaged_logs.py` says what must hold. It is about which bytes are read, so
the kernel takes no part in it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from tests.fuzz import fuzzing
from tests.support.damaged_logs import check, damage, written_log


def logs(_: ModuleType, chance: random.Random) -> Iterator[None]:
    """Random logs, damaged."""
    for number in count():
        with TemporaryDirectory() as folder:
            log = written_log(chance, Path(folder))
            damage(chance, log)
            try:
                check(chance, log)
            except Exception:
                print(f"log {number}: {[(path.name, path.read_bytes().hex()) for path in sorted(log.segments)]}")
                raise
        yield


if __name__ == "__main__":
    fuzzing.run(__doc__, {"logs": logs})
