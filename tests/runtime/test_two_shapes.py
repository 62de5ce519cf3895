"""Messages whose newer versions carry several of what older ones carry one of are converted as in Java's client."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

import kafka_messages
import kipwire
from kipwire import ConversionError, Loss, Message
from kipwire.message.shapes import SHAPES
from tests.support.property_checks import for_all, messages_of

Converter = Callable[..., Message]
CONVERTERS = {"as installed": kipwire.convert, "Python": inspect.unwrap(kipwire.convert)}
ID = UUID(int=7)
PARTITIONS = [{"partition_index": 1, "committed_offset": 4, "metadata": "m"}]
TOPICS = [{"name": "a", "partitions": PARTITIONS}]
BROKER = {"node_id": 3, "host": "h", "port": 9092}

CASES: dict[str, tuple[str, int, dict[str, Any], int, dict[str, Any], list[str]]] = {
    "a member leaves": (
        *("LeaveGroupRequest", 5, {"group_id": "g", "members": [{"member_id": "a", "reason": "r"}]}),
        *(2, {"group_id": "g", "member_id": "a"}, ["members[0].reason"]),
    ),
    "a member left, read by a newer server": (
        *("LeaveGroupRequest", 0, {"group_id": "g", "member_id": "a"}),
        *(3, {"group_id": "g", "members": [{"member_id": "a"}]}, ["members[0].group_instance_id"]),
    ),
    "a member may not leave": (
        "LeaveGroupResponse",
        5,
        {"members": [{"member_id": "", "group_instance_id": None, "error_code": 25}]},
        *(2, {"error_code": 25}, []),
    ),
    "one key": (
        "FindCoordinatorRequest",
        6,
        {"key_type": 1, "coordinator_keys": ["a"]},
        1,
        {"key_type": 1, "key": "a"},
        [],
    ),
    "one key, read by a newer server": ("FindCoordinatorRequest", 0, {"key": "a"}, 4, {"coordinator_keys": ["a"]}, []),
    "one coordinator": (
        *("FindCoordinatorResponse", 2, {**BROKER, "error_message": None}),
        *(4, {"coordinators": [{**BROKER, "error_message": None}]}, ["coordinators[0].key"]),
    ),
    "one coordinator, for an older client": (
        *("FindCoordinatorResponse", 4, {"coordinators": [{**BROKER, "key": "a", "error_message": None}]}),
        *(0, BROKER, ["coordinators[0].key"]),
    ),
    "one group": (
        "OffsetFetchRequest",
        9,
        {"groups": [{"group_id": "g", "member_epoch": 3, "topics": [{"name": "a", "partition_indexes": [1]}]}]},
        1,
        {"group_id": "g", "topics": [{"name": "a", "partition_indexes": [1]}]},
        ["groups[0].member_epoch"],
    ),
    "all topics of one group": (
        *("OffsetFetchRequest", 8, {"groups": [{"group_id": "g", "topics": None}]}),
        *(7, {"group_id": "g", "topics": None}, []),
    ),
    "offsets of one group": (
        *("OffsetFetchResponse", 3, {"topics": TOPICS, "error_code": 16}),
        *(9, {"groups": [{"topics": TOPICS, "error_code": 16}]}, ["groups[0].group_id"]),
    ),
    "an error code alone, which is ignorable": (
        *("OffsetFetchResponse", 7, {"error_code": 16}),
        *(8, {"groups": [{"error_code": 16}]}, ["groups[0].group_id"]),
    ),
    "topics by name": (
        *("DeleteTopicsRequest", 6, {"topics": [{"name": "a"}, {"name": "b"}], "timeout_ms": 9}),
        *(5, {"topic_names": ["a", "b"], "timeout_ms": 9}, []),
    ),
    "names, which are ignorable, read by a newer server": (
        *("DeleteTopicsRequest", 1, {"topic_names": ["a", "b"]}),
        *(6, {"topics": [{"name": "a"}, {"name": "b"}]}, ["topics[0].topic_id"]),
    ),
}
"""Message, version and values before; version and values after; what a list of losses begins with, in its order."""


def made(name: str, version: int, values: dict[str, Any]) -> Message:
    return kipwire.build(kafka_messages.message(name, version), values)


@pytest.mark.parametrize("convert", CONVERTERS.values(), ids=CONVERTERS)
def test_one_becomes_one(convert: Converter) -> None:
    for case, (name, version, values, other, expected, paths) in CASES.items():
        message = made(name, version, values)
        lost: list[Loss] = []
        assert convert(message, other) == made(name, other, expected), case
        assert convert(message, other, lost=lost) == made(name, other, expected), case
        assert [one.path[: len(path)] for one, path in zip(lost, paths, strict=False)] == paths, (case, lost)
        assert bool(lost) == bool(paths), (case, lost)


SEVERAL: dict[tuple[str, int, int], dict[str, Any]] = {
    ("LeaveGroupRequest", 5, 2): {"members": [{"member_id": "a"}, {"member_id": "b"}]},
    ("LeaveGroupRequest", 4, 1): {"members": [{"member_id": "a", "group_instance_id": "i"}]},
    ("LeaveGroupResponse", 3, 2): {"members": 2 * [{"member_id": "a", "group_instance_id": None, "error_code": 0}]},
    ("FindCoordinatorRequest", 6, 3): {"coordinator_keys": ["a", "b"]},
    ("FindCoordinatorResponse", 4, 3): {"coordinators": [BROKER, BROKER]},
    ("OffsetFetchRequest", 8, 7): {"groups": [{"group_id": "g"}, {"group_id": "h"}]},
    ("OffsetFetchRequest", 10, 7): {"groups": [{"group_id": "g", "topics": [{"topic_id": ID}]}]},
    ("OffsetFetchResponse", 8, 7): {"groups": [{"group_id": "g"}, {"group_id": "h"}]},
    ("DeleteTopicsRequest", 6, 5): {"topics": [{"name": "a"}, {"topic_id": ID}]},
    ("AddPartitionsToTxnRequest", 4, 3): {"transactions": [{"transactional_id": "t"}]},
    ("AddPartitionsToTxnResponse", 5, 2): {"results_by_transaction": [{"transactional_id": "t"}]},
}


@pytest.mark.parametrize("convert", CONVERTERS.values(), ids=CONVERTERS)
def test_several_become_an_error_that_names_the_version_to_write_for(convert: Converter) -> None:
    for (name, version, other), values in SEVERAL.items():
        with pytest.raises(ConversionError) as caught:
            convert(made(name, version, values), other)
        since = SHAPES[name, kafka_messages.REGISTRY.entry(name).api_key or 0].since
        assert str(caught.value).endswith(f"; to reach older peers, too, write for version {since - 1}"), name


@pytest.mark.parametrize("convert", CONVERTERS.values(), ids=CONVERTERS)
def test_values_of_wrong_types_are_an_error_of_conversion_or_of_encoding(convert: Converter) -> None:
    for name, version, other, values in (
        ("LeaveGroupRequest", 5, 2, {"members": 3}),
        ("LeaveGroupRequest", 5, 2, {"members": [3]}),
        ("FindCoordinatorRequest", 6, 3, {"coordinator_keys": None}),
        ("DeleteTopicsRequest", 6, 5, {"topics": [{"name": "a", "topic_id": "x"}]}),
        ("OffsetFetchRequest", 9, 7, {"groups": [{"topics": 7}]}),
    ):
        with pytest.raises(ConversionError):
            convert(kafka_messages.message(name, version)(**values), other)


@pytest.mark.parametrize("convert", CONVERTERS.values(), ids=CONVERTERS)
def test_unknown_tagged_fields_of_a_wrong_type_are_an_error_of_conversion(convert: Converter) -> None:
    message: Any = kipwire.build(kafka_messages.message("LeaveGroupRequest", 5), {"members": [{"member_id": "a"}]})
    message.members[0].unknown_tagged_fields = ["x"]
    with pytest.raises(ConversionError):
        convert(message, 2)


def test_what_has_the_old_shape_comes_back_from_the_new_one() -> None:
    for (name, _), shapes in SHAPES.items():
        if shapes.to_new is None:
            continue
        old = kafka_messages.message(name, shapes.since - 1)

        def comes_back(message: Message, version: int = shapes.since) -> None:
            assert kipwire.convert(kipwire.convert(message, version), type(message)) == message

        for_all(comes_back, messages_of(old))
