"""Each step of a connection is a line of the log `kipwire.aio` at the level DEBUG, in which nothing is secret."""

from __future__ import annotations

import asyncio
import logging
import re

import pytest

from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.heartbeat_response.v4 import HeartbeatResponse
from kafka_messages.produce_request.v12 import ProduceRequest
from kipwire import Message
from kipwire.aio import AuthenticationFailure, Closed, ClosedByHandler, Refused, connect, serve
from kipwire.aio.failures import shown_address
from kipwire.connection import Plain, Request, versions_answer
from kipwire.testing import FakeBroker
from tests.support.subjects.peers import REGISTRY, Broker, client_context, run, server_context

OF_SERVER = "client "
"""Start of the lines of a server, which has the clients' addresses."""


@pytest.fixture
def debugged(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, "kipwire.aio")
    return caplog


def steps(caplog: pytest.LogCaptureFixture, *, of_server: bool = False) -> list[str]:
    """Return the lines of one side, without the addresses and with `N` for what differs from run to run."""
    lines = [one.getMessage() for one in caplog.records if one.name == "kipwire.aio" and one.levelno == logging.DEBUG]
    assert all(one.isprintable() for one in lines)
    own = [re.sub(r"(client )?127\.0\.0\.1:\d+: ", "", one) for one in lines if one.startswith(OF_SERVER) is of_server]
    return [re.sub(r"127\.0\.0\.1:\d+|[\d.]+(?= ms)", "N", one) for one in own]


def test_a_client_logs_each_step_from_connecting_to_the_end(debugged: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with Broker().serve() as server, connect(server.address, client_id="me") as connection:
            await connection.request(HeartbeatRequest(group_id="5"), version=3)
            await connection.send(ProduceRequest(acks=0), version=9)
            frame = bytes.fromhex("03e7 0002 00000007 0000")  # of an API that the package does not have
            with pytest.raises(Closed):
                await connection.exchange(frame)

    run(work())
    assert steps(debugged) == [
        "connecting",
        "connected from N",
        "sent ApiVersions v5 #0",
        "answered ApiVersions v5 #0 in N ms",
        "sent Heartbeat v3 #1",
        "answered Heartbeat v3 #1 in N ms",
        "sent Produce v9 #2",
        "sent API 999 v2 #7",
        "closed, 1 in flight: the broker closed the connection",
    ]


def test_a_server_logs_its_clients_what_it_has_handled_and_why_they_end(debugged: pytest.LogCaptureFixture) -> None:
    async def handle(request: Request) -> Message:
        if request.api_key == 18:
            return versions_answer(REGISTRY, request.api_version, {12: range(5), 18: range(6)})
        if request.correlation_id > 1:
            raise ClosedByHandler("this is\nenough")
        return HeartbeatResponse()

    async def work() -> None:
        server = await serve(handle)
        async with connect(server.address) as connection:
            await connection.request(HeartbeatRequest(group_id="5"))
            with pytest.raises(Closed):
                await connection.request(HeartbeatRequest(group_id="6"))
        async with connect(server.address):
            pass
        async with connect(server.address):
            await server.close()

    run(work())
    opened = ["connected", "handled ApiVersions v5 #0 in N ms"]
    assert [one for one in steps(debugged, of_server=True) if one not in opened] == [
        "handled Heartbeat v4 #1 in N ms",
        r"closed: this is\x0aenough",
        "closed: the client has closed the connection",
        "closed: the server is closed",
    ]


def test_a_response_that_is_too_late_is_logged_as_dropped(debugged: pytest.LogCaptureFixture) -> None:
    broker = Broker()
    broker.may_answer.clear()

    async def work() -> None:
        async with broker.serve() as server, connect(server.address) as connection:
            with pytest.raises(Exception, match="timed out"):
                await connection.request(HeartbeatRequest(group_id="5"), timeout=0.01)
            broker.may_answer.set()
            await connection.request(HeartbeatRequest(group_id="6"))

    run(work())
    assert "answered Heartbeat v4 #1 in N ms, which nothing waits for" in steps(debugged)
    assert "answered Heartbeat v4 #2 in N ms" in steps(debugged)


def test_tls_is_named_and_so_is_a_handshake_that_fails(debugged: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with Broker().serve(ssl=server_context()) as server:
            async with connect(server.address, ssl=client_context()):
                pass
            with pytest.raises(Exception, match="is it a TLS listener"):
                await connect(server.address)

    run(work())
    own, served = steps(debugged), steps(debugged, of_server=True)
    assert own[1] == "connected from N, TLSv1.3"
    why = "the broker closed the connection instead of answering ApiVersionsRequest v5; is it a TLS listener?"
    assert own[-1].startswith(f"not connected: {why}")
    assert any(one.startswith("closed: TLS handshake with the client failed: ") for one in served)


def test_no_secret_is_logged_nor_how_long_it_is(debugged: pytest.LogCaptureFixture) -> None:
    def said(password: str) -> list[str]:
        debugged.clear()
        with FakeBroker(users={"alice": "Sesame"}) as broker:
            where = broker.bootstrap_servers

            async def work() -> None:
                async with connect(where, sasl=Plain("alice", password)) as connection:
                    assert connection.failure is None

            if password == "Sesame":
                asyncio.run(work())
            else:
                with pytest.raises(AuthenticationFailure):
                    asyncio.run(work())
        found = steps(debugged) + steps(debugged, of_server=True)
        assert not any(password in one or "alice" in one for one in found)
        return found

    assert "authenticated by PLAIN" in said("Sesame")
    refused = said("Wrong")
    assert refused == said("Wrong" * 50)
    assert any(one.startswith("not connected: cannot authenticate with PLAIN") for one in refused)


def test_what_cannot_be_reached_is_logged(debugged: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with Broker().serve() as server:
            gone = server.address
        with pytest.raises(Refused):
            await connect(gone)
        assert shown_address(gone) in debugged.records[-1].getMessage()

    run(work())
    assert steps(debugged) == ["connecting", "not connected: connection refused; is the broker running on this port?"]


def test_nothing_is_kept_for_a_log_that_is_off(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kipwire.aio")

    async def work() -> None:
        async with Broker().serve() as server, connect(server.address) as connection:
            asked = asyncio.ensure_future(connection.request(HeartbeatRequest(group_id="5")))
            await asyncio.sleep(0)
            assert connection._link._waiting and not connection._link._sent_at
            await asked

    run(work())
    assert caplog.records == []
