"""The five filters in examples/filters do what they say, with clients that others wrote."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.errors import TopicAuthorizationFailedError
from kafka.structs import TopicPartition

from kafka_messages.enums import ApiKey
from kipwire.testing import FakeBroker
from tests.support.live.proxied import example_filters, proxied
from tests.support.subjects.fake_broker_clients import CLIENTS, TIMEOUT, Client

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")

TOPIC = "orders"


@pytest.fixture(params=list(CLIENTS))
def client(request: pytest.FixtureRequest) -> Client:
    return CLIENTS[request.param]


def test_each_tenant_has_topics_of_its_own(client: Client) -> None:
    with (
        FakeBroker(topics={"other.orders": 1}) as broker,
        proxied(broker.bootstrap_servers, example_filters("prefix_topics")) as at,
    ):
        client.send(at, TOPIC, [b"one", b"two"])
        assert client.read(at, TOPIC, 2, "g") == [b"one", b"two"]
        (topic,) = set(broker.topics()) - {"other.orders"}
        assert topic.endswith(f".{TOPIC}") and not broker.records("other.orders")


def test_a_tenant_sees_no_topics_of_others() -> None:
    topics = ["a.orders", "b.orders", "b.bills"]
    with FakeBroker(topics=topics) as broker, proxied(broker.bootstrap_servers, example_filters("prefix_topics")) as at:
        admin: Any = KafkaAdminClient(bootstrap_servers=at, client_id="b-admin")
        try:
            assert set(admin.list_topics()) == {"orders", "bills"}
        finally:
            admin.close()


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_a_header_is_masked(client: Client, codec: Any) -> None:
    with (
        FakeBroker(topics={TOPIC: 1}) as broker,
        proxied(broker.bootstrap_servers, example_filters("mask_header")) as at,
    ):
        for value in (b"one", b"two"):
            broker.append(TOPIC, value, headers=[("card", b"4111"), ("trace", b"7")], compression=codec)
        broker.append(TOPIC, b"three")
        assert client.read(at, TOPIC, 3, "g") == [b"one", b"two", b"three"]
        assert headers(at) == [[("card", b"***"), ("trace", b"7")]] * 2 + [[]]


def headers(address: str) -> list[list[tuple[str, bytes | None]]]:
    """Return the headers of the topic's records, as kafka-python reads them."""
    place, settings = TopicPartition(TOPIC, 0), {"group_id": None, "auto_offset_reset": "earliest"}
    consumer: Any = KafkaConsumer(bootstrap_servers=address, **settings)
    try:
        consumer.assign([place])
        found = consumer.poll(int(TIMEOUT * 1000))[place]
        return [[*one.headers] for one in found]
    finally:
        consumer.close()


def test_nobody_deletes_topics() -> None:
    with (
        FakeBroker(topics={TOPIC: 1}) as broker,
        proxied(broker.bootstrap_servers, example_filters("deny_delete")) as at,
    ):
        admin: Any = KafkaAdminClient(bootstrap_servers=at)
        try:
            with pytest.raises(TopicAuthorizationFailedError):
                admin.delete_topics([TOPIC])
        finally:
            admin.close()
        assert TOPIC in broker.topics() and not broker.requests(ApiKey.DELETE_TOPICS)


def test_clients_try_again_after_an_error_in_every_tenth_produce(client: Client) -> None:
    filters = example_filters("fail_tenth_produce")
    function: Any = filters[0].function
    function.__globals__["numbers"] = numbers = count(9)  # the second Produce is the tenth one
    with FakeBroker(topics={TOPIC: 1}) as broker, proxied(broker.bootstrap_servers, filters) as at:
        for value in (b"one", b"two"):
            client.send(at, TOPIC, [value])
        assert [one.value for one in broker.records(TOPIC)] == [b"one", b"two"]
        assert next(numbers) == 12 and len(broker.requests(ApiKey.PRODUCE)) == 2


def test_the_bytes_of_each_client_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    filters = example_filters("count_bytes")
    function: Any = filters[0].function
    counts = function.__globals__["counts"]
    with FakeBroker(topics={TOPIC: 1}) as broker, proxied(broker.bootstrap_servers, filters) as at:
        producer: Any = KafkaProducer(bootstrap_servers=at, client_id="me")
        producer.send(TOPIC, bytes(1000)).get(TIMEOUT)
        producer.close()
    assert counts["me"] > 1000 and set(counts) == {"me"}
