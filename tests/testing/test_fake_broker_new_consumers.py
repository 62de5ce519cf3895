"""confluent-kafka reads as a member of groups of the consumer protocol (KIP-848) from the fake broker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from time import monotonic
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from kafka_messages.enums import ApiKey, ErrorCode
from kipwire.testing import FakeBroker
from tests.support.subjects.fake_broker_clients import TIMEOUT

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

TOPIC = "orders"


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker(topics={TOPIC: 4}) as broker:
        for partition in range(4):
            for number in range(3):
                broker.append(TOPIC, b"%d %d" % (partition, number), partition=partition)
        yield broker


class Member:
    """A consumer, and what it has read."""

    def __init__(self, broker: FakeBroker, stack: ExitStack, *topics: str, **settings: Any) -> None:
        usual = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "log_level": 0}
        usual |= {"group.protocol": "consumer", "auto.offset.reset": "earliest", "enable.auto.commit": False}
        self.consumer = Consumer({**usual, **{name.replace("_", "."): value for name, value in settings.items()}})
        self.got: list[bytes] = []
        self.consumer.subscribe(list(topics or (TOPIC,)))
        stack.callback(self.consumer.close)

    def poll(self) -> None:
        message = self.consumer.poll(0.02)
        if message is not None and not message.error():
            value = message.value()
            assert isinstance(value, bytes)
            self.got.append(value)

    @property
    def partitions(self) -> list[int]:
        return sorted(one.partition for one in self.consumer.assignment())


def poll_until(is_enough: Callable[[], bool], *members: Member) -> None:
    until = monotonic() + TIMEOUT
    while not is_enough():
        assert monotonic() < until, [(one.partitions, len(one.got)) for one in members]
        for one in members:
            one.poll()


def test_two_members_share_the_partitions_and_one_gets_all_when_the_other_leaves(broker: FakeBroker) -> None:
    with ExitStack() as stack:
        one = Member(broker, stack)
        poll_until(lambda: len(one.got) == 12, one)
        one.consumer.commit(asynchronous=False)
        two = Member(broker, stack)
        poll_until(lambda: len(one.partitions) == len(two.partitions) == 2, one, two)
        assert sorted(one.partitions + two.partitions) == [0, 1, 2, 3] and two.got == []
        assert broker.group("g").state == "Stable"
        two.consumer.close()
        poll_until(lambda: one.partitions == [0, 1, 2, 3], one)
        assert len(one.got) == 12  # no record twice: all were committed
    assert broker.committed_offsets("g") == {(TOPIC, partition): 3 for partition in range(4)}
    assert broker.group("g").state == "Empty"
    assert broker.requests(ApiKey.JOIN_GROUP) == []


@pytest.mark.night
def test_a_regular_expression_finds_topics_that_are_made_later(broker: FakeBroker) -> None:
    with ExitStack() as stack:
        one = Member(broker, stack, "^(orders|bills.*)$")
        poll_until(lambda: len(one.got) == 12, one)
        broker.create_topic("bills-2", 1)
        broker.append("bills-2", b"new")
        poll_until(lambda: b"new" in one.got, one)


def test_a_static_member_that_restarts_gets_what_it_had_without_a_rebalance(broker: FakeBroker) -> None:
    with ExitStack() as stack:
        one, two = (Member(broker, stack, group_instance_id=name) for name in ("a", "b"))
        poll_until(lambda: len(one.partitions) == len(two.partitions) == 2, one, two)
        had, epoch = one.partitions, broker.group("g").generation
        one.consumer.close()
        again = Member(broker, stack, group_instance_id="a")
        poll_until(lambda: again.partitions == had, again, two)
        assert broker.group("g").generation == epoch
        assert {one.instance_id for one in broker.group("g").members} == {"a", "b"}


@pytest.mark.night
def test_a_member_that_is_fenced_joins_again(broker: FakeBroker) -> None:
    def joins() -> int:
        bodies: list[Any] = [one.body for one in broker.requests(ApiKey.CONSUMER_GROUP_HEARTBEAT)]
        return sum(one.member_epoch == 0 for one in bodies)

    with ExitStack() as stack:
        one = Member(broker, stack)
        poll_until(lambda: len(one.got) == 12, one)
        broker.fail(ApiKey.CONSUMER_GROUP_HEARTBEAT, ErrorCode.FENCED_MEMBER_EPOCH)
        poll_until(lambda: joins() == 2, one)
        broker.append(TOPIC, b"later")
        poll_until(lambda: b"later" in one.got and one.partitions == [0, 1, 2, 3], one)


def test_a_group_passes_from_the_classic_protocol_to_the_consumer_protocol_and_back(broker: FakeBroker) -> None:
    with ExitStack() as stack:
        old = Member(broker, stack, group_protocol="classic", heartbeat_interval_ms=100, session_timeout_ms=6000)
        poll_until(lambda: len(old.got) == 12, old)
        old.consumer.commit(asynchronous=False)
        new = Member(broker, stack)
        poll_until(lambda: len(old.partitions) == len(new.partitions) == 2, old, new)
        new.consumer.close()
        poll_until(lambda: old.partitions == [0, 1, 2, 3], old)
        assert broker.group("g").leader == broker.group("g").members[0].member_id != ""
        committed = old.consumer.committed([TopicPartition(TOPIC, at) for at in range(4)], timeout=TIMEOUT)
        assert [one.offset for one in committed] == [3] * 4
