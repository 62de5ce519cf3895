"""Groups of the consumer protocol (KIP-848), by a clock that the tests move."""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from kafka_messages.enums import ErrorCode
from kipwire.model.errors import MissingExtraError
from kipwire.testing.broker.state import Refused, matching
from kipwire.testing.broker.state.consumer_groups import RECONCILING, ConsumerGroup
from kipwire.testing.broker.state.consumer_members import (
    ASSIGNORS,
    JOINS,
    LEAVES,
    PAUSES,
    SESSION_TIMEOUT,
    Beat,
    Beaten,
    TopicIdPartition,
)
from kipwire.testing.broker.state.groups import EMPTY, STABLE
from kipwire.testing.broker.state.topics import Topics

REBALANCE = 60.0


class Client:
    """A member as a client has it: it gives up partitions when it likes, and then says so."""

    def __init__(self, group: ConsumerGroup, member_id: str, instance_id: str | None = None) -> None:
        self.group, self.member_id, self.instance_id = group, member_id, instance_id
        self.epoch = JOINS
        self.owned: frozenset[TopicIdPartition] = frozenset()
        """Partitions that it reads."""
        self.assigned: frozenset[TopicIdPartition] = frozenset()
        """Partitions of the last assignment that it received."""

    def beat(self, now: float = 0, **values: Any) -> Beaten:
        said: dict[str, Any] = {"instance_id": self.instance_id, **values}
        if self.epoch == JOINS:
            self.owned = self.assigned = frozenset()
            said = {"topics": frozenset({"a"}), "rebalance_timeout": REBALANCE, "owned": frozenset(), **said}
        found = self.group.beat(Beat(self.member_id, self.epoch, "client", "host", **said), now)
        self.epoch = found.epoch
        if found.assigned is not None:
            self.assigned = found.assigned
        return found

    def follow(self, now: float = 0) -> None:
        """Give up and take what it was told to, and say so."""
        self.owned = self.assigned
        self.beat(now, owned=self.owned)


def group_of(**topics: int) -> ConsumerGroup:
    existing = Topics(lambda _: 1)
    for name, count in topics.items():
        existing.create(name, count)
    return ConsumerGroup("g", existing)


def settle(*clients: Client, now: float = 0) -> None:
    for _ in range(4):
        for one in clients:
            one.follow(now)


def error_of(action: Callable[[], object]) -> int:
    with pytest.raises(Refused) as caught:
        action()
    return caught.value.error


def places(group: ConsumerGroup, *names: str) -> frozenset[TopicIdPartition]:
    topics = [group.existing.named(name) for name in names]
    return frozenset((topic.topic_id, index) for topic in topics for index in range(len(topic.partitions)))


def test_a_second_member_gets_nothing_before_the_first_has_given_it_up() -> None:
    group = group_of(a=4)
    one, two = Client(group, "1"), Client(group, "2")
    assert one.beat().assigned == places(group, "a") and (one.epoch, group.state) == (2, STABLE)
    one.follow()
    assert two.beat().assigned == frozenset() and (two.epoch, group.state) == (3, RECONCILING)
    kept = one.beat(owned=one.owned).assigned
    assert kept is not None and len(kept) == 2 and one.epoch == 2
    assert two.beat().assigned is None
    one.follow()
    assert one.epoch == 3
    assert two.beat().assigned == places(group, "a") - kept and group.state == STABLE


def test_who_does_not_give_up_partitions_in_time_is_removed() -> None:
    group = group_of(a=2)
    one, two = Client(group, "1"), Client(group, "2")
    one.beat()
    one.follow()
    two.beat()
    for now in range(0, int(REBALANCE), 10):
        one.beat(now, owned=one.owned)
        two.beat(now)
    assert group.next_expiry == REBALANCE
    assert two.beat(REBALANCE).assigned == places(group, "a")
    assert error_of(lambda: one.beat(REBALANCE)) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_is_not_heard_of_is_removed() -> None:
    group = group_of(a=2)
    one, two = Client(group, "1"), Client(group, "2")
    one.beat()
    two.beat()
    one.beat(30)
    assert not group.expire(SESSION_TIMEOUT - 0.1)
    assert group.expire(SESSION_TIMEOUT) and list(group.members) == ["1"]
    assert group.expire(30 + SESSION_TIMEOUT) and (group.state, group.next_expiry) == (EMPTY, math.inf)


def test_a_static_member_that_pauses_keeps_its_partitions_until_its_session_ends() -> None:
    group = group_of(a=2)
    one, other = Client(group, "1", "i"), Client(group, "2")
    one.beat()
    other.beat()
    settle(one, other)
    had, epoch = one.owned, group.epoch
    one.epoch = PAUSES
    one.beat(1)
    again = Client(group, "3", "i")
    assert again.beat(2).assigned == had and group.epoch == epoch
    again.epoch = PAUSES
    again.beat(3)
    other.beat(30)
    assert other.assigned != places(group, "a")
    other.beat(3 + SESSION_TIMEOUT)
    assert other.assigned == places(group, "a")


def test_new_topics_and_partitions_are_assigned() -> None:
    group = group_of(a=1)
    one = Client(group, "1")
    one.beat(regex="b|c+", topics=frozenset({"a"}))
    assert one.beat().assigned is None
    group.existing.create("cc", 2)
    one.beat()
    assert one.beat().assigned == places(group, "a", "cc")
    group.existing.named("a").extend(3)
    assert one.beat().assigned == places(group, "a", "cc")
    group.existing.delete(group.existing.named("cc"))
    assert one.beat(owned=frozenset()).assigned is not None
    assert one.assigned == places(group, "a")


def test_a_heartbeat_with_what_is_no_expression_is_refused() -> None:
    one = Client(group_of(a=1), "1")
    assert error_of(lambda: one.beat(regex="a(?=b)")) == ErrorCode.INVALID_REGULAR_EXPRESSION


@pytest.mark.parametrize("regex", ["(a+)+b", "(a|aa)+b", "(.*){20}b", "(a?){200}b", "(a*)*(a*)*b"])
def test_no_expression_is_slow(regex: str) -> None:
    assert not matching(regex)("a" * 249)  # for which Python's own expressions would take years


def test_an_expression_that_is_too_large_is_refused() -> None:
    for regex in (r"(\p{L}{1000}){1000}", r"\p{L}{1000}", "(" * 100_000):
        with pytest.raises(Refused, match=r"INVALID_REGULAR_EXPRESSION: .{1,200}$"):
            matching(regex)


def test_an_expression_has_to_match_the_whole_name() -> None:
    assert [name for name in ("a", "b", "ab", "a\n") if matching("a|b")(name)] == ["a", "b"]


def test_without_the_library_a_subscription_by_an_expression_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    one = Client(group_of(a=1), "1")
    with pytest.raises(MissingExtraError, match="regular expressions need google-re2, which is not installed: pip"):
        one.beat(regex="not asked for before")
    one.beat()


@pytest.mark.parametrize("name", ASSIGNORS)
def test_assignors_give_every_partition_to_one_member_that_reads_it_evenly_and_keep_what_they_can(name: str) -> None:
    chance = random.Random(7)
    for _ in range(200):
        existing = Topics(lambda _: 1)
        counts = {existing.create(f"t{at}", chance.randint(1, 9)).topic_id: 0 for at in range(chance.randint(1, 4))}
        counts = {topic: len(existing.with_id(topic).partitions) for topic in counts}
        members = [str(at) for at in range(chance.randint(1, 6))]
        readers = {one: set(counts) for one in members}
        before = ASSIGNORS[name](readers, counts, {})
        wanted = {(topic, index) for topic, count in counts.items() for index in range(count)}
        for targets in (before, ASSIGNORS[name](readers, counts, before)):
            assert sorted(place for places in targets.values() for place in places) == sorted(wanted)
        assert ASSIGNORS[name](readers, counts, before) == before
        sizes = [len(before[one]) for one in members]
        assert max(sizes) - min(sizes) <= (1 if name == "uniform" else len(counts))
        mixed = {one: set(chance.sample(sorted(counts), chance.randint(0, len(counts)))) for one in members}
        found = ASSIGNORS[name](mixed, counts, before)
        assert all(topic in mixed[one] for one in members for topic, _ in found[one])
        read = {place for place in wanted if any(place[0] in topics for topics in mixed.values())}
        assert sorted(place for places in found.values() for place in places) == sorted(read)


STEPS = {"new": 6, "beat": 6, "follow": 12, "read": 2, "leave": 1, "pause": 1, "crash": 1, "wait": 2, "grow": 1}
"""Steps that members take at random, each with its weight."""


def run_schedule(seed: int, steps: int) -> None:
    """Members do at random what members do; checks after each step, and where it ends."""
    chance = random.Random(seed)
    group = group_of(a=chance.randint(1, 7), b=chance.randint(1, 5), cc=chance.randint(1, 3))
    subscriptions = (("a",), ("b",), ("a", "b"), ("a", "b", "cc"), ())
    clients: list[Client] = []
    now, epoch, count = 0.0, 0, 0
    epochs: dict[str, int] = {}

    def check() -> None:
        nonlocal epoch
        assert group.epoch >= epoch and group.assignment_epoch <= group.epoch
        epoch = group.epoch
        held = [place for one in group.members.values() for place in one.places]
        assert len(held) == len(set(held)), "the group has given a partition to two members"
        alive = [one for one in clients if one.member_id in group.members]
        read = [place for one in alive for place in one.owned]
        assert len(read) == len(set(read)), "two members read a partition"
        for member in group.members.values():
            if member.epoch > 0:
                assert member.epoch >= epochs.get(member.member_id, 0)
                epochs[member.member_id] = member.epoch

    def refused(client: Client | None, error: Refused) -> None:
        """Do what clients do: give up all and join again, or end."""
        if client in clients and client is not None:
            client.epoch, client.owned = JOINS, frozenset()
            if error.error not in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID):
                clients.remove(client)

    for _ in range(steps):
        (step,) = chance.choices(list(STEPS), list(STEPS.values()))
        client = chance.choice(clients) if clients else None
        try:
            if step == "new" and len(clients) < 8:
                count += 1
                instance = f"i{chance.randint(0, 2)}" if chance.random() < 0.3 else None
                client = Client(group, f"m{count}", instance)
                assignor = chance.choice((None, "range", "uniform"))
                client.beat(now, topics=frozenset(chance.choice(subscriptions)), assignor=assignor)
                clients.append(client)
            elif step == "grow":
                topic = group.existing.named(chance.choice(("a", "b", "cc")))
                topic.extend(min(len(topic.partitions) + 1, 9))
            elif step == "wait":
                now += chance.choice((1, 3, 20))
            elif client is None:
                pass
            elif step == "beat":
                client.beat(now, owned=client.owned)
            elif step == "follow":
                client.follow(now)
            elif step == "read":
                regex = chance.choice(("", "c+", "a|cc"))
                client.beat(now, topics=frozenset(chance.choice(subscriptions)), regex=regex, owned=client.owned)
            elif step == "crash":
                clients.remove(client)
            elif step == "leave" or (step == "pause" and client.instance_id is not None):
                client.epoch = LEAVES if step == "leave" else PAUSES
                clients.remove(client)
                client.beat(now)
        except Refused as error:
            refused(client, error)
        check()
    for _ in range(6):  # those who crashed or paused are removed meanwhile
        now += SESSION_TIMEOUT / 5
        for _ in range(2 * len(clients) + 2):
            for one in chance.sample(clients, len(clients)):
                try:
                    one.follow(now)
                except Refused as error:
                    refused(one, error)
                check()
    group.expire(now)
    assert group.state == (STABLE if clients else EMPTY)
    wanted = places(group, *group.subscribed_topics())
    assert {place for one in clients for place in one.owned} == wanted
    assert {one.epoch for one in clients} <= {group.epoch}


def test_no_partition_has_two_owners_and_all_have_one_in_the_end() -> None:
    for seed in range(30):
        run_schedule(seed, 80)


@pytest.mark.night
@pytest.mark.parametrize("part", range(10))
def test_no_partition_has_two_owners_in_long_schedules(part: int) -> None:
    for seed in range(1000 + part * 200, 1200 + part * 200):
        run_schedule(seed, 400)


def test_epochs_of_others_are_refused() -> None:
    group = group_of(a=1)
    one = Client(group, "1")
    one.beat()
    for wrong in (partial(group.beat, Beat("1", 3, "", "")), partial(group.beat, Beat("x", 1, "", ""))):
        assert error_of(partial(wrong, 0)) in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID)
    assert error_of(lambda: group.expect_committer("1", None, 3, 0)) == ErrorCode.STALE_MEMBER_EPOCH
    assert error_of(lambda: group.expect_valid_epoch("1", 1)) == ErrorCode.STALE_MEMBER_EPOCH
    group.expect_committer("1", None, 2, 0)
