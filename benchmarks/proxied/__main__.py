"""The processor time of `kipwire proxy` between a client and a broker, and the latency of requests through it.

    python -m benchmarks.proxied [--rounds 3] [--count 300000]

A client produces records of 200 bytes and consumes them. Only the processor time of the proxy counts. Beside it stand a
proxy that passes bytes on unread, and kroxylicious, if Maven can fetch it. It needs a broker with a second listener
(`make bench-proxy` starts one), whose clients are sent to the port of the proxy that does not rewrite addresses. The
tables go to the terminal and to benchmarks/RESULTS-proxy.md.
"""

from __future__ import annotations

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

from benchmarks.options import parsed, parser_of
from benchmarks.proxied import kroxylicious
from benchmarks.proxied.load import CLIENTS, LATENCY, SIZE
from benchmarks.reporting.report import Table, machine, write_results
from benchmarks.timing import median_ratio
from kipwire import native

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parents[1] / "RESULTS-proxy.md"
BROKER_PORT = int(os.environ.get("BROKER_PORT", "19092"))
SENT_HERE = int(os.environ.get("BROKER_SENDS_TO", "19096"))
"""Port of the proxy, to which the broker's second listener sends its clients."""
SECOND_LISTENER = BROKER_PORT + 2
SECONDS_TO_START = 30
NOT_FOR_PROXIES = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "KIPWIRE_NATIVE")
PARTITIONS = 3
WARM_UP = 3
"""Divisor: this part of the number of records goes through a proxy before it is measured."""
REQUESTS = 3000


class Measured(NamedTuple):
    """A program between client and broker."""

    command: tuple[str, ...]
    environment: dict[str, str]


def python(*arguments: str, broker: int = BROKER_PORT, **environment: str) -> Measured:
    """Describe a proxy in Python."""
    ports = ("--to", f"127.0.0.1:{broker}", "--listen", f"127.0.0.1:{SENT_HERE}")
    return Measured((sys.executable, "-m", *arguments, *ports), environment)


def filtered(name: str) -> Measured:
    """Describe `kipwire proxy` with a filter of examples/filters."""
    return python("kipwire", "proxy", "--filter", str(ROOT / "examples" / "filters" / f"{name}.py"))


UNREAD, KROXYLICIOUS = "bytes unread", "kroxylicious"
PROXIES = {
    UNREAD: python("benchmarks.proxied.pass_through", broker=SECOND_LISTENER),
    "kipwire proxy": python("kipwire", "proxy"),
    "... in plain Python": python("kipwire", "proxy", KIPWIRE_NATIVE="0"),
    "... count_bytes.py": filtered("count_bytes"),
    "... fail_tenth_produce.py": filtered("fail_tenth_produce"),
    "... mask_header.py": filtered("mask_header"),
}
"""Proxies by name; the others are compared with the first one."""


@contextmanager
def running(proxy: Measured) -> Iterator[psutil.Process]:
    """Run a proxy, and give its process once it listens."""
    # As for users: compiled modules are kept, and output to a file or to nothing is buffered.
    common = {name: value for name, value in os.environ.items() if name not in NOT_FOR_PROXIES}
    environment = {**common, **proxy.environment}
    process = subprocess.Popen(
        proxy.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT, env=environment
    )
    try:
        until = time.monotonic() + SECONDS_TO_START
        while not answers(SENT_HERE):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{' '.join(proxy.command)} does not listen on port {SENT_HERE}")
            time.sleep(0.05)
        yield psutil.Process(process.pid)
    finally:
        process.kill()
        process.wait()


def answers(port: int) -> bool:
    """True if a program listens on a port of loopback."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def new_topic(name: str) -> Iterator[None]:
    """Create a topic for one run, and delete it at the end of the block."""
    admin: Any = KafkaAdminClient(bootstrap_servers=f"127.0.0.1:{BROKER_PORT}")
    admin.create_topics([NewTopic(name, PARTITIONS, 1)], wait_for_metadata=True)
    try:
        yield
    finally:
        admin.delete_topics([name])
        admin.close()


class Figures(NamedTuple):
    """Figures of one run of a proxy."""

    seconds: float
    """Of processor time."""
    median: float
    """Milliseconds for a request, one after the other."""
    high: float
    """Milliseconds that 99 of 100 requests do not exceed."""


def load(client: str, count: int) -> str:
    """Run a client in its own process with its own topic, and return its output."""
    topic = f"measured-{time.time_ns()}"
    command = [sys.executable, "-m", "benchmarks.proxied.load", client, f"127.0.0.1:{SENT_HERE}", topic, str(count)]
    with new_topic(topic):
        return subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout


def figures_of(proxy: Measured, client: str, count: int) -> Figures:
    """Measure the processor time of a proxy while a client produces and consumes, then the latency of requests."""
    with running(proxy) as process:
        load(client, count // WARM_UP)
        before = process.cpu_times()
        load(client, count)
        after = process.cpu_times()
        median_ms, high_ms = map(float, load(LATENCY, REQUESTS).split())
    return Figures(after.user + after.system - before.user - before.system, median_ms, high_ms)


def compare(client: str, rounds: int, count: int) -> Table:
    """Measure all proxies with one client, and return a table with a row for each."""
    taken: dict[str, list[Figures]] = {name: [] for name in PROXIES}
    for number in range(rounds):
        for name in reversed(PROXIES) if number % 2 else PROXIES:
            print(f"{client}, round {number + 1}: {name} ...", end=" ", file=sys.stderr, flush=True)
            taken[name].append(figures_of(PROXIES[name], client, count))
            print(f"{taken[name][-1].seconds:.2f} s", file=sys.stderr)
    seconds = {name: [one.seconds for one in found] for name, found in taken.items()}
    rows = [
        (
            name,
            f"{median(seconds[name]):.2f}",
            f"{min(seconds[name]):.2f} to {max(seconds[name]):.2f}",
            f"{median_ratio(seconds[name], seconds[UNREAD]):.2f}",
            f"{median(one.median for one in found):.2f}",
            f"{median(one.high for one in found):.2f}",
        )
        for name, found in taken.items()
    ]
    heads = ("proxy", "median s", "all rounds, s", f"/ {UNREAD}", "p50 ms", "p99 ms")
    return Table(f"{client}: {count:,} records", heads, tuple(rows))


def main() -> int:
    """Run the command line; return the exit status."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (default: %(default)s)")
    parser.add_argument("--count", type=int, default=300_000, help="records of each run (default: %(default)s)")
    parser.add_argument("--client", choices=CLIENTS, action="append", help="one of them alone, and no file is written")
    options = parsed(parser, rounds=1, count=300)
    if not native.in_use:
        print(f"without the compiled kernel there is nothing to compare: {native.reason}", file=sys.stderr)
        return 1
    if not answers(SECOND_LISTENER):
        print(f"no broker with a second listener at port {SECOND_LISTENER}: run make bench-proxy", file=sys.stderr)
        return 1
    try:
        command = kroxylicious.command(ROOT / "build" / "kroxylicious", BROKER_PORT, SENT_HERE)
        PROXIES[KROXYLICIOUS] = Measured(command, {})
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"without {KROXYLICIOUS}: {error}", file=sys.stderr)
    tables = [compare(client, options.rounds, options.count) for client in options.client or CLIENTS]
    names = ("kipwire", *CLIENTS)
    where = replace(machine(()), versions={name: version(name) for name in names})
    how = (
        f"Seconds of processor time, user and system, of a proxy between a client and a broker, while the client "
        f"produces {options.count:,} records of {SIZE} bytes to {PARTITIONS} partitions and consumes them in a group. "
        f"{options.rounds} rounds, interleaved; a ratio is the median of the ratios per round. A third as many records "
        f"go through each proxy before, so that it is warm. `{UNREAD}` is benchmarks/proxied/pass_through.py: the same "
        "asyncio reads and writes, with no knowledge of Kafka. `kipwire proxy` splits the bytes into frames, and "
        "decodes and rewrites the responses that have addresses; then with each of three filters of examples/filters, "
        f"of which `mask_header.py` decodes each record. `{KROXYLICIOUS}` is version {kroxylicious.VERSION}, on a JVM, "
        "without filters. kafka-python sends batches of 16 KB, confluent-kafka of up to 1 MB. p50 and p99 are the "
        f"milliseconds of {REQUESTS:,} Produce requests of one record, one after the other, by `kipwire.aio`."
    )
    file = None if options.smoke or options.client else RESULTS
    write_results(file, tables, where, how, title="Results: proxy", command="make bench-proxy")
    return 0


if __name__ == "__main__":
    sys.exit(main())
