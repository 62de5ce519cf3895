"""Types as other languages write them: the error says what a spec has instead, and that is right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kipgen.language import foreign_types
from kipgen.language.types import FieldType
from kipgen.reading.check import read_file, read_folder
from kipgen.reading.rules.examples import LEAF, field_of, spec
from kipwire.model.types import TYPES
from tests.support.subjects.rule_checks import check_text, rules_broken

TYPE_OF = {
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "byte": "int8",
    "double": "float64",
    "boolean": "bool",
    "Boolean": "bool",
    "str": "string",
    "guid": "uuid",
    "Item[]": "[]Item",
    "string[]": "[]string",
    "int[]": "[]int32",
    "[]int": "[]int32",
    "[]strng": "[]string",
    "byte[]": "bytes",
    "[]byte": "bytes",
    "bytes[]": "[]bytes",
    "list<string>": "[]string",
    "List<Long>": "[]int64",
    "list[int]": "[]int32",
    "set<Item>": "[]Item",
    "array<byte[]>": "[]bytes",
    "repeated string": "[]string",
    "[int32]": "[]int32",
    "strng": "string",
}
ADVICE = {
    "enum": 'write int8, and name a table of its numbers with "enum"',
    "map<string, string>": "write an array of structs with a key and a value",
    "Map[string]int": "write an array of structs with a key and a value",
    "map": "write an array of structs with a key and a value",
    "dict": "write an array of structs with a key and a value",
    "timestamp": "write int64, for milliseconds since 1970",
    "string?": 'write string, and set "nullableVersions" to the versions in which it may be null',
    "optional<list<string>>": 'write []string, and set "nullableVersions" to the versions in which it may be null',
    "optional string": 'write string, and set "nullableVersions" to the versions in which it may be null',
    "struct": "write a struct's name, such as Topic, and its fields",
    "list": "write [] before the type of the elements, as in []int32",
}
NOT_GUESSED = ["varint", "x", "", "[]", "list<list<int>>", "string[][]", "map", "[][]int32", "list<>", "?", "a" * 3000]


def problem_of(type_: str, folder: Path) -> str:
    checked = check_text(folder, spec(field_of(type_)))
    (problem,) = checked.problems
    assert (problem.severity, checked.spec) == ("error", None)
    return problem.text


@pytest.mark.parametrize(("written", "meant"), TYPE_OF.items())
def test_a_type_of_another_language_is_answered_with_the_one_that_is_meant(
    written: str, meant: str, tmp_path: Path
) -> None:
    assert f"; did you mean {meant}?" in problem_of(written, tmp_path)
    assert str(FieldType.parse(meant)) == meant
    field = field_of(meant, fields=[LEAF]) if "Item" in meant else field_of(meant)
    assert rules_broken(tmp_path, spec(field)) == []


@pytest.mark.parametrize(("written", "advice"), ADVICE.items())
def test_what_has_no_type_of_its_own_is_answered_with_the_usual_way_to_say_it(
    written: str, advice: str, tmp_path: Path
) -> None:
    text = problem_of(written, tmp_path)
    assert f"; {advice}" in text
    assert "one of bool" not in text


@pytest.mark.parametrize("name", ["Long", "Integer", "Boolean", "Double", "[]Long"])
def test_a_capital_is_answered_with_the_type_too(name: str, tmp_path: Path) -> None:
    text = problem_of(name, tmp_path)
    assert text.startswith(f"the struct {name.removeprefix('[]')} is not defined; did you mean ")


def test_the_usual_ways_are_accepted(tmp_path: Path) -> None:
    key = '{"name": "Key", "type": "string", "versions": "0+", "mapKey": true}'
    value = '{"name": "Value", "type": "string", "versions": "0+"}'
    fields = (
        field_of("[]Entry", "Labels", fields=[key, value]),
        field_of("int64", "CreatedAtMs"),
        field_of("string", "Reason", nullableVersions="0+"),
        field_of("int8", "Color", enum="Color"),
    )
    (tmp_path / "Probe.json").write_text(spec(*fields))
    enum = '{"name": "Color", "about": "Colors.", "values": [{"value": 1, "name": "RED", "about": "Red."}]}'
    (tmp_path / "Color.enum.json").write_text(enum)
    assert [str(problem) for problem in read_folder(tmp_path)[1] if problem.severity == "error"] == []


def test_every_name_in_the_table_is_no_type_and_leads_to_one() -> None:
    for name, meant in foreign_types.NAMES.items():
        assert name not in TYPES
        assert meant in TYPES
        arrays = () if "[]" in name else (f"[]{name}", f"{name}[]", f"list<{name}>")
        for written in (name, *arrays):
            with pytest.raises(ValueError, match=r"; did you mean [\[\]a-z0-9]+\? Or write one of ") as raised:
                FieldType.parse(written)
            FieldType.parse(re.findall(r"did you mean (\S+)\?", str(raised.value))[0])


@pytest.mark.parametrize("written", NOT_GUESSED)
def test_what_resembles_nothing_gets_the_list_or_a_reason(written: str, tmp_path: Path) -> None:
    (tmp_path / "Probe.json").write_text(spec(field_of(written)))
    problems = read_file(tmp_path / "Probe.json").problems
    assert problems and all("did you mean" not in problem.text for problem in problems)
