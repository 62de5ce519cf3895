"""Specs of forks and of older releases of Kafka are read as Kafka's own generator reads them, with warnings."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest

from kipgen.language.problems import Problem
from kipgen.reading.check import read_file, read_folder
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
