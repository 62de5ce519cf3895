"""Rules that look at more than one place, and how problems of files and folders are said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kipgen.reading.check import read_file, read_folder
from kipgen.reading.rules.examples import spec, struct_named

if TYPE_CHECKING:
    pass

from tests.support.subjects.rule_checks import check_text, read_field, rules_broken

# Rules that look at more than one place


def test_inline_structs_share_one_name_space(tmp_path: Path) -> None:
    inner = '{"name": "Leaf", "type": "Inner", "versions": "0+", "fields": []}'
    outer = f'{{"name": "Alpha", "type": "Outer", "versions": "0+", "fields": [{inner}]}}'
    assert rules_broken(tmp_path, spec(outer, '{"name": "Beta", "type": "[]Inner", "versions": "0+"}')) == [
        "inline-struct-twice"
    ]
    recursive = inner.replace("[]", '[{"name": "Leaf", "type": "Inner", "versions": "0+"}]')
    assert rules_broken(tmp_path, spec(recursive)) == ["inline-struct-twice"]


def test_recursion_through_others_is_found_once(tmp_path: Path) -> None:
    def struct(name: str, uses: str) -> str:
        return (
            f'{{"name": "{name}", "versions": "0+", "fields": [{{"name": "X", "type": "{uses}", "versions": "0+"}}]}}'
        )

    text = spec(common=(struct("Start", "One"), struct("One", "[]Two"), struct("Two", "One")))
    (problem,) = check_text(tmp_path, text).problems
    assert problem.rule == "recursive-struct"
    assert "One -> Two -> One" in problem.text


@pytest.mark.parametrize(("last", "rule"), [("int8", "struct-depth"), ("S0", "recursive-struct")])
def test_a_chain_of_many_structs_is_refused_with_its_place(last: str, rule: str, tmp_path: Path) -> None:
    count = 1500  # more than Python's limit of recursion; a quadratic step would take minutes
    types = [*(f"S{number}" for number in range(1, count)), last]
    common = tuple(
        f'{{"name": "S{at}", "versions": "0+", "fields": [{{"name": "X", "type": "{used}", "versions": "0+"}}]}}'
        for at, used in enumerate(types)
    )
    (problem,) = check_text(tmp_path, spec('{"name": "Alpha", "type": "S0", "versions": "0+"}', common=common)).problems
    assert problem.rule == rule
    assert problem.location.line > 1


def test_common_struct_is_wide_enough_if_its_users_exist_in_valid_versions_only(tmp_path: Path) -> None:
    use = '{"name": "Alpha", "type": "Shared", "versions": "0+"}'
    assert rules_broken(tmp_path, spec(use, common=('{"name": "Shared", "versions": "0-3"}',))) == []
    assert rules_broken(tmp_path, spec(use, common=('{"name": "Shared", "versions": "0-2"}',))) == [
        "common-struct-versions"
    ]


def test_use_in_a_common_struct_counts_only_where_that_struct_exists(tmp_path: Path) -> None:
    user = '{"name": "Outer", "versions": "2+", "fields": [{"name": "Leaf", "type": "Shared", "versions": "0+"}]}'
    use = '{"name": "Alpha", "type": "Outer", "versions": "2+"}'
    assert rules_broken(tmp_path, spec(use, common=(user, '{"name": "Shared", "versions": "2+"}'))) == []


@pytest.mark.parametrize("kafka", [False, True])
@pytest.mark.parametrize("name", ["String", "[]String", "INT32", "Uuid", "Bool", "Bytes", "Records"])
def test_a_primitive_in_capitals_is_an_error_unless_a_struct_has_that_name(
    name: str, kafka: bool, tmp_path: Path
) -> None:
    element = name.removeprefix("[]")
    field = f'{{"name": "Alpha", "type": "{name}", "versions": "0+"'
    (tmp_path / "Probe.json").write_text(spec(field + "}"))
    checked = read_file(tmp_path / "Probe.json", "Probe.json", kafka=kafka)
    assert checked.spec is None
    problem = next(one for one in checked.problems if one.rule == "primitive-in-capitals")
    assert str(problem).startswith("Probe.json:5:31: Probe.Alpha: primitive-in-capitals: ")
    assert problem.text.endswith(f"; write {element.lower()}")
    for defined in (spec(field + ', "fields": []}'), spec(field + "}", common=(struct_named(element),))):
        assert rules_broken(tmp_path, defined) == []


@pytest.mark.parametrize(
    ("type_", "hint"),
    [
        ("[]Itme", "; did you mean Item?"),
        ("Itme", "; did you mean Item?"),
        ("[]Item2", "; did you mean Item?"),
        ("Sharde", "; did you mean Shared?"),
        ("[]Elsewhere", "; give it fields, if only an empty list"),
    ],
)
def test_a_struct_that_is_not_defined_is_an_error_with_a_guess(type_: str, hint: str, tmp_path: Path) -> None:
    item = '{"name": "Alpha", "type": "[]Item", "versions": "0+", "fields": []}'
    field = f'{{"name": "Beta", "type": "{type_}", "versions": "0+"}}'
    shared = '{"name": "Shared", "versions": "0+"}'
    (problem,) = check_text(tmp_path, spec(item, field, common=(shared,))).problems
    assert (problem.rule, problem.severity) == ("undefined-struct", "error")
    assert problem.text == f"the struct {type_.removeprefix('[]')} is not defined{hint}"


def test_a_struct_that_a_common_struct_uses_is_defined_among_them(tmp_path: Path) -> None:
    def broken(type_: str, *fields: str) -> list[tuple[str, str]]:
        leaf = f'{{"name": "Leaf", "type": "{type_}", "versions": "0+"}}'
        user = f'{{"name": "Outer", "versions": "0+", "fields": [{leaf}]}}'
        text = spec('{"name": "Alpha", "type": "Outer", "versions": "0+"}', *fields, common=(user,))
        return [(problem.rule, problem.text) for problem in check_text(tmp_path, text).problems]

    assert broken("Otter") == [("undefined-struct", "the struct Otter is not defined; did you mean Outer?")]
    assert broken("INT32") == [("undefined-struct", "the struct INT32 is not defined; did you mean int32?")]
    assert broken("Nothing") == [("undefined-struct", "the struct Nothing is not defined; define it in commonStructs")]
    inline = '{"name": "Beta", "type": "Inner", "versions": "0+", "fields": []}'
    assert [rule for rule, _ in broken("Inner", inline)] == ["inline-in-common"]


@pytest.mark.parametrize("names", [("Alpha", "alpha"), ("FooBar", "FooBAR"), ("fooBar", "FooBar")])
def test_field_names_that_become_one_attribute_clash(names: tuple[str, str], tmp_path: Path) -> None:
    fields = [f'{{"name": "{name}", "type": "int32", "versions": "0+"}}' for name in names]
    assert rules_broken(tmp_path, spec(*fields)) == ["field-name-clash"]


def test_tags_of_structs_are_independent(tmp_path: Path) -> None:
    leaf = '{"name": "Leaf", "type": "int32", "taggedVersions": "2+", "tag": 0}'
    text = '{"name": "Alpha", "type": "Inner", "versions": "2+", "taggedVersions": "2+", "tag": 0, "fields": [%s]}'
    assert rules_broken(tmp_path, spec(text % leaf)) == []


@pytest.mark.parametrize("entity", ["transactionalId", "producerId", "groupId", "topicName", "brokerId"])
@pytest.mark.parametrize("type_", ["string", "int64", "int32", "bool"])
def test_entity_type_goes_with_its_base_also_as_element(entity: str, type_: str, tmp_path: Path) -> None:
    bases = {"producerId": "int64", "brokerId": "int32"}
    expected = [] if bases.get(entity, "string") == type_ else ["entity-type"]
    for written in (type_, f"[]{type_}"):
        text = f'{{"name": "Alpha", "type": "{written}", "versions": "0+", "entityType": "{entity}"}}'
        assert rules_broken(tmp_path, spec(text)) == expected


def test_unknown_entity_type_goes_with_everything(tmp_path: Path) -> None:
    field = read_field(tmp_path, '"name": "Alpha", "type": "bool", "versions": "0+", "entityType": "unknown"')
    assert field.entity_type is None


# Problems as a user sees them


def test_problem_is_one_line_with_place_path_rule_and_advice(tmp_path: Path) -> None:
    text = spec('{"name": "Alpha", "type": "string", "versions": "0+", "nullableVersion": "0+", "default": "null"}')
    (problem,) = check_text(tmp_path, text).problems
    assert str(problem) == (
        "Probe.json:5:59: Probe.Alpha: unknown-property: "
        "unknown property 'nullableVersion'; did you mean nullableVersions?"
    )


def test_property_that_resembles_none_gets_the_list(tmp_path: Path) -> None:
    (problem,) = check_text(tmp_path, spec('{"name": "Alpha", "type": "int32", "versions": "0+", "zzz": 1}')).problems
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
    plain, kafka = check_text(tmp_path, text), check_text(tmp_path, text, kafka=True)
    assert [(problem.rule, problem.severity) for problem in plain.problems] == [(rule, "warning")]
    assert [(problem.rule, problem.severity) for problem in kafka.problems] == [(rule, "error")]
    assert plain.spec is not None
    assert kafka.spec is None
