"""The processor time of the example proxy between a client and a broker, beside a proxy that passes bytes on unread.

    python -m benchmarks.proxied [--rounds 3] [--count 300000]

A client produces records of 200 bytes and consumes them. Only the processor time of the proxy counts, from its first
connection to its last. It needs a broker with a second listener (`make bench-proxy` starts one), whose clients are sent
to the port of the proxy that does not rewrite addresses. The table goes to the terminal and to
benchmarks/RESULTS-proxy.md.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import psutil
from kafka.admin import KafkaAdminClient, NewTopic

from benchmarks.proxied.load import CLIENTS, SIZE
from benchmarks.reporting.report import Table, machine, markdown, show
from benchmarks.timing import median_ratio
from kipwire import native

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parents[1] / "RESULTS-proxy.md"
BROKER_PORT = int(os.environ.get("BROKER_PORT", "19092"))
SENT_HERE = int(os.environ.get("BROKER_SENDS_TO", "19096"))
"""Where the broker's second listener sends its clients: the port of the proxy."""
SECOND_LISTENER = BROKER_PORT + 2
SECONDS_TO_START = 30
NOT_FOR_PROXIES = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "KIPWIRE_NATIVE")
PARTITIONS = 3


class Measured(NamedTuple):
    """A program between client and broker."""

    command: tuple[str, ...]
    broker_port: int
    environment: dict[str, str]


EXAMPLE = (str(ROOT / "examples" / "proxy.py"),)
UNREAD = "bytes unread"
PROXIES = {
    UNREAD: Measured(("-m", "benchmarks.proxied.pass_through"), SECOND_LISTENER, {}),
    "proxy, kernel": Measured(EXAMPLE, BROKER_PORT, {}),
    "proxy, plain Python": Measured(EXAMPLE, BROKER_PORT, {"KIPWIRE_NATIVE": "0"}),
}
"""By name; the others are compared with the first one."""


@contextmanager
def running(proxy: Measured) -> Iterator[psutil.Process]:
    """The process of a proxy that listens."""
    command = [sys.executable, *proxy.command, f"127.0.0.1:{proxy.broker_port}", "--listen", f"127.0.0.1:{SENT_HERE}"]
    # As users have it: compiled modules are kept, and what goes to a file or nowhere is buffered.
    common = {name: value for name, value in os.environ.items() if name not in NOT_FOR_PROXIES}
    environment = {**common, **proxy.environment}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT, env=environment)
    try:
        until = time.monotonic() + SECONDS_TO_START
        while not answers(SENT_HERE):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{' '.join(command)} does not listen on port {SENT_HERE}")
            time.sleep(0.05)
        yield psutil.Process(process.pid)
    finally:
        process.kill()
        process.wait()


def answers(port: int) -> bool:
    """Whether somebody listens on a port of loopback."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def new_topic(name: str) -> Iterator[None]:
    """A topic for one run."""
    admin: Any = KafkaAdminClient(bootstrap_servers=f"127.0.0.1:{BROKER_PORT}")
    admin.create_topics([NewTopic(name, PARTITIONS, 1)], wait_for_metadata=True)
    try:
        yield
    finally:
        admin.delete_topics([name])
        admin.close()


def seconds_of(proxy: Measured, client: str, topic: str, count: int) -> float:
    """The processor time of a proxy while a client produces and consumes."""
    load = [sys.executable, "-m", "benchmarks.proxied.load", client, f"127.0.0.1:{SENT_HERE}", topic, str(count)]
    with new_topic(topic), running(proxy) as process:
        before = process.cpu_times()
        subprocess.run(load, check=True, cwd=ROOT)
        after = process.cpu_times()
    return after.user + after.system - before.user - before.system


def compare(client: str, rounds: int, count: int) -> Table:
    """A table of one client: a row for each proxy."""
    taken: dict[str, list[float]] = {name: [] for name in PROXIES}
    for proxy in PROXIES.values():
        seconds_of(proxy, client, f"warm-up-{time.time_ns()}", PARTITIONS)  # compiles modules, which are then kept
    for number in range(rounds):
        for name in reversed(PROXIES) if number % 2 else PROXIES:
            print(f"{client}, round {number + 1}: {name} ...", end=" ", file=sys.stderr, flush=True)
            topic = f"measured-{time.time_ns()}"
            taken[name].append(seconds_of(PROXIES[name], client, topic, count))
            print(f"{taken[name][-1]:.2f} s", file=sys.stderr)
    rows = [
        (
            name,
            f"{median(seconds):.2f}",
            f"{min(seconds):.2f} to {max(seconds):.2f}",
            f"{median_ratio(seconds, taken[UNREAD]):.2f}",
        )
        for name, seconds in taken.items()
    ]
    return Table(f"{client}: {count:,} records", ("proxy", "median s", "all rounds, s", f"/ {UNREAD}"), tuple(rows))


def main() -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (default: %(default)s)")
    parser.add_argument("--count", type=int, default=300_000, help="records of each run (default: %(default)s)")
    parser.add_argument("--client", choices=CLIENTS, action="append", help="one of them alone, and no file is written")
    options = parser.parse_args()
    if not native.in_use:
        print(f"without the compiled kernel there is nothing to compare: {native.reason}", file=sys.stderr)
        return 1
    if not answers(SECOND_LISTENER):
        print(f"no broker with a second listener at port {SECOND_LISTENER}: run make bench-proxy", file=sys.stderr)
        return 1
    tables = [compare(client, options.rounds, options.count) for client in options.client or CLIENTS]
    names = ("kipwire", *CLIENTS)
    where = replace(machine(()), versions={name: version(name) for name in names})
    show(tables)
    print(where)
    if options.client:
        return 0
    how = (
        f"Seconds of processor time, user and system, of a proxy between a client and a broker, while the client "
        f"produces {options.count:,} records of {SIZE} bytes to {PARTITIONS} partitions and consumes them in a group. "
        f"{options.rounds} rounds, interleaved; a ratio is the median of the ratios per round. `{UNREAD}` is "
        "benchmarks/proxied/pass_through.py: the same asyncio reads and writes, with no knowledge of Kafka. `proxy` is "
        "examples/proxy.py: it splits the bytes into frames, prints each request and response (to /dev/null), and "
        "decodes and rewrites the responses that have addresses. kafka-python sends batches of 16 KB, "
        "confluent-kafka of up to 1 MB."
    )
    RESULTS.write_text(
        markdown(tables, where, how, title="Results: proxy", command="make bench-proxy"), encoding="utf-8"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
