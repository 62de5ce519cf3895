"""Requests over one connection beside the connections of aiokafka and kafka-python, to one server process.

    python -m benchmarks.connections [--rounds 7] [--seconds 0.5]

Each client sends the same request again and again, with 1, 10 and 100 in flight: Metadata, whose response is small, or
Fetch, whose response has 1 MiB of records. All speak the same versions, and get the same bytes. The server gives them
without decoding anything, in threads that block, so that its processor is not what is measured. The tables go to the
terminal and to benchmarks/RESULTS-aio.md.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from aiokafka.conn import AIOKafkaConnection
from aiokafka.protocol.fetch import FetchRequest as AioFetch
from aiokafka.protocol.metadata import MetadataRequest as AioMetadata
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector
from kafka.protocol.consumer.fetch import FetchRequest as PythonFetch
from kafka.protocol.metadata import MetadataRequest as PythonMetadata

import kafka_messages
from benchmarks.options import parsed, parser_of
from benchmarks.reporting.report import Table, machine, write_results
from benchmarks.timing import median_ratio, no_garbage_collection
from kafka_messages.fetch_request.v11 import FetchPartition, FetchRequest, FetchTopic
from kafka_messages.metadata_request.v5 import MetadataRequest
from kipwire import build, native
from kipwire.aio import Connection, connect
from kipwire.connection import versions_answer
from kipwire.connection.events import HEAD

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "RESULTS-aio.md"
SERVED = {1: range(11, 12), 3: range(5, 6), 18: range(1)}
"""One version of each API, which all three clients have."""
MEBIBYTE = 1 << 20
IN_FLIGHT = (1, 10, 100)
TOPIC, PARTITIONS = "orders", 3
OURS, AIOKAFKA, KAFKA_PYTHON = "kipwire.aio", "aiokafka", "kafka-python"


# The server: a frame in, the bytes of its response out.


def answer(client: socket.socket, given: dict[int, bytes]) -> None:
    """Answer the requests of a connection with the given bodies, by API key, until the client closes it."""
    received = bytearray()
    while data := client.recv(MEBIBYTE):
        received += data
        answers: list[bytes] = []
        at = 0
        while len(received) >= at + 4:
            size = int.from_bytes(received[at : at + 4], "big")
            if len(received) < at + 4 + size:
                break
            api_key, asked, correlation_id = HEAD.unpack_from(received, at + 4)
            body = given.get(api_key) or versions_answer(kafka_messages.REGISTRY, asked, SERVED).encode()
            answers += ((len(body) + 4).to_bytes(4, "big") + correlation_id.to_bytes(4, "big"), body)
            at += 4 + size
        del received[:at]
        is_small = sum(map(len, answers)) < MEBIBYTE
        for one in [b"".join(answers)] if is_small else answers:
            client.sendall(one)


def bodies() -> dict[int, bytes]:
    """Make the bodies of the responses, by API key."""
    registry = kafka_messages.REGISTRY
    partitions = [
        {"partition_index": one, "leader_id": 1, "replica_nodes": [1, 2, 3], "isr_nodes": [1, 2, 3]}
        for one in range(PARTITIONS)
    ]
    cluster = {
        "brokers": [{"node_id": one, "host": f"broker-{one}.example", "port": 9092} for one in (1, 2, 3)],
        "controller_id": 1,
        "topics": [{"name": TOPIC, "partitions": partitions}],
    }
    fetched = {"partition_index": 0, "high_watermark": 1, "records": bytes(MEBIBYTE)}
    return {
        1: build(registry.response(1, 11), {"responses": [{"topic": TOPIC, "partitions": [fetched]}]}).encode(),
        3: build(registry.response(3, 5), cluster).encode(),
    }


def serve() -> None:
    """Listen at a free port, and print it, until the process is ended."""
    given = bodies()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            client, _ = listener.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=answer, args=(client, given), daemon=True).start()


@contextmanager
def running_server() -> Iterator[int]:
    """Run a server in its own process, and give its port."""
    command = [sys.executable, "-m", "benchmarks.connections", "--serve"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


# The clients. Each sends a number of requests, some of them in flight at a time.


def own_request(what: str) -> Any:
    """Make a request of kipwire."""
    if what == "Metadata":
        return MetadataRequest(topics=None)
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=MEBIBYTE)
    return FetchRequest(max_wait_ms=0, min_bytes=1, topics=[FetchTopic(topic=TOPIC, partitions=[partition])])


def aiokafka_request(what: str) -> Any:
    """Make a request of aiokafka."""
    if what == "Metadata":
        return AioMetadata([], True)
    return AioFetch(0, 1, MEBIBYTE, 0, [(TOPIC, [(0, 0, MEBIBYTE)])])


def kafka_python_request(what: str) -> Any:
    """Make a request of kafka-python."""
    if what == "Metadata":
        return PythonMetadata(topics=None, allow_auto_topic_creation=True)
    partition = PythonFetch.FetchTopic.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=MEBIBYTE)
    topic = PythonFetch.FetchTopic(topic=TOPIC, partitions=[partition])
    return PythonFetch(
        replica_id=-1, max_wait_ms=0, min_bytes=1, max_bytes=MEBIBYTE, isolation_level=0, session_id=0,
        session_epoch=-1, topics=[topic], forgotten_topics_data=[], rack_id="",
    )  # fmt: skip


def check(what: str, answer: Any) -> None:
    """Check that a client has decoded its response."""
    if what == "Metadata":
        assert len(answer.topics) == 1
    elif hasattr(answer, "responses"):
        assert len(answer.responses[0].partitions[0].records) == MEBIBYTE
    else:
        assert len(answer.topics[0][1][0][-1]) == MEBIBYTE


def shares(count: int, in_flight: int) -> list[int]:
    """Share `count` requests among as many tasks as are in flight; return the number for each."""
    return [count // in_flight + (one < count % in_flight) for one in range(in_flight)]


class Ours:
    """A connection of kipwire."""

    name = OURS

    def __init__(self, port: int) -> None:
        """Connect."""
        self.loop = asyncio.new_event_loop()
        self.connection: Connection = self.loop.run_until_complete(_opened(port))

    def ask(self, what: str, count: int, in_flight: int) -> None:
        """Ask `count` times."""
        self.loop.run_until_complete(self._ask(what, count, in_flight))

    async def _ask(self, what: str, count: int, in_flight: int) -> None:
        async def some(number: int) -> None:
            answer: Any = None
            for _ in range(number):
                answer = await self.connection.request(own_request(what))
            check(what, answer)

        await asyncio.gather(*map(some, shares(count, in_flight)))

    def close(self) -> None:
        """Close the connection."""
        self.loop.run_until_complete(self.connection.close())
        self.loop.close()


async def _opened(port: int) -> Connection:
    return await connect(("127.0.0.1", port), client_id="bench")


class AioKafka:
    """A connection of aiokafka."""

    name = AIOKAFKA

    def __init__(self, port: int) -> None:
        """Connect."""
        self.loop = asyncio.new_event_loop()
        self.connection = self.loop.run_until_complete(self._opened(port))

    async def _opened(self, port: int) -> Any:
        connection = AIOKafkaConnection("127.0.0.1", port, client_id="bench")
        await connection.connect()
        return connection

    def ask(self, what: str, count: int, in_flight: int) -> None:
        """Ask `count` times."""
        self.loop.run_until_complete(self._ask(what, count, in_flight))

    async def _ask(self, what: str, count: int, in_flight: int) -> None:
        async def some(number: int) -> None:
            answer: Any = None
            for _ in range(number):
                answer = await self.connection.send(aiokafka_request(what))
            check(what, answer)

        await asyncio.gather(*map(some, shares(count, in_flight)))

    def close(self) -> None:
        """Close the connection."""

        async def close() -> None:
            await self.connection.close()

        self.loop.run_until_complete(close())
        self.loop.close()


class KafkaPython:
    """A connection of kafka-python."""

    name = KAFKA_PYTHON

    def __init__(self, port: int) -> None:
        """Connect."""
        self.net = NetworkSelector()
        self.manager = KafkaConnectionManager(
            self.net,
            bootstrap_servers=f"127.0.0.1:{port}",
            client_id="bench",
            max_in_flight_requests_per_connection=max(IN_FLIGHT) + 1,
            receive_message_max_bytes=2 * MEBIBYTE,
        )
        cluster: Any = self.manager.cluster
        (node,) = cluster.bootstrap_brokers()
        self.connection: Any = self.manager.get_connection(node.node_id)
        self.net.run(self._opened)

    async def _opened(self) -> None:
        await self.connection

    def ask(self, what: str, count: int, in_flight: int) -> None:
        """Ask `count` times."""
        self.net.run(self._ask, what, count, in_flight)

    async def _ask(self, what: str, count: int, in_flight: int) -> None:
        async def some(number: int) -> None:
            answer: Any = None
            for _ in range(number):
                answer = await self.connection.send_request(kafka_python_request(what))
            check(what, answer)

        futures: list[Any] = [self.net.call_soon_with_future(some, number) for number in shares(count, in_flight)]
        for future in futures:
            await future

    def close(self) -> None:
        """Close the connection."""
        self.manager.close()
        self.net.close()


# The comparison.


class Taken(NamedTuple):
    """Seconds of one run, for each request."""

    wall: float
    processor: float


def run(client: Any, what: str, count: int, in_flight: int) -> Taken:
    """Send `count` requests, and measure them."""
    wall, processor = time.perf_counter(), time.process_time()
    client.ask(what, count, in_flight)
    return Taken((time.perf_counter() - wall) / count, (time.process_time() - processor) / count)


CLIENTS = (Ours, AioKafka, KafkaPython)


def compare(clients: list[Any], what: str, in_flight: int, rounds: int, seconds: float) -> dict[str, list[Taken]]:
    """Run each client in every round; every other round goes through them backwards."""
    counts = {}
    for client in clients:
        first = run(client, what, 20 * in_flight, in_flight)
        again = run(client, what, max(in_flight, round(seconds / 4 / first.wall)), in_flight)
        counts[client.name] = max(in_flight, round(seconds / again.wall))
    taken: dict[str, list[Taken]] = {client.name: [] for client in clients}
    for number in range(rounds):
        for client in reversed(clients) if number % 2 else clients:
            with no_garbage_collection():
                taken[client.name].append(run(client, what, counts[client.name], in_flight))
    return taken


def table(title: str, results: dict[int, dict[str, list[Taken]]]) -> Table:
    """Make a table of one kind of response: a row for each client and number in flight."""
    rows = []
    for in_flight, taken in results.items():
        base = taken[OURS]
        for name, runs in taken.items():
            wall, processor = [one.wall for one in runs], [one.processor for one in runs]
            rows.append(
                (
                    str(in_flight),
                    name,
                    f"{1 / median(wall):,.0f}",
                    f"{median_ratio(wall, [one.wall for one in base]):.2f}",
                    f"{median(processor) * 1e6:,.1f}",
                    f"{median_ratio(processor, [one.processor for one in base]):.2f}",
                )
            )
    heads = ("in flight", "connection", "requests/s", "time / ours", "CPU µs/request", "CPU / ours")
    return Table(title, heads, tuple(rows))


def main() -> int:
    """Run the command line; return the exit status."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="runs of each (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=0.5, help="of each run (default: %(default)s)")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parsed(parser, rounds=1, seconds=0.01)
    if options.serve:
        serve()
        return 0
    if not native.in_use:
        print(f"without the compiled kernel there is nothing to compare: {native.reason}", file=sys.stderr)
        return 1
    logging.disable(logging.ERROR)
    with running_server() as port:
        clients = [one(port) for one in CLIENTS]
        tables = []
        for what, title in (("Metadata", "Small responses: Metadata v5"), ("Fetch", "1 MiB: Fetch v11")):
            results = {}
            for in_flight in IN_FLIGHT:
                results[in_flight] = compare(clients, what, in_flight, options.rounds, options.seconds)
            tables.append(table(title, results))
        for client in clients:
            client.close()
    names = ("kipwire", AIOKAFKA, KAFKA_PYTHON)
    where = replace(machine(()), versions={name: version(name) for name in names})
    how = (
        f"One connection of each client to the same server process, which gives the same bytes to all: "
        f"{options.rounds} rounds of about {options.seconds:g} s for each row, interleaved, without collection of "
        "garbage; a ratio is the median of the ratios per round, and above 1 where ours is ahead. `in flight` is "
        "how many tasks ask, each for one response after the other. `CPU` is the processor time of the client's "
        "process, user and system, in which it encodes requests and decodes responses. The server's processor is the "
        "limit of small requests with many in flight, and the copying of the system that of 1 MiB. `aiokafka` is "
        "`AIOKafkaConnection.send`, `kafka-python` is `KafkaConnection.send_request`."
    )
    file = None if options.smoke else RESULTS
    write_results(file, tables, where, how, title="Results: connections", command="make bench-aio")
    return 0


if __name__ == "__main__":
    sys.exit(main())
