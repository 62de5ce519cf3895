"""A connection authenticates its client, and again before its session ends; no request is lost, and no secret shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import kafka_messages
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.sasl_handshake_response.v1 import SaslHandshakeResponse
from kipwire import Message
from kipwire.aio import AuthenticationFailure, Closed, ClosedByHandler, Failure, TimedOut, connect, serve
from kipwire.connection import OAuthBearer, Plain, Request, Scram
from kipwire.connection.sasl import Mechanism
from tests.support.subjects import sasl_server
from tests.support.subjects.peers import Broker, client_context, run, server_context, until

PASSWORD = "the-secret-of-alice"
PASSWORDS = {"alice": PASSWORD}
TOKENS = {"token-1": {"logicalCluster": "lkc"}, "token-2": {"logicalCluster": "lkc"}}


class SaslBroker(Broker):
    """A broker that wants SASL first, on one connection at a time."""

    def __init__(self, lifetime_ms: int = 0) -> None:
        """Let sessions last so long; 0 is for ever."""
        super().__init__()
        self.lifetime_ms = lifetime_ms
        self.authenticated = 0
        self.steps: sasl_server.Server | None = None
        self.is_in_exchange = False

    async def __call__(self, request: Request) -> Message | bytes | None:
        """Answer what SASL asks; close the connection if something else comes before its end."""
        body: Any = request.body
        if request.api_key == 18:
            return await super().__call__(request)
        if request.api_key == 17:
            self.is_in_exchange = True
            self.steps = {
                "PLAIN": lambda: sasl_server.plain(PASSWORDS),
                "SCRAM-SHA-256": lambda: sasl_server.scram("SCRAM-SHA-256", PASSWORDS),
                "SCRAM-SHA-512": lambda: sasl_server.scram("SCRAM-SHA-512", PASSWORDS),
                "OAUTHBEARER": lambda: sasl_server.bearer(TOKENS),
            }[body.mechanism]()
            next(self.steps)
            return SaslHandshakeResponse(mechanisms=[body.mechanism])
        if request.api_key == 36:
            return self.proved(body.auth_bytes, request.api_version)
        if self.is_in_exchange or not self.authenticated:
            raise ClosedByHandler(f"API key {request.api_key} during an authentication")
        return await super().__call__(request)

    def proved(self, token: bytes, version: int) -> Message:
        """Return the answer to a step of the mechanism."""
        assert self.steps is not None
        cls: Any = kafka_messages.response(36, version)
        try:
            answer: bytes = self.steps.send(token)
        except sasl_server.Refusal as refusal:
            refused: Message = cls(error_code=58, error_message=str(refusal))
            return refused
        if not answer.startswith(b"r="):  # SCRAM's first step ends nothing
            self.is_in_exchange = False
            self.authenticated += 1
        lifetime = {"session_lifetime_ms": self.lifetime_ms} if version else {}
        accepted: Message = cls(auth_bytes=answer, **lifetime)
        return accepted


def tokens() -> Callable[[], str]:
    """Return a callback that returns one token after the other."""
    given = iter(TOKENS)
    return lambda: next(given)


@pytest.mark.parametrize(
    "mechanism",
    [
        Plain("alice", PASSWORD),
        Scram("alice", PASSWORD, "SCRAM-SHA-256"),
        Scram("alice", PASSWORD, "SCRAM-SHA-512"),
        OAuthBearer(tokens(), {"logicalCluster": "lkc"}),
    ],
    ids=lambda mechanism: mechanism.name,
)
@pytest.mark.parametrize("has_tls", [False, True])
def test_each_mechanism_lets_requests_through(mechanism: Mechanism, has_tls: bool) -> None:
    async def work() -> None:
        given, taken = (server_context(), client_context()) if has_tls else (None, None)
        serving = SaslBroker().serve(ssl=given)
        async with serving as server, connect(server.address, sasl=mechanism, ssl=taken) as connection:
            assert (await connection.request(HeartbeatRequest(group_id="3"))).throttle_time_ms == 3

    run(work())


@pytest.mark.parametrize(
    ("mechanism", "reason"),
    [
        (Plain("alice", "wrong-secret"), "PLAIN: the broker returned SASL_AUTHENTICATION_FAILED: Invalid username or"),
        (Scram("alice", "wrong-secret", "SCRAM-SHA-256"), "SCRAM-SHA-256: .*: wrong password"),
        (OAuthBearer(lambda: "wrong-secret"), "OAUTHBEARER: the broker rejected the token: status invalid_token"),
    ],
    ids=["PLAIN", "SCRAM", "OAUTHBEARER"],
)
def test_wrong_credentials_are_a_failure_without_a_secret(mechanism: Mechanism, reason: str) -> None:
    async def work() -> None:
        async with SaslBroker().serve() as server:
            with pytest.raises(
                AuthenticationFailure, match=f"127.0.0.1:.*: cannot authenticate with {reason}"
            ) as caught:
                await connect(server.address, sasl=mechanism)
            error: BaseException | None = caught.value
            while error is not None:
                assert "wrong-secret" not in f"{error} {error!r}"
                error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
            await until(lambda: server.connections == 0)

    run(work())


def test_a_broker_that_closes_or_says_nothing_is_told_apart() -> None:
    async def refuse(request: Request) -> Message | bytes | None:
        if request.api_key == 17:
            raise ClosedByHandler
        return await Broker()(request)

    async def work() -> None:
        async with serve(refuse) as server:
            with pytest.raises(Closed, match="some brokers close the connection if they reject the credentials"):
                await connect(server.address, sasl=Plain("alice", PASSWORD))
        broker = Broker()
        broker.may_answer.clear()
        async with broker.serve() as server:
            with pytest.raises(TimedOut):
                await connect(server.address, sasl=Plain("alice", PASSWORD), timeout=0.05)

    run(work())


def test_an_answer_that_cannot_be_read_is_a_failure() -> None:
    async def handle(request: Request) -> Message | bytes | None:
        if request.api_key == 36:
            return request.raw[4:8] + b"\0\xff"
        return await SaslBroker()(request)

    async def work() -> None:
        async with serve(handle) as server:
            with pytest.raises(
                AuthenticationFailure, match="the broker's response cannot be decoded: SaslAuthenticateRes"
            ):
                await connect(server.address, sasl=Plain("alice", PASSWORD))

    run(work())


def test_an_error_of_the_callback_passes_through() -> None:
    def no_token() -> str:
        raise LookupError("no token today")

    async def work() -> None:
        async with SaslBroker().serve() as server:
            with pytest.raises(LookupError, match="no token today"):
                await connect(server.address, sasl=OAuthBearer(no_token))
            await until(lambda: server.connections == 0)

    run(work())


def test_it_authenticates_again_between_requests_and_loses_none() -> None:
    """The broker closes the connection if a request comes within an exchange, or is not of the one before."""
    broker = SaslBroker(lifetime_ms=20)

    async def handle(request: Request) -> Message | bytes | None:
        await asyncio.sleep(0)
        return await broker(request)

    async def work() -> None:
        sasl = Scram("alice", PASSWORD, "SCRAM-SHA-256")
        async with serve(handle) as server, connect(server.address, sasl=sasl) as connection:
            asked = 0

            async def ask() -> None:
                nonlocal asked
                while broker.authenticated < 5:
                    asked += 1
                    number = asked
                    answer = await connection.request(HeartbeatRequest(group_id=str(number)))
                    assert answer.throttle_time_ms == number

            await asyncio.gather(*(ask() for _ in range(10)))
            assert asked > 50
        authenticated = broker.authenticated
        await asyncio.sleep(0.05)
        assert broker.authenticated == authenticated  # no timer is left

    run(work())


@pytest.mark.parametrize("what", ["refused", "callback", "silent"])
def test_a_session_that_cannot_be_prolonged_ends_the_connection_with_the_reason(what: str) -> None:
    broker = SaslBroker(lifetime_ms=10)
    given: list[str] = []

    def token() -> str:
        given.append("token-1")
        if len(given) > 1 and what == "callback":
            raise LookupError("a secret")
        return "token-1" if len(given) == 1 else "wrong"

    async def handle(request: Request) -> Message | bytes | None:
        if what == "silent" and request.api_key == 17 and broker.authenticated:
            await broker.may_answer.wait()
        return await broker(request)

    expected: dict[str, tuple[type[Failure], str]] = {
        "refused": (AuthenticationFailure, "the broker rejected the token"),
        "callback": (AuthenticationFailure, "no token to authenticate again: the callback failed with LookupError"),
        "silent": (TimedOut, "timed out waiting for the response to SaslHandshakeRequest v1"),
    }

    async def work() -> None:
        sasl = OAuthBearer(token, {"logicalCluster": "lkc"})
        async with serve(handle) as server, connect(server.address, sasl=sasl, timeout=0.3) as connection:
            broker.may_answer.clear()
            kind, reason = expected[what]
            waiting: Any = asyncio.ensure_future(asyncio.sleep(0))
            if what == "refused":
                waiting = asyncio.ensure_future(connection.request(HeartbeatRequest(group_id="1"), timeout=50))
                await until(lambda: link_is_held(connection))
                broker.may_answer.set()
            await until(lambda: connection.failure)
            with pytest.raises(kind, match=reason) as caught:
                await connection.request(HeartbeatRequest())
            assert "secret" not in str(caught.value)
            if what == "refused":
                assert (await waiting).throttle_time_ms == 1  # it was in flight before
            await waiting
            broker.may_answer.set()

    run(work())


def link_is_held(connection: Any) -> bool:
    """True if requests wait for the end of an authentication."""
    return bool(connection._link._is_held)
