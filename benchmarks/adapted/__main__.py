"""The processor time of aiokafka as it produces and fetches, with its own protocol code and with kipwire's.

    python -m benchmarks.adapted [--rounds 15] [--work small]

Each work has a process of its own, which installs examples/aiokafka_on_kipwire.py and takes it out again. It needs a
broker (`make bench-adapter` starts one). The tables go to the terminal and to benchmarks/RESULTS-adapter.md.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from kafka.admin import KafkaAdminClient, NewTopic

from benchmarks.adapted import frames
from benchmarks.adapted.load import METADATA, SIDES, WORKS, Samples
from benchmarks.options import parsed, parser_of
from benchmarks.reporting.report import Table, machine, write_results
from benchmarks.timing import median_ratio
from kipwire import native

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parents[1] / "RESULTS-adapter.md"
ADDRESS = f"127.0.0.1:{os.environ.get('BROKER_PORT', '19092')}"
NOT_FOR_CLIENTS = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "KIPWIRE_NATIVE")
TOPICS, PARTITIONS = 5, 200
"""Numbers of topics, and of partitions of each, for the work on metadata; the broker's own topics come on top."""


@contextmanager
def new_topics(names: Sequence[str], partitions: int) -> Iterator[None]:
    """Create topics for one work, and delete them at the end of the block."""
    admin: Any = KafkaAdminClient(bootstrap_servers=ADDRESS)
    admin.create_topics([NewTopic(name, partitions, 1) for name in names], wait_for_metadata=True)
    try:
        yield
    finally:
        admin.delete_topics([*names])
        admin.close()


def samples_of(work: str, rounds: int) -> Samples:
    """Run a client, and return its processor times in each round."""
    # As for users: compiled modules are kept, and output is buffered.
    environment = {name: value for name, value in os.environ.items() if name not in NOT_FOR_CLIENTS}
    names = [f"measured-{time.time_ns()}-{number}" for number in range(TOPICS if work == METADATA else 1)]
    with new_topics(names, PARTITIONS if work == METADATA else WORKS[work].partitions):
        command = [sys.executable, "-m", "benchmarks.adapted.load", work, ADDRESS, names[0], str(rounds)]
        done = subprocess.run(command, check=True, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    taken: Samples = json.loads(done.stdout)
    return taken


def compare(works: Sequence[str], rounds: int) -> Table:
    """Measure the works, and return a table of them."""
    rows = []
    for work in works:
        print(f"{work} ...", file=sys.stderr)
        for what, by_side in samples_of(work, rounds).items():
            before, after = (by_side[side] for side in SIDES)
            first, _, third = quantiles([one / other for one, other in zip(before, after, strict=True)], n=4)
            medians = [f"{median(seconds) * 1000:.1f}" for seconds in (before, after)]
            rows.append((what, *medians, f"{median_ratio(before, after):.2f}", f"{first:.2f} to {third:.2f}"))
    header = ("what the client does", "aiokafka ms", "with the adapter ms", "ratio", "middle half of the rounds")
    return Table("A client and a broker", header, tuple(rows))


def is_broker_there() -> bool:
    """True if a broker listens at `ADDRESS`."""
    host, _, port = ADDRESS.rpartition(":")
    with socket.socket() as one:
        return one.connect_ex((host, int(port))) == 0


def main() -> int:
    """Run the command line; return the exit status."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.05, help="of a sample of a frame (default: %(default)s)")
    parser.add_argument(
        "--work", choices=(*WORKS, METADATA), action="append", help="this alone, and no file is written"
    )
    options = parsed(parser, rounds=2, seconds=1e-6)
    if not native.in_use:
        print(f"without the compiled kernel there is nothing to compare: {native.reason}", file=sys.stderr)
        return 1
    if not is_broker_there():
        print(f"no broker at {ADDRESS}: run make bench-adapter", file=sys.stderr)
        return 1
    tables = [
        compare(options.work or (*WORKS, METADATA), options.rounds),
        frames.measure(options.rounds, options.seconds),
    ]
    where = replace(machine(()), versions={name: version(name) for name in ("kipwire", "aiokafka")})
    how = (
        "Processor time of aiokafka with its own protocol code, and with examples/aiokafka_on_kipwire.py, which puts "
        "kipwire's classes in its place. A ratio is aiokafka's own time divided by that with the adapter, so above 1 "
        "the adapter saves time. `A client and a broker` is user and system time of a whole client process: records, "
        "batches, asyncio and sockets are the same on both sides. The adapter is put in and taken out again in each of "
        f"{options.rounds} rounds, in one process for each work; a ratio is the median of the ratios per round. The "
        f"metadata has {TOPICS} topics of {PARTITIONS} partitions. `A frame` is one call for header and "
        f"body, with the objects that aiokafka gives and takes: medians of {options.rounds} rounds of "
        f"{options.seconds:g} s, interleaved in one process."
    )
    file = None if options.smoke or options.work else RESULTS
    write_results(file, tables, where, how, title="Results: adapter", command="make bench-adapter")
    return 0


if __name__ == "__main__":
    sys.exit(main())
