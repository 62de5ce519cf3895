"""A refusal has the error code wherever the response has codes, with a row for whatever the request names."""

from __future__ import annotations

from typing import Any

import kafka_messages
from kipwire import Message, Struct, asdict, build
from kipwire.connection import refusal
from tests.support.cases import of_each

REGISTRY = kafka_messages.REGISTRY
CODE = 29
REQUESTS = [
    (name, version)
    for name in REGISTRY.names()
    if REGISTRY.entry(name).type == "request"
    for version in REGISTRY.versions(name)
]


def filled(cls: type[Struct]) -> dict[str, Any]:
    """Return values in which each array has one element."""
    values: dict[str, Any] = {}
    for field in cls.ATTRIBUTES:
        if field.struct is not None:
            values[field.name] = [filled(field.struct)] if field.array else filled(field.struct)
        elif field.array and field.element in ("string", "int32"):
            values[field.name] = ["x"] if field.element == "string" else [3]
    return values


def codes(struct: Struct) -> list[int]:
    """Return every error code of a response."""
    found = []
    for field in struct.ATTRIBUTES:
        value = getattr(struct, field.name)
        if field.name in ("error_code", "partition_error_code"):
            found.append(value)
        elif field.struct is not None:
            for one in (value or ()) if field.array else [value]:
                found += codes(one) if one is not None else []
    return found


@of_each("name, version", REQUESTS, together=lambda name, version: name[:1])
def test_each_request_is_refused_in_each_version(name: str, version: int) -> None:
    cls: Any = REGISTRY.message(name, version)
    response = refusal(build(cls, filled(cls)), CODE, "because")
    assert type(response) is cls.RESPONSE
    assert set(codes(response)) == {CODE}
    assert type(response).decode(response.encode()) == response


def values_of(request: Message) -> dict[str, Any]:
    return asdict(refusal(request, CODE, "because"))


def made(name: str, version: int, **values: Any) -> Message:
    return build(REGISTRY.message(f"{name}Request", version), values)


def test_rows_repeat_what_names_the_elements_of_the_request() -> None:
    topics = [
        {"name": "a", "partitions": [{"partition_index": 4}, {"partition_index": 7}]},
        {"name": "b", "partitions": []},
    ]
    found = values_of(made("ListOffsets", 5, topics=topics))["topics"]
    assert [(one["name"], [row["partition_index"] for row in one["partitions"]]) for one in found] == [
        ("a", [4, 7]),
        ("b", []),
    ]


def test_refusals_repeat_names_alone() -> None:
    assert values_of(made("SaslAuthenticate", 2, auth_bytes=b"secret"))["auth_bytes"] == b""
    partitions = [{"partition_index": 4, "timestamp": 5, "current_leader_epoch": 6}]
    (topic,) = values_of(made("ListOffsets", 5, topics=[{"name": "a", "partitions": partitions}]))["topics"]
    (partition,) = topic["partitions"]
    assert (partition["timestamp"], partition["offset"], partition["leader_epoch"]) == (-1, -1, -1)
    assert values_of(made("InitProducerId", 4, producer_id=7, producer_epoch=8))["producer_id"] == -1
    assert values_of(made("Fetch", 12, session_id=9))["session_id"] == 9  # as in Kafka: the session goes on


def test_partitions_have_another_name_in_the_response() -> None:
    topics = [{"topic": "a", "partitions": [{"partition": 4}]}]
    forgotten = [{"topic": "gone", "partitions": [5]}]
    found = values_of(made("Fetch", 12, topics=topics, forgotten_topics_data=forgotten))
    assert found["error_code"] == CODE
    (topic,), (partition,) = (found["responses"], found["responses"][0]["partitions"])
    assert (topic["topic"], partition["partition_index"], partition["error_code"]) == ("a", 4, CODE)


def test_elements_that_are_no_structs_have_rows() -> None:
    assert [one["group_id"] for one in values_of(made("DescribeGroups", 5, groups=["g", "h"]))["groups"]] == ["g", "h"]
    assert [one["key"] for one in values_of(made("FindCoordinator", 4, coordinator_keys=["k"]))["coordinators"]] == [
        "k"
    ]
    (topic,) = values_of(made("OffsetFetch", 1, topics=[{"name": "a", "partition_indexes": [1, 2]}]))["topics"]
    assert [one["partition_index"] for one in topic["partitions"]] == [1, 2]


def test_rows_of_several_arrays_and_of_inner_ones() -> None:
    users = made("AlterUserScramCredentials", 0, deletions=[{"name": "a"}], upsertions=[{"name": "b"}])
    assert [one["user"] for one in values_of(users)["results"]] == ["a", "b"]
    dirs = [
        {"path": "/x", "topics": [{"name": "a", "partitions": [1]}]},
        {"path": "/y", "topics": [{"name": "b", "partitions": [2]}]},
    ]
    found = values_of(made("AlterReplicaLogDirs", 1, dirs=dirs))["results"]
    assert [(one["topic_name"], one["partitions"][0]["partition_index"]) for one in found] == [("a", 1), ("b", 2)]


def test_rows_without_names_are_as_many_as_the_elements() -> None:
    assert len(values_of(made("CreateAcls", 1, creations=[{}, {}]))["results"]) == 2
    entity = [{"entity_type": "user", "entity_name": "a"}, {"entity_type": "client-id", "entity_name": None}]
    (entry,) = values_of(made("AlterClientQuotas", 1, entries=[{"entity": entity, "ops": []}]))["entries"]
    assert (entry["entity"], entry["error_code"], entry["error_message"]) == (entity, CODE, "because")


def test_a_response_with_a_code_of_its_own_needs_no_rows_of_unknown_things() -> None:
    topics = [{"topic": "a", "partitions": [1]}]
    assert values_of(made("DescribeLogDirs", 4, topics=topics)) == {
        "throttle_time_ms": 0,
        "error_code": CODE,
        "results": [],
    }
    assert values_of(made("Metadata", 12, topics=None))["topics"] == []
