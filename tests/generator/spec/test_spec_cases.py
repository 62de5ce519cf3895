"""Spec files are accepted or refused as in the description of the language."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from kipgen.reading.check import read_file, read_folder
from kipgen.resources import schema_path
from tests.support.cases import of_each, some
from tests.support.places import DATA

if TYPE_CHECKING:
    from kipgen.language.problems import Problem

CASES = [json.loads(line) for line in (DATA / "spec-cases.jsonl").read_text("utf-8").splitlines()]


def _problems(case: dict[str, Any], folder: Path) -> tuple[Problem, ...]:
    messages = case["spec"].get("messages")
    if messages is None:
        file = folder / "Probe.json"
        file.write_text(json.dumps(case["spec"]), encoding="utf-8")
        return read_file(file).problems
    for index, message in enumerate(messages):
        (folder / f"{index}.json").write_text(json.dumps(message), encoding="utf-8")
    return read_folder(folder)[1]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_verdict(case: dict[str, Any], tmp_path: Path) -> None:
    errors = [str(problem) for problem in _problems(case, tmp_path) if problem.severity == "error"]
    assert bool(errors) == (case["expect"] == "error"), (case["why"], errors)
    assert len(errors) <= 1, "one mistake, one error"


VALIDATOR = Draft202012Validator(json.loads(schema_path().read_text("utf-8")))


@of_each(
    "case",
    [case for case in CASES if case["expect"] == "ok"],
    together=lambda case: "accepted",
    label=lambda case: str(case["name"]),
)
def test_editor_accepts_what_is_accepted(case: dict[str, Any]) -> None:
    for message in case["spec"].get("messages", [case["spec"]]):
        assert VALIDATOR.is_valid(message)


def test_schema_is_valid_and_explains_every_property() -> None:
    schema: Any = VALIDATOR.schema
    Draft202012Validator.check_schema(schema)
    for holder in (schema, *schema["$defs"].values()):
        for name, described in holder.get("properties", {}).items():
            _, *steps = described.get("$ref", "#").split("/")
            referred = functools.reduce(lambda part, step: part[step], steps, schema) if steps else {}
            text = described.get("description") or referred.get("description", "")
            assert text.endswith(".") or described.get("doNotSuggest"), name


ODD_VALUES: list[object] = [None, True, 0, -1, 1.5, 10**30, "", " ", "x", "9" * 5000, [], [0], {}, {"x": 0}, [[]]]


def _places(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for step, item in below for place in _places(item, (*path, step)))]


def _replaced(value: Any, path: tuple[str | int, ...], odd: object) -> object:
    if not path:
        return odd
    copy = value.copy()
    copy[path[0]] = _replaced(value[path[0]], path[1:], odd)
    return copy


LEAF = {"name": "Leaf", "type": "uuid", "versions": "0+", "default": "AAAAAAAAAAAAAAAAAAAAAQ"}
RICH: dict[str, Any] = {
    "name": "ProbeRequest",
    "$schema": "message-spec.schema.json",
    "type": "request",
    "apiKey": 900,
    "listeners": ["broker"],
    "validVersions": "0-3",
    "servedVersions": "1+",
    "flexibleVersions": "2+",
    "headerVersions": {"0-1": "1", "2+": 2},
    "deprecatedVersions": "0",
    "latestVersionUnstable": False,
    "closedTaggedVersions": True,
    "noNewVersions": True,
    "about": "A probe.",
    "fields": [
        {"name": "Alpha", "type": "int32", "versions": "0+", "encoding": {"0-1": "fixed32", "2+": "packed32"}},
        {"name": "Beta", "type": "[]Inner", "versions": "0+", "fields": [LEAF]},
        {"name": "Gamma", "type": "Shared", "taggedVersions": "2+", "tag": 0, "nullableVersions": "2+", "default": ""},
        {"name": "Delta", "type": "bytes", "versions": "0+", "flexibleVersions": "none", "zeroCopy": True},
        {"name": "Eps", "type": "string", "versions": "0+", "entityType": "topicName", "ignorable": "false"},
    ],
    "commonStructs": [{"name": "Shared", "versions": "0+", "fields": [LEAF]}],
}

RICH_LAYOUT: dict[str, Any] = {
    "name": "Probe",
    "type": "layout",
    "validVersions": "0-3",
    "fields": [
        {"name": "Size", "type": "int32", "versions": "0+", "sizeOf": "rest", "encoding": "packed32"},
        {"name": "Crc", "type": "uint32", "versions": "0+", "checksum": {"algorithm": "crc32", "from": "Magic"}},
        {"name": "Magic", "type": "int8", "versions": "0+", "constant": "version"},
        {"name": "Flags", "type": "int16", "versions": "0+", "bits": [{"name": "Has", "bits": "4", "about": "A bit."}]},
        {"name": "Ids", "type": "[]int32", "versions": "0+", "count": "varint"},
        {"name": "Sizes", "type": "[]int32", "versions": "0+", "sameLengthAs": "Ids"},
        {"name": "Set", "type": "[]Inner", "versions": "0+", "size": "int16", "sorted": True, "fields": [
            {"name": "Id", "type": "int32", "versions": "0+", "mapKey": True}]},
        {"name": "More", "type": "int8", "versions": "0+", "bits": [{"name": "Needs", "bits": "0"}]},
        {"name": "Text", "type": "string", "versions": "0+", "nullableVersions": "0+", "requiredIf": "Needs"},
        {"name": "Key", "type": "string", "versions": "0+", "size": "uvarint", "sizeOnlyWith": "Value"},
        {"name": "Value", "type": "bytes", "versions": "0+", "size": "rest", "absentIf": "Has",
         "nullableVersions": "0+"},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("spec", "path"),
    [(spec, path) for spec in (RICH, RICH_LAYOUT) for path in _places(spec)],
    ids=lambda value: value["type"] if isinstance(value, dict) else str(value),
)
def test_any_value_anywhere_is_judged_without_a_crash(
    spec: dict[str, Any], path: tuple[str | int, ...], tmp_path: Path
) -> None:
    file = tmp_path / "Probe.json"
    for odd in some(ODD_VALUES):
        file.write_text(json.dumps(_replaced(spec, path, odd)), encoding="utf-8")
        for kafka in (False, True):
            checked = read_file(file, kafka=kafka)
            assert (checked.spec is None) == any(problem.severity == "error" for problem in checked.problems)
        if checked.spec is not None:
            assert VALIDATOR.is_valid(json.loads(file.read_text("utf-8"))), "an editor refuses what is accepted"
    assert read_folder(tmp_path)[1]


@pytest.mark.parametrize("spec", [RICH, RICH_LAYOUT], ids=["request", "layout"])
def test_spec_with_every_property_is_accepted(spec: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "Probe.json"
    file.write_text(json.dumps(spec), encoding="utf-8")
    assert read_file(file).problems == ()
