"""The rules of the spec language: each alone by its examples, and together on whole files and folders."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from kipgen.language.types import Encoding
from kipgen.language.versions import Versions
from kipgen.reading import rules
from kipgen.reading.check import read_file, read_folder
from kipgen.reading.rules.examples import file_name, spec
from kipgen.reading.rules.rule import field_rule, layout_field_rule, message_rule

if TYPE_CHECKING:
    from kipgen.language.problems import Problem
    from kipgen.reading.rules.rule import Rule

from tests.support.subjects.rule_checks import check_text, read_field, read_message, rules_broken


def _judged(folder: Path, texts: tuple[str, ...], rule: Rule, kafka: bool) -> tuple[Problem, ...]:
    files = [folder / file_name(text, str(index)) for index, text in enumerate(texts)]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8")
    if rule.subject is rules.Folder:
        return read_folder(folder, kafka=kafka)[1]
    return tuple(problem for file in files for problem in read_file(file, kafka=kafka).problems)


# Every rule by itself


@pytest.mark.parametrize("kafka", [False, True], ids=["plain", "kafka"])
@pytest.mark.parametrize("rule", rules.ALL, ids=lambda rule: rule.id)
def test_good_example_is_accepted_and_bad_one_refused_by_just_that_rule(
    rule: Rule, kafka: bool, tmp_path: Path
) -> None:
    severity = rule.severity_for(kafka)
    for name, texts in (("good", rule.good), ("bad", rule.bad)):
        folder = tmp_path / name
        folder.mkdir()
        found = {(problem.rule, problem.severity) for problem in _judged(folder, texts, rule, kafka)}
        expected = {(rule.id, severity)} if name == "bad" and severity is not None else set()
        others_of_kafka = {(other.id, other.kafka) for other in rules.ALL if other.severity != other.kafka}
        assert found - (others_of_kafka if kafka else set()) <= expected
        assert expected <= found


def test_rules_have_ids_of_their_own_and_a_sentence() -> None:
    ids = [rule.id for rule in rules.ALL]
    assert len(set(ids)) == len(ids)
    for rule in rules.ALL:
        assert rule.id == rule.id.lower().replace("_", "-")
        assert rule.summary.endswith((".", ")."))
        assert rule.good and rule.bad


# Reading


@pytest.mark.parametrize(
    ("decorator", "needs", "fault"),
    [
        (message_rule, {"needs": ("tag",)}, "'tag', which is no property of a message"),
        (field_rule, {"needs": ("type", "abuot")}, "'abuot', which is no property of a field; did you mean about?"),
        (field_rule, {"message": ("versions",)}, "'versions', which is no property of a message; did you mean"),
        (layout_field_rule, {"needs": ("validVersions",)}, "'validVersions', which is no property of a field"),
    ],
)
def test_a_rule_cannot_need_what_is_no_property(
    decorator: Callable[..., object], needs: dict[str, tuple[str, ...]], fault: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(fault)):
        decorator(summary="A rule.", good="{}", bad="{}", **needs)


def test_property_that_is_left_out_has_the_default_of_the_language(tmp_path: Path) -> None:
    field = read_field(tmp_path, '"name": "Alpha", "type": "string", "versions": "1+"')
    assert (field.versions, field.nullable_versions, field.tagged_versions) == (
        Versions.parse("1+"),
        Versions.NONE,
        Versions.NONE,
    )
    assert (field.about, field.default, field.tag, field.flexible_versions, field.encodings) == ("", "", None, None, ())
    assert not (field.ignorable or field.map_key or field.zero_copy or field.entity_type)


@pytest.mark.parametrize(
    ("type_", "default"),
    [
        ("bool", False),
        ("int8", 0),
        ("uint32", 0),
        ("int64", 0),
        ("float64", 0.0),
        ("string", ""),
        ("uuid", UUID(int=0)),
        ("bytes", ()),
        ("records", None),
        ("[]int32", ()),
        ("[]string", ()),
        ("Inner", ()),
        ("[]Inner", ()),
    ],
)
@pytest.mark.parametrize("written", ["", ', "default": ""', ', "default": null'])
def test_type_has_a_default_of_its_own(type_: str, default: object, written: str, tmp_path: Path) -> None:
    nested = ', "fields": []' if "Inner" in type_ else ""
    field = read_field(tmp_path, f'"name": "Alpha", "type": "{type_}", "versions": "0+"{written}{nested}')
    assert field.default == default
    assert type(field.default) is type(default)


@pytest.mark.parametrize(
    ("type_", "written", "default"),
    [
        ("bool", '"true"', True),
        ("bool", '"FALSE"', False),
        ("bool", "true", True),
        ("int32", '"-1"', -1),
        ("int32", "-1", -1),
        ("int32", '"+5"', 5),
        ("int32", '"0x7fFFffff"', 2**31 - 1),
        ("int64", '"0x7fffffffffffffff"', 2**63 - 1),
        ("int8", '"-128"', -128),
        ("uint16", '"65535"', 65535),
        ("uint32", '"4294967295"', 4294967295),
        ("float64", '"1.5"', 1.5),
        ("float64", "2", 2.0),
        ("float64", "1e3", 1000.0),
        ("float64", '"Infinity"', math.inf),
        ("string", '"hello \\"world\\""', 'hello "world"'),
        ("string", "1.50", "1.50"),
        ("string", "false", "false"),
        ("uuid", '"AAAAAAAAAAAAAAAAAAAAAQ"', UUID(int=1)),
        ("uuid", '"_____________________w=="', UUID(int=2**128 - 1)),
        ("records", '"null"', None),
    ],
)
def test_default_is_read_as_a_value_of_the_type(type_: str, written: str, default: object, tmp_path: Path) -> None:
    field = read_field(tmp_path, f'"name": "Alpha", "type": "{type_}", "versions": "0+", "default": {written}')
    assert field.default == default
    assert type(field.default) is type(default)


def test_default_keeps_the_sign_of_zero_and_not_a_number(tmp_path: Path) -> None:
    for written, expected in (('"-0.0"', "-0.0"), ("-0", "-0.0"), ('"NaN"', "nan")):
        field = read_field(tmp_path, f'"name": "Alpha", "type": "float64", "versions": "0+", "default": {written}')
        assert repr(field.default) == expected


@pytest.mark.parametrize(
    ("type_", "written"),
    [("int32", text) for text in ('" 1"', '"010"', '"0x-1"', '"-0x1"', '"0X1"', '"1_0"', '"٣"', '"1.0"', "1.0", "true")]
    + [("int32", '"2147483648"'), ("int32", '"' + "9" * 5000 + '"'), ("int8", '"0xff"'), ("uint16", '"-1"')]
    + [("bool", text) for text in ('"1"', "0", '"yes"', '" true"', '"null"')]
    + [("float64", text) for text in ('"1d"', '"0x1p3"', '"1_0"', '"x"', '"null"', "true")]
    + [("uuid", text) for text in ('"AAAA"', '"null"', '"AAAAAAAAAAAAAAAAAAAAAQ="', '"+///////////////////AQ"')]
    + [("bytes", '"x"'), ("[]int32", '"[]"'), ("records", '"x"'), ("string[]", '""')],
)
def test_default_that_is_not_a_value_of_the_type_is_refused(type_: str, written: str, tmp_path: Path) -> None:
    text = f'{{"name": "Alpha", "type": "{type_}", "versions": "0+", "default": {written}}}'
    assert rules_broken(tmp_path, spec(text)) in (["default-value"], ["type-syntax"])


@pytest.mark.parametrize("type_", ["string", "bytes", "records", "[]int32", "Inner", "[]Inner"])
def test_null_is_the_default_of_what_may_be_null(type_: str, tmp_path: Path) -> None:
    nested = ', "fields": []' if "Inner" in type_ else ""
    text = f'"name": "Alpha", "type": "{type_}", "versions": "1+", "nullableVersions": "0+", "default": "null"{nested}'
    assert read_field(tmp_path, text).default is None


@pytest.mark.parametrize("type_", ["string", "bytes", "[]int32", "Inner"])
def test_null_default_needs_every_version_nullable_valid_or_not(type_: str, tmp_path: Path) -> None:
    nested = ', "fields": []' if type_ == "Inner" else ""
    text = f'"name": "Alpha", "type": "{type_}", "versions": "0+", "nullableVersions": "0-3", "default": "null"{nested}'
    assert rules_broken(tmp_path, spec("{" + text + "}", valid="0-3")) == ["default-null"]


def test_tag_alone_means_tagged_in_all_flexible_versions(tmp_path: Path) -> None:
    field = read_field(tmp_path, '"name": "Alpha", "type": "int32", "tag": 5')
    assert (field.versions, field.tagged_versions) == (Versions.parse("2+"), Versions.parse("2+"))


def test_tag_alone_with_versions_is_positional_before(tmp_path: Path) -> None:
    field = read_field(tmp_path, '"name": "Alpha", "type": "int32", "versions": "1+", "tag": 0')
    assert (field.versions, field.tagged_versions) == (Versions.parse("1+"), Versions.parse("2+"))
    field = read_field(tmp_path, '"name": "Alpha", "type": "int32", "versions": "3+", "tag": 0')
    assert field.tagged_versions == Versions.parse("3+")


def test_tag_alone_needs_versions_without_an_end_that_are_flexible(tmp_path: Path) -> None:
    field = '{"name": "Alpha", "type": "int32", "versions": "0-3", "tag": 0}'
    assert rules_broken(tmp_path, spec(field)) == ["tagged-versions-open"]
    assert rules_broken(tmp_path, spec(field, flexible="none")) == ["tag-unused"]


def test_tagged_field_exists_where_it_is_tagged(tmp_path: Path) -> None:
    field = read_field(tmp_path, '"name": "Alpha", "type": "int32", "taggedVersions": "3+", "tag": 0')
    assert field.versions == Versions.parse("3+")


def test_tagged_versions_are_within_the_override_of_flexible_versions(tmp_path: Path) -> None:
    text = '"name": "Alpha", "type": "string", "versions": "2+", "taggedVersions": "2+", "tag": 0'
    assert rules_broken(tmp_path, spec("{" + text + ', "flexibleVersions": "3+"}')) == ["tagged-outside-flexible"]
    assert rules_broken(tmp_path, spec("{" + text + ', "flexibleVersions": "2+"}')) == []


def test_nullability_of_a_tagged_field_outside_its_tagged_versions_is_free(tmp_path: Path) -> None:
    text = '{"name": "Alpha", "type": "string", "versions": "0+", "taggedVersions": "2+", "tag": 0, '
    assert rules_broken(tmp_path, spec(text + '"nullableVersions": "0-1"}')) == []
    assert rules_broken(tmp_path, spec(text + '"nullableVersions": "1+"}')) == []


def test_encodings_are_read_in_the_order_of_versions(tmp_path: Path) -> None:
    text = '"name": "Alpha", "type": "int64", "versions": "0+", "encoding": {"2+": "upacked64", "0-1": "fixed32"}'
    first, second = (Versions.parse("0-1"), Encoding("fixed", 32)), (Versions.parse("2+"), Encoding("upacked", 64))
    assert read_field(tmp_path, text).encodings == (first, second)


def test_one_encoding_is_that_of_all_versions_of_the_field(tmp_path: Path) -> None:
    text = '"name": "Alpha", "type": "int32", "versions": "1+", "encoding": "packed16"'
    assert read_field(tmp_path, text).encodings == ((Versions.parse("1+"), Encoding("packed", 16)),)


@pytest.mark.parametrize("encoding", ["{}", '{"0+": 32}', '{"0+": "unsigned32"}', '{"x": "fixed32"}', "null", "true"])
def test_encoding_that_cannot_be_read_is_refused(encoding: str, tmp_path: Path) -> None:
    assert check_text(
        tmp_path, spec(f'{{"name": "A", "type": "int32", "versions": "0+", "encoding": {encoding}}}')
    ).problems


def test_values_may_be_written_as_kafkas_reader_takes_them(tmp_path: Path) -> None:
    field = read_field(
        tmp_path,
        '"name": "Alpha", "type": " []string ", "versions": 2, "ignorable": "false", "default": "", "about": 5',
    )
    assert (str(field.type), field.versions, field.ignorable, field.about) == (
        "[]string",
        Versions(2, 2),
        False,
        "5",
    )
    field = read_field(tmp_path, '"name": "Alpha", "type": "int32", "taggedVersions": "2+", "tag": "1"')
    assert field.tag == 1
    text = """{"name": "ProbeRequest", "type": "request", "apiKey": "7", "validVersions": 1, "flexibleVersions": "",
        "listeners": "broker", "latestVersionUnstable": "true",
        "fields": {"name": "Alpha", "type": "Shared", "versions": "0+"},
        "commonStructs": {"name": "Shared", "versions": "0+"}}"""
    message = read_message(tmp_path, text)
    assert (message.api_key, message.valid_versions, message.listeners) == (7, Versions(1, 1), ("broker",))
    assert message.flexible_versions == Versions.NONE
    assert message.latest_version_unstable
    assert [struct.name for struct in message.structs] == ["Shared"]


@pytest.mark.parametrize(
    "text",
    [
        spec().replace('"data"', "0"),
        spec(name=" Probe"),
        spec(name="Probe\\n"),
        spec('{"name": "Alpha\\n", "type": "int32", "versions": "0+"}'),
        spec('{"name": "Alpha", "type": "int32", "taggedVersions": "2+", "tag": 0.7}'),
        spec('{"name": "Alpha", "type": "int32", "taggedVersions": "2+", "tag": "' + "9" * 5000 + '"}'),
        spec('{"name": "Alpha", "type": "int32", "versions": "0+", "ignorable": 1}'),
        spec(valid="3-1"),
        spec(valid=" "),
        spec('{"name": "Alpha", "type": "string", "versions": "0+", "flexibleVersions": ""}'),
    ],
)
def test_what_kafkas_reader_takes_by_accident_is_refused(text: str, tmp_path: Path) -> None:
    assert len(check_text(tmp_path, text).problems) == 1


def test_retired_message_needs_nothing_more(tmp_path: Path) -> None:
    text = '{"name": "ProbeRequest", "type": "request", "apiKey": 4, "validVersions": "none", "listeners": ["broker"]}'
    message = read_message(tmp_path, text)
    assert (message.valid_versions, message.flexible_versions) == (Versions.NONE, Versions.NONE)
    assert message.listeners == ()
    assert rules_broken(tmp_path, spec('{"name": "A", "type": "int32", "tag": 0}', valid="none", flexible="1-2")) == []


@pytest.mark.parametrize(
    ("valid", "served", "expected"),
    [
        ("0-3", None, Versions(0, 3)),
        ("0-3", "2+", Versions(2, 3)),
        ("0-3", "1-2", Versions(1, 2)),
        ("0-3", "none", Versions.NONE),
        ("none", None, Versions.NONE),
        ("none", "0+", Versions.NONE),
    ],
)
def test_served_versions_are_all_if_the_spec_does_not_say_otherwise(
    valid: str, served: str | None, expected: Versions, tmp_path: Path
) -> None:
    more = f'"servedVersions": "{served}"' if served else '"about": "A probe."'
    assert read_message(tmp_path, spec(valid=valid, more=more)).served_versions == expected


@pytest.mark.parametrize("served", ["0-4", "4+", "4", "3-4"])
def test_served_versions_beyond_the_valid_ones_are_refused(served: str, tmp_path: Path) -> None:
    problems = check_text(tmp_path, spec(valid="0-3", more=f'"servedVersions": "{served}"')).problems
    assert [problem.rule for problem in problems] == ["served-versions-valid"]
    assert "goes beyond validVersions 0-3; write a part of those, or none" in problems[0].text


def test_struct_comes_after_those_that_it_uses(tmp_path: Path) -> None:
    text = spec(
        '{"name": "Alpha", "type": "Outer", "versions": "0+", "about": "All.", "fields": [\n'
        '      {"name": "Leaf", "type": "Shared", "versions": "0+"},\n'
        '      {"name": "Twig", "type": "[]Inner", "versions": "1+", "fields": []}]}',
        '{"name": "Beta", "type": "[]Shared", "versions": "0+"}',
        common=(
            '{"name": "Unused", "versions": "0+", "fields": [{"name": "Leaf", "type": "Deep", "versions": "0+"}]}',
            '{"name": "Shared", "versions": "0+", "fields": [{"name": "Leaf", "type": "Deep", "versions": "0+"}]}',
            '{"name": "Deep", "versions": "0+", "about": "A depth."}',
        ),
    )
    message = read_message(tmp_path, text)
    assert [struct.name for struct in message.structs] == ["Deep", "Shared", "Inner", "Outer", "Unused"]
    assert [field.name for field in message.struct("Outer").fields] == ["Leaf", "Twig"]
    assert (message.struct("Outer").about, message.struct("Deep").about) == ("All.", "A depth.")
    assert message.struct("Inner").versions == Versions.parse("1+")


def test_field_and_struct_know_their_places(tmp_path: Path) -> None:
    message = read_message(tmp_path, spec('{"name": "Alpha", "type": "int32", "versions": "0+"}'))
    assert str(message.location) == "Probe.json:2:11"
    assert str(message.fields[0].location) == "Probe.json:5:14"
