"""A server answers each client in its order, keeps little of any client's data in memory, and can always be ended."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from inspect import signature
from typing import Any

import pytest

from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.heartbeat_response.v4 import HeartbeatResponse
from kafka_messages.produce_request.v12 import ProduceRequest
from kipwire import Message
from kipwire.aio import (
    Address,
    Client,
    Closed,
    ClosedByHandler,
    Handler,
    Server,
    ServerSettings,
    connect,
    serve,
    serve_each,
)
from kipwire.aio.served import Served
from kipwire.connection import ClientConnection, Request, versions_answer
from kipwire.connection.framing import add_size
from tests.support.subjects.peers import REGISTRY, Broker, client_context, run, server_context, until


def frame_of(number: int, more: int = 0) -> bytes:
    """Return a heartbeat with its size, which may be larger than it need be."""
    return add_size(REGISTRY.encode_request(HeartbeatRequest(group_id=str(number), member_id=more * "m"), number))


async def times(reader: asyncio.StreamReader, count: int) -> list[int]:
    """Return the throttle times of the next responses."""
    found = []
    for _ in range(count):
        frame = await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
        found.append(REGISTRY.decode_response(frame, HeartbeatRequest).body.throttle_time_ms)
    return found


@asynccontextmanager
async def opened(address: Address) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Open a client's connection to send any bytes."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        await asyncio.sleep(0)


def test_a_response_of_any_version_is_converted_to_that_of_the_request() -> None:
    async def handle(request: Request) -> Message:
        if request.api_key == 18:
            return versions_answer(REGISTRY, request.api_version, {12: range(5), 18: range(4)})
        body: Any = request.body_as(HeartbeatRequest)
        return HeartbeatResponse(throttle_time_ms=int(body.group_id))

    async def work() -> None:
        async with serve(handle) as server, connect(server.address) as connection:
            assert connection.versions == {12: range(5), 18: range(4)}  # asked in a version that it does not have
            for version in range(1, 5):
                assert (await connection.request(HeartbeatRequest(group_id="7"), version=version)).throttle_time_ms == 7
            assert server.connections == 1

    run(work())


def test_both_functions_take_all_settings_of_a_server_and_no_others() -> None:
    """Types are refused by type checkers; names by the constructor, which has the defaults."""
    taken = signature(Server).parameters.values()
    assert {one.name for one in taken if one.kind is one.KEYWORD_ONLY} == set(ServerSettings.__annotations__)

    async def work() -> None:
        settings: ServerSettings = {"in_flight": 7, "largest_frame": 100, "logger": logging.getLogger("own")}
        for serving in (serve(Broker(), **settings), serve_each(lambda _: nullcontext(Broker()), **settings)):
            async with serving as server, opened(server.address) as (reader, writer):
                writer.write((101).to_bytes(4))
                assert await reader.read() == b""
        wrong: Any = {"inflight": 7}
        with pytest.raises(TypeError, match="inflight"):
            await serve(Broker(), **wrong)

    run(work())


def test_a_handler_may_answer_with_a_frame_or_with_nothing() -> None:
    async def handle(request: Request) -> bytes | None:
        body: Any = request.body
        if body.group_id == "0":
            return None
        return REGISTRY.encode_response(HeartbeatResponse(throttle_time_ms=9), request.correlation_id)

    async def work() -> None:
        async with serve(handle) as server, opened(server.address) as (reader, writer):
            writer.write(frame_of(0) + frame_of(1))
            assert await times(reader, 1) == [9]

    run(work())


@pytest.mark.parametrize("in_flight", [1, 3])
def test_requests_are_handled_as_many_at_a_time_as_allowed_and_answered_in_order(in_flight: int) -> None:
    handling: list[int] = []
    most = 0
    let_go: list[asyncio.Event] = []

    async def handle(request: Request) -> Message:
        nonlocal most
        number = request.correlation_id
        handling.append(number)
        most = max(most, len(handling))
        let_go.append(asyncio.Event())
        await let_go[-1].wait()
        handling.remove(number)
        return HeartbeatResponse(throttle_time_ms=number)

    async def work() -> None:
        async with serve(handle, in_flight=in_flight) as server, opened(server.address) as (reader, writer):
            writer.write(b"".join(map(frame_of, range(6))))
            await until(lambda: len(handling) == in_flight)
            while len(let_go) < 6 or handling:
                await asyncio.sleep(0)
                assert len(handling) <= in_flight
                let_go[-1].set()  # the last one first
                if len(let_go) >= in_flight:
                    let_go[len(let_go) - in_flight].set()
                for one in let_go[:-1]:
                    one.set()
            assert await times(reader, 6) == list(range(6))

    run(work())
    assert most == in_flight


def test_no_more_is_read_while_enough_is_open() -> None:
    broker = Broker()
    received = 0

    async def work() -> None:
        nonlocal received

        def count(served: Served, data: bytes) -> None:
            nonlocal received
            received += len(data)
            kept(served, data)

        kept = Served.data_received
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Served, "data_received", count)
            broker.may_answer.clear()
            async with broker.serve(in_flight=2) as server, opened(server.address) as (reader, writer):
                frames = b"".join(frame_of(number, 20_000) for number in range(2000))
                writer.write(frames)
                await until(lambda: len(broker.requests) == 2)
                before = -1
                while received != before:
                    before = received
                    await asyncio.sleep(0.05)
                assert received < len(frames) / 4
                assert len(broker.requests) == 2
                broker.may_answer.set()
                assert await times(reader, 2000) == list(range(2000))
                await until(lambda: received > before)

    run(work())


def test_no_request_is_handled_while_the_client_does_not_read() -> None:
    broker = Broker()
    broker.answer = lambda request: request.raw[4:8] + bytes(1 << 20)  # type: ignore[method-assign]

    async def work() -> None:
        async with broker.serve(in_flight=4) as server, opened(server.address) as (reader, writer):
            writer.write(b"".join(map(frame_of, range(60))))
            before = -1
            while len(broker.requests) != before:
                before = len(broker.requests)
                await asyncio.sleep(0.05)
            assert 0 < before < 30
            for _ in range(60):
                await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
            assert len(broker.requests) == 60

    run(work())


def test_a_client_that_stops_sending_gets_its_last_responses() -> None:
    broker = Broker()

    async def work() -> None:
        for in_flight in (1, 5):
            broker.may_answer.clear()
            async with broker.serve(in_flight=in_flight) as server, opened(server.address) as (reader, writer):
                writer.write(b"".join(map(frame_of, range(3))))
                writer.write_eof()
                await asyncio.sleep(0.01)
                broker.may_answer.set()
                assert await times(reader, 3) == [0, 1, 2]
                assert await reader.read() == b""
                await until(lambda: server.connections == 0)

    run(work())


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "the bytes begin as HTTP does"),
        (bytes.fromhex("16030100f1010000ed0303"), "the bytes begin as TLS does"),
        (add_size(bytes(5)), "a request has at least 8 bytes, not 5"),
        ((1 << 30).to_bytes(4), "the frame size is 1,073,741,824 bytes; the limit is 104,857,600"),
        (frame_of(1)[:-1], "the connection ends after"),
        (add_size(bytes.fromhex("000c 0004 00000007")), "RequestHeader v2: client_id at byte 8"),
    ],
)
@pytest.mark.parametrize("in_flight", [1, 4])
def test_a_bad_client_is_closed_with_one_line_and_others_go_on(
    data: bytes, reason: str, in_flight: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(request: Request) -> Message:
        body: Any = request.body
        return HeartbeatResponse(throttle_time_ms=int(body.group_id))

    async def work() -> None:
        async with serve(handle, in_flight=in_flight) as server, opened(server.address) as (reader, writer):
            async with opened(server.address) as (bad_reader, bad_writer):
                bad_writer.write(data)
                bad_writer.write_eof()
                await asyncio.wait_for(bad_reader.read(), 20)
            await until(lambda: server.connections == 1)
            writer.write(frame_of(5))
            assert await times(reader, 1) == [5]

    with caplog.at_level(logging.INFO):
        run(work())
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("kipwire.aio", "WARNING")
    message = record.getMessage()
    assert message.startswith("A connection is closed: ") and len(message.splitlines()) == 1
    assert reason in message


def test_tokens_of_sasl_close_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with Broker().serve() as server, opened(server.address) as (reader, writer):
            writer.write(add_size(b"\0\x11\0\0\0\0\0\1\0\0\0\5PLAIN"))
            assert len(await reader.readexactly(14)) == 14
            writer.write(add_size(b"token"))
            assert await reader.read() == b""

    run(work())
    (record,) = caplog.records
    assert "SASL tokens without headers are not supported" in record.getMessage()


def test_a_client_that_does_not_speak_tls_is_closed_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with Broker().serve(ssl=server_context()) as server:
            async with opened(server.address) as (reader, writer):
                writer.write(frame_of(1))
                await reader.read()
            await until(lambda: server.connections == 0)
            async with connect(server.address, ssl=client_context()) as connection:
                await connection.request(HeartbeatRequest(group_id="1"))

    run(work())
    (record,) = caplog.records
    assert record.getMessage().startswith("A connection is closed: TLS handshake with the client failed: ")


@pytest.mark.parametrize("in_flight", [1, 4])
def test_an_error_of_a_handler_closes_its_connection_and_is_reported(
    in_flight: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def handle(request: Request) -> Message | None:
        if request.correlation_id == 1:
            raise LookupError("a mistake")
        return ProduceRequest() if request.correlation_id == 2 else HeartbeatResponse()

    async def ask(server: Server, number: int) -> bytes:
        async with opened(server.address) as (reader, writer):
            writer.write(frame_of(number))
            return await reader.read(1)

    async def work() -> None:
        failures: list[Exception] = []
        async with serve(handle, in_flight=in_flight, failed=failures.append) as server:
            assert (await ask(server, 1), await ask(server, 2)) == (b"", b"")
            assert await ask(server, 3) != b""
        assert [type(one).__name__ for one in failures] == ["LookupError", "LocalProtocolError"]
        assert caplog.records == []
        async with serve(handle, in_flight=in_flight) as server:
            assert await ask(server, 1) == b""

    run(work())
    (record,) = caplog.records
    assert (record.levelname, record.exc_info is None) == ("ERROR", False)
    assert record.getMessage().endswith(" failed: a mistake")


def test_a_handler_closes_a_connection_with_or_without_a_line(caplog: pytest.LogCaptureFixture) -> None:
    async def handle(request: Request) -> None:
        raise ClosedByHandler(*["enough"] * request.correlation_id)

    async def work() -> None:
        async with serve(handle) as server:
            for number in (0, 1):
                async with opened(server.address) as (reader, writer):
                    writer.write(frame_of(number))
                    assert await reader.read() == b""

    run(work())
    assert [record.getMessage() for record in caplog.records] == ["A connection is closed: enough"]


def test_each_connection_has_a_session_that_ends_with_it() -> None:
    seen: list[str] = []
    broker = Broker()
    clients: list[Client] = []

    @asynccontextmanager
    async def session(client: Client) -> AsyncIterator[Handler]:
        clients.append(client)
        seen.append("begins")
        try:
            yield broker
        finally:
            seen.append("ends")

    async def work() -> None:
        async with serve_each(session) as server:
            async with opened(server.address) as (reader, writer):
                writer.write(frame_of(4))
                assert await times(reader, 1) == [4]
                assert seen == ["begins"]
                assert clients[0].address == writer.get_extra_info("sockname")[:2]
            await until(lambda: seen == ["begins", "ends"])
            async with opened(server.address) as (reader, writer):
                await until(lambda: len(clients) == 2)
                clients[1].close()
                assert await reader.read() == b""
            await until(lambda: seen == ["begins", "ends"] * 2)
            async with opened(server.address) as (reader, _):
                await until(lambda: len(clients) == 3)
                await server.close()
                assert seen == ["begins", "ends"] * 3
                assert await reader.read() == b""

    run(work())


@pytest.mark.parametrize("in_flight", [1, 10])
@pytest.mark.parametrize("has_tls", [False, True])
def test_closing_ends_handlers_and_connections_whatever_clients_do(in_flight: int, has_tls: bool) -> None:
    ended: list[int] = []

    async def handle(request: Request) -> bytes:
        if request.correlation_id % 2:
            return request.raw[4:8] + bytes(1 << 20)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(request.correlation_id)
        raise AssertionError

    async def work() -> None:
        context = client_context() if has_tls else None
        async with serve(handle, in_flight=in_flight, ssl=server_context() if has_tls else None) as server:
            waiting = await asyncio.open_connection(*server.address, ssl=context)
            waiting[1].write(frame_of(0))
            unread = await asyncio.open_connection(*server.address, ssl=context, limit=1)
            unread[1].write(b"".join(frame_of(2 * one + 1) for one in range(50)))
            silent = [await asyncio.open_connection(*server.address) for _ in range(3)]  # no TLS ever comes
            await until(lambda: server.connections == 5)
            await asyncio.sleep(0.05)
            closing = asyncio.create_task(server.wait_closed())
            await asyncio.gather(server.close(), server.close())
            await closing
            assert server.connections == 0
        assert ended == [0]
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*server.address)
        for _, writer in (waiting, unread, *silent):
            writer.transport.abort()
        await asyncio.sleep(0.01)

    run(work())


def test_accepting_goes_on_after_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = 3
    accept = asyncio.SelectorEventLoop.sock_accept

    async def sock_accept(loop: Any, listener: socket.socket) -> Any:
        nonlocal errors
        if errors:
            errors -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return await accept(loop, listener)

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_accept", sock_accept)
    monkeypatch.setattr("kipwire.aio.serving.SECONDS_TO_NEXT_ACCEPT", 0.001)
    failures: list[Exception] = []

    async def work() -> None:
        async with Broker().serve(failed=failures.append) as server, connect(server.address) as connection:
            await connection.request(HeartbeatRequest(group_id="1"))

    run(work())
    assert [str(one) for one in failures] == ["[Errno 24] cannot accept a connection: Too many open files"]


@pytest.mark.parametrize("fails", [1, 2])
def test_a_server_can_be_closed_without_a_free_descriptor(fails: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its clients' descriptors are taken then, and if there are none of these, it ends all the same."""

    class Used(socket.socket):
        def __init__(self, *arguments: Any, **how: Any) -> None:
            nonlocal fails
            fails -= 1
            if fails >= 0:
                raise OSError(errno.EMFILE, "Too many open files")
            super().__init__(*arguments, **how)

    async def work() -> None:
        server = await Broker().serve()
        async with opened(server.address) as (reader, _):
            await until(lambda: server.connections == 1)
            monkeypatch.setattr("kipwire.aio.serving.socket.socket", Used)
            await server.close()
            monkeypatch.undo()
            assert await reader.read() == b""
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection(*server.address)
        assert fails <= 0

    run(work())


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "localhost", "::1", "::"])
def test_it_listens_where_it_is_told(host: str) -> None:
    async def work() -> None:
        try:
            server = await Broker().serve(host=host)
        except OSError:
            pytest.skip("this machine has no such address")
        assert server.address[1] > 0
        with pytest.raises(OSError, match="in use"):
            await Broker().serve(host=host, port=server.address[1])
        await server.close()

    run(work())


def test_a_proxy_passes_on_everything_that_clients_have_in_flight() -> None:
    broker = Broker()

    async def work() -> None:
        async with broker.serve(in_flight=20) as upstream:

            @asynccontextmanager
            async def passing(client: Client) -> AsyncIterator[Handler]:
                async with connect(upstream.address, versions={}) as connection:
                    connection.when_closed(client.close)

                    async def answer(request: Request) -> bytes | None:
                        return await connection.exchange(request.raw)

                    yield answer

            async with serve_each(passing, in_flight=20) as proxy, connect(proxy.address) as connection:
                requests = (connection.request(HeartbeatRequest(group_id=str(one))) for one in range(200))
                assert [one.throttle_time_ms for one in await asyncio.gather(*requests)] == list(range(200))
                await upstream.close()
                await until(lambda: connection.failure)
                assert isinstance(connection.failure, Closed)

    run(work())


def test_bytes_in_any_pieces_are_the_same_requests() -> None:
    broker = Broker()
    client = ClientConnection(REGISTRY)

    async def work() -> None:
        async with broker.serve() as server, opened(server.address) as (reader, writer):
            for byte in b"".join(map(frame_of, range(20))):
                writer.write(bytes([byte]))
                await asyncio.sleep(0)
            assert await times(reader, 20) == list(range(20))
        assert client.in_flight == 0

    run(work())
