"""A connection of kipwire.aio is let in by every listener of a real broker, and says in one line why it is not.

For `make test-broker`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from kafka import admin as kafka_admin

from kafka_messages.enums import ErrorCode
from kafka_messages.find_coordinator_request.v6 import FindCoordinatorRequest
from kafka_messages.metadata_request.v13 import MetadataRequest
from kafka_messages.produce_request.v12 import PartitionProduceData, ProduceRequest, TopicProduceData
from kipwire.aio import AuthenticationFailure, Closed, Failure, ProtocolFailure, Refused, TlsFailure, connect
from kipwire.connection import OAuthBearer, Plain, Scram
from kipwire.records import Record, write_batch
from tests.support.example_programs import example
from tests.support.live import listeners
from tests.support.live.broker_traffic import admin_client
from tests.support.live.real_broker import ADDRESS

pytestmark = [pytest.mark.broker, pytest.mark.xdist_group("broker")]

KAFKA_ADMIN: Any = kafka_admin  # whose names are not all seen by type checkers
SECRET = "not-the-secret"
ASKED = 2000
"""Requests, most of them in flight."""


@pytest.mark.parametrize("way", listeners.WAYS)
def test_each_listener_answers_many_requests(way: str) -> None:
    listener, mechanism = listeners.WAYS[way]

    async def work() -> None:
        options = {"ssl": listener.ssl_context, "sasl": mechanism}
        async with connect(listener.address, client_id="aio", **options) as broker:  # type: ignore[arg-type]
            answers = await asyncio.gather(*(broker.request(MetadataRequest(topics=[])) for _ in range(ASKED)))
            assert {one.cluster_id for one in answers} == {answers[0].cluster_id}
            keys = [str(number) for number in range(10)]
            found = await broker.request(FindCoordinatorRequest(key_type=0, coordinator_keys=keys))
            assert [one.key for one in found.coordinators] == keys

    asyncio.run(work())


@pytest.mark.parametrize(
    ("kind", "reason", "listener", "options"),
    [
        (ProtocolFailure, "is it a TLS listener", listeners.TLS, dict),
        (TlsFailure, "a listener without TLS", listeners.CLEAR, lambda: {"ssl": listeners.context()}),
        (
            TlsFailure,
            "trust the authority that",
            listeners.TLS,
            lambda: {"ssl": listeners.context(listeners.OTHER_CA)},
        ),
        (TlsFailure, "trust the authority that signed it", listeners.TLS, lambda: {"ssl": True}),
        ((TlsFailure, Closed), "client certificate", listeners.MUTUAL_TLS, lambda: {"ssl": listeners.context()}),
        (
            (TlsFailure, Closed),
            "client certificate",
            listeners.MUTUAL_TLS,
            lambda: {"ssl": listeners.context(listeners.CA, listeners.OTHER_CLIENT)},
        ),
        (Closed, "a SASL listener closes", listeners.SASL, dict),
        (
            AuthenticationFailure,
            "this listener does not use SASL",
            listeners.CLEAR,
            lambda: {"sasl": Plain("alice", SECRET)},
        ),
        (AuthenticationFailure, "Invalid username or pass", listeners.SASL, lambda: {"sasl": Plain("alice", SECRET)}),
        (
            AuthenticationFailure,
            "invalid credentials",
            listeners.SASL,
            lambda: {"sasl": Scram("alice", SECRET, "SCRAM-SHA-512")},
        ),
        (
            AuthenticationFailure,
            "rejected the token",
            listeners.SASL,
            lambda: {"sasl": OAuthBearer(lambda: listeners.token(seconds=-60))},
        ),
        (Refused, "connection refused", listeners.CLEAR._replace(address="127.0.0.1:1"), dict),
    ],
)
def test_each_wrong_way_is_one_line(
    kind: Any, reason: str, listener: listeners.Listener, options: Callable[[], dict[str, Any]]
) -> None:
    async def work() -> None:
        async with connect(listener.address, **options()) as broker:
            await broker.request(MetadataRequest(topics=[]))

    with pytest.raises(Failure, match=reason) as caught:
        asyncio.run(work())
    assert isinstance(caught.value, kind)
    text = str(caught.value)
    assert text.startswith(f"{listener.address}: ") and len(text.splitlines()) == 1 and SECRET not in text


def test_sessions_are_prolonged_while_requests_are_in_flight() -> None:
    given: list[str] = []

    def token() -> str:
        given.append(listeners.token())
        return given[-1]

    async def work() -> None:
        async with connect(listeners.RENEWED.address, sasl=OAuthBearer(token)) as broker:
            until = time.monotonic() + 3 * listeners.SESSION_MS / 1000

            async def ask() -> None:
                while time.monotonic() < until:
                    await broker.request(MetadataRequest(topics=[]))

            await asyncio.gather(*(ask() for _ in range(10)))

    asyncio.run(work())
    assert len(given) >= 3


def test_records_without_acknowledgement_arrive() -> None:
    topic = f"aio-{time.time_ns()}"

    def produced(number: int, acks: int) -> ProduceRequest:
        record = Record(offset=0, timestamp=time.time_ns() // 1_000_000, value=b"%d" % number)
        data = PartitionProduceData(index=0, records=write_batch([record]))
        topic_data = [TopicProduceData(name=topic, partition_data=[data])]
        return ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=topic_data)

    async def work() -> None:
        async with connect(listeners.CLEAR.address) as broker:
            for number in range(100):
                await broker.send(produced(number, acks=0))
            last = await broker.request(produced(100, acks=-1))
            (partition,) = last.responses[0].partition_responses
            assert (partition.error_code, partition.base_offset) == (ErrorCode.NONE, 100)

    with admin_client(listeners.CLEAR.address) as admin:
        admin.create_topics([KAFKA_ADMIN.NewTopic(topic, 1, 1)], wait_for_metadata=True)
        asyncio.run(work())
        admin.delete_topics([topic])


def test_the_example_produces_in_order() -> None:
    host, _, port = ADDRESS.rpartition(":")
    topic = f"produced-{uuid4()}"
    for offset in range(3):
        producing = example("produce_one").produce(host, int(port), topic, b"tea")
        assert asyncio.run(asyncio.wait_for(producing, 60)) == offset
