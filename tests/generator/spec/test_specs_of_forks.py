"""Specs of forks and of older releases of Kafka are read as Kafka's own generator reads them, with warnings."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from kipgen.language.problems import Problem
from kipgen.reading.check import read_file, read_folder, reader_with
from kipwire import asdict, build
from tests.support.places import ROOT
from tests.support.spec_package import generated

CASES = ROOT / "tests" / "data" / "cases"


def problems_of(case: str, *, kafka: bool = False) -> list[Problem]:
    # Whether Kafka takes headerVersions depends on its release, so every request has that warning.
    return [one for one in read_folder(CASES / case, kafka=kafka)[1] if one.rule != "kafka-header-versions"]


def test_own_words_for_entity_types_are_warnings_and_the_messages_are_generated(tmp_path: Path) -> None:
    found = problems_of("own-entity-types")
    assert [(one.rule, one.severity) for one in found] == [("entity-type-of-kafka", "warning")] * 2
    assert found[1].text.startswith("laneId is no entity type of Kafka; Kafka's are transactionalId,")
    assert [one.severity for one in problems_of("own-entity-types", kafka=True)] == ["error"] * 2
    with generated(CASES / "own-entity-types", f"forked_{uuid.uuid4().hex}", tmp_path) as package:
        cls = package.message("OpenLaneRequest", 0)
        assert cls(node_id=1, lane_id=2).encode() == bytes.fromhex("00000001000000000000000200")
        assert [field.entity_type for field in cls.FIELDS] == ["nodeId", "laneId"]


@pytest.mark.parametrize(
    ("word", "rule", "said"),
    [
        ("topicname", "entity-type-of-kafka", "did you mean topicName?"),
        ("two words", "unknown-word", "'entityType' is 'two words'; write a word of letters and digits"),
        ("", "unknown-word", "write a word of letters and digits"),
        ('"; import os', "unknown-word", "write a word of letters and digits"),
        (5, "wrong-kind", "'entityType' is the number 5; write a string"),
    ],
)
def test_what_is_no_word_stays_an_error(word: Any, rule: str, said: str, tmp_path: Path) -> None:
    field = {"name": "Lane", "type": "string", "versions": "0+", "entityType": word}
    spec = {"type": "data", "name": "Probe", "validVersions": "0", "flexibleVersions": "none", "fields": [field]}
    (tmp_path / "Probe.json").write_text(json.dumps(spec))
    (found,) = read_file(tmp_path / "Probe.json").problems
    assert (found.rule, found.severity) == (rule, "warning" if rule == "entity-type-of-kafka" else "error")
    assert said in found.text


def test_a_missing_flexible_versions_says_none_for_what_was_released() -> None:
    expected = "'flexibleVersions' is missing; add \"none\" for a message that was released without it"
    found = problems_of("without-flexible-versions")
    assert [one.text.startswith(expected) for one in found] == [True, True]


def test_a_key_with_one_value_twice_is_a_warning_and_with_two_values_an_error(tmp_path: Path) -> None:
    for kafka in (False, True):
        (found,) = problems_of("key-given-twice", kafka=kafka)
        assert (found.rule, found.severity) == ("repeated-key", "warning")
        assert found.text == "'versions' has this value in line 5 already; keep one of the two"


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ('"a"', '"\\u0061"', True),
        ("1", "1 /* again */", True),
        ('[{"a": 1, "b": [2]}]', '[ {"b": [2], "a": 1} ]', True),
        ("1", "1.0", False),
        ("1.0", "1.00", False),
        ("1", "true", False),
        ("0", "false", False),
        ("[1]", "[1, 1]", False),
        ('{"a": 1}', '{"a": 1, "a": 1}', True),
        ('{"a": 1}', '{"a": 1, "a": 2}', False),
        ("null", '""', False),
    ],
)
def test_values_are_the_same_where_they_are_written_alike(
    first: str, second: str, is_same: bool, tmp_path: Path
) -> None:
    head = '"type": "data", "name": "Probe", "validVersions": "0", "flexibleVersions": "none", "fields": []'
    (tmp_path / "Probe.json").write_text(f'{{{head}, "x": {first}, "x": {second}}}')
    rules = {one.rule for one in read_file(tmp_path / "Probe.json").problems}
    assert rules & {"repeated-key", "duplicate-key"} == {"repeated-key" if is_same else "duplicate-key"}


@pytest.mark.parametrize("name", ["Con", "NUL", "Aux", "Prn", "Com1", "LPT9"])
def test_messages_named_like_devices_of_windows_are_warned_of(name: str, tmp_path: Path) -> None:
    spec = {"type": "data", "name": name, "validVersions": "0", "flexibleVersions": "none", "fields": []}
    (tmp_path / "Probe.json").write_text(json.dumps(spec))
    (found,) = read_file(tmp_path / "Probe.json").problems
    assert (found.rule, found.severity) == ("windows-device", "warning")
    assert found.text.startswith(f"its folder {name.lower()} cannot be made on Windows")


def _field(name: str, type_: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, "versions": "0+", "about": f"The {name}.", **more}


PARTITIONS = [_field("PartitionId", "int32"), _field("DisklessStartOffset", "int64")]
TOPICS = [_field("TopicId", "uuid"), _field("Partitions", "[]PartitionData", fields=PARTITIONS)]
STREAMS = [_field("StreamId", "int64", entityType="streamId"), _field("StreamEpoch", "int64", entityType="streamEpoch")]
FORKS: dict[str, tuple[int, list[dict[str, Any]], dict[str, Any], str]] = {
    # AutoMQ: words of its own for entityType.
    "OpenStreams": (
        502,
        [
            _field("NodeId", "int32", entityType="nodeId"),
            _field("NodeEpoch", "int64", entityType="nodeEpoch"),
            _field("OpenStreamRequests", "[]OpenStreamRequest", fields=STREAMS),
        ],
        {"node_id": 1, "node_epoch": 2, "open_stream_requests": [{"stream_id": 3, "stream_epoch": 4}]},
        "00000001 0000000000000002 02 0000000000000003 0000000000000004 00 00",
    ),
    # LinkedIn: no listeners; the bytes are from a test of its Java classes.
    "LiControlledShutdownSkipSafetyCheck": (
        1000,
        [_field("BrokerId", "int32", entityType="brokerId"), _field("BrokerEpoch", "int64")],
        {"broker_id": 7, "broker_epoch": 99},
        "00000007000000000000006300",
    ),
    # Inkless: structs of three levels.
    "InitDisklessLog": (
        500,
        [_field("BrokerId", "int32", entityType="brokerId"), _field("Topics", "[]TopicData", fields=TOPICS)],
        {
            "broker_id": 1,
            "topics": [{"topic_id": uuid.UUID(int=5), "partitions": [{"partition_id": 2, "diskless_start_offset": 3}]}],
        },
        f"00000001 02 {'00' * 15}05 02 00000002 0000000000000003 00 00 00",
    ),
    # Redpanda: a key far from Kafka's, an array that may be null.
    "DescribeRedpandaRoles": (
        15000,
        [_field("RoleNameFilters", "[]RoleNameFilter", nullableVersions="0+", fields=[_field("Name", "string")])],
        {"role_name_filters": [{"name": "ops"}]},
        "02 04 6f7073 00 00",
    ),
    # Tansu, with Kafka 3.7 to 3.9: a key twice.
    "DescribeTopicPartitions": (
        75,
        [_field("Topics", "[]TopicRequest", fields=[_field("Name", "string", entityType="topicName")])],
        {"topics": [{"name": "tea"}]},
        "02 04 746561 00 00",
    ),
}
AUTOMQ = {"nodeId": "int32", "nodeEpoch": "int64", "streamId": "int64", "streamEpoch": "int64"}


def test_specs_of_five_forks_are_generated_by_the_names_that_they_use(tmp_path: Path) -> None:
    specs = tmp_path / "specs"
    specs.mkdir()
    for name, (key, fields, _, _) in FORKS.items():
        head = {"apiKey": key, "validVersions": "0", "flexibleVersions": "0+"}
        request = {**head, "type": "request", "name": f"{name}Request", "listeners": [], "fields": fields}
        response = {**head, "type": "response", "name": f"{name}Response", "fields": [_field("ErrorCode", "int16")]}
        for spec in (request, response):
            text = json.dumps(spec)
            if name == "DescribeTopicPartitions":
                text = text.replace('"about"', '"versions": "0+", "about"')
            (specs / f"{spec['name']}.json").write_text(text)
    found = read_folder(specs)[1]
    assert {one.rule for one in found} == {"entity-type-of-kafka", "repeated-key"}
    declared = read_folder(specs, read=reader_with(AUTOMQ))[1]
    assert {one.rule for one in declared} == {"repeated-key"}
    assert {one.severity for one in (*found, *declared)} == {"warning"}
    with generated(specs, f"forks_{uuid.uuid4().hex}", tmp_path) as package:
        for name, (key, _, values, data) in FORKS.items():
            cls = package.message(f"{name}Request", 0)
            assert key == cls.API_KEY
            assert build(cls, values).encode() == bytes.fromhex(data)
            assert asdict(cls.decode(bytes.fromhex(data))).items() >= values.items()
