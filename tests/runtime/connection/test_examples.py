"""The example client produces through the example proxy, which keeps it on itself, to a broker of a few lines."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest

import kafka_messages
from kipwire import Struct, build
from kipwire.connection import Request, ServerConnection, versions_answer
from kipwire.records import read_batches, with_offsets
from tests.support.example_programs import example
from tests.support.places import ROOT

TOPIC_ID = UUID(int=7)


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    await writer.wait_closed()


async def all_closed(server: asyncio.Server | None, proxy: Any) -> None:
    """Wait until every connection has come to its end, and close the servers."""
    if server is not None:
        server.close()
    async with asyncio.timeout(60):
        while any(one.connections for one in proxy.servers.values()):
            await asyncio.sleep(0.001)
        for one in proxy.servers.values():
            await one.close()
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)


class FakeBroker:
    """Knows one topic, which it leads, and keeps what is produced."""

    def __init__(self, versions: dict[int, range]) -> None:
        self.versions = versions
        self.log: list[bytes] = []
        self.asked: list[tuple[int, int]] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = ServerConnection(kafka_messages.REGISTRY)
        while data := await reader.read(100):
            connection.receive_data(data)
            for request in connection.events():
                assert isinstance(request, Request)
                self.asked.append((request.api_key, request.api_version))
                writer.write(connection.respond(request, self.answer(request)))
        await closed(writer)

    def answer(self, request: Request) -> Any:
        if request.api_key == 18:
            return versions_answer(kafka_messages.REGISTRY, request.api_version, self.versions)
        values = self.metadata() if request.api_key == 3 else self.append(request.body)
        return build(kafka_messages.response(request.api_key, request.api_version), values)

    def metadata(self) -> dict[str, Any]:
        partitions = [{"partition_index": 0, "leader_id": 1, "replica_nodes": [1], "isr_nodes": [1]}]
        return {
            "brokers": [{"node_id": 1, "host": "127.0.0.1", "port": self.port}],
            "topics": [{"name": "orders", "topic_id": TOPIC_ID, "partitions": partitions}],
        }

    def append(self, body: Any) -> dict[str, Any]:
        (topic,) = body.topic_data
        (partition,) = topic.partition_data
        assert getattr(topic, "topic_id", TOPIC_ID) == TOPIC_ID
        assert getattr(topic, "name", "orders") == "orders"
        self.log.append(with_offsets(partition.records, 40 + len(self.log), 3))
        names = {"name": "orders", "topic_id": TOPIC_ID}
        return {"responses": [{**names, "partition_responses": [{"index": 0, "base_offset": 39 + len(self.log)}]}]}


@pytest.fixture
def examples() -> tuple[Any, Any]:
    """The modules of the proxy and of the client."""
    return example("proxy"), example("produce_one")


@pytest.mark.parametrize(
    "versions",
    [
        {0: range(3, 14), 3: range(14), 18: range(6)},
        {0: range(3, 8), 3: range(2, 9), 18: range(4)},
        {0: range(3, 4), 3: range(2), 18: range(1)},
    ],
)
def test_a_client_produces_through_the_proxy(
    examples: tuple[Any, Any], versions: dict[int, range], capsys: pytest.CaptureFixture[str]
) -> None:
    proxy_module, client = examples
    broker = FakeBroker(versions)

    async def run() -> list[int]:
        server = await asyncio.start_server(broker.serve, "127.0.0.1", 0)
        broker.port = server.sockets[0].getsockname()[1]
        proxy = proxy_module.Proxy("127.0.0.1")
        port = await proxy.listen(("127.0.0.1", broker.port))
        try:
            return [await asyncio.wait_for(client.produce("127.0.0.1", port, "orders", b"v"), 60) for _ in range(2)]
        finally:
            await all_closed(server, proxy)

    assert asyncio.run(run()) == [40, 41]
    records = [record for batch in broker.log for one in read_batches(batch) for record in one.records]
    assert [(record.offset, record.value) for record in records] == [(40, b"v"), (41, b"v")]
    highest = {key: min(served[-1], 12 if key == 0 else served[-1]) for key, served in versions.items()}
    assert {key: version for key, version in broker.asked if version in versions[key]} == highest
    printed = capsys.readouterr().out
    assert printed.count("-> ") == printed.count("<- ") == len(broker.asked)  # the client never went past the proxy
    assert f"-> Produce v{highest[0]} #" in printed


def test_a_proxy_closes_a_connection_that_breaks_the_rules(
    examples: tuple[Any, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    proxy_module, _ = examples
    broker = FakeBroker({18: range(6)})

    async def run() -> bytes:
        server = await asyncio.start_server(broker.serve, "127.0.0.1", 0)
        broker.port = server.sockets[0].getsockname()[1]
        proxy = proxy_module.Proxy("127.0.0.1")
        reader, writer = await asyncio.open_connection("127.0.0.1", await proxy.listen(("127.0.0.1", broker.port)))
        writer.write(b"GET / HTTP/1.1\r\n\r\n")
        try:
            return await asyncio.wait_for(reader.read(), 60)
        finally:
            await closed(writer)
            await all_closed(server, proxy)

    assert asyncio.run(run()) == b""
    assert "begin as HTTP does" in capsys.readouterr().out


@pytest.mark.parametrize("side", ["client", "broker"])
def test_a_proxy_says_which_side_broke_a_connection_off(
    examples: tuple[Any, Any], side: str, capsys: pytest.CaptureFixture[str]
) -> None:
    proxy_module, _ = examples

    async def run() -> None:
        accepted: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
        server = await asyncio.start_server(lambda *streams: accepted.put_nowait(streams), "127.0.0.1", 0)
        proxy = proxy_module.Proxy("127.0.0.1")
        port = await proxy.listen(("127.0.0.1", server.sockets[0].getsockname()[1]))
        client = await asyncio.open_connection("127.0.0.1", port)
        broker = await accepted.get()
        ends, stays = (client, broker) if side == "client" else (broker, client)
        reset(ends[1])
        try:
            assert await asyncio.wait_for(stays[0].read(), 60) == b""
        finally:
            await closed(stays[1])
            await all_closed(server, proxy)

    asyncio.run(run())
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"broken off by the {side}: [Errno {errno.ECONNRESET}]")


def reset(writer: asyncio.StreamWriter) -> None:
    """End a connection at once, without a farewell."""
    at_once = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
    writer.transport.abort()


def test_a_proxy_has_one_port_for_each_broker(examples: tuple[Any, Any]) -> None:
    proxy_module, _ = examples

    async def run() -> list[int]:
        proxy = proxy_module.Proxy("127.0.0.1")
        ports = await asyncio.gather(*(proxy.listen(("127.0.0.1", broker)) for broker in (1, 1, 2)))
        await all_closed(None, proxy)
        return ports

    first, again, other = asyncio.run(run())
    assert first == again != other


def kafka_addresses() -> dict[tuple[int, int], set[str]]:
    """The paths of hosts and ports in each response that clients read, by API key and version."""
    not_for_clients = {52, 53, 54, 59, 82}  # Vote, BeginQuorumEpoch, EndQuorumEpoch, FetchSnapshot, UpdateRaftVoter
    of_others = {55, 89, 88}  # controllers, and applications of Kafka Streams, which clients do not connect to
    found: dict[tuple[int, int], set[str]] = {}
    for name in kafka_messages.REGISTRY.names():
        entry = kafka_messages.REGISTRY.entry(name)
        for version in entry.versions if entry.type == "response" else ():
            if paths := addresses(kafka_messages.message(name, version)):
                found[entry.api_key or 0, version] = paths
    return {key: paths for key, paths in found.items() if key[0] not in not_for_clients | of_others}


def addresses(cls: type[Struct], path: str = "") -> set[str]:
    names = {field.name for field in cls.ATTRIBUTES}
    found = {f"{path}host", f"{path}port"} if {"host", "port"} <= names else set()
    for field in cls.ATTRIBUTES:
        if field.struct:
            found |= addresses(field.struct, f"{path}{field.name}.")
    return found


def test_the_proxy_knows_all_responses_with_addresses(examples: tuple[Any, Any]) -> None:
    proxy_module, _ = examples
    known = {
        (key, version): set(one.paths) - set(one.absent(version))
        for key, one in proxy_module.ADDRESSES.items()
        for version in kafka_messages.versions(one.name)
    }
    assert kafka_addresses() == {key: paths for key, paths in known.items() if paths}


def connected(port: int, seconds: float = 60) -> socket.socket:
    """A connection to a program that is about to listen."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with suppress(ConnectionRefusedError):
            return socket.create_connection(("127.0.0.1", port))
        time.sleep(0.05)
    raise TimeoutError(f"nothing listens on port {port}")


def test_ctrl_c_ends_a_proxy_with_open_connections_without_a_traceback() -> None:
    with socket.create_server(("127.0.0.1", 0)) as broker, socket.create_server(("127.0.0.1", 0)) as free:
        to, port = broker.getsockname()[1], free.getsockname()[1]
        free.close()
        command = [
            sys.executable,
            str(ROOT / "examples" / "proxy.py"),
            f"127.0.0.1:{to}",
            "--listen",
            f"127.0.0.1:{port}",
        ]
        proxy = subprocess.Popen(command, stderr=subprocess.PIPE)
        with proxy, connected(port) as client:
            client.sendall(bytes([0, 0, 0, 8, 0, 18, 0, 0, 0, 0, 0, 7]))
            broker.settimeout(60)
            with broker.accept()[0] as accepted:
                assert accepted.recv(12)  # the proxy passes on now
                proxy.send_signal(signal.SIGINT)
                _, printed = proxy.communicate(timeout=60)
    assert (printed.decode(), proxy.returncode) == ("", 0)
