"""Filters hear of the start and the end of each connection; other filters are for new connections."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

import pytest

from kafka_messages.enums import ErrorCode
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.heartbeat_response.v4 import HeartbeatResponse
from kafka_messages.sasl_handshake_request.v0 import SaslHandshakeRequest
from kipwire import Message
from kipwire.aio import Closed, connect
from kipwire.proxy import Connected, Disconnected, Exchange, Filter, FilterError, Request, on
from tests.support.subjects.peers import REGISTRY, Broker, QuietProxy, run, until
from tests.support.subjects.scripted_broker import unused_address


def beat() -> HeartbeatRequest:
    return HeartbeatRequest(group_id="5")


Said = list[tuple[str, str | None]]


def noted() -> tuple[Said, list[Filter]]:
    """Make filters that note the events of connections: `+` for a start; `-` and the reason for an end."""
    said: Said = []

    @on(Connected)
    def opened(event: Connected) -> None:
        assert (event.client[0], event.node) == ("127.0.0.1", None)
        event.notes["keys"] = []
        said.append(("+", None))

    @on(Request)
    def count(request: Request, exchange: Exchange) -> None:
        exchange.notes["keys"].append(request.api_key)

    @on(Disconnected)
    def ended(event: Disconnected) -> None:
        assert event.client[0] == "127.0.0.1" and "\n" not in (event.reason or "")
        said.append((f"-{event.notes['keys']}", event.reason))

    return said, [opened, count, ended]


def test_filters_hear_of_the_start_and_the_end_of_each_connection_with_its_notes() -> None:
    said, filters = noted()

    async def work() -> None:
        async with Broker().serve() as server, QuietProxy(server.address, filters) as proxy:
            async with connect(proxy.address) as client:
                assert said[0] == ("+", None)
                await client.request(beat())
                async with connect(proxy.address):
                    pass
                await until(lambda: len(said) == 3)
            await until(lambda: len(said) == 4)

    run(work())
    assert said == [("+", None), ("+", None), ("-[18]", None), ("-[18, 12]", None)]


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("no broker", "connection refused; is the broker running on this port?"),
        ("HTTP", "the bytes begin as HTTP does"),
        ("tokens", "SASL tokens without headers are not supported; use SaslHandshake v1"),
        ("reset", "the client broke off the connection: "),
        ("filter", "ValueError: too much"),
        ("proxy", "the proxy is closed"),
    ],
)
def test_a_connection_that_fails_has_one_end_with_the_reason(what: str, reason: str) -> None:
    said, filters = noted()

    @on(HeartbeatRequest)
    def fail(request: HeartbeatRequest, exchange: Exchange) -> None:
        raise ValueError("too much")

    async def work() -> None:
        async with Broker().serve() as server:
            to = unused_address() if what == "no broker" else server.address
            async with QuietProxy(to, [*filters, fail]) as proxy:
                reader, writer = await asyncio.open_connection(*proxy.address)
                await until(lambda: said)
                if what == "HTTP":
                    writer.write(b"GET / HTTP/1.1\r\n\r\n")
                elif what == "reset":
                    at_once = struct.pack("ii", 1, 0)
                    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
                    writer.transport.abort()
                elif what in ("filter", "tokens"):
                    asked: Message = SaslHandshakeRequest(mechanism="PLAIN") if what == "tokens" else beat()
                    frame = REGISTRY.encode_request(asked, 1, "x")
                    writer.write(struct.pack(">i", len(frame)) + frame)
                    if what == "tokens":
                        await reader.readexactly(4)
                        writer.write(struct.pack(">i", 5) + b"token")
                if what != "proxy":
                    await until(lambda: len(said) == 2)
            assert len(said) == 2
            writer.transport.abort()

    run(work())
    (_, why), (end, found) = said
    assert why is None and end.startswith("-") and found is not None and reason in found


def test_functions_of_connections_that_fail_are_lines_and_the_others_are_called(
    caplog: pytest.LogCaptureFixture,
) -> None:
    said, filters = noted()

    @on(Connected)
    def refuse(event: Connected) -> None:
        if event.client[0] == "127.0.0.1":
            raise PermissionError("not from here")

    @on(Disconnected)
    def stumble(event: Disconnected) -> None:
        raise KeyError("name")

    async def work() -> None:
        broker = Broker()
        async with broker.serve() as server, QuietProxy(server.address, [refuse, stumble, *filters]) as proxy:
            with pytest.raises(Closed):
                await connect(proxy.address)
            await until(lambda: len(said) == 2)
            assert server.connections == 0

    run(work())
    closed, failed = (one.getMessage() for one in caplog.records if one.name == "kipwire.proxy")
    assert "refuse of Connected failed: PermissionError: not from here (" in closed
    assert closed.startswith("the connection of 127.0.0.1:") and said[1][1] == closed.split(" is closed: ")[1]
    assert "stumble of Disconnected failed: KeyError: 'name' (" in failed


def test_functions_of_connections_are_checked_when_they_are_made() -> None:
    async def wait(event: Any) -> None: ...

    events: Any = (Connected, Disconnected)
    for of in events:
        with pytest.raises(TypeError, match=f"a function of {of.__name__} cannot be async"):
            on(of)(wait)
        with pytest.raises(TypeError, match="has no response for `otherwise`"):
            on(of, otherwise=ErrorCode.NONE)
    seen: list[Connected] = []
    event = Connected(("a", 1), None, {})
    on(Connected)(seen.append)(event)  # as a test calls it
    assert seen == [event]


def test_clients_that_are_connected_keep_their_filters_when_the_proxy_gets_others() -> None:
    def of(number: int) -> list[Filter]:
        @on(HeartbeatRequest)
        def ask(request: HeartbeatRequest, exchange: Exchange) -> None:
            request.group_id += str(number)

        @on(HeartbeatResponse)
        def answer(response: HeartbeatResponse, exchange: Exchange) -> None:
            response.throttle_time_ms = response.throttle_time_ms * 10 + number

        return [ask, answer]

    async def work() -> None:
        async with Broker().serve() as server, QuietProxy(server.address, of(1)) as proxy:
            async with connect(proxy.address) as early:
                proxy.use(of(2))
                alike: Any = type("HeartbeatRequest", (HeartbeatRequest,), {})
                with pytest.raises(FilterError, match="it is of another package"):
                    proxy.use([on(alike)(lambda request, exchange: None)])
                async with connect(proxy.address) as late:
                    proxy.use(iter(()))
                    for client, expected in ((early, 511), (late, 522), (early, 511)):
                        assert (await client.request(beat())).throttle_time_ms == expected
            async with connect(proxy.address) as last:
                assert (await last.request(beat())).throttle_time_ms == 5

    run(work())
