"""Readings of the answers of brokers: members, assignments, times of records."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_messages import REGISTRY
from kafka_messages.share_group_describe_response.v1 import Assignment as Shared
from kafka_messages.share_group_describe_response.v1 import DescribedGroup as ShareGroup
from kafka_messages.share_group_describe_response.v1 import Member as ShareMember
from kafka_messages.share_group_describe_response.v1 import TopicPartitions
from kafka_messages.streams_group_describe_response.v1 import (
    Assignment,
    DescribedGroup,
    Member,
    Subtopology,
    TaskIds,
    TopicInfo,
    Topology,
)
from kipwire import build
from kipwire.cluster.groups import members_of, parse_assignment
from kipwire.cluster.model import First, Kind
from kipwire.cluster.unread import firsts_in
from kipwire.logs.names import Partition
from kipwire.model.errors import DecodeError
from kipwire.records import Record, write_batch
from kipwire.records.control import end_marker_key

TIME = 1_700_000_000_000


def assignment(version: int, *, user_data: bytes | None = None) -> bytes:
    rows = [{"topic": "orders", "partitions": [0, 2]}, {"topic": "paid", "partitions": [1]}]
    values: dict[str, Any] = {"assigned_partitions": rows, "user_data": user_data}
    return version.to_bytes(2, "big") + build(REGISTRY.message("ConsumerProtocolAssignment", version), values).encode()


@pytest.mark.parametrize("version", REGISTRY.versions("ConsumerProtocolAssignment"))
def test_assignments_of_every_version_are_read(version: int) -> None:
    partitions = {Partition("orders", 0), Partition("orders", 2), Partition("paid", 1)}
    assert parse_assignment(assignment(version)) == partitions
    assert parse_assignment(assignment(version, user_data=b"x")) == partitions


def test_a_later_version_begins_as_the_newest_one_and_other_bytes_assign_nothing() -> None:
    newest = REGISTRY.versions("ConsumerProtocolAssignment")[-1]
    assert len(parse_assignment((99).to_bytes(2, "big") + assignment(newest)[2:])) == 3
    for data in (b"", b"\0", b"\0\0", b"\0\0\xff\xff\xff\xff", b'{"json": true}'):
        assert parse_assignment(data) == frozenset()


def test_tasks_of_streams_read_partitions_of_all_topics_of_their_subtopology() -> None:
    again = TopicInfo(name="app-again", partitions=4)
    topology = Topology(
        epoch=1,
        subtopologies=[
            Subtopology(subtopology_id="0", source_topics=["orders", "paid"], repartition_source_topics=[again]),
            Subtopology(subtopology_id="1", source_topics=["other"]),
        ],
    )
    active = [TaskIds(subtopology_id="0", partitions=[1, 3]), TaskIds(subtopology_id="9", partitions=[0])]
    standby = [TaskIds(subtopology_id="1", partitions=[0])]
    member = Member(
        member_id="m",
        client_id="c",
        client_host="/10.0.0.7",
        assignment=Assignment(active_tasks=active, standby_tasks=standby),
    )
    (one,) = members_of(Kind.STREAMS, DescribedGroup(group_id="app", topology=topology, members=[member]))
    assert one.partitions == {Partition(topic, n) for topic in ("orders", "paid", "app-again") for n in (1, 3)}
    assert (one.id, one.client_id, one.host) == ("m", "c", "10.0.0.7")


def test_members_of_share_groups_may_read_the_same_partitions() -> None:
    topics = [TopicPartitions(topic_name="orders", partitions=[0, 1])]
    two = [
        ShareMember(member_id=name, client_id=name, client_host="/h", assignment=Shared(topic_partitions=topics))
        for name in ("a", "b")
    ]
    found = list(members_of(Kind.SHARE, ShareGroup(group_id="g", members=two)))
    assert [one.partitions for one in found] == [{Partition("orders", 0), Partition("orders", 1)}] * 2


def batch(*offsets: int, **more: Any) -> bytes:
    records = [Record(offset=one, timestamp=TIME + one, value=b"x") for one in offsets]
    return write_batch(records, base_offset=offsets[0], **more)


def first_in(data: bytes, offset: int) -> tuple[int | None, int]:
    """Return the time of the first record from an offset on, and the offset to go on from."""
    firsts, reached = firsts_in(data, [offset])
    return (firsts[0].time if firsts else None), reached


def test_the_first_record_from_an_offset_on_may_be_within_a_batch_or_after_it() -> None:
    data = batch(0, 1, 2) + batch(7, 9)
    expected = {0: 0, 1: 1, 2: 2, 3: 7, 7: 7, 8: 9, 9: 9}
    assert {offset: first_in(data, offset)[0] for offset in expected} == {
        offset: TIME + found for offset, found in expected.items()
    }
    assert first_in(batch(0, 1), 1)[0] == TIME + 1
    assert first_in(batch(0, 1) + batch(4, 5)[:-3], 1)[0] == TIME + 1


def test_a_batch_serves_all_offsets_within_it() -> None:
    data = batch(0, 1, 2) + batch(7, 9, last_offset_delta=5) + batch(20)
    for offsets in ([0], [0, 1, 2], [1, 3, 8, 9], [2, 7, 20], [0, 5, 20], [10, 13, 20]):
        firsts, reached = firsts_in(data, offsets)
        assert firsts == [First(True, TIME + found, found) for found in [expected(one) for one in offsets]]
        assert reached == 21 or offsets[-1] < 20
    firsts, reached = firsts_in(data[:-1], [2, 8, 11, 20])  # the last one is cut short
    assert ([one.offset for one in firsts], reached) == ([2, 9], 13)


def expected(offset: int) -> int:
    """Return the offset of the first record from an offset on."""
    return min(one for one in (0, 1, 2, 7, 9, 20) if one >= offset)


def test_without_a_record_it_says_where_to_go_on() -> None:
    compacted = batch(0, 1, last_offset_delta=9)
    assert first_in(compacted, 5) == (None, 10)
    assert first_in(compacted + batch(10), 5)[0] == TIME + 10
    marker = Record(offset=10, timestamp=TIME, key=end_marker_key("COMMIT"), value=b"\0\0\0\0\0\0")
    markers = write_batch([marker], is_control=True, is_transactional=True, producer_id=1, producer_epoch=0)
    assert first_in(markers, 10) == (None, 11)
    assert first_in(markers + batch(11), 10)[0] == TIME + 11


def test_times_of_brokers_count_where_they_set_them() -> None:
    data = batch(0, 1, timestamp_type="LogAppendTime", max_timestamp=TIME + 50)
    assert first_in(data, 0)[0] == first_in(data, 1)[0] == TIME + 50


def test_what_has_no_batch_with_the_offset_is_an_error() -> None:
    for data in (b"", b"x" * 100, batch(0, 1), batch(0, 1)[:-1]):
        with pytest.raises(DecodeError):
            first_in(data, 5)
