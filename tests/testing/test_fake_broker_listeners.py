"""Clients of others connect to a fake broker with TLS and SASL, and nothing is answered before they have proved it."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from kafka import KafkaProducer

from kafka_messages.enums import ApiKey, ErrorCode
from kafka_messages.metadata_request.v12 import MetadataRequest
from kipwire import aio
from kipwire.connection import Plain, RemoteProtocolError, Scram
from kipwire.testing import FakeBroker
from tests.support.subjects.peers import TLS, server_context
from tests.testing.test_fake_broker_lifecycle import Connection

USER, PASSWORD = "alice", "s€cret"
UNUSUAL = "alice, of =2C"
"""Name with characters that kafka-python does not escape."""
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def broker() -> Iterator[FakeBroker]:
    with FakeBroker(["orders"], nodes=2, ssl=server_context(), users={USER: PASSWORD, UNUSUAL: PASSWORD}) as broker:
        yield broker


def of_kafka_python(address: str, mechanism: Any, ca: str, value: bytes) -> None:
    producer = KafkaProducer(
        bootstrap_servers=address,
        security_protocol="SASL_SSL",
        ssl_cafile=ca,
        sasl_mechanism=mechanism,
        sasl_plain_username=USER,
        sasl_plain_password=PASSWORD,
    )
    try:
        producer.send("orders", value).get(20)
    finally:
        producer.close(20)


def of_aiokafka(address: str, mechanism: str, ca: str, value: bytes) -> None:
    async def send() -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=address,
            security_protocol="SASL_SSL",
            ssl_context=ssl.create_default_context(cafile=ca),
            sasl_mechanism=mechanism,
            sasl_plain_username=USER,
            sasl_plain_password=PASSWORD,
        )
        async with producer:
            await producer.send_and_wait("orders", value)

    asyncio.run(asyncio.wait_for(send(), 20))


def of_confluent(address: str, mechanism: str, ca: str, value: bytes) -> None:
    settings = {"bootstrap.servers": address, "security.protocol": "SASL_SSL", "ssl.ca.location": ca, "log_level": 0}
    settings |= {"sasl.mechanism": mechanism, "sasl.username": USER, "sasl.password": PASSWORD}
    producer = Producer(settings)
    producer.produce("orders", value)
    assert producer.flush(20) == 0


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("send", [of_kafka_python, of_aiokafka, of_confluent])
def test_clients_connect_by_each_mechanism_over_tls(
    broker: FakeBroker, send: Callable[[str, str, str, bytes], None], mechanism: str
) -> None:
    value = f"{send.__name__} {mechanism}".encode()
    send(broker.bootstrap_servers, mechanism, str(TLS / "ca.pem"), value)
    assert value in [record.value for record in broker.records("orders")]


def authenticated(broker: FakeBroker, sasl: Any) -> int:
    async def ask() -> int:
        async with aio.connect(f"{broker.host}:{broker.port}", timeout=20, sasl=sasl) as connection:
            return len((await connection.request(MetadataRequest(topics=None))).brokers)

    return asyncio.run(ask())


@pytest.mark.parametrize("user", ["bob", USER])
def test_wrong_passwords_and_unknown_users_are_refused(user: str) -> None:
    with FakeBroker(users={USER: PASSWORD}) as broker:
        for sasl in (Plain(user, "other"), *(Scram(user, "other", name) for name in MECHANISMS[1:])):  # type: ignore[arg-type]
            with pytest.raises(aio.AuthenticationFailure, match="Authentication failed: Invalid"):
                authenticated(broker, sasl)
        assert authenticated(broker, Plain(USER, PASSWORD)) == 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_users_may_have_any_name(mechanism: Any) -> None:
    with FakeBroker(users={UNUSUAL: PASSWORD}) as broker:
        sasl = Plain(UNUSUAL, PASSWORD) if mechanism == "PLAIN" else Scram(UNUSUAL, PASSWORD, mechanism)
        assert authenticated(broker, sasl) == 1


def test_a_request_before_authentication_closes_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    with FakeBroker(users={USER: PASSWORD}) as broker, caplog.at_level(logging.WARNING, "kipwire.testing"):
        with Connection(broker) as connection:
            assert connection.ask(ApiKey.API_VERSIONS, 3).api_keys
            assert connection.ask(ApiKey.METADATA, 9, topics=None) is None
        with Connection(broker) as connection:
            assert connection.ask(ApiKey.SASL_AUTHENTICATE, 2, auth_bytes=b"\0a\0b") is None
        with Connection(broker) as connection:
            assert connection.ask(ApiKey.SASL_HANDSHAKE, 1, mechanism="PLAIN").error_code == 0
            assert connection.ask(ApiKey.METADATA, 9, topics=None) is None
    assert [one.getMessage().partition(": ")[2] for one in caplog.records] == [
        "the client sent 3 METADATA in version 9 before SASL_HANDSHAKE (ILLEGAL_SASL_STATE)",
        "the client sent 36 SASL_AUTHENTICATE in version 2 before SASL_HANDSHAKE (ILLEGAL_SASL_STATE)",
        "the client sent 3 METADATA in version 9 before SASL_AUTHENTICATE (ILLEGAL_SASL_STATE)",
    ]


def test_an_unknown_mechanism_is_refused_with_those_that_there_are() -> None:
    with FakeBroker(users={}) as broker, Connection(broker) as connection:
        found = connection.ask(ApiKey.SASL_HANDSHAKE, 1, mechanism="GSSAPI")
        assert (found.error_code, tuple(found.mechanisms)) == (ErrorCode.UNSUPPORTED_SASL_MECHANISM, MECHANISMS)
        assert connection.ask(ApiKey.API_VERSIONS, 3) is None


@pytest.mark.parametrize(
    "token", [b"", b"\0", b"a\0b", b"\xff\0\xff\0\xff", b"other\0" + f"{USER}\0{PASSWORD}".encode()]
)
def test_broken_tokens_are_refused(token: bytes) -> None:
    for mechanism in MECHANISMS:
        with FakeBroker(users={USER: PASSWORD}) as broker, Connection(broker) as connection:
            connection.ask(ApiKey.SASL_HANDSHAKE, 1, mechanism=mechanism)
            found = connection.ask(ApiKey.SASL_AUTHENTICATE, 2, auth_bytes=token)
            assert found.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
            assert connection.ask(ApiKey.METADATA, 9, topics=None) is None


def test_sasl_comes_too_late_after_authentication_and_without_users() -> None:
    with FakeBroker() as broker, Connection(broker) as connection:
        assert connection.ask(ApiKey.SASL_HANDSHAKE, 1, mechanism="PLAIN").error_code == ErrorCode.ILLEGAL_SASL_STATE
    with FakeBroker(users={USER: PASSWORD}) as broker, Connection(broker) as connection:
        connection.ask(ApiKey.SASL_HANDSHAKE, 1, mechanism="PLAIN")
        token = f"\0{USER}\0{PASSWORD}".encode()
        assert connection.ask(ApiKey.SASL_AUTHENTICATE, 2, auth_bytes=token).error_code == 0
        assert connection.ask(ApiKey.METADATA, 9, topics=None).brokers
        for key, values in ((ApiKey.SASL_HANDSHAKE, {"mechanism": "PLAIN"}), (ApiKey.SASL_AUTHENTICATE, {})):
            assert connection.ask(key, 1, **values).error_code == ErrorCode.ILLEGAL_SASL_STATE


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01\x02"])
def test_a_client_that_leaves_within_the_handshake_is_no_failure_of_the_broker(
    sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with FakeBroker(ssl=server_context()) as broker, socket.create_connection((broker.host, broker.port)) as client:
        client.settimeout(20)
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1) == b""
    assert caplog.records == []


def test_a_client_without_tls_is_refused_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    with FakeBroker(ssl=server_context()) as broker, caplog.at_level(logging.WARNING, "kipwire.testing"):
        with Connection(broker) as connection:
            connection.send(ApiKey.API_VERSIONS, 3)
            with suppress(ConnectionError, RemoteProtocolError):  # an alert of TLS, or nothing
                connection.receive()
        broker.wait_until(lambda: bool(caplog.records))
    assert "TLS handshake with the client failed" in caplog.records[0].getMessage()
