"""kafka-python, aiokafka and confluent-kafka produce to and consume from the fake broker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

import pytest

from kafka_messages.enums import ApiKey, ErrorCode
from kipwire.testing import FakeBroker
from tests.support.subjects.fake_broker_clients import CLIENTS, TIMEOUT, Client, Member, with_slow

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TOPIC = "orders"


@pytest.fixture(params=list(CLIENTS))
def client(request: pytest.FixtureRequest) -> Client:
    return CLIENTS[request.param]


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker(topics={TOPIC: 2}) as broker:
        yield broker


def values(name: str, count: int = 5) -> list[bytes]:
    return [f"{name} {number} ".encode() * 10 for number in range(count)]


def in_broker(broker: FakeBroker) -> list[bytes | None]:
    return [record.value for record in broker.records(TOPIC)]


def test_records_of_every_codec_are_produced_and_consumed(broker: FakeBroker, client: Client) -> None:
    for codec in CODECS:
        client.send(broker.bootstrap_servers, TOPIC, values(codec), codec=codec, acks=1)
    expected = [value for codec in CODECS for value in values(codec)]
    assert in_broker(broker) == expected
    compressions = [batch.compression for batch in broker.batches(TOPIC)]
    assert list(dict.fromkeys(compressions)) == list(CODECS)
    assert client.read(broker.bootstrap_servers, TOPIC, len(expected), "g") == expected


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_producers_choose_their_acknowledgements(broker: FakeBroker, client: Client, acks: int | str) -> None:
    client.send(broker.bootstrap_servers, TOPIC, values("v"), acks=acks)
    broker.wait_until(lambda: len(broker.records(TOPIC)) == 5, TIMEOUT)  # with acks=0 there is no response to wait for
    assert in_broker(broker) == values("v")
    assert {request.is_answered for request in broker.requests(ApiKey.PRODUCE)} == {acks != 0}


@pytest.mark.parametrize("client", with_slow("confluent-kafka"), indirect=True)
def test_a_consumer_goes_on_where_its_group_has_committed(broker: FakeBroker, client: Client) -> None:
    client.send(broker.bootstrap_servers, TOPIC, values("first"))
    assert client.read(broker.bootstrap_servers, TOPIC, 5, "g") == values("first")
    assert broker.committed_offsets("g")[TOPIC, 0] == 5
    assert broker.group("g").state == "Empty"
    client.send(broker.bootstrap_servers, TOPIC, values("second"))
    assert client.read(broker.bootstrap_servers, TOPIC, 5, "g") == values("second")
    assert client.read(broker.bootstrap_servers, TOPIC, 10, "other") == values("first") + values("second")


def test_two_members_share_a_topic_until_one_leaves(broker: FakeBroker, client: Client) -> None:
    def fetched() -> set[int]:
        topics = [topic for asked in broker.requests(ApiKey.FETCH) for topic in cast("Any", asked.body).topics]
        return {one.partition for topic in topics for one in topic.partitions}

    members = [Member(client, broker.bootstrap_servers, TOPIC, "g")]
    # If librdkafka 2.16 loses a partition while it asks for the first offset, it goes back to that offset much later.
    broker.wait_until(lambda: fetched() == {0, 1}, TIMEOUT)
    members.append(Member(client, broker.bootstrap_servers, TOPIC, "g"))

    def is_stable(count: int) -> bool:
        group = broker.group("g")
        return group.state == "Stable" and len(group.members) == count

    def send(name: str) -> list[bytes]:
        sent = values(name, 6)
        for number, value in enumerate(sent):
            broker.append(TOPIC, value, partition=number % 2)
        return sent

    try:
        broker.wait_until(lambda: is_stable(2), TIMEOUT)
        first = send("shared")
        broker.wait_until(lambda: sum(len(one.got) for one in members) >= 6, TIMEOUT)
        assert [sorted(one.got) for one in sorted(members, key=lambda one: one.got)] == [first[0::2], first[1::2]]
        generation = broker.group("g").generation
        members[0].leave()
        broker.wait_until(lambda: is_stable(1), TIMEOUT)
        assert broker.group("g").generation > generation
        second = send("alone")
        broker.wait_until(lambda: len(members[1].got) >= 9, TIMEOUT)
        assert sorted(members[1].got[3:]) == sorted(second)
    finally:
        for member in members:
            member.leave()
    assert broker.committed_offsets("g") == {(TOPIC, 0): 6, (TOPIC, 1): 6}


@pytest.mark.parametrize("error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS])
def test_a_producer_sends_again_after_a_retriable_error(broker: FakeBroker, client: Client, error: ErrorCode) -> None:
    broker.fail(ApiKey.PRODUCE, error, times=2)
    client.send(broker.bootstrap_servers, TOPIC, values("v"))
    assert in_broker(broker) == values("v")
    assert len(broker.requests(ApiKey.PRODUCE)) >= 3


def test_a_lost_answer_does_not_make_records_twice(broker: FakeBroker, client: Client) -> None:
    broker.disconnect(ApiKey.PRODUCE, handled=True)
    client.send(broker.bootstrap_servers, TOPIC, values("v"))
    assert in_broker(broker) == values("v")
    assert len(broker.requests(ApiKey.PRODUCE)) >= 2


def test_a_connection_that_breaks_within_a_request_makes_no_difference(broker: FakeBroker, client: Client) -> None:
    sent = [bytes([number]) * 400_000 for number in range(2)]  # more than is received at a time
    broker.disconnect(ApiKey.PRODUCE, received=6)
    client.send(broker.bootstrap_servers, TOPIC, sent)
    assert in_broker(broker) == sent
    assert sum(len(request.raw) for request in broker.requests(ApiKey.PRODUCE)) < 900_000  # none came twice


def test_an_error_that_is_not_retriable_reaches_the_program(broker: FakeBroker, client: Client) -> None:
    broker.fail(ApiKey.PRODUCE, ErrorCode.TOPIC_AUTHORIZATION_FAILED, times=None)
    with pytest.raises(Exception, match=r"(?i)authoriz|TopicAuthorizationFailed"):
        client.send(broker.bootstrap_servers, TOPIC, values("v", 1))
    assert in_broker(broker) == []


@pytest.mark.parametrize(
    ("api", "error"),
    [
        (ApiKey.FIND_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ApiKey.SYNC_GROUP, ErrorCode.REBALANCE_IN_PROGRESS),
        (ApiKey.OFFSET_FETCH, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
        (ApiKey.LIST_OFFSETS, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (ApiKey.FETCH, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
    ids=lambda one: one.name,
)
def test_a_consumer_gets_over_an_error(broker: FakeBroker, client: Client, api: ApiKey, error: ErrorCode) -> None:
    broker.append(TOPIC, b"v")
    broker.fail(api, error)
    assert client.read(broker.bootstrap_servers, TOPIC, 1, "g") == [b"v"]
    assert len(broker.requests(api)) >= 2


@pytest.mark.parametrize("client", with_slow("confluent-kafka"), indirect=True)
def test_a_consumer_that_its_group_does_not_know_any_more_joins_anew(broker: FakeBroker, client: Client) -> None:
    broker.append(TOPIC, b"v")
    broker.fail(ApiKey.JOIN_GROUP, ErrorCode.UNKNOWN_MEMBER_ID)
    assert client.read(broker.bootstrap_servers, TOPIC, 1, "g") == [b"v"]
    assert len(broker.requests(ApiKey.JOIN_GROUP)) >= 2


@pytest.mark.parametrize("error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FETCH_SESSION_ID_NOT_FOUND])
def test_a_consumer_in_a_session_gets_over_an_error(broker: FakeBroker, client: Client, error: ErrorCode) -> None:
    broker.append(TOPIC, b"first")
    got: list[bytes] = []

    def is_enough() -> bool:
        if len(got) == 1 and len(broker.records(TOPIC)) == 1:
            broker.fail(ApiKey.FETCH, error)
            broker.append(TOPIC, b"second")
        return len(got) >= 2

    client.consume(broker.bootstrap_servers, TOPIC, "g", got, is_enough)
    assert got == [b"first", b"second"]


def test_a_fenced_producer_cannot_add_to_what_its_successor_commits(broker: FakeBroker) -> None:
    from confluent_kafka import KafkaException, Producer

    sent: list[tuple[bytes, bool]] = []

    def producer() -> Producer:
        settings = {"transactional.id": "payments", "linger.ms": 0, "log_level": 0}
        return Producer({"bootstrap.servers": broker.bootstrap_servers, **settings})

    def send(by: Producer, value: bytes) -> None:
        by.produce(TOPIC, value, partition=0, on_delivery=lambda error, _: sent.append((value, error is None)))

    first, second = producer(), producer()
    first.init_transactions(TIMEOUT)
    first.begin_transaction()
    send(first, b"aborted")
    first.flush(TIMEOUT)
    second.init_transactions(TIMEOUT)
    send(first, b"late")
    with suppress(KafkaException, SystemError):  # the callback's list.append, while the client has a fatal error
        first.flush(TIMEOUT)
    second.begin_transaction()
    send(second, b"kept")
    second.commit_transaction(TIMEOUT)
    with pytest.raises(KafkaException, match=r"(?i)fenced|epoch"):
        first.commit_transaction(TIMEOUT)
    assert sent == [(b"aborted", True), (b"late", False), (b"kept", True)]
    assert [record.value for record in broker.records(TOPIC, 0, committed=True)] == [b"kept"]
    assert in_broker(broker) == [b"aborted", b"kept"]
