"""Layouts in the spec language: the text and place of each problem of a wrong one; every accepted layout works."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from kipgen.reading.check import Checked, read_file, read_folder
from kipgen.reading.rules.examples import ALPHA, layout
from tests.support.cases import THOROUGH
from tests.support.defaults import of_defaults
from tests.support.places import ROOT
from tests.support.spec_package import modules_of
from tests.support.subjects.random_specs import random_layouts

FLAGS = """{"name": "Flags", "type": "int8", "versions": "0+", "bits": [
{"name": "Has", "bits": "0"}, {"name": "Two", "bits": "1-2"}]}"""


def _check(folder: Path, text: str, *, kafka: bool = False) -> Checked:
    file = folder / "Probe.json"
    file.write_text(text, encoding="utf-8")
    return read_file(file, "Probe.json", kafka=kafka)


# Problems and their places. The first field is in line 5.


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            ['{"name": "Magic", "type": "int8", "versions": "0+",\n"constant": "two"}'],
            "6:13: Probe.Magic: constant-value: 'two' is not a constant; write a whole number, or version",
        ),
        (
            ['{"name": "Flags", "type": "int8", "versions": "0+", "bits": [\n{"name": "Two", "bits": "2-1"}]}'],
            "6:25: Probe.Flags: bits-range: '2-1' has its ends in the wrong order; write 1-2",
        ),
        (
            ['{"name": "Flags", "type": "int8", "versions": "0+", "bits": [\n{"name": "Two", "bits": "low"}]}'],
            "6:25: Probe.Flags: bits-range: 'low' is not a bit or a range of bits; write 4 or 0-2, for example",
        ),
        (
            ['{"name": "Flags", "type": "int8", "versions": "0+",\n"bits": {"name": "2", "bits": 1}}'],
            "6:18: Probe.Flags: name-form: '2' is not a valid name; start with a letter, then use letters and digits",
        ),
        (
            [FLAGS.replace("1-2", "7-8")],
            "6:55: Probe.Flags: bits-width: int8 has no bit 8; write bits from 0 to 7",
        ),
        (
            [FLAGS.replace("1-2", "0-2")],
            "6:55: Probe.Flags: bits-overlap: bit 0 already belongs to Has; use other bits",
        ),
        (
            [FLAGS.replace("Two", "has")],
            "6:40: Probe.Flags: bits-name: as Has in line 5, it becomes 'has' in generated code; choose another name",
        ),
        (
            [
                '{"name": "Crc", "type": "int32", "versions": "0+", "checksum": {\n'
                '"from": "Body", "algorithm": "crc32"}}'
            ],
            "6:9: Probe.Crc: checksum-from: the same struct has no other field Body; " "name the first field to cover",
        ),
        (
            ['{"name": "Alpha", "type": "int32", "versions": "0+", "tag": 0,\n"taggedVersions": "0+"}'],
            "5:65: Probe.Alpha: not-in-layouts: a layout has no tagged fields; leave tag and taggedVersions out",
        ),
        (
            [FLAGS, '{"name": "Alpha", "type": "bytes", "versions": "0+",\n"absentIf": "Hass"}'],
            "8:13: Probe.Alpha: presence-bit: no earlier field has a bit Hass; "
            "name an existing bit, or give a bit of an integer this name",
        ),
        (
            [
                '{"name": "Alpha", "type": "[]Inner", "versions": "0+", "fields": [\n' + ALPHA + ', {"name": "Rest",\n'
                '"type": "bytes", "versions": "0+", "size": "rest"}]}'
            ],
            "5:31: Probe.Alpha: endless-element: in version 0, the end of an element is unknown: "
            "Inner goes on to the end; give it a sizeOf before its rest",
        ),
        (
            ['{"name": "Kind", "type": "int16", "versions": "1+",\n"required": true}'],
            "5:51: Probe.Kind: required-field: a required field has all versions of the message; "
            'write "versions": "0+"',
        ),
        (
            ['{"name": "Kind", "type": "int16", "versions": "0+",\n"required": true, "constant": 1}'],
            "6:13: Probe.Kind: no-attribute: a field with constant cannot have required; leave one of the two out",
        ),
        (
            [
                '{"name": "Alpha", "type": "[]Inner", "versions": "0+", "fields": [\n{"name": "Kind",\n'
                '"type": "int16", "versions": "0+", "required": "true"}]}'
            ],
            "7:48: Probe.Alpha.Kind: required-field: only a field of the message itself can be required; "
            "leave required out",
        ),
        (
            ['{"name": "Kind", "type": "string", "versions": "0+",\n"required": true}'],
            "6:13: Probe.Kind: wire-form-type: string cannot have required; leave it out, only integers can have it",
        ),
    ],
)
def test_problem_names_the_place_within_the_property(fields: list[str], said: str, tmp_path: Path) -> None:
    (problem,) = _check(tmp_path, layout(*fields)).problems
    assert str(problem) == f"Probe.json:{said}"


def test_property_of_layouts_elsewhere_is_refused_each_by_itself(tmp_path: Path) -> None:
    field = '{"name": "Alpha", "type": "[]Inner", "versions": "0+", "size": "rest", "sorted": true, "fields": [%s]}'
    text = layout(field % ALPHA).replace("layout", "data")
    assert [str(problem) for problem in _check(tmp_path, text).problems] == [
        f"Probe.json:5:{column}: Probe.Alpha: layouts-only: only layouts have {name}; "
        "leave it out, since the type data has one wire form"
        for column, name in ((68, "size"), (86, "sorted"))
    ]


def test_all_mistakes_of_a_layout_are_found_at_once_and_each_once(tmp_path: Path) -> None:
    text = layout(
        '{"name": "Size", "type": "int8", "versions": "0+", "sizeOf": "rest"}',
        '{"name": "Crc", "type": "uint32", "versions": "0+", "checksum": {"algorithm": "crc32", "from": "Size"},'
        ' "default": "1"}',
        FLAGS.replace("1-2", "9"),
        '{"name": "Body", "type": "bytes", "versions": "0+", "size": "rest", "nullableVersions": "0+"}',
        '{"name": "Behind", "type": "string", "versions": "0+", "presentIf": "Two"}',
        more='"apiKey": 4',
    ).replace('"flexibleVersions": "none"', '"flexibleVersions": "1+"')
    assert [(problem.path, problem.rule) for problem in _check(tmp_path, text).problems] == [
        ("Probe", "layout-api-key"),
        ("Probe", "layout-inflexible"),
        ("Probe.Size", "wire-form-type"),
        ("Probe.Crc", "checksum-covers"),
        ("Probe.Crc", "no-attribute"),
        ("Probe.Flags", "bits-width"),
        ("Probe.Body", "rest-last"),
        ("Probe.Body", "null-form"),
    ]


def test_unknown_type_says_nothing_about_properties_of_layouts(tmp_path: Path) -> None:
    text = layout('{"name": "Alpha", "type": "bytes", "versions": "0+", "size": "rest"}').replace("layout", "layuot")
    (problem,) = _check(tmp_path, text).problems
    assert problem.text == "'type' is 'layuot'; did you mean layout?"


def test_kafka_profile_refuses_layouts_with_one_word(tmp_path: Path) -> None:
    (problem,) = _check(tmp_path, layout(FLAGS), kafka=True).problems
    assert (problem.rule, problem.severity, problem.location.line) == ("kafka-layout", "error", 2)


def test_layout_is_in_no_registry_of_its_folder(tmp_path: Path) -> None:
    for name in ("One", "Two"):
        (tmp_path / f"{name}.json").write_text(layout(ALPHA, more='"apiKey": 4').replace("Probe", name))
    assert [problem.rule for problem in read_folder(tmp_path)[1]] == ["layout-api-key", "layout-api-key"]


# Accepted layouts work


def test_example_of_the_documentation_has_the_bytes_that_are_there(tmp_path: Path) -> None:
    text = (ROOT / "docs/spec-language.md").read_text("utf-8")
    section = text[text.index("### An example") : text.index("## Where kipwire, the KIP and Kafka's generator differ")]
    (spec,) = re.findall(r"```json\n(.*?)```", section, re.DOTALL)
    (value,) = re.findall(r"^`(Entry\(.*\))` becomes$", section, re.MULTILINE)
    data = bytes.fromhex("".join(re.findall(r"^\| `([0-9a-f ]+)` \|", section, re.MULTILINE)))
    module = modules_of(spec, "layout_of_the_docs", tmp_path)[0]
    entry = eval(value, vars(module))
    assert entry.encode() == data
    assert module.Entry.decode(data) == entry


@settings(max_examples=100 if THOROUGH else 30, deadline=None)
@given(random_layouts())
def test_any_layout_is_refused_or_works(tmp_path_factory: pytest.TempPathFactory, spec: dict[str, Any]) -> None:
    folder = tmp_path_factory.mktemp("layout")
    if _check(folder, json.dumps(spec)).spec is None:
        return
    for module in modules_of(json.dumps(spec), folder.name, folder).values():
        message = of_defaults(module.Probe)
        data = message.encode()
        assert len(data) == message.encoded_size()
        assert module.Probe.decode(data) == message
        assert module.Probe.from_json(message.to_json()) == message
