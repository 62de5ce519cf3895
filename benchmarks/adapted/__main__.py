"""The processor time of aiokafka as it produces and fetches, with its own protocol code and with kipwire's.

    python -m benchmarks.adapted [--rounds 5] [--work small]

Each figure is from a process of its own, which differs from its counterpart only in that it installs
examples/aiokafka_on_kipwire.py. It needs a broker (`make bench-adapter` starts one). The tables go to the terminal and
to benchmarks/RESULTS-adapter.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from kafka.admin import KafkaAdminClient, NewTopic

from benchmarks.adapted import frames
from benchmarks.adapted.load import METADATA, WORKS
from benchmarks.reporting.report import Table, machine, markdown, show
from benchmarks.timing import median_ratio
from kipwire import native

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parents[1] / "RESULTS-adapter.md"
ADDRESS = f"127.0.0.1:{os.environ.get('BROKER_PORT', '19092')}"
SIDES = ("aiokafka", "adapter")
NOT_FOR_CLIENTS = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "KIPWIRE_NATIVE")
TOPICS, PARTITIONS = 5, 200
"""What the metadata has beside the topics of the broker itself."""


@contextmanager
def new_topics(names: Sequence[str], partitions: int) -> Iterator[None]:
    """Topics for one run, or for all runs of a work."""
    if not names:
        yield
        return
    admin: Any = KafkaAdminClient(bootstrap_servers=ADDRESS)
    admin.create_topics([NewTopic(name, partitions, 1) for name in names], wait_for_metadata=True)
    try:
        yield
    finally:
        admin.delete_topics([*names])
        admin.close()


def seconds_of(work: str, topic: str, side: str) -> dict[str, float]:
    """The processor time of a client, by what it did."""
    # As users have it: compiled modules are kept, and what is printed is buffered.
    environment = {name: value for name, value in os.environ.items() if name not in NOT_FOR_CLIENTS}
    command = [sys.executable, "-m", "benchmarks.adapted.load", work, ADDRESS, topic, side]
    done = subprocess.run(command, check=True, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    taken: dict[str, float] = json.loads(done.stdout)
    return taken


def rounds_of(work: str, rounds: int) -> list[tuple[str, list[float], list[float]]]:
    """What a client did, with the times of both sides in each round."""
    taken: dict[str, dict[str, list[float]]] = {}
    names = [f"metadata-{time.time_ns()}-{number}" for number in range(TOPICS)] if work == METADATA else []
    with new_topics(names, PARTITIONS):
        for number in range(rounds):
            for side in reversed(SIDES) if number % 2 else SIDES:
                print(f"{work}, round {number + 1}: {side} ...", end=" ", file=sys.stderr, flush=True)
                topic = f"measured-{time.time_ns()}"
                with new_topics([], 0) if names else new_topics([topic], WORKS[work].partitions):
                    found = seconds_of(work, topic, side)
                for what, seconds in found.items():
                    taken.setdefault(what, {one: [] for one in SIDES})[side].append(seconds)
                print(", ".join(f"{seconds:.2f} s" for seconds in found.values()), file=sys.stderr)
    return [(what, by_side["aiokafka"], by_side["adapter"]) for what, by_side in taken.items()]


def compare(works: Sequence[str], rounds: int) -> Table:
    """The table of what clients do."""
    rows = []
    for work in works:
        for what, before, after in rounds_of(work, rounds):
            ratios = [one / other for one, other in zip(before, after, strict=True)]
            spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
            rows.append(
                (what, f"{median(before):.2f}", f"{median(after):.2f}", f"{median_ratio(before, after):.2f}", spread)
            )
    header = ("what the client does", "aiokafka s", "with the adapter s", "ratio", "all rounds")
    return Table("A client and a broker", header, tuple(rows))


def is_broker_there() -> bool:
    """Whether a broker answers."""
    try:
        KafkaAdminClient(bootstrap_servers=ADDRESS).close()
    except Exception:  # kafka-python has many
        return False
    return True


def main() -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5, help="runs of each (default: %(default)s)")
    parser.add_argument(
        "--work", choices=(*WORKS, METADATA), action="append", help="this alone, and no file is written"
    )
    options = parser.parse_args()
    if not native.in_use:
        print(f"without the compiled kernel there is nothing to compare: {native.reason}", file=sys.stderr)
        return 1
    if not is_broker_there():
        print(f"no broker at {ADDRESS}: run make bench-adapter", file=sys.stderr)
        return 1
    tables = [compare(options.work or (*WORKS, METADATA), options.rounds), frames.measure(15, 0.05)]
    where = replace(machine(()), versions={name: version(name) for name in ("kipwire", "aiokafka")})
    show(tables)
    print(where)
    if options.work:
        return 0
    how = (
        "Processor time of aiokafka with its own protocol code, and with examples/aiokafka_on_kipwire.py, which puts "
        "kipwire's classes in its place. A ratio is aiokafka's own time divided by that with the adapter, so above 1 "
        "the adapter saves time. `A client and a broker` is user and system time of a whole client process, without "
        "imports and connecting: records, batches, asyncio and sockets are the same on both sides. "
        f"{options.rounds} rounds, interleaved, each in a process of its own; a ratio is the median of the ratios per "
        f"round. The metadata has {TOPICS} topics of {PARTITIONS} partitions. `A frame` is one call for header and "
        "body, with the objects that aiokafka gives and takes: medians of 15 rounds of 0.05 s, interleaved in one "
        "process."
    )
    text = markdown(tables, where, how, title="Results: adapter", command="make bench-adapter")
    RESULTS.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
