"""Groups of the classic protocol, by a clock that the tests move."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.state import Refused
from kipwire.testing.broker.state.classic_groups import COMPLETING, PREPARING, Group, Joined, Joining, Ticket
from kipwire.testing.broker.state.groups import EMPTY, STABLE

SESSION, REBALANCE = 10.0, 60.0


def joining(member_id: str = "", **values: Any) -> Joining:
    usual = {
        "member_id": member_id,
        "instance_id": None,
        "client_id": "client",
        "client_host": "127.0.0.1",
        "session_timeout": SESSION,
        "rebalance_timeout": REBALANCE,
        "protocol_type": "consumer",
        "protocols": {"range": b"metadata"},
        "takes_id_first": False,
    }
    return Joining(**{**usual, **values})


def joined(ticket: Ticket[Joined]) -> Joined:
    found = ticket.found()
    assert found is not None
    return found


def error_of(action: Callable[[], object]) -> int:
    with pytest.raises(Refused) as caught:
        action()
    return caught.value.error


def stable(*instance_ids: str | None, now: float = 0.0) -> tuple[Group, list[str]]:
    """Return a group in which all have their assignments, `a0`, `a1` and so on; and the ids of its members."""
    group = Group("g")
    ids: list[str] = []
    for instance_id in instance_ids:
        ticket = group.join(joining(instance_id=instance_id), now)
        for member_id in ids:
            group.join(joining(member_id, instance_id=group.members[member_id].asked.instance_id), now)
        ids.append(joined(ticket).member_id)
        for member_id in reversed(ids):  # the leader, which was the first, assigns last
            instance = group.members[member_id].asked.instance_id
            assignments = {one: b"a%d" % at for at, one in enumerate(ids)} if member_id == group.leader else {}
            group.sync(member_id, instance, group.generation, assignments, now)
    return group, ids


def test_one_member_joins_and_gets_its_own_assignment() -> None:
    group = Group("g")
    first = joined(group.join(joining(), 0))
    assert (first.generation, first.protocol, first.leader) == (1, "range", first.member_id)
    assert first.members == ((first.member_id, None, b"metadata"),)
    assert group.state == COMPLETING
    assert group.sync(first.member_id, None, 1, {first.member_id: b"all"}, 0).found() == b"all"
    assert group.state == STABLE
    group.heartbeat(first.member_id, None, 1, 0)


def test_a_second_member_waits_until_the_first_has_joined_again() -> None:
    group, (first,) = stable(None)
    ticket = group.join(joining(), 1)
    assert ticket.found() is None and group.state == PREPARING
    assert error_of(lambda: group.heartbeat(first, None, 1, 1)) == ErrorCode.REBALANCE_IN_PROGRESS
    leader = joined(group.join(joining(first), 2))
    follower = joined(ticket)
    assert (leader.generation, follower.generation) == (2, 2)
    assert leader.leader == follower.leader == first
    assert {one for one, _, _ in leader.members} == {first, follower.member_id} and follower.members == ()
    waiting = group.sync(follower.member_id, None, 2, {}, 3)
    assert waiting.found() is None
    group.sync(first, None, 2, {first: b"x", follower.member_id: b"y"}, 3)
    assert waiting.found() == b"y"
    assert group.sync(first, None, 2, {}, 4).found() == b"x"  # asked again, since the answer was lost


def test_new_members_get_an_id_first_where_they_know_that() -> None:
    group, (first,) = stable(None)
    with pytest.raises(Refused, match="MEMBER_ID_REQUIRED") as caught:
        group.join(joining(takes_id_first=True), 0)
    assert caught.value.error == ErrorCode.MEMBER_ID_REQUIRED
    assert group.state == STABLE  # nothing happens until it comes back
    ticket = group.join(joining(caught.value.values["member_id"], takes_id_first=True), 1)
    group.join(joining(first), 1)
    assert joined(ticket).member_id == caught.value.values["member_id"]


def test_a_rebalance_waits_for_those_who_were_given_an_id_but_not_for_ever() -> None:
    group, (first,) = stable(None)
    group.join(joining(), 0)
    with pytest.raises(Refused, match="MEMBER_ID_REQUIRED"):
        group.join(joining(takes_id_first=True), 1)
    ticket = group.join(joining(first), 1)
    assert ticket.found() is None
    assert group.next_expiry == 1 + SESSION
    assert group.expire(1 + SESSION)
    assert joined(ticket).generation == 2


def test_a_member_that_is_not_heard_of_is_removed() -> None:
    group, (first, second) = stable(None, None)
    generation = group.generation
    group.heartbeat(first, None, generation, 5)
    assert group.next_expiry == SESSION  # of the second member
    assert not group.expire(SESSION - 0.1)
    assert group.expire(SESSION)
    assert list(group.members) == [first] and group.state == PREPARING
    assert joined(group.join(joining(first), SESSION)).generation == generation + 1
    assert error_of(lambda: group.heartbeat(second, None, generation, SESSION)) == ErrorCode.UNKNOWN_MEMBER_ID


def test_who_does_not_join_again_in_time_is_removed() -> None:
    group, (first, second) = stable(None, None)
    ticket = group.join(joining(), 0)
    group.join(joining(second), 0)
    for now in range(1, int(REBALANCE)):  # alive, but never joins
        assert error_of(partial(group.heartbeat, first, None, 2, now)) == ErrorCode.REBALANCE_IN_PROGRESS
    assert ticket.found() is None
    assert group.expire(REBALANCE)
    assert joined(ticket).generation == 3
    assert first not in group.members and joined(ticket).leader == second


def test_a_leader_that_never_assigns_is_removed() -> None:
    group, (first,) = stable(None)
    second = group.join(joining(), 0)
    group.join(joining(first), 0)
    waiting = group.sync(joined(second).member_id, None, 2, {}, 0)
    for now in range(1, int(REBALANCE)):
        group.heartbeat(first, None, 2, now)
    assert group.expire(REBALANCE)
    assert error_of(waiting.found) == ErrorCode.REBALANCE_IN_PROGRESS
    assert list(group.members) == [joined(second).member_id]
    assert joined(group.join(joining(joined(second).member_id), REBALANCE)).leader == joined(second).member_id


def test_leaving_starts_a_rebalance_and_the_last_one_leaves_an_empty_group() -> None:
    group, (first, second) = stable(None, None)
    group.leave(first, None, 0)
    assert error_of(lambda: group.heartbeat(second, None, 2, 0)) == ErrorCode.REBALANCE_IN_PROGRESS
    assert joined(group.join(joining(second), 0)).leader == second
    group.leave(second, None, 0)
    assert (group.state, group.members, group.next_expiry) == (EMPTY, {}, math.inf)
    assert error_of(lambda: group.leave(second, None, 0)) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_that_leaves_while_it_waits_lets_the_others_go_on() -> None:
    group, (first,) = stable(None)
    ticket = group.join(joining(), 0)
    again = group.join(joining(first), 0)
    assert joined(again).generation == 2
    third = group.join(joining(), 0)
    group.leave(joined(ticket).member_id, None, 0)
    assert third.found() is None
    group.leave(first, None, 0)
    assert joined(third).leader == joined(third).member_id


def test_numbers_of_other_generations_are_refused() -> None:
    group, (first,) = stable(None)
    assert error_of(lambda: group.heartbeat(first, None, 2, 0)) == ErrorCode.ILLEGAL_GENERATION
    assert error_of(lambda: group.sync(first, None, 0, {}, 0)) == ErrorCode.ILLEGAL_GENERATION
    assert error_of(lambda: group.expect_committer(first, None, 0, 0)) == ErrorCode.ILLEGAL_GENERATION
    assert error_of(lambda: group.join(joining("nobody"), 0)) == ErrorCode.UNKNOWN_MEMBER_ID


def test_offsets_are_committed_by_members_or_while_there_are_none() -> None:
    group, (first,) = stable(None)
    group.expect_committer(first, None, 1, 0)
    assert error_of(lambda: group.expect_committer("", None, -1, 0)) == ErrorCode.UNKNOWN_MEMBER_ID
    Group("h").expect_committer("", None, -1, 0)
    group.join(joining(first, protocols={"range": b"other"}), 0)
    assert error_of(lambda: group.expect_committer(first, None, 2, 0)) == ErrorCode.REBALANCE_IN_PROGRESS


def test_the_protocol_is_one_that_all_have_and_most_prefer() -> None:
    group = Group("g")
    first = joined(group.join(joining(protocols={"a": b"", "b": b"", "c": b""}), 0)).member_id
    tickets = [group.join(joining(protocols={"c": b"", "b": b""}), 0) for _ in range(2)]
    group.join(joining(first, protocols={"a": b"", "b": b"", "c": b""}), 0)
    assert joined(tickets[0]).protocol == "c"
    for wrong in (joining(protocols={"a": b""}), joining(protocol_type="connect"), joining(protocols={})):
        assert error_of(partial(group.join, wrong, 0)) == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_members_that_only_ask_again_do_not_start_a_rebalance() -> None:
    group, (first, second) = stable(None, None)
    assert joined(group.join(joining(second), 0)).generation == 2 and group.state == STABLE
    assert group.join(joining(first), 0).found() is None  # the leader may want to assign again
    assert group.state == PREPARING


def test_other_metadata_start_a_rebalance() -> None:
    group, (_, second) = stable(None, None)
    assert group.join(joining(second, protocols={"range": b"other topics"}), 0).found() is None
    assert group.state == PREPARING


def test_a_rebalance_refuses_those_who_wait_for_their_assignments() -> None:
    group, (first,) = stable(None)
    second = group.join(joining(), 0)
    group.join(joining(first), 0)
    waiting = group.sync(joined(second).member_id, None, 2, {}, 0)
    group.join(joining(), 0)
    assert error_of(waiting.found) == ErrorCode.REBALANCE_IN_PROGRESS
    assert error_of(lambda: group.sync(first, None, 2, {}, 0)) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_member_that_asks_again_is_answered_once_more_and_the_older_request_is_refused() -> None:
    group, (first,) = stable(None)
    second = group.join(joining(), 0)
    group.join(joining(first), 0)
    member_id = joined(second).member_id
    older, newer = (group.sync(member_id, None, 2, {}, 0) for _ in range(2))
    assert error_of(older.found) == ErrorCode.REBALANCE_IN_PROGRESS
    group.sync(first, None, 2, {member_id: b"x"}, 0)
    assert newer.found() == b"x"


def test_a_static_member_comes_back_without_a_rebalance_and_fences_the_one_before_it() -> None:
    group, (first, second) = stable("one", "two")
    again = joined(group.join(joining(instance_id="two"), 5))
    assert again.member_id != second and (again.generation, again.leader) == (2, first)
    assert group.state == STABLE
    assert group.sync(again.member_id, "two", 2, {}, 5).found() == b"a1"
    assert error_of(lambda: group.heartbeat(second, "two", 2, 5)) == ErrorCode.FENCED_INSTANCE_ID
    leader = joined(group.join(joining(instance_id="one"), 5))
    assert leader.members == () and leader.leader == first != leader.member_id  # it need not assign again
    assert group.leader == leader.member_id
    group.leave("", "two", 6)
    assert list(group.members) == [leader.member_id]


def test_a_static_member_that_comes_back_with_other_topics_starts_a_rebalance() -> None:
    group, (first,) = stable("one")
    again = joined(group.join(joining(instance_id="one", protocols={"range": b"other"}), 0))
    assert (again.generation, again.leader) == (2, again.member_id) and again.member_id != first


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["join", "new", "sync", "heartbeat", "leave", "wait"]),
        st.integers(0, 3),
        st.booleans(),
    ),
    max_size=40,
)


@settings(max_examples=75, deadline=None)
@given(STEPS)
def test_all_tickets_are_decided_in_the_end_and_generations_only_grow(
    steps: list[tuple[str, int, bool]],
) -> None:
    group = Group("g")
    now, generation = 0.0, 0
    tickets: list[Ticket[Any]] = []
    ids: list[str] = []
    for step, which, flag in steps:
        member_id = ids[which % len(ids)] if ids else "nobody"
        try:
            if step == "new":
                tickets.append(group.join(joining(takes_id_first=flag), now))
                ids += [one for one in group.members if one not in ids]
            elif step == "join":
                tickets.append(group.join(joining(member_id, protocols={"range": b"%d" % flag}), now))
            elif step == "sync":
                assignments = dict.fromkeys(group.members, b"a")
                tickets.append(group.sync(member_id, None, group.generation, assignments, now))
            elif step == "heartbeat":
                group.heartbeat(member_id, None, group.generation, now)
            elif step == "leave":
                group.leave(member_id, None, now)
            else:
                now += SESSION if flag else SESSION / 3
                group.expire(now)
        except Refused as error:
            ids += error.values.values()  # that which a new member is given
        assert group.generation >= generation
        generation = group.generation
        assert (group.state == EMPTY) <= (not group.members)
        assert group.state not in (COMPLETING, STABLE) or group.leader in group.members
        assert group.state != STABLE or not any(one.is_waiting for one in group.members.values())
        assert group.next_expiry > now
    while group.next_expiry < math.inf:
        now = group.next_expiry
        assert group.expire(now)
    assert (group.state, group.members) == (EMPTY, {})
    for ticket in tickets:
        assert ticket.result is not None or ticket.refusal is not None
