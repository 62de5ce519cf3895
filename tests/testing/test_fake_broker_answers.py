"""Answers of the fake broker to unusual requests, or in an unusual state."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any
from uuid import UUID

import pytest

from kafka_messages.enums import ApiKey, ErrorCode
from kipwire.records.compression import Compression
from kipwire.testing.broker.apis.api import NoAnswer
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.nodes import MOST_SESSIONS
from tests.support.compressed_parts import CODECS, batch_in_parts
from tests.support.subjects.fake_broker_requests import (
    GROUP,
    REGISTRY,
    TOPIC,
    answer,
    ask,
    ask_newest,
    batch,
    error_codes,
    examples,
    fetch,
    fetched,
    node,
    produce,
    request,
)


def test_records_are_fetched_from_the_offset_on() -> None:
    made = node()
    assert fetched(fetch(made, {"fetch_offset": 1}, {"partition": 1})) == [[b"v1", b"v2"], []]
    (topic,) = fetch(made).responses
    assert (topic.partitions[0].high_watermark, topic.partitions[0].last_stable_offset) == (3, 3)


def test_a_fetch_has_at_most_so_many_bytes_but_one_batch_at_least() -> None:
    made = node()
    size = len(batch(b"v0"))
    assert fetched(fetch(made, {"partition_max_bytes": 1})) == [[b"v0"]]
    assert fetched(fetch(made, {"partition_max_bytes": 2 * size})) == [[b"v0", b"v1"]]
    produce(made, batch(b"other"), partition=1)
    both: tuple[dict[str, Any], ...] = ({}, {"partition": 1})
    assert fetched(fetch(made, *both, max_bytes=3 * size)) == [[b"v0", b"v1", b"v2"], []]
    assert fetched(fetch(made, *both, max_bytes=3 * size + 1)) == [[b"v0", b"v1", b"v2"], []]
    assert fetched(fetch(made, *both, max_bytes=10 * size)) == [[b"v0", b"v1", b"v2"], [b"other"]]


@pytest.mark.parametrize(
    ("partition", "error"),
    [
        ({"fetch_offset": 4}, ErrorCode.OFFSET_OUT_OF_RANGE),
        ({"fetch_offset": -1}, ErrorCode.OFFSET_OUT_OF_RANGE),
        ({"partition": 2}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"current_leader_epoch": 1}, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_an_error_of_a_partition_ends_the_wait(partition: dict[str, Any], error: ErrorCode) -> None:
    response = fetch(node(), {"partition": 1}, partition, max_wait_ms=600_000)
    assert error_codes(response) == [0, 0, error]


def test_a_fetch_waits_until_there_are_enough_bytes() -> None:
    made = node()
    size = len(batch(b"new"))
    topics = [{"topic": TOPIC, "partitions": [{"partition": 1, "fetch_offset": 0, "partition_max_bytes": 10_000}]}]
    values = {"max_wait_ms": 600_000, "min_bytes": 2 * size, "max_bytes": 10_000, "topics": topics}
    data = {"index": 1, "records": batch(b"new")}
    appending = {"acks": -1, "timeout_ms": 1, "topic_data": [{"name": TOPIC, "partition_data": [data]}]}

    async def run() -> Any:
        waiting = asyncio.ensure_future(answer(made, request(ApiKey.FETCH, 12, values), None))
        for _ in range(2):
            await asyncio.sleep(0.01)
            assert not waiting.done()
            await answer(made, request(ApiKey.PRODUCE, 12, appending), None)
        return await asyncio.wait_for(waiting, 10)

    assert fetched(asyncio.run(run())) == [[b"new", b"new"]]


def test_a_fetch_session_answers_with_what_has_changed() -> None:
    made = node()
    begun = fetch(made, {"fetch_offset": 3}, {"partition": 1}, session_epoch=0)
    assert begun.session_id > 0 and fetched(begun) == [[], []]
    no_change = fetch(made, session_id=begun.session_id, session_epoch=1, topics=[])
    assert (no_change.error_code, no_change.session_id, no_change.responses) == (0, begun.session_id, [])
    produce(made, batch(b"new"), partition=1)
    changed = fetch(made, session_id=begun.session_id, session_epoch=2, topics=[])
    assert fetched(changed) == [[b"new"]]
    stale = fetch(made, session_id=begun.session_id, session_epoch=2, topics=[])
    assert (stale.error_code, stale.responses) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, [])
    unknown = fetch(made, session_id=begun.session_id + 1, session_epoch=3)
    assert (unknown.error_code, unknown.responses) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, [])
    ended = fetch(made, session_id=begun.session_id, session_epoch=-1)
    assert (ended.session_id, len(made.fetch_sessions)) == (0, 0)


def test_a_fetch_session_waits_for_all_its_partitions() -> None:
    made = node()
    session_id = fetch(made, {"fetch_offset": 3}, {"partition": 1}, session_epoch=0).session_id
    values = {"max_wait_ms": 600_000, "min_bytes": 1, "max_bytes": 10_000, "session_id": session_id, "session_epoch": 1}
    data = {"index": 1, "records": batch(b"new")}
    appending = {"acks": -1, "timeout_ms": 1, "topic_data": [{"name": TOPIC, "partition_data": [data]}]}

    async def run() -> Any:
        waiting = asyncio.ensure_future(answer(made, request(ApiKey.FETCH, 12, values), None))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        await answer(made, request(ApiKey.PRODUCE, 12, appending), None)
        return await asyncio.wait_for(waiting, 10)

    assert fetched(asyncio.run(run())) == [[b"new"]]


def test_fetch_sessions_are_bounded_and_those_not_used_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    made = node()
    monkeypatch.setattr(Node, "now", staticmethod(lambda: 0.0))
    first, *_ = [fetch(made, session_epoch=0).session_id for _ in range(MOST_SESSIONS)]
    monkeypatch.setattr(Node, "now", staticmethod(lambda: 100.0))
    assert fetch(made, session_epoch=0).session_id == 0  # the others were used not long ago
    assert fetch(made, session_id=first, session_epoch=1).error_code == 0
    monkeypatch.setattr(Node, "now", staticmethod(lambda: 200.0))
    assert fetch(made, session_epoch=0).session_id > 0
    assert len(made.fetch_sessions) == MOST_SESSIONS
    assert fetch(made, session_id=first, session_epoch=2).error_code == 0  # used since
    second = fetch(made, session_id=first + 1, session_epoch=1)
    assert second.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_topics_are_found_by_id_and_unknown_ids_are_refused() -> None:
    made = node()
    known = made.topics.named(TOPIC).topic_id
    assert produce(made, batch(b"x"), topic_id=known).base_offset == 3
    assert produce(made, batch(b"x"), topic_id=UUID(int=5)).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert produce(made, batch(b"x"), topic_id=UUID(int=0)).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    body = ask_newest(made, ApiKey.METADATA, {"topics": [{"name": None, "topic_id": known}]})
    assert (body.topics[0].name, body.topics[0].error_code) == (TOPIC, 0)
    body = ask_newest(made, ApiKey.METADATA, {"topics": [{"name": None, "topic_id": UUID(int=5)}]})
    assert body.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("codec", CODECS)
def test_sections_in_several_parts_are_appended_as_kafka_appends_them(codec: Compression) -> None:
    made = node()
    data, records = batch_in_parts(codec, Random(1))
    assert produce(made, data).base_offset == 3
    assert fetched(fetch(made, {"fetch_offset": 3})) == [[record.value for record in records]]
    refused = produce(made, batch_in_parts(codec, Random(1), b"\7")[0])
    assert refused.error_code == ErrorCode.UNKNOWN_SERVER_ERROR and f"{codec} data" in refused.error_message


def test_what_cannot_be_appended_is_refused() -> None:
    made = node()
    refused = produce(made, batch(b"x")[:-1] + b"\7")
    assert (refused.error_code, refused.base_offset) == (ErrorCode.CORRUPT_MESSAGE, -1)
    assert "crc" in refused.error_message
    assert produce(made, batch(b"x"), partition=9).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert produce(made, batch(b"x"), name="other").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert produce(made, batch(b"x"), acks=2).error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert made.topics.named(TOPIC).partition(0).end_offset == 3


def test_a_failure_without_a_response_closes_the_connection() -> None:
    made = node()
    topic = {"name": TOPIC, "partition_data": [{"index": 9, "records": batch(b"x")}]}
    asked = request(ApiKey.PRODUCE, 9, {"acks": 0, "timeout_ms": 1, "topic_data": [topic]})
    with pytest.raises(NoAnswer):
        asyncio.run(answer(made, asked, None))


def test_topics_are_created_when_they_are_asked_for_if_client_and_settings_allow_it() -> None:
    made = node(default_partitions=2)
    asked = {"topics": [{"name": "new"}, {"name": "not valid"}]}
    errors = [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION]
    body = ask_newest(made, ApiKey.METADATA, {**asked, "allow_auto_topic_creation": False})
    assert [one.error_code for one in body.topics] == errors
    assert "new" not in made.topics.by_name
    body = ask_newest(made, ApiKey.METADATA, asked)
    assert [(one.name, one.error_code, len(one.partitions)) for one in body.topics] == [
        ("new", 0, 2),
        ("not valid", ErrorCode.INVALID_TOPIC_EXCEPTION, 0),
    ]
    body = ask_newest(node(auto_create_topics=False), ApiKey.METADATA, asked)
    assert [one.error_code for one in body.topics] == errors


def test_all_topics_are_described_where_none_is_named() -> None:
    made = node()
    made.topics.create("a", 1)
    for version, topics in ((0, []), (1, None), (13, None)):
        body = ask(made, request(ApiKey.METADATA, version, {"topics": topics}))
        assert [(one.name, len(one.partitions)) for one in body.topics] == [("a", 1), (TOPIC, 2)]
        assert [(one.node_id, one.host, one.port) for one in body.brokers] == [(1, "127.0.0.1", 9)]
    assert ask(made, request(ApiKey.METADATA, 1, {"topics": []})).topics == []


@pytest.mark.parametrize(
    ("timestamp", "found"),
    [(-1, (-1, 3)), (-2, (-1, 0)), (-3, (1002, 2)), (-4, (-1, 0)), (-5, (-1, -1)), (1001, (1001, 1)), (2000, (-1, -1))],
)
def test_offsets_are_listed(timestamp: int, found: tuple[int, int]) -> None:
    partition = {"partition_index": 0, "timestamp": timestamp}
    values = {"topics": [{"name": TOPIC, "partitions": [partition]}]}
    (listed,) = ask_newest(node(), ApiKey.LIST_OFFSETS, values).topics[0].partitions
    assert (listed.timestamp, listed.offset, listed.error_code) == (*found, 0)


def test_the_end_of_the_only_epoch_is_the_end_of_the_log() -> None:
    def end(epoch: int) -> tuple[int, int]:
        topics = [{"topic": TOPIC, "partitions": [{"partition": 0, "leader_epoch": epoch}]}]
        (found,) = ask_newest(node(), ApiKey.OFFSET_FOR_LEADER_EPOCH, {"topics": topics}).topics[0].partitions
        return found.leader_epoch, found.end_offset

    assert (end(0), end(1)) == ((0, 3), (-1, -1))


def test_topics_are_created_extended_described_and_deleted() -> None:
    made = node()
    configs = [{"name": "retention.ms", "value": "5"}, {"name": "flush.ms", "value": "6"}]
    new = {"name": "new", "num_partitions": -1, "replication_factor": 3, "configs": configs}
    zero = {"name": "zero", "replication_factor": 1, "num_partitions": 0}
    asked = {"topics": [new, {"name": TOPIC, "num_partitions": 1}, zero]}
    checked = ask_newest(made, ApiKey.CREATE_TOPICS, {**asked, "validate_only": True})
    errors = [0, ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.INVALID_PARTITIONS]
    assert ([one.error_code for one in checked.topics], list(made.topics.by_name)) == (errors, [TOPIC])
    created = ask_newest(made, ApiKey.CREATE_TOPICS, asked)
    assert [one.error_code for one in created.topics] == errors
    assert created.topics[0].topic_id == made.topics.named("new").topic_id
    described = {"resource_type": 2, "resource_name": "new", "configuration_keys": ["flush.ms"]}
    unknown = {**described, "resource_name": "unknown"}
    body = ask_newest(made, ApiKey.DESCRIBE_CONFIGS, {"resources": [described, unknown]})
    assert [(one.name, one.value) for one in body.results[0].configs] == [("flush.ms", "6")]
    assert body.results[1].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    more = [{"name": name, "count": count, "assignments": None} for name, count in (("new", 4), (TOPIC, 2))]
    body = ask_newest(made, ApiKey.CREATE_PARTITIONS, {"topics": more})
    assert [one.error_code for one in body.results] == [0, ErrorCode.INVALID_PARTITIONS]
    assert len(made.topics.named("new").partitions) == 4
    ask_newest(made, ApiKey.OFFSET_COMMIT, examples(made)[ApiKey.OFFSET_COMMIT])
    body = ask_newest(made, ApiKey.DELETE_TOPICS, {"topics": [{"name": TOPIC}, {"name": "unknown"}]})
    assert [one.error_code for one in body.responses] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert list(made.topics.by_name) == ["new"] and made.groups[GROUP].offsets.committed == {}


def test_settings_are_shown_without_spaces_and_those_of_others_stay() -> None:
    made = node()
    configs = [{"name": "retention.ms", "value": " 5 "}]
    new = {"name": "new", "num_partitions": 1, "replication_factor": 1, "configs": configs}
    created = ask_newest(made, ApiKey.CREATE_TOPICS, {"topics": [new]}).topics[0]
    assert ("retention.ms", "5", 1) in [(one.name, one.value, one.config_source) for one in created.configs]
    assert ("flush.ms", 5) in [(one.name, one.config_source) for one in created.configs]
    assert made.topics.named(TOPIC).configs == {"retention.ms": "1000"}


def test_a_topic_that_is_created_again_has_another_id() -> None:
    made = node()
    before = made.topics.named(TOPIC)
    made.delete_topic(before)
    assert made.topics.create(TOPIC, 1).topic_id != before.topic_id
    assert produce(made, batch(b"x"), topic_id=before.topic_id).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_committed_offsets_are_fetched_by_name_by_id_and_all() -> None:
    made = node()
    ask_newest(made, ApiKey.OFFSET_COMMIT, examples(made)[ApiKey.OFFSET_COMMIT])
    for version in (2, 7, 8, 9, 10):
        both = {"name": TOPIC, "topic_id": made.topics.named(TOPIC).topic_id}
        for topics, expected in (([{**both, "partition_indexes": [0, 1]}], [2, -1]), (None, [2])):
            group = {"group_id": GROUP, "topics": topics}
            body = ask(made, request(ApiKey.OFFSET_FETCH, version, {**group, "groups": [group]}))
            (topic,) = (body.groups[0] if version >= 8 else body).topics
            assert getattr(topic, "name", TOPIC) == TOPIC
            assert [one.committed_offset for one in topic.partitions] == expected
            assert topic.partitions[0].metadata == "m"


def test_offsets_of_unknown_partitions_are_not_committed() -> None:
    made = node()
    partitions = [{"partition_index": index, "committed_offset": 5, "committed_metadata": None} for index in (1, 2)]
    values = {**examples(made)[ApiKey.OFFSET_COMMIT], "topics": [{"name": TOPIC, "partitions": partitions}]}
    body = ask(made, request(ApiKey.OFFSET_COMMIT, 9, values))
    assert error_codes(body) == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert {place: one.offset for place, one in made.groups[GROUP].offsets.committed.items()} == {(TOPIC, 1): 5}


@pytest.mark.parametrize(("version", "error"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_a_member_of_a_group_that_does_not_exist_commits_nothing(version: int, error: ErrorCode) -> None:
    made = node()
    values = {**examples(made)[ApiKey.OFFSET_COMMIT], "generation_id_or_member_epoch": 1, "member_id": "m"}
    assert error_codes(ask(made, request(ApiKey.OFFSET_COMMIT, version, values))) == [error]
    partitions = [{"partition_index": index, "committed_offset": 5, "committed_metadata": None} for index in (1, 2)]
    values["topics"] = [{"name": TOPIC, "partitions": partitions}]
    errors = [error, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert error_codes(ask(made, request(ApiKey.OFFSET_COMMIT, version, values))) == errors
    assert made.groups == {}


def test_members_of_a_group_that_does_not_exist_leave_it_with_an_error_each() -> None:
    values = {"group_id": "unknown", "members": [{"member_id": "a"}, {"member_id": "b"}]}
    assert error_codes(ask_newest(node(), ApiKey.LEAVE_GROUP, values)) == [0] + [ErrorCode.UNKNOWN_MEMBER_ID] * 2
    body = ask(node(), request(ApiKey.LEAVE_GROUP, 2, {"group_id": "unknown", "member_id": "a"}))
    assert body.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_groups_are_listed_described_and_deleted() -> None:
    made = node()
    joined = ask(made, request(ApiKey.JOIN_GROUP, 3, examples(made)[ApiKey.JOIN_GROUP]))
    body = ask_newest(made, ApiKey.LIST_GROUPS, {})
    (group,) = body.groups
    assert (group.group_id, group.group_state, group.group_type) == (GROUP, "CompletingRebalance", "classic")
    assert ask_newest(made, ApiKey.LIST_GROUPS, {"states_filter": ["Stable"]}).groups == []
    assert ask_newest(made, ApiKey.LIST_GROUPS, {"types_filter": ["consumer"]}).groups == []
    body = ask_newest(made, ApiKey.DESCRIBE_GROUPS, {"groups": [GROUP, "unknown"]})
    assert [one.member_id for one in body.groups[0].members] == [joined.member_id]
    assert body.groups[0].members[0].client_id == "tests"
    assert (body.groups[1].error_code, body.groups[1].group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    body = ask_newest(made, ApiKey.DELETE_GROUPS, {"groups_names": [GROUP, "unknown"]})
    assert error_codes(body) == [ErrorCode.NON_EMPTY_GROUP, ErrorCode.GROUP_ID_NOT_FOUND]
    ask(made, request(ApiKey.LEAVE_GROUP, 2, {"group_id": GROUP, "member_id": joined.member_id}))
    assert error_codes(ask_newest(made, ApiKey.DELETE_GROUPS, {"groups_names": [GROUP]})) == [0]
    assert made.groups == {}


def test_a_member_that_dies_while_the_others_wait_for_it_does_not_hold_them_up() -> None:
    made = node()
    joining = {**examples(made)[ApiKey.JOIN_GROUP], "session_timeout_ms": 100, "rebalance_timeout_ms": 600_000}
    ask(made, request(ApiKey.JOIN_GROUP, 3, joining))
    second = ask(made, request(ApiKey.JOIN_GROUP, 3, {**joining, "session_timeout_ms": 600_000}))
    assert (second.generation_id, second.leader) == (2, second.member_id)


def test_names_of_groups_and_protocols_are_checked() -> None:
    made = node()
    joining = examples(made)[ApiKey.JOIN_GROUP]
    body = ask(made, request(ApiKey.JOIN_GROUP, 3, {**joining, "group_id": ""}))
    assert body.error_code == ErrorCode.INVALID_GROUP_ID
    body = ask(made, request(ApiKey.JOIN_GROUP, 3, {**joining, "session_timeout_ms": 0}))
    assert body.error_code == ErrorCode.INVALID_SESSION_TIMEOUT
    joined = ask(made, request(ApiKey.JOIN_GROUP, 3, joining))
    protocol = {"protocol_type": "consumer", "protocol_name": "range"}
    sync = {"group_id": GROUP, "generation_id": 1, "member_id": joined.member_id, **protocol}
    for wrong in ({"protocol_name": "sticky"}, {"protocol_type": "connect"}, {"protocol_name": None}):
        body = ask_newest(made, ApiKey.SYNC_GROUP, {**sync, **wrong})
        assert body.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert ask_newest(made, ApiKey.SYNC_GROUP, {**sync, "group_id": "h"}).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_request_that_nobody_knows_closes_the_connection() -> None:
    from kipwire.connection import Request

    for frame in (bytes.fromhex("7fff 0000 00000001 ffff"), bytes.fromhex("0000 7fff 00000001 ffff")):
        with pytest.raises(NoAnswer):
            asyncio.run(answer(node(), Request(REGISTRY, frame), None))
