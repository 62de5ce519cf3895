"""Clients of kipwire offsets --serve that are silent, slow or hostile keep nothing from others, and leave nothing."""

from __future__ import annotations

import asyncio
import gc
import socket
import tracemalloc
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kipwire.aio import Address
from kipwire.cluster.model import Group, Kind, Look
from kipwire.console.offsets import exporter as exporters
from kipwire.console.offsets.exporter import HEAD_BYTES, Exporter, Server
from kipwire.logs.names import Partition
from tests.support import bad_clients
from tests.support.bad_clients import Talk, growth_under

REQUEST = b"GET /metrics HTTP/1.1\r\n\r\n"
PARTITIONS = 1000
TOPIC = "orders" * 500
"""A long name, so that few rows are a large text: larger than what sockets of both sides buffer."""
MOST = 4


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets an exporter have few connections."""
    monkeypatch.setattr(exporters, "MOST_CONNECTIONS", MOST)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets clients have little time."""
    monkeypatch.setattr(exporters, "SECONDS_FOR_HEAD", 0.1)
    monkeypatch.setattr(exporters, "SECONDS_FOR_FIRST_ROUND", 0.1)


@pytest.fixture(scope="module")
def big() -> Look:
    """A look whose metrics are a large text."""
    partitions = {Partition(TOPIC, number): number for number in range(PARTITIONS)}
    group = Group("billing", Kind.CLASSIC, "Empty", (), partitions)
    return Look(1000, ("billing",), (group,), dict.fromkeys(partitions, 0), partitions, frozenset(), {}, ())


@asynccontextmanager
async def serving(look: Look) -> AsyncIterator[Address]:
    """Run an exporter after a round; no task may be left at its end."""
    exporter = Exporter(60, 1000, print)

    async def once() -> Look:
        return look

    rounds = asyncio.create_task(exporter.run(once, 1000))
    scrapes = Server(exporter)
    server = await asyncio.start_server(scrapes.accept, "127.0.0.1", 0, limit=HEAD_BYTES)
    await exporter.first_round()
    try:
        yield server.sockets[0].getsockname()
    finally:
        server.close()
        await scrapes.close()
        rounds.cancel()
        await asyncio.gather(rounds, return_exceptions=True)
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def scrape(address: Address) -> bytes:
    reader, writer = await asyncio.open_connection(*address)
    writer.write(REQUEST)
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


async def stubborn(address: Address) -> socket.socket:
    """Connect a client that asks, and reads no more than the first byte of the answer."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.setblocking(False)
    await asyncio.get_running_loop().sock_connect(client, address)
    await asyncio.get_running_loop().sock_sendall(client, REQUEST)
    assert await asyncio.get_running_loop().sock_recv(client, 1) == b"H"
    return client


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test; errors in callbacks and tasks, which the event loop would only log, fail it."""
    errors: list[dict[str, Any]] = []

    async def checked() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
        async with asyncio.timeout(60):
            await work()

    asyncio.run(checked())
    assert errors == []


@pytest.fixture
def traced() -> Iterator[None]:
    """Traces memory."""
    gc.collect()
    tracemalloc.start()
    yield
    tracemalloc.stop()


def test_bad_clients_of_every_kind_take_little_and_leave_nothing(big: Look, traced: None) -> None:
    async def work() -> None:
        async with serving(big) as address:
            text = len(await scrape(address))
            assert text > 8 << 20
            growth = await growth_under(address, Talk(REQUEST, b"GET /"), each=8)
            assert growth.left.descriptors <= 0 and growth.left.tasks <= 0
            assert growth.peak.descriptors <= exporters.MOST_CONNECTIONS + 8  # of flooding ones, which come and go
            assert growth.peak.memory < 16 << 20  # 72 texts would be a gigabyte
            assert len(await scrape(address)) == text

    run(work)


@pytest.mark.night
@pytest.mark.parametrize("kind", bad_clients.KINDS)
def test_a_bad_client_of_each_kind_leaves_nothing(kind: bad_clients.BadClient, big: Look, traced: None) -> None:
    async def work() -> None:
        async with serving(big) as address:
            growth = await growth_under(address, Talk(REQUEST, b"GET /"), kinds=[kind], each=1)
            assert growth.left.descriptors <= 0 and growth.left.tasks <= 0

    run(work)


def test_a_client_that_never_reads_is_cut_off(big: Look, hurried: None) -> None:
    async def work() -> None:
        async with serving(big) as address:
            tasks = len(asyncio.all_tasks())
            clients = [await stubborn(address) for _ in range(3)]
            while len(asyncio.all_tasks()) > tasks:
                await asyncio.sleep(0.001)
            for client in clients:
                with client, pytest.raises(ConnectionError):  # the socket at the other end is closed
                    while True:
                        client.send(b"x")
                        await asyncio.sleep(0.001)

    run(work)


def test_a_scrape_takes_the_place_of_the_oldest_silent_client(big: Look, few: None) -> None:
    async def work() -> None:
        async with serving(big) as address:
            silent = [await asyncio.open_connection(*address) for _ in range(MOST)]
            while len(asyncio.all_tasks()) < 2 + MOST:
                await asyncio.sleep(0.001)
            for number in range(2):
                assert (await scrape(address)).startswith(b"HTTP/1.1 200 OK\r\n")
                with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                    await silent[number][0].readexactly(1)
                silent[number][1].close()
                silent.append(await asyncio.open_connection(*address))  # in the place of the scrape
            for reader, writer in silent[2:]:
                assert not reader.at_eof()
                writer.transport.abort()

    run(work)


def test_a_scrape_that_finds_no_place_is_told_so(big: Look, few: None) -> None:
    async def work() -> None:
        async with serving(big) as address:
            clients = [await stubborn(address) for _ in range(MOST)]
            answer = await scrape(address)
            assert answer.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
            assert answer.endswith(b"\r\n\r\nall 4 connections are in use\n")
            clients.pop().close()
            while not (await scrape(address)).startswith(b"HTTP/1.1 200 OK\r\n"):
                await asyncio.sleep(0.001)
            for client in clients:
                client.close()

    run(work)


def test_silent_clients_are_closed(big: Look, hurried: None) -> None:
    async def work() -> None:
        async with serving(big) as address:
            for data in (b"", b"GET /metr"):
                reader, writer = await asyncio.open_connection(*address)
                writer.write(data)
                assert await reader.read() == b""
                writer.close()
                await writer.wait_closed()

    run(work)
