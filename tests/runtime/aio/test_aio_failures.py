"""Each kind of failure is an error of its own class: one line, with the address and what would be right."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_messages.api_versions_request.v5 import ApiVersionsRequest
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kipwire import KipwireError, Message, build
from kipwire.aio import (
    Address,
    AuthenticationFailure,
    Closed,
    Failure,
    ProtocolFailure,
    Refused,
    TimedOut,
    TlsFailure,
    connect,
    serve,
)
from kipwire.connection import LARGEST_FRAME, Request, versions_answer
from kipwire.connection.framing import add_size
from kipwire.tools.text import printable_line
from tests.support.cases import some
from tests.support.subjects.peers import REGISTRY, Broker, client_context, peer, run, server_context, until

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def line(error: Failure, address: Address) -> str:
    """Return the text of a failure after its address; it must be one line."""
    assert error.address == address
    start, _, text = str(error).partition(": ")
    assert start == f"{address[0]}:{address[1]}"
    assert text == error.reason and len(text.splitlines()) == 1 and text.isprintable()
    return text


async def failure_of(address: Address, **options: Any) -> Failure:
    """Return the error of a connection that cannot be opened."""
    with pytest.raises(Failure) as caught:
        await connect(address, **options)
    assert isinstance(caught.value, KipwireError)
    return caught.value


def test_the_kinds_of_failures_are_all_failures() -> None:
    kinds = {Refused, TlsFailure, AuthenticationFailure, Closed, TimedOut, ProtocolFailure}
    assert set(Failure.__subclasses__()) == kinds
    assert str(Closed(("::1", 9092), "a\nb\x1b")) == r"[::1]:9092: a\x0ab\x1b"


def test_nothing_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = free.getsockname()

    async def work() -> None:
        failure = await failure_of(address)
        assert type(failure) is Refused
        assert line(failure, address) == "connection refused; is the broker running on this port?"

    run(work())


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a" * 70, "x..y"])
def test_there_is_no_such_host(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lookup = socket.getaddrinfo

    def getaddrinfo(name: Any, *arguments: Any, **options: Any) -> Any:
        if name == "no-such-host.invalid":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return lookup(name, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)

    async def work() -> None:
        failure = await failure_of((host, 9092))
        assert type(failure) is Refused
        assert line(failure, (host, 9092)) in (
            "cannot connect: Name or service not known",
            "invalid host name",
        )

    run(work())


@settings(deadline=None, max_examples=60)
@given(
    st.one_of(
        st.tuples(st.text(), st.integers()),
        st.tuples(st.sampled_from(["a\0b", "", ".x", "a" * 64, "x." * 5000, "[::1", "fe80::1%no", "a b"]), st.just(1)),
        st.tuples(st.sampled_from(["127.0.0.1", "localhost", "::1"]), st.sampled_from([-2, 0, 70_000, 2**31 - 1])),
    ),
    st.booleans(),
)
def test_an_address_that_a_peer_has_sent_is_at_most_a_failure(address: Address, tls: bool) -> None:
    lookup = socket.getaddrinfo

    def getaddrinfo(host: str, port: int, *_: Any, **__: Any) -> Any:
        lookup(host, port, flags=socket.AI_NUMERICHOST)  # which checks both, and asks no server
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    async def work() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(socket, "getaddrinfo", getaddrinfo)
            failure = await failure_of(address, ssl=client_context() if tls else None)
        assert type(failure) is Refused and failure.address == address
        assert str(failure) == printable_line(str(failure)) and len(str(failure)) < 2500

    asyncio.run(work())


async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes) -> None:
    await reader.read(1000)
    writer.write(data)
    await writer.drain()
    await reader.read()


def says(data: bytes) -> Talk:
    """Return a peer that answers the first bytes with others."""
    return lambda reader, writer: answers(reader, writer, data)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "the bytes begin as HTTP does"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "the frame size is 1,397,966,893 bytes; the limit is 104,857,600"),
        (bytes.fromhex("15030300020250"), r"begin as TLS does.*; is it a TLS listener\?"),
        (b"\xff\xff\xff\xff", "the frame size is -1; it must not be negative"),
        ((LARGEST_FRAME + 1).to_bytes(4), "the limit is 104,857,600"),
        (add_size(b"\0\0"), "a response has at least 4 bytes, not 2"),
        (add_size(bytes.fromhex("00000063 0000")), "response without a request: got correlation id 99"),
        (
            add_size(bytes(4)),
            "the ApiVersions response cannot be decoded: ApiVersionsResponse v5: error_code at byte 4",
        ),
        (add_size(bytes(4) + b"\0\x2a\0\0\0\0"), "the ApiVersions response cannot be decoded: "),
    ],
)
def test_what_is_not_kafkas_protocol_is_named(data: bytes, reason: str) -> None:
    async def work() -> None:
        async with peer(says(data)) as address:
            failure = await failure_of(address)
            assert type(failure) is ProtocolFailure
            with pytest.raises(Failure, match=reason):
                raise failure
            line(failure, address)

    run(work())


def test_a_refusal_of_apiversions_is_a_failure() -> None:
    async def handle(request: Request) -> Message:
        return build(REGISTRY.response(18, 5), {"error_code": 42})

    async def work() -> None:
        async with serve(handle) as server:
            failure = await failure_of(server.address)
            assert type(failure) is ProtocolFailure
            assert line(failure, server.address) == "the broker rejected ApiVersions: 42 INVALID_REQUEST"

    run(work())


async def closes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1000)


async def resets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1000)
    at_once = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)


@pytest.mark.parametrize(
    ("talk", "how"),
    [(closes, "closed the connection"), (resets, "broke off the connection: Connection reset by peer")],
)
def test_the_broker_closes_the_connection_at_once(talk: Talk, how: str) -> None:
    async def work() -> None:
        async with peer(talk) as address:
            failure = await failure_of(address)
            assert type(failure) is Closed
            assert (
                line(failure, address)
                == f"the broker {how} instead of answering ApiVersionsRequest v5; is it a TLS listener?"
            )
            async with connect(address, versions={12: range(5)}) as connection:
                with pytest.raises(Closed) as caught:
                    await connection.request(HeartbeatRequest())
                why = "a SASL listener closes the connection of a client that does not authenticate"
                assert (
                    line(caught.value, address) == f"the broker {how} instead of answering HeartbeatRequest v4; {why}"
                )

    run(work())


def test_after_a_failure_all_that_wait_have_the_same_reason_and_others_fail_at_once() -> None:
    broker = Broker()
    halves: list[bool] = []

    async def handle(request: Request) -> Message | bytes | None:
        if request.api_key == 12 and len(broker.requests) == 3:
            return request.raw[4:8] + b"\0" * 2
        return await broker(request)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(8 * 4)
        writer.write(add_size(bytes.fromhex("00000000 0000 0000 0000"))[:9])
        halves.append(True)

    async def work() -> None:
        async with peer(talk) as address, connect(address, versions={12: range(5)}, in_flight=2) as connection:
            closed: list[None] = []
            connection.when_closed(lambda: closed.append(None))
            tasks = [asyncio.create_task(connection.request(HeartbeatRequest())) for _ in range(4)]
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert {type(one) for one in results} == {ProtocolFailure}
            assert len({str(one) for one in results}) == 1
            assert len(set(map(id, results))) == 4
            assert "the connection ends after 5 of the 10 bytes of a frame" in str(results[0])
            for attempt in (connection.request(HeartbeatRequest()), connection.exchange(bytes(8))):
                with pytest.raises(ProtocolFailure, match="the connection ends after 5"):
                    await attempt
            assert str(connection.failure) == str(results[0])
            assert closed == [None]
            connection.when_closed(lambda: closed.append(None))
            assert closed == [None, None]

    run(work())
    assert halves


def test_an_answer_out_of_turn_ends_the_connection() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
        for number in (1, 0):
            writer.write(add_size(number.to_bytes(4) + bytes(7)))
        await reader.read()

    async def work() -> None:
        async with peer(talk) as address, connect(address, versions={12: range(5)}) as connection:
            tasks = [asyncio.create_task(connection.request(HeartbeatRequest())) for _ in range(2)]
            for one in await asyncio.gather(*tasks, return_exceptions=True):
                assert isinstance(one, ProtocolFailure)
                assert "response out of order: got correlation id 1, expected" in str(one)

    run(work())


def test_a_response_that_nobody_asked_for_ends_the_connection() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(add_size(bytes(10)))
        await reader.read()

    async def work() -> None:
        async with peer(talk) as address, connect(address, versions={12: range(5)}) as connection:
            await until(lambda: connection.failure)
            with pytest.raises(ProtocolFailure, match="a response of 10 bytes without a request"):
                await connection.request(HeartbeatRequest())

    run(work())


def test_a_smaller_largest_frame_is_kept() -> None:
    async def work() -> None:
        async with Broker().serve() as server:
            failure = await failure_of(server.address, largest_frame=100)
            assert type(failure) is ProtocolFailure and "the limit is 100" in line(failure, server.address)

    run(work())


@pytest.mark.parametrize("seed", some(range(40)))
def test_whatever_a_broker_says_is_a_response_or_an_error_of_kipwire(seed: int) -> None:
    random = Random(seed)
    right = REGISTRY.encode_response(versions_answer(REGISTRY, 5), 0)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = 0
        while await reader.read(1000):
            answer = bytearray(add_size(number.to_bytes(4) + right[4:]))
            number += 1
            for _ in range(random.choice((0, 1, 3))):
                answer[random.randrange(len(answer))] = random.randrange(256)
            cut = random.choice((None, None, random.randrange(len(answer))))
            for at in range(0, len(answer[:cut]), 100):
                writer.write(answer[:cut][at : at + 100])
                await writer.drain()
            if cut is not None or random.random() < 0.2:
                return

    async def work() -> None:
        async with peer(talk) as address:
            for _ in range(10):
                with suppress(KipwireError):
                    async with connect(address, timeout=0.1) as connection:
                        for _ in range(5):
                            await connection.request(ApiVersionsRequest())

    run(work())


# TLS.


@pytest.mark.parametrize("wants_certificate", [False, True])
def test_tls_works_with_certificates_of_both_sides(wants_certificate: bool) -> None:
    async def work() -> None:
        given = server_context(wants_certificate=wants_certificate)
        taken = client_context(certificate="client.pem" if wants_certificate else None)
        async with Broker().serve(ssl=given) as server, connect(server.address, ssl=taken) as connection:
            answers = await asyncio.gather(
                *(connection.request(HeartbeatRequest(group_id=str(one))) for one in range(100))
            )
            assert [one.throttle_time_ms for one in answers] == list(range(100))

    run(work())


@pytest.mark.parametrize(
    ("context", "reason"),
    [
        (client_context("other-ca.pem"), r"cannot verify the broker's certificate: .*; trust the authority"),
        (True, r"cannot verify the broker's certificate: .*; trust the authority that signed it"),
    ],
)
def test_a_certificate_of_an_unknown_authority_is_refused(context: Any, reason: str) -> None:
    async def work() -> None:
        async with Broker().serve(ssl=server_context()) as server:
            failure = await failure_of(server.address, ssl=context)
            assert type(failure) is TlsFailure
            line(failure, server.address)
            with pytest.raises(TlsFailure, match=reason):
                raise failure

    run(work())


def test_a_certificate_of_another_host_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lookup = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda _, *rest, **named: lookup("127.0.0.1", *rest, **named))

    async def work() -> None:
        async with Broker().serve(ssl=server_context()) as server:
            address = ("broker.example", server.address[1])
            failure = await failure_of(address, ssl=client_context())
            assert type(failure) is TlsFailure
            assert "connect to a host name in the certificate" in line(failure, address)

    run(work())


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("certificate", [None, "other-client.pem"])
def test_a_broker_refuses_a_client_by_its_certificate(version: ssl.TLSVersion, certificate: str | None) -> None:
    async def work() -> None:
        context = client_context(certificate=certificate)
        context.maximum_version = version
        async with Broker().serve(ssl=server_context(wants_certificate=True)) as server:
            failure = await failure_of(server.address, ssl=context)
            text = line(failure, server.address)
            # With TLS 1.3 the broker may close before its refusal is read.
            assert isinstance(failure, TlsFailure) or "does it require a client certificate?" in text
            assert "certificate" in text or "handshake" in text

    run(work())


def test_a_listener_without_tls_is_named() -> None:
    async def work() -> None:
        async with peer(says(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as address:
            failure = await failure_of(address, ssl=client_context())
            assert type(failure) is TlsFailure
            assert "the listener does not speak TLS" in line(failure, address)
        async with peer(closes) as address:
            failure = await failure_of(address, ssl=client_context())
            assert type(failure) is TlsFailure
            assert "is it a listener without TLS?" in line(failure, address)
        async with Broker().serve() as server:
            failure = await failure_of(server.address, ssl=client_context())
            assert type(failure) is TlsFailure
            assert "listener" in line(failure, server.address)

    run(work())


def test_a_listener_with_tls_is_named() -> None:
    async def work() -> None:
        async with Broker().serve(ssl=server_context()) as server:
            failure = await failure_of(server.address)
            assert "is it a TLS listener?" in line(failure, server.address)

    run(work())
