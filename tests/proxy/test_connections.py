"""Both sides of a proxy: TLS and SASL, ends, hostile bytes, and what it keeps."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import kafka_messages
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.sasl_authenticate_response.v2 import SaslAuthenticateResponse
from kafka_messages.sasl_handshake_request.v0 import SaslHandshakeRequest as SaslHandshakeRequest0
from kafka_messages.sasl_handshake_response.v1 import SaslHandshakeResponse
from kipwire import Message
from kipwire.aio import AuthenticationFailure, Closed, connect, link, served
from kipwire.aio.failures import shown_address
from kipwire.connection import Plain, Request, Response
from kipwire.proxy import Exchange, on
from tests.support.subjects.peers import Broker, QuietProxy, client_context, peer, run, server_context, until
from tests.support.subjects.scripted_broker import unused_address

REGISTRY = kafka_messages.REGISTRY
LOG = logging.getLogger("kipwire.proxy")


class SaslBroker(Broker):
    """Lets alice in, with whatever mechanism; it keeps the tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens: list[bytes] = []

    def answer(self, request: Request) -> Message | bytes | None:
        if request.api_key == 17:
            return SaslHandshakeResponse(mechanisms=["PLAIN"])
        if request.api_key == 36:
            body: Any = request.body
            self.tokens.append(body.auth_bytes)
            return SaslAuthenticateResponse(error_code=0 if body.auth_bytes == b"\0alice\0secret" else 58)
        return super().answer(request)


def beat() -> HeartbeatRequest:
    return HeartbeatRequest(group_id="5")


@pytest.mark.parametrize("wants_certificate", [False, True])
def test_both_sides_speak_tls(wants_certificate: bool) -> None:
    context = server_context(wants_certificate=wants_certificate)
    mine = client_context(certificate="client.pem" if wants_certificate else None)

    async def work() -> None:
        async with (
            Broker().serve(ssl=context) as server,
            QuietProxy(server.address, certificate=context, ssl=mine) as proxy,
            connect(proxy.address, ssl=mine) as client,
        ):
            assert (await client.request(beat())).throttle_time_ms == 5

    run(work())


def test_clients_authenticate_through_the_proxy() -> None:
    broker = SaslBroker()

    async def work() -> None:
        async with broker.serve() as server, QuietProxy(server.address) as proxy:
            async with connect(proxy.address, sasl=Plain("alice", "secret")) as client:
                assert (await client.request(beat())).throttle_time_ms == 5
            with pytest.raises(AuthenticationFailure):
                await connect(proxy.address, sasl=Plain("mallory", "secret"))

    run(work())
    assert broker.tokens == [b"\0alice\0secret", b"\0mallory\0secret"]


def test_the_proxy_authenticates_for_clients_that_do_not(caplog: pytest.LogCaptureFixture) -> None:
    broker = SaslBroker()

    async def work() -> None:
        async with broker.serve() as server:
            async with (
                QuietProxy(server.address, sasl=Plain("alice", "secret")) as proxy,
                connect(proxy.address) as client,
            ):
                assert (await client.request(beat())).throttle_time_ms == 5
            async with QuietProxy(server.address, sasl=Plain("alice", "wrong")) as proxy:
                with pytest.raises(Closed):
                    await connect(proxy.address)

    run(work())
    assert broker.tokens == [b"\0alice\0secret", b"\0alice\0wrong"]
    (line,) = lines(caplog)
    assert "wrong" not in line and "PLAIN" in line


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records if record.name == "kipwire.proxy"]
    assert not any("\n" in one for one in found)
    return found


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "HTTP"),
        (b"\x16\x03\x01\x02\x00\x01", "TLS"),
        (struct.pack(">i", -5), "negative"),
        (struct.pack(">i", 2**31 - 1), "the limit is"),
        (struct.pack(">i", 3) + b"abc", "a request has at least 8 bytes, not 3"),
        (bytes.fromhex("00000008 0012 0000 00000007 00"), "the connection ends"),
    ],
)
def test_bytes_that_are_no_requests_close_that_connection_with_one_line(
    sent: bytes, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        async with Broker().serve() as server, QuietProxy(server.address) as proxy, connect(proxy.address) as other:
            reader, writer = await asyncio.open_connection(*proxy.address)
            writer.write(sent)
            writer.write_eof()
            await reader.read()
            writer.close()
            await writer.wait_closed()
            assert (await other.request(beat())).throttle_time_ms == 5

    run(work())
    (line,) = lines(caplog)
    assert said in line and line.startswith("the connection of 127.0.0.1:")


def test_bytes_of_a_broker_that_are_no_responses_close_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()

    async def work() -> None:
        async with peer(talk) as address, QuietProxy(address) as proxy:
            reader, writer = await asyncio.open_connection(*proxy.address)
            assert await reader.read() == b""
            writer.close()

    run(work())
    (line,) = lines(caplog)
    assert "HTTP" in line


def test_tokens_of_sasl_without_headers_are_one_line(caplog: pytest.LogCaptureFixture) -> None:
    class Old(Broker):
        def answer(self, request: Request) -> Message | bytes | None:
            return REGISTRY.response(17, 0)()

    async def work() -> None:
        async with Old().serve() as server, QuietProxy(server.address) as proxy:
            reader, writer = await asyncio.open_connection(*proxy.address)
            frame = REGISTRY.encode_request(SaslHandshakeRequest0(mechanism="PLAIN"), 1, "old")
            writer.write(struct.pack(">i", len(frame)) + frame)
            await reader.readexactly(4)
            writer.write(struct.pack(">i", 5) + b"token")
            await reader.read()
            writer.close()

    run(work())
    (line,) = lines(caplog)
    assert "SaslHandshake v1" in line


@pytest.mark.parametrize("side", ["client", "broker"])
@pytest.mark.parametrize("is_reset", [False, True])
def test_one_side_that_ends_ends_the_other(side: str, is_reset: bool, caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        accepted: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
        server = await asyncio.start_server(lambda *streams: accepted.put_nowait(streams), "127.0.0.1", 0)
        async with QuietProxy(server.sockets[0].getsockname()[:2]) as proxy:
            client = await asyncio.open_connection(*proxy.address)
            broker = await accepted.get()
            ends, stays = (client, broker) if side == "client" else (broker, client)
            if is_reset:
                at_once = struct.pack("ii", 1, 0)
                ends[1].get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
                ends[1].transport.abort()
            else:
                ends[1].close()
            assert await stays[0].read() == b""
            stays[1].close()
            await stays[1].wait_closed()
        server.close()

    run(work())
    assert [side in one and "broke" in one for one in lines(caplog)] == [True] * is_reset


def test_a_broker_that_cannot_be_reached_is_one_line_for_each_client(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with Broker().serve() as server:
            gone = server.address
        async with QuietProxy(gone) as proxy:
            for _ in range(2):
                with pytest.raises(Closed):
                    await connect(proxy.address)

    run(work())
    assert len(lines(caplog)) == 2 and all("connection refused" in one for one in lines(caplog))


def test_of_several_addresses_one_has_to_answer_and_the_dead_are_named_once(caplog: pytest.LogCaptureFixture) -> None:
    dead = unused_address()

    async def work() -> None:
        async with Broker().serve() as server, QuietProxy([dead, server.address, "localhost:1"]) as proxy:
            for _ in range(2):
                async with connect(proxy.address) as client:
                    assert (await client.request(beat())).throttle_time_ms == 5
        async with QuietProxy(f"{dead},{shown_address(server.address)}") as proxy:  # which is gone by now
            with pytest.raises(Closed):
                await connect(proxy.address)

    run(work())
    first, again, closed = lines(caplog)
    assert first == again == f"{dead}: connection refused; is the broker running on this port?"
    assert closed.startswith("the connection of ") and "connection refused" in closed and dead not in closed


def test_a_client_that_asks_without_reading_is_not_read_further() -> None:
    """The requests that the proxy takes from it are bounded, and so are the responses that it keeps."""
    broker = Broker()
    broker.may_answer.clear()

    async def work() -> None:
        async with broker.serve(in_flight=1000) as server, QuietProxy(server.address) as proxy:
            _, writer = await asyncio.open_connection(*proxy.address)
            frame = REGISTRY.encode_request(beat(), 1, "x")
            writer.write((struct.pack(">i", len(frame)) + frame) * 5000)
            await until(lambda: len(broker.requests) == 100)
            await asyncio.sleep(0.05)
            assert len(broker.requests) == 100
            writer.transport.abort()

    run(work())


class Large(Broker):
    """Answers with a mebibyte, and counts that."""

    answered = 0

    def answer(self, request: Request) -> bytes:
        self.answered += 1
        return request.raw[4:8] + bytes(1 << 20)


async def settled(count: Callable[[], int]) -> int:
    """Return a count once it stays as it is."""
    before = -1
    while count() != before:
        before = count()
        await asyncio.sleep(0.05)
    return before


@pytest.mark.parametrize("has_tls", [False, pytest.param(True, marks=pytest.mark.night)])
def test_the_broker_waits_while_a_client_does_not_read(has_tls: bool) -> None:
    """All requests are with it already, so that only reading no more from it bounds what the proxy keeps."""
    broker = Large()
    context = client_context() if has_tls else None

    async def work() -> None:
        async with (
            broker.serve(ssl=server_context() if has_tls else None) as server,
            QuietProxy(server.address, ssl=context) as proxy,
        ):
            reader, writer = await asyncio.open_connection(*proxy.address, limit=1)
            frame = REGISTRY.encode_request(beat(), 1, "x")
            writer.write((struct.pack(">i", len(frame)) + frame) * 100)
            assert 0 < await settled(lambda: broker.answered) < 40  # those that the buffers of the system take
            for _ in range(100):
                assert len(await reader.readexactly(8 + (1 << 20))) > 8
            writer.transport.abort()

    run(work())
    assert broker.answered == 100


def test_the_broker_waits_while_filters_have_many_bytes_of_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kipwire.proxy.serving.MOST_FILTERED", 3 << 20)
    broker, passes, seen = Large(), asyncio.Event(), 0

    @on(Response)
    async def wait(response: Response, exchange: Exchange) -> None:
        nonlocal seen
        seen += 1
        await passes.wait()

    async def work() -> None:
        async with broker.serve() as server, QuietProxy(server.address, [wait]) as proxy:
            reader, writer = await asyncio.open_connection(*proxy.address)
            frame = REGISTRY.encode_request(beat(), 1, "x")
            writer.write((struct.pack(">i", len(frame)) + frame) * 60)
            assert await settled(lambda: seen) == 3
            passes.set()
            for _ in range(60):
                assert len(await reader.readexactly(8 + (1 << 20))) > 8
            writer.transport.abort()

    run(work())


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(one, marks=pytest.mark.night) for one in range(3, 60))])
def test_connections_that_break_at_any_moment_leave_no_error_without_a_line(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    """With filters on requests, which are in flight while one side resets; `run` sees errors that nothing retrieves."""
    random = Random(seed)

    @on(Request)
    async def delay(request: Request, exchange: Exchange) -> None:
        if random.random() < 0.3:
            await asyncio.sleep(0)

    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            frame = await reader.readexactly(size)
            if random.random() < 0.1:
                return
            writer.write(struct.pack(">i", 4) + frame[4:8])

    async def work() -> None:
        async with peer(break_off) as address, QuietProxy(address, [delay]) as proxy:
            for _ in range(15):
                _, writer = await asyncio.open_connection(*proxy.address)
                for number in range(60):
                    frame = struct.pack(">hhi", 999, 0, number) + bytes(50)
                    writer.write(struct.pack(">i", len(frame)) + frame)
                for _ in range(random.choice((0, 1, 5, 20))):
                    await asyncio.sleep(0)
                writer.transport.abort()
            await until(lambda: proxy._nodes.first.connections == 0)

    run(work())
    assert all(one.startswith("the connection of 127.0.0.1:") for one in lines(caplog))


def test_both_sides_ask_peers_that_say_nothing_whether_they_are_there() -> None:
    alive: list[int] = []
    kept = link.keep_alive

    def note(transport: asyncio.BaseTransport) -> None:
        kept(transport)
        alive.append(transport.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE))

    async def work() -> None:
        with pytest.MonkeyPatch.context() as patch:
            for module in (link, served):
                patch.setattr(module, "keep_alive", note)
            async with Broker().serve() as server, QuietProxy(server.address) as proxy:
                await (await connect(proxy.address)).close()

    run(work())
    assert alive == [1, 1, 1, 1]


def test_exchanges_can_be_observed() -> None:
    seen: list[tuple[int, int | None]] = []

    def observe(exchange: Exchange, size: int | None, seconds: float) -> None:
        assert seconds >= 0
        seen.append((exchange.request.api_key, size))

    async def work() -> None:
        async with (
            Broker().serve() as server,
            QuietProxy(server.address, observer=observe) as proxy,
            connect(proxy.address) as client,
        ):
            await client.request(beat(), version=0)

    run(work())
    assert [key for key, _ in seen] == [18, 12] and seen[1] == (12, 6)
