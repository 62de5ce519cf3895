"""The text of a spec file: its values with their places, and the line and column of every refusal."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipgen.reading.check import read_file, read_folder
from kipgen.reading.source import MAX_BYTES, MAX_DEPTH, Document, WrittenFloat, load, load_text

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def _document(text: str) -> Document:
    loaded = load_text(text, "Probe.json")
    assert loaded.document is not None, loaded.problems
    return loaded.document


@given(json_values, st.sampled_from([None, 2, "\t"]))
def test_values_are_those_of_json(value: object, indent: int | str | None) -> None:
    text = json.dumps(value, indent=indent)
    assert _document(text).value == json.loads(text)


def test_comments_are_allowed_anywhere() -> None:
    text = '// a\n{ /* b \n * // */ "a" /**/ : // c\r\n [1, /* , */ 2] } // d'
    assert _document(text).value == {"a": [1, 2]}


def test_comment_signs_in_a_text_are_not_comment() -> None:
    assert _document('{"a": "x // y /* z */"}').value == {"a": "x // y /* z */"}


def test_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    file = tmp_path / "Probe.json"
    file.write_bytes(b'\xef\xbb\xbf{"a": 1}')
    document = load(file).document
    assert document is not None
    assert (document.value, document.location(("a",)).column) == ({"a": 1}, 7)


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_every_key_and_value_has_its_place(line_end: str) -> None:
    lines = ["{", '  "name": "Probe", // the name', '  "fields": [', '    { "tag" :', "      12 }", "  ]", "}"]
    document = _document(line_end.join(lines))
    places = {
        (): (1, 1),
        ("name",): (2, 11),
        ("fields",): (3, 13),
        ("fields", 0): (4, 5),
        ("fields", 0, "tag"): (5, 7),
    }
    assert {path: (document.location(path).line, document.location(path).column) for path in places} == places
    assert str(document.key_location(("fields", 0, "tag"))) == "Probe.json:4:7"


def test_absent_value_has_the_place_of_what_should_hold_it() -> None:
    document = _document('{"fields": [\n  {"name": "Alpha"}]}')
    assert document.location(("fields", 0, "type")) == document.location(("fields", 0))


def test_number_remembers_how_it_was_written() -> None:
    value = _document('{"a": 1.50, "b": -0, "c": 1e2}').value
    assert isinstance(value, dict)
    assert [number.written for number in value.values() if isinstance(number, WrittenFloat)] == ["1.50", "-0", "1e2"]


@pytest.mark.parametrize(
    ("text", "line", "column", "hint"),
    [
        ("", 1, 1, "is empty"),
        (" \n // nothing\n", 1, 1, "is empty"),
        ("{", 1, 2, "the file ends"),
        ('{"a": 1', 1, 8, "the file ends"),
        ('{"a": 1,}', 1, 8, "comma before the closing '}'; remove it"),
        ('{"a": [1,\n2,]}', 2, 2, "comma before the closing ']'; remove it"),
        ('{"a" 1}', 1, 6, "colon after 'a'"),
        ('{"a": 1 "b": 2}', 1, 9, "comma or '}'"),
        ("{a: 1}", 1, 2, "name in double quotes"),
        ("{'a': 1}", 1, 2, "name in double quotes"),
        ("{\"a\": 'b'}", 1, 7, "double quotes"),
        ('{"a": b}', 1, 7, "double quotes"),
        ('{"a": True}', 1, 7, "found 'True'"),
        ('{"a": NaN}', 1, 7, 'as the string "NaN"'),
        ('{"a": -Infinity}', 1, 7, 'as the string "-Infinity"'),
        ('{"a": 010}', 1, 7, "leading zeros"),
        ('{"a": +1}', 1, 7, "plus sign"),
        ('{"a": 0x10}', 1, 7, "hex"),
        ('{"a": 1.}', 1, 7, "as JSON does"),
        ('{"a": .5}', 1, 7, "expected a value"),
        ('{"a": ' + "9" * 500 + "}", 1, 7, "400 characters"),
        ('{"a": "b}', 1, 7, "has no end"),
        ('{"a": "b\nc"}', 1, 9, "line break"),
        ('{"a": "\\x"}', 1, 8, "escape"),
        ('{"a": "\\ud800"}', 1, 7, "surrogate"),
        ('{"a": 1} x', 1, 10, "after the end"),
        ('{"a": 1}\n{"b": 2}', 2, 1, "after the end"),
        ('{"a": 1} /* x', 1, 10, "has no end"),
        ('{"a": 1, /', 1, 10, "found '/'"),
        ("\x00\x01", 1, 1, "expected a value"),
    ],
)
def test_what_is_not_json_is_refused_at_its_place(text: str, line: int, column: int, hint: str) -> None:
    loaded = load_text(text, "Probe.json")
    assert loaded.document is None
    (problem,) = loaded.problems
    assert (problem.location.line, problem.location.column) == (line, column)
    assert hint in problem.text


@given(st.text(alphabet="{}[]\":,\\/*-+.0123456789abcdefnrtu \n\t'\u2028é", max_size=40))
def test_any_text_is_read_as_json_reads_it_or_refused(text: str) -> None:
    loaded = load_text(text, "Probe.json")
    assert (loaded.document is None) <= bool(loaded.problems)
    if loaded.document is not None and not loaded.problems and "/" not in text:
        assert loaded.document.value == json.loads(text)


def test_key_given_twice_is_named_with_both_lines() -> None:
    loaded = load_text('{"name": "Probe",\n "a": 1,\n "name": {"deep": [1, 2]},\n "b": {"c": 1, "c": 2}}', "P.json")
    assert [str(problem) for problem in loaded.problems] == [
        "P.json:3:2: Probe: duplicate-key: 'name' is already given in line 1; keep one of the two",
        "P.json:4:16: Probe: duplicate-key: 'c' is already given in line 4; keep one of the two",
    ]
    assert loaded.document is not None
    assert loaded.document.value == {"name": "Probe", "a": 1, "b": {"c": 1}}


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_nesting_is_limited(opening: str) -> None:
    (problem,) = load_text(opening * 100_000, "P.json").problems
    assert problem.rule == "nesting-depth"
    assert problem.location.column == MAX_DEPTH * len(opening) + 1


def test_spec_as_deep_as_allowed_is_judged(tmp_path: Path) -> None:
    field: dict[str, object] = {"name": "Leaf", "type": "int32", "versions": "0+"}
    for level in range(MAX_DEPTH // 2 - 2):
        field = {"name": "Level", "type": f"Struct{level}", "versions": "0+", "fields": [field]}
    spec = {"name": "Probe", "type": "data", "validVersions": "0", "flexibleVersions": "none", "fields": [field]}
    file = tmp_path / "Probe.json"
    file.write_text(json.dumps(spec), encoding="utf-8")
    checked = read_file(file)
    assert checked.problems == ()
    assert checked.spec is not None
    assert [struct.name for struct in checked.spec.structs[:2]] == ["Struct0", "Struct1"]


def test_bytes_that_are_not_utf8_are_refused_at_their_place(tmp_path: Path) -> None:
    file = tmp_path / "Probe.json"
    file.write_bytes('{"name":\n "é'.encode() + b'\xff"}')
    (problem,) = read_file(file, "P.json").problems
    assert str(problem) == "P.json:2:4: unreadable: is not UTF-8 from here on; save it as UTF-8"


def test_utf16_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "Probe.json"
    file.write_text("{}", encoding="utf-16")
    assert [problem.rule for problem in read_file(file).problems] == ["unreadable"]


def test_what_is_not_a_file_is_a_problem(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.json", tmp_path / "absent" / "Probe.json", Path("bad\0name.json")):
        (problem,) = read_file(path, "P.json").problems
        assert str(problem).startswith("P.json:1:1: unreadable: cannot be read: ")


@pytest.mark.skipif(os.name != "posix", reason="needs /dev/zero")
def test_endless_device_is_a_problem() -> None:
    (problem,) = read_file("/dev/zero").problems
    assert problem.text.startswith("cannot be read: is a pipe, a socket or a device, not a file")


def test_a_file_of_more_bytes_than_a_spec_has_is_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "Probe.json"
    with file.open("wb") as stream:
        stream.truncate(MAX_BYTES + 1)
    (problem,) = read_file(file).problems
    assert str(MAX_BYTES) in problem.text


@pytest.mark.parametrize(("text", "kind"), [("[]", "a list"), ("5", "the number 5"), ("null", "null")])
def test_document_that_is_not_an_object_is_a_problem(text: str, kind: str, tmp_path: Path) -> None:
    file = tmp_path / "Probe.json"
    file.write_text(text, encoding="utf-8")
    (problem,) = read_file(file).problems
    assert (problem.rule, problem.text) == ("wrong-kind", f"the spec is {kind}; write an object")


def test_folder_without_specs_is_a_problem(tmp_path: Path) -> None:
    assert [problem.rule for problem in read_folder(tmp_path)[1]] == ["unreadable"]
    assert [problem.rule for problem in read_folder(tmp_path / "absent")[1]] == ["unreadable"]
