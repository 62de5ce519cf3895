"""Both sides of a proxy: TLS and SASL, ends, hostile bytes, and what it keeps."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from typing import Any

import pytest

import kafka_messages
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.sasl_authenticate_response.v2 import SaslAuthenticateResponse
from kafka_messages.sasl_handshake_request.v0 import SaslHandshakeRequest as SaslHandshakeRequest0
from kafka_messages.sasl_handshake_response.v1 import SaslHandshakeResponse
from kipwire import Message
from kipwire.aio import AuthenticationFailure, Closed, connect
from kipwire.connection import Plain, Request
from kipwire.proxy import Exchange, Proxy
from tests.support.subjects.peers import Broker, client_context, peer, run, server_context, until

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
            Proxy(server.address, certificate=context, ssl=mine) as proxy,
            connect(proxy.address, ssl=mine) as client,
        ):
            assert (await client.request(beat())).throttle_time_ms == 5

    run(work())


def test_clients_authenticate_through_the_proxy() -> None:
    broker = SaslBroker()

    async def work() -> None:
        async with broker.serve() as server, Proxy(server.address) as proxy:
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
                Proxy(server.address, sasl=Plain("alice", "secret")) as proxy,
                connect(proxy.address) as client,
            ):
                assert (await client.request(beat())).throttle_time_ms == 5
            async with Proxy(server.address, sasl=Plain("alice", "wrong")) as proxy:
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
        async with Broker().serve() as server, Proxy(server.address) as proxy, connect(proxy.address) as other:
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
        async with peer(talk) as address, Proxy(address) as proxy:
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
        async with Old().serve() as server, Proxy(server.address) as proxy:
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
        async with Proxy(server.sockets[0].getsockname()[:2]) as proxy:
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
        async with Proxy(gone) as proxy:
            for _ in range(2):
                with pytest.raises(Closed):
                    await connect(proxy.address)

    run(work())
    assert len(lines(caplog)) == 2 and all("connection refused" in one for one in lines(caplog))


def test_a_client_that_asks_without_reading_is_not_read_further() -> None:
    """The requests that the proxy takes from it are bounded, and so are the responses that it keeps."""
    broker = Broker()
    broker.may_answer.clear()

    async def work() -> None:
        async with broker.serve(in_flight=1000) as server, Proxy(server.address) as proxy:
            _, writer = await asyncio.open_connection(*proxy.address)
            frame = REGISTRY.encode_request(beat(), 1, "x")
            writer.write((struct.pack(">i", len(frame)) + frame) * 5000)
            await until(lambda: len(broker.requests) == 100)
            await asyncio.sleep(0.05)
            assert len(broker.requests) == 100
            writer.transport.abort()

    run(work())


def test_exchanges_can_be_observed() -> None:
    seen: list[tuple[int, int | None]] = []

    def observe(exchange: Exchange, size: int | None, seconds: float) -> None:
        assert seconds >= 0
        seen.append((exchange.request.api_key, size))

    async def work() -> None:
        async with (
            Broker().serve() as server,
            Proxy(server.address, observer=observe) as proxy,
            connect(proxy.address) as client,
        ):
            await client.request(beat(), version=0)

    run(work())
    assert [key for key, _ in seen] == [18, 12] and seen[1] == (12, 6)
