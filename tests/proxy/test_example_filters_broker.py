"""The five filters of examples/filters, and TLS and SASL on both sides, between real clients and a real broker.

For `make test-broker`.
"""

from __future__ import annotations

import asyncio
import time
from itertools import count
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import TopicAuthorizationFailedError
from kafka.structs import TopicPartition

from kafka_messages.metadata_request.v12 import MetadataRequest
from kipwire.aio import connect
from kipwire.proxy import Proxy
from tests.support.live.listeners import CLEAR, SASL_TLS, WAYS
from tests.support.live.proxied import example_filters, proxied
from tests.support.subjects.fake_broker_clients import CLIENTS, TIMEOUT, Client
from tests.support.subjects.peers import client_context, run, server_context

pytestmark = [
    pytest.mark.broker,
    pytest.mark.xdist_group("broker"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(params=list(CLIENTS))
def client(request: pytest.FixtureRequest) -> Client:
    return CLIENTS[request.param]


@pytest.fixture
def topic() -> str:
    """A name that no other test has."""
    return f"filtered-{time.time_ns()}"


def create(address: str, *topics: str, **settings: Any) -> None:
    """Create topics, and wait for them."""
    admin: Any = KafkaAdminClient(bootstrap_servers=address, **settings)
    try:
        admin.create_topics([NewTopic(one, 1, 1) for one in topics], wait_for_metadata=True)
    finally:
        admin.close()


def test_each_tenant_has_topics_of_its_own(client: Client, topic: str) -> None:
    with proxied(CLEAR.address, example_filters("prefix_topics")) as at:
        for tenant in ("kafka", "aiokafka", "rdkafka"):
            create(at, topic, client_id=f"{tenant}-admin")
        client.send(at, topic, [b"one", b"two"])
        assert client.read(at, topic, 2, topic) == [b"one", b"two"]
        admin: Any = KafkaAdminClient(bootstrap_servers=at, client_id="nobody-else")
        try:
            assert topic not in admin.list_topics()
        finally:
            admin.close()


def test_a_header_is_masked(client: Client, topic: str) -> None:
    create(CLEAR.address, topic)
    producer: Any = KafkaProducer(bootstrap_servers=CLEAR.address, compression_type="zstd")
    producer.send(topic, b"paid", headers=[("card", b"4111"), ("trace", b"7")]).get(TIMEOUT)
    producer.close()
    with proxied(CLEAR.address, example_filters("mask_header")) as at:
        assert client.read(at, topic, 1, topic) == [b"paid"]
        place = TopicPartition(topic, 0)
        consumer: Any = KafkaConsumer(bootstrap_servers=at, auto_offset_reset="earliest")
        consumer.assign([place])
        (record,) = consumer.poll(int(TIMEOUT * 1000))[place]
        consumer.close()
    assert [*record.headers] == [("card", b"***"), ("trace", b"7")]


def test_nobody_deletes_topics(topic: str) -> None:
    create(CLEAR.address, topic)
    with proxied(CLEAR.address, example_filters("deny_delete")) as at:
        admin: Any = KafkaAdminClient(bootstrap_servers=at)
        try:
            with pytest.raises(TopicAuthorizationFailedError):
                admin.delete_topics([topic])
            assert topic in admin.list_topics()
        finally:
            admin.close()


def test_clients_try_again_after_an_error_in_every_tenth_produce(client: Client, topic: str) -> None:
    create(CLEAR.address, topic)
    filters = example_filters("fail_tenth_produce")
    function: Any = filters[0].function
    function.__globals__["numbers"] = numbers = count(9)
    with proxied(CLEAR.address, filters) as at:
        for value in (b"one", b"two"):
            client.send(at, topic, [value])
        assert client.read(at, topic, 2, topic) == [b"one", b"two"]
    assert next(numbers) == 12


def test_the_bytes_of_each_client_are_counted(client: Client, topic: str) -> None:
    create(CLEAR.address, topic)
    filters = example_filters("count_bytes")
    function: Any = filters[0].function
    with proxied(CLEAR.address, filters) as at:
        client.send(at, topic, [bytes(5000)])
    assert sum(function.__globals__["counts"].values()) > 5000


@pytest.mark.parametrize("way", WAYS)
def test_the_proxy_reaches_brokers_in_each_way_and_clients_reach_it_with_tls(way: str) -> None:
    listener, mechanism = WAYS[way]

    async def work() -> None:
        async with (
            Proxy(listener.address, certificate=server_context(), ssl=listener.ssl_context, sasl=mechanism) as proxy,
            connect(proxy.address, ssl=client_context()) as client,
        ):
            (broker,) = (await client.request(MetadataRequest(topics=[]))).brokers
            async with connect((broker.host, broker.port), ssl=client_context()) as other:
                await asyncio.gather(*[other.request(MetadataRequest(topics=[])) for _ in range(10)])

    run(work())


@pytest.mark.parametrize("way", [one for one in WAYS if one.startswith("SASL over TLS")])
def test_clients_authenticate_through_the_proxy(way: str) -> None:
    _, mechanism = WAYS[way]

    async def work() -> None:
        async with (
            Proxy(SASL_TLS.address, ssl=SASL_TLS.ssl_context) as proxy,
            connect(proxy.address, sasl=mechanism) as client,
        ):
            assert (await client.request(MetadataRequest(topics=[]))).brokers

    run(work())
