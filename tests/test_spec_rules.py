"""The rules of the spec language: each alone by its examples, and together on whole files and folders."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from kipgen import rules
from kipgen.check import Checked, read_file, read_folder
from kipgen.rules.examples import spec
from kipgen.types import Encoding
from kipgen.versions import Versions

pytestmark = pytest.mark.same_without_kernel

if TYPE_CHECKING:
    from kipgen.problems import Problem
    from kipgen.rules.rule import Rule
    from kipgen.spec import FieldSpec, MessageSpec


def _judged(folder: Path, texts: tuple[str, ...], rule: Rule, kafka: bool) -> tuple[Problem, ...]:
    for index, text in enumerate(texts):
        (folder / f"{index}.json").write_text(text, encoding="utf-8")
    if rule.folder_check is not None:
        return read_folder(folder, kafka=kafka)[1]
    return tuple(
        problem for index in range(len(texts)) for problem in read_file(folder / f"{index}.json", kafka=kafka).problems
    )


def _check(folder: Path, text: str, *, kafka: bool = False) -> Checked:
    file = folder / "Probe.json"
    file.write_text(text, encoding="utf-8")
    return read_file(file, "Probe.json", kafka=kafka)


def _rules(folder: Path, text: str, *, kafka: bool = False) -> list[str]:
    return [problem.rule for problem in _check(folder, text, kafka=kafka).problems]


def _message(folder: Path, text: str) -> MessageSpec:
    checked = _check(folder, text)
    assert checked.spec is not None, checked.problems
    return checked.spec


def _field(folder: Path, text: str, **properties: Any) -> FieldSpec:
    """The one field of a message; `text` are its properties as JSON without braces."""
    return _message(folder, spec("{" + text + "}", **properties)).fields[0]


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


# What is read


def test_property_that_is_left_out_has_the_default_of_the_language(tmp_path: Path) -> None:
    field = _field(tmp_path, '"name": "Alpha", "type": "string", "versions": "1+"')
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
    field = _field(tmp_path, f'"name": "Alpha", "type": "{type_}", "versions": "0+"{written}{nested}')
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
    field = _field(tmp_path, f'"name": "Alpha", "type": "{type_}", "versions": "0+", "default": {written}')
    assert field.default == default
    assert type(field.default) is type(default)


def test_default_keeps_the_sign_of_zero_and_not_a_number(tmp_path: Path) -> None:
    for written, expected in (('"-0.0"', "-0.0"), ("-0", "-0.0"), ('"NaN"', "nan")):
        field = _field(tmp_path, f'"name": "Alpha", "type": "float64", "versions": "0+", "default": {written}')
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
def test_default_that_is_no_value_of_the_type_is_refused(type_: str, written: str, tmp_path: Path) -> None:
    text = f'{{"name": "Alpha", "type": "{type_}", "versions": "0+", "default": {written}}}'
    assert _rules(tmp_path, spec(text)) in (["default-value"], ["type-syntax"])


@pytest.mark.parametrize("type_", ["string", "bytes", "records", "[]int32", "Inner", "[]Inner"])
def test_null_is_the_default_of_what_may_be_null(type_: str, tmp_path: Path) -> None:
    nested = ', "fields": []' if "Inner" in type_ else ""
    text = f'"name": "Alpha", "type": "{type_}", "versions": "1+", "nullableVersions": "0+", "default": "null"{nested}'
    assert _field(tmp_path, text).default is None


@pytest.mark.parametrize("type_", ["string", "bytes", "[]int32", "Inner"])
def test_null_default_needs_every_version_nullable_valid_or_not(type_: str, tmp_path: Path) -> None:
    nested = ', "fields": []' if type_ == "Inner" else ""
    text = f'"name": "Alpha", "type": "{type_}", "versions": "0+", "nullableVersions": "0-3", "default": "null"{nested}'
    assert _rules(tmp_path, spec("{" + text + "}", valid="0-3")) == ["default-null"]


def test_tag_alone_means_tagged_in_all_flexible_versions(tmp_path: Path) -> None:
    field = _field(tmp_path, '"name": "Alpha", "type": "int32", "tag": 5')
    assert (field.versions, field.tagged_versions) == (Versions.parse("2+"), Versions.parse("2+"))


def test_tag_alone_with_versions_is_positional_before(tmp_path: Path) -> None:
    field = _field(tmp_path, '"name": "Alpha", "type": "int32", "versions": "1+", "tag": 0')
    assert (field.versions, field.tagged_versions) == (Versions.parse("1+"), Versions.parse("2+"))
    field = _field(tmp_path, '"name": "Alpha", "type": "int32", "versions": "3+", "tag": 0')
    assert field.tagged_versions == Versions.parse("3+")


def test_tag_alone_needs_versions_without_an_end_that_are_flexible(tmp_path: Path) -> None:
    field = '{"name": "Alpha", "type": "int32", "versions": "0-3", "tag": 0}'
    assert _rules(tmp_path, spec(field)) == ["tagged-versions-open"]
    assert _rules(tmp_path, spec(field, flexible="none")) == ["tag-unused"]


def test_tagged_field_exists_where_it_is_tagged(tmp_path: Path) -> None:
    field = _field(tmp_path, '"name": "Alpha", "type": "int32", "taggedVersions": "3+", "tag": 0')
    assert field.versions == Versions.parse("3+")


def test_tagged_versions_are_within_the_override_of_flexible_versions(tmp_path: Path) -> None:
    text = '"name": "Alpha", "type": "string", "versions": "2+", "taggedVersions": "2+", "tag": 0'
    assert _rules(tmp_path, spec("{" + text + ', "flexibleVersions": "3+"}')) == ["tagged-outside-flexible"]
    assert _rules(tmp_path, spec("{" + text + ', "flexibleVersions": "2+"}')) == []


def test_nullability_of_a_tagged_field_outside_its_tagged_versions_is_free(tmp_path: Path) -> None:
    text = '{"name": "Alpha", "type": "string", "versions": "0+", "taggedVersions": "2+", "tag": 0, '
    assert _rules(tmp_path, spec(text + '"nullableVersions": "0-1"}')) == []
    assert _rules(tmp_path, spec(text + '"nullableVersions": "1+"}')) == []


def test_encodings_are_read_in_the_order_of_versions(tmp_path: Path) -> None:
    text = '"name": "Alpha", "type": "int64", "versions": "0+", "encoding": {"2+": "upacked64", "0-1": "fixed32"}'
    first, second = (Versions.parse("0-1"), Encoding("fixed", 32)), (Versions.parse("2+"), Encoding("upacked", 64))
    assert _field(tmp_path, text).encodings == (first, second)


def test_one_encoding_is_that_of_all_versions_of_the_field(tmp_path: Path) -> None:
    text = '"name": "Alpha", "type": "int32", "versions": "1+", "encoding": "packed16"'
    assert _field(tmp_path, text).encodings == ((Versions.parse("1+"), Encoding("packed", 16)),)


@pytest.mark.parametrize("encoding", ["{}", '{"0+": 32}', '{"0+": "unsigned32"}', '{"x": "fixed32"}', "null", "true"])
def test_encoding_that_cannot_be_read_is_refused(encoding: str, tmp_path: Path) -> None:
    assert _check(
        tmp_path, spec(f'{{"name": "A", "type": "int32", "versions": "0+", "encoding": {encoding}}}')
    ).problems


def test_values_may_be_written_as_kafkas_reader_takes_them(tmp_path: Path) -> None:
    field = _field(
        tmp_path,
        '"name": "Alpha", "type": " []string ", "versions": 2, "ignorable": "false", "default": "", "about": 5',
    )
    assert (str(field.type), field.versions, field.ignorable, field.about) == (
        "[]string",
        Versions(2, 2),
        False,
        "5",
    )
    field = _field(tmp_path, '"name": "Alpha", "type": "int32", "taggedVersions": "2+", "tag": "1"')
    assert field.tag == 1
    text = """{"name": "ProbeRequest", "type": "request", "apiKey": "7", "validVersions": 1, "flexibleVersions": "",
        "listeners": "broker", "latestVersionUnstable": "true",
        "fields": {"name": "Alpha", "type": "Shared", "versions": "0+"},
        "commonStructs": {"name": "Shared", "versions": "0+"}}"""
    message = _message(tmp_path, text)
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
    assert len(_check(tmp_path, text).problems) == 1


def test_retired_message_needs_nothing_more(tmp_path: Path) -> None:
    text = '{"name": "ProbeRequest", "type": "request", "apiKey": 4, "validVersions": "none", "listeners": ["broker"]}'
    message = _message(tmp_path, text)
    assert (message.valid_versions, message.flexible_versions) == (Versions.NONE, Versions.NONE)
    assert message.listeners == ()
    assert _rules(tmp_path, spec('{"name": "A", "type": "int32", "tag": 0}', valid="none", flexible="1-2")) == []


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
    assert _message(tmp_path, spec(valid=valid, more=more)).served_versions == expected


@pytest.mark.parametrize("served", ["0-4", "4+", "4", "3-4"])
def test_served_versions_beyond_the_valid_ones_are_refused(served: str, tmp_path: Path) -> None:
    problems = _check(tmp_path, spec(valid="0-3", more=f'"servedVersions": "{served}"')).problems
    assert [problem.rule for problem in problems] == ["served-versions-valid"]
    assert "reaches beyond validVersions 0-3; write a part of those, or none" in problems[0].text


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
    message = _message(tmp_path, text)
    assert [struct.name for struct in message.structs] == ["Deep", "Shared", "Inner", "Outer", "Unused"]
    assert [field.name for field in message.struct("Outer").fields] == ["Leaf", "Twig"]
    assert (message.struct("Outer").about, message.struct("Deep").about) == ("All.", "A depth.")
    assert message.struct("Inner").versions == Versions.parse("1+")


def test_field_and_struct_know_their_places(tmp_path: Path) -> None:
    message = _message(tmp_path, spec('{"name": "Alpha", "type": "int32", "versions": "0+"}'))
    assert str(message.place) == "Probe.json:2:11"
    assert str(message.fields[0].place) == "Probe.json:5:14"


# Rules that look at more than one place


def test_inline_structs_share_one_name_space(tmp_path: Path) -> None:
    inner = '{"name": "Leaf", "type": "Inner", "versions": "0+", "fields": []}'
    outer = f'{{"name": "Alpha", "type": "Outer", "versions": "0+", "fields": [{inner}]}}'
    assert _rules(tmp_path, spec(outer, '{"name": "Beta", "type": "[]Inner", "versions": "0+"}')) == [
        "inline-struct-twice"
    ]
    recursive = inner.replace("[]", '[{"name": "Leaf", "type": "Inner", "versions": "0+"}]')
    assert _rules(tmp_path, spec(recursive)) == ["inline-struct-twice"]


def test_recursion_through_others_is_found_once(tmp_path: Path) -> None:
    def struct(name: str, uses: str) -> str:
        return (
            f'{{"name": "{name}", "versions": "0+", "fields": [{{"name": "X", "type": "{uses}", "versions": "0+"}}]}}'
        )

    text = spec(common=(struct("Start", "One"), struct("One", "[]Two"), struct("Two", "One")))
    (problem,) = _check(tmp_path, text).problems
    assert problem.rule == "recursive-struct"
    assert "One -> Two -> One" in problem.text


@pytest.mark.parametrize(("last", "rule"), [("int8", "struct-depth"), ("S0", "recursive-struct")])
def test_a_chain_of_many_structs_is_refused_with_its_place(last: str, rule: str, tmp_path: Path) -> None:
    count = 1500  # more than Python lets functions nest; what costs the square of it takes minutes
    types = [*(f"S{number}" for number in range(1, count)), last]
    common = tuple(
        f'{{"name": "S{at}", "versions": "0+", "fields": [{{"name": "X", "type": "{used}", "versions": "0+"}}]}}'
        for at, used in enumerate(types)
    )
    (problem,) = _check(tmp_path, spec('{"name": "Alpha", "type": "S0", "versions": "0+"}', common=common)).problems
    assert problem.rule == rule
    assert problem.place.line > 1


def test_common_struct_is_wide_enough_if_its_users_exist_in_valid_versions_only(tmp_path: Path) -> None:
    use = '{"name": "Alpha", "type": "Shared", "versions": "0+"}'
    assert _rules(tmp_path, spec(use, common=('{"name": "Shared", "versions": "0-3"}',))) == []
    assert _rules(tmp_path, spec(use, common=('{"name": "Shared", "versions": "0-2"}',))) == ["common-struct-versions"]


def test_use_in_a_common_struct_counts_only_where_that_struct_exists(tmp_path: Path) -> None:
    user = '{"name": "Outer", "versions": "2+", "fields": [{"name": "Leaf", "type": "Shared", "versions": "0+"}]}'
    use = '{"name": "Alpha", "type": "Outer", "versions": "2+"}'
    assert _rules(tmp_path, spec(use, common=(user, '{"name": "Shared", "versions": "2+"}'))) == []


def test_undefined_struct_is_empty_and_worth_a_warning(tmp_path: Path) -> None:
    checked = _check(tmp_path, spec('{"name": "Alpha", "type": "INT32", "versions": "0+"}'))
    assert checked.spec is not None
    assert checked.spec.struct("INT32").fields == ()
    (problem,) = checked.problems
    assert str(problem).startswith("Probe.json:5:31: warning: Probe.Alpha: undefined-struct: ")
    assert "write int32" in problem.text


@pytest.mark.parametrize("names", [("Alpha", "alpha"), ("FooBar", "FooBAR"), ("fooBar", "FooBar")])
def test_field_names_that_become_one_attribute_clash(names: tuple[str, str], tmp_path: Path) -> None:
    fields = [f'{{"name": "{name}", "type": "int32", "versions": "0+"}}' for name in names]
    assert _rules(tmp_path, spec(*fields)) == ["field-name-clash"]


def test_tags_of_structs_are_independent(tmp_path: Path) -> None:
    leaf = '{"name": "Leaf", "type": "int32", "taggedVersions": "2+", "tag": 0}'
    text = '{"name": "Alpha", "type": "Inner", "versions": "2+", "taggedVersions": "2+", "tag": 0, "fields": [%s]}'
    assert _rules(tmp_path, spec(text % leaf)) == []


@pytest.mark.parametrize("entity", ["transactionalId", "producerId", "groupId", "topicName", "brokerId"])
@pytest.mark.parametrize("type_", ["string", "int64", "int32", "bool"])
def test_entity_type_goes_with_its_base_also_as_element(entity: str, type_: str, tmp_path: Path) -> None:
    bases = {"producerId": "int64", "brokerId": "int32"}
    expected = [] if bases.get(entity, "string") == type_ else ["entity-type"]
    for written in (type_, f"[]{type_}"):
        text = f'{{"name": "Alpha", "type": "{written}", "versions": "0+", "entityType": "{entity}"}}'
        assert _rules(tmp_path, spec(text)) == expected


def test_unknown_entity_type_goes_with_everything(tmp_path: Path) -> None:
    field = _field(tmp_path, '"name": "Alpha", "type": "bool", "versions": "0+", "entityType": "unknown"')
    assert field.entity_type is None


# Problems as a user sees them


TEN_MISTAKES = """\
// Ten mistakes
{
  "name": "Probe",
  "type": "data",
  "validVersions": "0+",
  "flexibleVersions": "2-3",
  "comment": "x",
  "fields": [
    { "name": "Alpha", "type": "float32", "versions": "0+" },
    { "name": "Beta", "type": "int8", "versions": "0+", "default": "0xff" },
    { "name": "Gamma", "type": "uuid", "versions": "0+",
      "nullableVersions": "0+" },
    { "name": "Delta", "type": "[]Inner", "versions": "3-1", "fields": [
      { "name": "Leaf", "type": "int32" },
      { "name": "Twig", "type": "int32", "versions": "0+", "encoding": "packed64" }
    ]},
    { "name": "Beta", "type": "string", "versions": "0+" }
  ]
}
"""


def test_all_mistakes_of_a_file_are_found_at_once_and_each_once(tmp_path: Path) -> None:
    checked = _check(tmp_path, TEN_MISTAKES)
    assert checked.spec is None
    assert [(problem.place.line, problem.path, problem.rule) for problem in checked.problems] == [
        (5, "Probe", "valid-versions-closed"),
        (6, "Probe", "flexible-versions-open"),
        (7, "Probe", "unknown-property"),
        (9, "Probe.Alpha", "type-syntax"),
        (10, "Probe.Beta", "default-value"),
        (12, "Probe.Gamma", "nullable-type"),
        (13, "Probe.Delta", "version-syntax"),
        (14, "Probe.Delta.Leaf", "versions-missing"),
        (15, "Probe.Delta.Twig", "encoding-width"),
        (17, "Probe.Beta", "duplicate-field"),
    ]


def test_problem_is_one_line_with_place_path_rule_and_advice(tmp_path: Path) -> None:
    text = spec('{"name": "Alpha", "type": "string", "versions": "0+", "nullableVersion": "0+", "default": "null"}')
    (problem,) = _check(tmp_path, text).problems
    assert str(problem) == (
        "Probe.json:5:59: Probe.Alpha: unknown-property: "
        "there is no property 'nullableVersion' here; did you mean nullableVersions?"
    )


def test_property_that_resembles_none_gets_the_list(tmp_path: Path) -> None:
    (problem,) = _check(tmp_path, spec('{"name": "Alpha", "type": "int32", "versions": "0+", "zzz": 1}')).problems
    assert "write one of about, absentIf, bits, " in problem.text


# Folders


def _write(folder: Path, name: str, **properties: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    base = {"name": name, "type": "data", "validVersions": "0-3", "flexibleVersions": "2+"}
    file.write_text(json.dumps(base | properties), encoding="utf-8")
    return file


def test_folder_is_read_with_its_sub_folders_in_order_of_paths(tmp_path: Path) -> None:
    for name in ("b/Two", "a/Three", "One"):
        _write((tmp_path / name).parent, Path(name).name)
    checked, problems = read_folder(tmp_path)
    assert [Path(one.file).relative_to(tmp_path).as_posix() for one in checked] == [
        "One.json",
        "a/Three.json",
        "b/Two.json",
    ]
    assert problems == ()


def test_record_keys_are_unique_in_their_own_folder_and_request_keys_in_the_package(tmp_path: Path) -> None:
    _write(tmp_path / "a", "OneRecord", type="metadata", apiKey=5)
    _write(tmp_path / "b", "TwoRecord", type="metadata", apiKey=5)
    assert read_folder(tmp_path)[1] == ()
    for folder, name in (("a", "One"), ("b", "Two")):
        _write(tmp_path / folder, f"{name}Request", type="request", apiKey=5)
        _write(tmp_path / folder, f"{name}Response", type="response", apiKey=5)
    assert [problem.rule for problem in read_folder(tmp_path)[1]] == ["api-key-taken", "api-key-taken"]


def test_coordinator_keys_and_values_go_together_in_their_own_folder(tmp_path: Path) -> None:
    key = {"type": "coordinator-key", "validVersions": "0", "flexibleVersions": "none", "apiKey": 1}
    _write(tmp_path / "a", "OneKey", **key)
    _write(tmp_path / "b", "OneValue", type="coordinator-value", apiKey=1)
    assert [problem.rule for problem in read_folder(tmp_path)[1]] == ["pair-missing", "pair-missing"]
    _write(tmp_path / "a", "TwoValue", type="coordinator-value", apiKey=1)
    _write(tmp_path / "b", "TwoKey", **key)
    assert read_folder(tmp_path)[1] == ()


def test_nothing_is_missing_while_a_file_cannot_be_read(tmp_path: Path) -> None:
    _write(tmp_path, "ProbeRequest", type="request", apiKey=1)
    (tmp_path / "ProbeResponse.json").write_text("{", encoding="utf-8")
    assert [problem.rule for problem in read_folder(tmp_path)[1]] == ["syntax"]


def test_wrong_message_still_counts_as_the_partner_of_another(tmp_path: Path) -> None:
    _write(tmp_path, "ProbeRequest", type="request", apiKey=1)
    _write(tmp_path, "ProbeResponse", type="response", apiKey=1, validVersions="0+", comment="x")
    assert sorted(problem.rule for problem in read_folder(tmp_path)[1]) == [
        "pair-versions",
        "unknown-property",
        "valid-versions-closed",
    ]


def test_retired_pair_needs_no_flexible_versions(tmp_path: Path) -> None:
    for name, type_ in (("ProbeRequest", "request"), ("ProbeResponse", "response")):
        _write(tmp_path, name, type=type_, apiKey=4, validVersions="none", flexibleVersions="none")
    assert read_folder(tmp_path)[1] == ()


def _pair(folder: Path, api: str, **properties: Any) -> None:
    for type_ in ("request", "response"):
        _write(folder, f"{api}{type_.capitalize()}", type=type_, apiKey=4, **properties)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({}, {"servedVersions": "none", "validVersions": "0"}, []),
        ({"servedVersions": "2+"}, {"servedVersions": "none", "validVersions": "0-1"}, []),
        ({"validVersions": "1-3"}, {"servedVersions": "none", "validVersions": "0"}, ["api-key-heir"] * 2),
        ({"validVersions": "none"}, {"servedVersions": "none", "validVersions": "0"}, ["api-key-heir"] * 2),
        ({"servedVersions": "none"}, {"servedVersions": "none", "validVersions": "0"}, ["api-key-taken"] * 2),
        ({}, {"validVersions": "none"}, ["api-key-taken"] * 2),
        ({}, {"servedVersions": "1+"}, ["api-key-taken"] * 2),
    ],
)
def test_an_api_key_is_shared_only_by_the_earlier_name_of_an_api(
    first: dict[str, str], second: dict[str, str], expected: list[str], tmp_path: Path
) -> None:
    _pair(tmp_path, "Probe", **first)
    _pair(tmp_path, "Trial", **second)
    assert [problem.rule for problem in read_folder(tmp_path)[1]] == expected


def test_each_name_of_an_api_has_a_response_of_its_own(tmp_path: Path) -> None:
    _pair(tmp_path, "Probe")
    _pair(tmp_path, "Trial", servedVersions="none")
    (tmp_path / "TrialResponse.json").unlink()
    assert [problem.rule for problem in read_folder(tmp_path)[1]] == ["pair-missing"]


def test_request_and_response_are_served_in_the_same_versions(tmp_path: Path) -> None:
    _pair(tmp_path, "Probe", servedVersions="1+")
    for served in ("2+", "none"):
        _write(tmp_path, "ProbeResponse", type="response", apiKey=4, servedVersions=served)
        problems = read_folder(tmp_path)[1]
        assert [problem.rule for problem in problems] == ["pair-versions"]
        assert problems[0].text.endswith("but 1-3 in ProbeRequest; write the same in both")


# For Kafka's own generator


@pytest.mark.parametrize(
    ("field", "rule"),
    [
        ('"type": "int32", "versions": "0+", "tag": 0', "tag-alone"),
        ('"type": "int32", "versions": "2+", "taggedVersions": "2+", "tag": 1', "tag-gap"),
        ('"type": "records", "versions": "2+", "taggedVersions": "2+", "tag": 0', "tagged-records"),
    ],
)
def test_kafkas_own_rules_are_warnings_without_and_errors_with_kafka(field: str, rule: str, tmp_path: Path) -> None:
    text = spec('{"name": "Alpha", ' + field + "}")
    plain, kafka = _check(tmp_path, text), _check(tmp_path, text, kafka=True)
    assert [(problem.rule, problem.severity) for problem in plain.problems] == [(rule, "warning")]
    assert [(problem.rule, problem.severity) for problem in kafka.problems] == [(rule, "error")]
    assert plain.spec is not None
    assert kafka.spec is None
