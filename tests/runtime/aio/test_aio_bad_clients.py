"""A server outlives bad clients of every kind: what it keeps for them is bounded in bytes, and it ends with them."""

from __future__ import annotations

import asyncio
import socket
import struct
import tracemalloc
from contextlib import nullcontext
from random import Random

import pytest

from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kipwire.aio import Client, Handler, connect, serve, serve_each
from kipwire.connection import Request
from kipwire.connection.framing import add_size
from tests.support.bad_clients import Growth, Talk, growth_under
from tests.support.subjects.peers import REGISTRY, run, until

MIB = 1 << 20
FEW = 400_000
"""Bytes in place of the real limit, where a test needs many times of it."""
FRAME = REGISTRY.encode_request(HeartbeatRequest(group_id="1"), 1, "x")
TALK = Talk(add_size(FRAME), (2**31 - 1).to_bytes(4))


@pytest.mark.parametrize("in_flight", [pytest.param(1, marks=pytest.mark.night), 50])
def test_bad_clients_leave_nothing_and_take_bounded_memory(in_flight: int) -> None:
    found: list[Growth] = []

    async def answer(request: Request) -> bytes:
        return request.raw[4:8] + bytes(MIB)

    async def work() -> None:
        async with serve(answer, in_flight=in_flight) as server:
            found.append(await growth_under(server.address, TALK))

    tracemalloc.start()
    try:
        run(work())
    finally:
        tracemalloc.stop()
    (growth,) = found
    assert growth.left[1:] == (0, 0) and growth.left.memory < MIB
    assert growth.peak.memory < 3 * 8 * MIB  # three copies for each of eight clients that get responses


def test_requests_are_taken_by_their_bytes_whatever_number_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kipwire.aio.served.MOST_BYTES", FEW)
    handled: list[int] = []
    may_answer = asyncio.Event()

    async def answer(request: Request) -> bytes:
        handled.append(len(request.raw))
        await may_answer.wait()
        return request.raw[4:8]

    async def work() -> None:
        frame = add_size(FRAME + bytes(FEW // 8))
        async with serve(answer, in_flight=100) as server:
            reader, writer = await asyncio.open_connection(*server.address)
            writer.write(frame * 40)
            await until(lambda: sum(handled) > FEW)
            await asyncio.sleep(0.05)
            assert len(handled) == 8
            may_answer.set()
            assert len(await reader.readexactly(40 * 8)) == 320
            writer.transport.abort()

    run(work())


def test_a_handler_is_told_when_responses_cannot_go_out_and_none_begins_until_they_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also if the first request is the last to be answered, so that all other responses wait for it."""
    monkeypatch.setattr("kipwire.aio.served.MOST_BYTES", FEW)
    said: list[str] = []
    begun: list[int] = []

    def note(client: Client) -> Handler:
        client.on_full, client.on_room = lambda: said.append("full"), lambda: said.append("room")
        return answer

    first = asyncio.Event()

    async def answer(request: Request) -> bytes:
        begun.append(request.correlation_id)
        if request.correlation_id == 0:
            await first.wait()
        return request.raw[4:8] + bytes(FEW // 2)

    async def work() -> None:
        async with serve_each(lambda client: nullcontext(note(client)), in_flight=50) as server:
            reader, writer = await asyncio.open_connection(*server.address, limit=1)
            frames = [FRAME[:4] + number.to_bytes(4) + FRAME[8:] for number in range(50)]
            writer.write(b"".join(map(add_size, frames)))
            await until(lambda: said == ["full"])
            await asyncio.sleep(0.05)
            assert begun == [0, 1, 2]
            first.set()
            for number in range(50):
                size = int.from_bytes(await reader.readexactly(4))
                assert (await reader.readexactly(size))[:4] == number.to_bytes(4)
            assert begun == list(range(50))
            await until(lambda: said[-1] == "room")
            writer.transport.abort()

    run(work())


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.night) for seed in range(5, 300))])
def test_handlers_begin_in_order_and_all_are_answered_whenever_the_client_reads(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the sizes, the pauses of handlers and of the client: nothing waits for what waits for it."""
    monkeypatch.setattr("kipwire.aio.served.MOST_BYTES", FEW)
    random = Random(seed)
    begun: list[int] = []
    count = 60

    async def answer(request: Request) -> bytes:
        begun.append(request.correlation_id)
        for _ in range(random.choice((0, 0, 1, 5))):
            await asyncio.sleep(0)
        return request.raw[4:8] + bytes(random.choice((10, 1000, 300_000)))

    async def work() -> None:
        async with serve(answer, in_flight=random.choice((2, 10, 100))) as server:
            reader, writer = await asyncio.open_connection(*server.address, limit=random.choice((1, 100_000)))
            frames = [FRAME[:4] + number.to_bytes(4) + FRAME[8:] for number in range(count)]
            writer.write(b"".join(map(add_size, frames)))
            for number in range(count):
                if random.random() < 0.1:
                    await asyncio.sleep(0.002)
                size = int.from_bytes(await reader.readexactly(4))
                assert (await reader.readexactly(size))[:4] == number.to_bytes(4)
            writer.transport.abort()

    run(work())
    assert begun == list(range(count))


def test_a_connection_that_is_paused_reads_no_responses_until_it_goes_on() -> None:
    sent: list[int] = []

    async def answer(request: Request) -> bytes:
        sent.append(request.correlation_id)
        return request.raw[4:8] + bytes(MIB)

    async def work() -> None:
        async with serve(answer) as server, connect(server.address, versions={}) as broker:
            broker.pause_reading()
            responses = [await broker.begin(FRAME) for _ in range(60)]
            before = -1
            while len(sent) != before:
                before = len(sent)
                await asyncio.sleep(0.02)
            assert 0 < before < 30  # the rest is more than the buffers of the system take
            broker.resume_reading()
            assert {len(answer or b"") for answer in await asyncio.gather(*responses)} == {MIB + 4}

    run(work())


def test_nothing_is_written_to_a_client_that_is_gone_however_many_requests_it_has_left(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The transport would log each write, in words of its own."""
    handled: list[int] = []

    async def answer(request: Request) -> bytes:
        handled.append(request.correlation_id)
        if len(handled) == 10:
            reset.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            reset.close()
        return request.raw[4:8]

    reset = socket.socket()

    async def work() -> None:
        async with serve(answer) as server:
            reset.setblocking(False)
            await asyncio.get_running_loop().sock_connect(reset, server.address)
            await asyncio.get_running_loop().sock_sendall(reset, add_size(FRAME) * 500)
            await until(lambda: len(handled) >= 10 and not server.connections)

    run(work())
    assert caplog.records == [] and len(handled) < 20
