"""Registers of header keys: a user's own is checked against the key space, and becomes constants with all columns."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from kipgen.language.names import header_constant
from kipgen.package.generate import apply_changes, find_changes
from kipgen.reading import check
from tests.support.places import ROOT

SCHEMA = Draft202012Validator(json.loads((ROOT / "schemas/enum.schema.json").read_text()))
TENANT = {"value": 1200000, "name": "tenant", "about": "Whose message it is.", "by": "Shop"}
TRACE = {"value": 1050001, "name": "trace.id", "about": 'The "trace".', "by": "Shop", "url": "https://x.test/#a"}
REGISTER = {"name": "ShopKeys", "about": "Keys of the shop.", "keyAreas": ["local use"], "values": [TRACE, TENANT]}
MESSAGE = {
    "name": "Parcel",
    "type": "layout",
    "validVersions": "0",
    "fields": [
        {"name": "Key", "type": "uint32", "versions": "0+", "enum": "ShopKeys"},
        {"name": "Others", "type": "[]uint32", "versions": "0+", "count": "int16", "enum": "ShopKeys"},
    ],
}


def register(*values: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**REGISTER, **({"values": list(values)} if values else {}), **changes}


def problems(folder: Path, content: dict[str, Any]) -> list[str]:
    """Return the problems of a register, each as `path: rule: text`."""
    file = folder / "ShopKeys.enum.json"
    file.write_text(json.dumps(content))
    return [f"{one.path}: {one.rule}: {one.text}" for one in check.read_file(file).problems]


def without(row: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != name}


WRONG: list[tuple[str, dict[str, Any], str]] = [
    (
        "negative",
        register({**TENANT, "value": -1}),
        "header-key-range: 'value' is -1; write a 32-bit number, 0 to 4294967295",
    ),
    (
        "33 bits",
        register({**TENANT, "value": 2**32}),
        "header-key-range: 'value' is 4294967296; write a 32-bit number, 0 to 4294967295",
    ),
    ("fraction", register({**TENANT, "value": 1.5}), "wrong-kind: 'value' is the number 1.5; write a whole number"),
    (
        "reserved range of the area",
        register({**TENANT, "value": 0x150000}),
        "header-key-reserved: 1376256 is in the reserved range 1376256 to 2097151; take one of 1048576 to 1376255",
    ),
    (
        "reserved at all",
        register({**TENANT, "value": 2**32 - 1}, keyAreas=["testing", "open use"]),
        "header-key-reserved: 4294967295 is in the reserved range 4194304 to 4294967295; "
        "take one of 2097152 to 2424831 or 3145728 to 3473407",
    ),
    (
        "key of Kafka",
        register({**TENANT, "value": 1}),
        "header-key-area: 1 is a key of Kafka open source (0 to 65535), and the register is for local use; "
        "take one of 1048576 to 1376255",
    ),
    (
        "local key in an open register",
        register(TENANT, keyAreas=["open use", "Kafka open source"]),
        "header-key-area: 1200000 is a key of local use (1179648 to 1245183), and the register is for open use or "
        "Kafka open source; take one of 0 to 65535 or 2097152 to 2424831",
    ),
    (
        "key twice",
        register(TENANT, {**TENANT, "name": "other"}),
        "enum-order: 1200000 comes after 1200000; write the numbers in ascending order, each once",
    ),
    (
        "name twice",
        register(TENANT, {**TENANT, "value": 1200001}),
        "enum-member-taken: tenant is already the name of 1200000; rename one of the two",
    ),
    (
        "constant twice",
        register(TRACE, {**TENANT, "name": "trace-ID"}),
        "enum-member-taken: trace-ID gives the constant TRACE_ID_KEY, as trace.id of 1050001 does; "
        "rename one of the two",
    ),
    (
        "name with a space",
        register({**TENANT, "name": "the tenant"}),
        "name-form: 'the tenant' is not a valid name; start with a letter, then use letters and digits, with single "
        "dots, hyphens or underscores between them",
    ),
    (
        "unknown area",
        register(keyAreas=["local"]),
        "unknown-word: an element of 'keyAreas' is 'local'; did you mean local use?",
    ),
    (
        "no area",
        register(keyAreas=[]),
        "header-key-areas: 'keyAreas' is empty; name one or more of Kafka open source, local use, open use or testing",
    ),
    (
        "areas forgotten",
        without(REGISTER, "keyAreas"),
        'missing-property: \'keyAreas\' is missing; add it, as in "keyAreas": ["local use"]',
    ),
    (
        "areas misspelt",
        {**without(REGISTER, "keyAreas"), "keyArea": ["local use"]},
        "unknown-property: unknown property 'keyArea'; did you mean keyAreas?",
    ),
    (
        "areas of a wrong kind",
        register(keyAreas="local use"),
        "wrong-kind: 'keyAreas' is the string 'local use'; write a list",
    ),
    (
        "keys of messages",
        {**without(REGISTER, "values"), "valuesFrom": {"type": "request"}},
        "header-key-areas: messages have no header keys; give the keys as values",
    ),
    (
        "not said by whom",
        register(without(TENANT, "by")),
        'missing-property: \'by\' is missing; add it, as in "by": "Apache Kafka"',
    ),
    (
        "blank by",
        register({**TENANT, "by": " "}),
        "enum-text: 'by' is blank; write the text, or leave the property out",
    ),
    (
        "blank notes",
        register({**TENANT, "notes": ""}),
        "enum-text: 'notes' is blank; write the text, or leave the property out",
    ),
    (
        "control character",
        register({**TENANT, "url": "a\u0000"}),
        "control-character: 'url' contains the control character U+0000; remove it",
    ),
    (
        "misspelt column",
        register({**TENANT, "note": "x"}),
        "unknown-property: unknown property 'note'; did you mean notes?",
    ),
    (
        "column of an enum of errors",
        register({**TENANT, "retriable": True}),
        "unknown-property: unknown property 'retriable'; write one of about, by, name, notes, url or value",
    ),
]


@pytest.mark.parametrize(("content", "expected"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_wrong_register_has_one_problem_which_says_what_is_right(
    content: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    (found,) = problems(tmp_path, content)
    assert found.partition(": ")[2] == expected


@pytest.mark.parametrize(
    "row",
    [
        {**TENANT, "value": 0x00100000, "name": "a"},
        {**TENANT, "value": 0x0014FFFF, "name": "Trace2.id-of_x"},
        {**TENANT, "notes": "page 1\npage 2"},
    ],
)
def test_a_right_register_has_no_problem_in_check_or_editor(row: dict[str, Any], tmp_path: Path) -> None:
    assert problems(tmp_path, register(row)) == []
    assert list(SCHEMA.iter_errors(register(row))) == []


@pytest.mark.parametrize("name", ["", "1a", "a..b", "a.", ".a", "a b", "a\n", "ä", "a/b", "a.-b"])
def test_a_name_that_makes_no_constant_is_refused_by_check_and_editor(name: str, tmp_path: Path) -> None:
    wrong = register({**TENANT, "name": name})
    assert [one.split(": ")[1] for one in problems(tmp_path, wrong)] == ["name-form"]
    assert list(SCHEMA.iter_errors(wrong)) or name == "a\n"  # whose pattern ends before a last line end in Python


def test_editors_see_what_belongs_to_registers_and_what_to_other_enums() -> None:
    light = {"name": "Light", "about": "A light.", "values": [{"value": -1, "name": "ON", "about": "On."}]}
    assert list(SCHEMA.iter_errors(light)) == []
    assert list(SCHEMA.iter_errors({**light, "keyAreas": ["testing"]}))
    for wrong in (register({**TENANT, "value": 2**32}), register({**TENANT, "kip": 82}), without(REGISTER, "keyAreas")):
        assert list(SCHEMA.iter_errors(wrong)), wrong


def test_a_key_is_in_one_register_of_a_package(tmp_path: Path) -> None:
    (tmp_path / "Parcel.json").write_text(json.dumps(MESSAGE))
    (tmp_path / "A.enum.json").write_text(json.dumps(register(name="ShopKeys")))
    (tmp_path / "B.enum.json").write_text(json.dumps(register({**TENANT, "name": "other"}, name="OtherKeys")))
    (found,) = check.read_folder(tmp_path)[1]
    assert (Path(found.location.file).name, found.path, found.rule) == (
        "B.enum.json",
        "OtherKeys.other",
        "header-key-taken",
    )
    assert found.text.startswith("1200000 is already in the register ShopKeys (")
    assert found.text.endswith("); take another key")


@pytest.mark.parametrize(
    ("name", "constant"),
    [
        ("client.id", "CLIENT_ID_KEY"),
        ("appdynamics", "APPDYNAMICS_KEY"),
        ("a-b_C.d2", "A_B_C_D2_KEY"),
        ("mro", "MRO_KEY"),
    ],
)
def test_constants_follow_from_names(name: str, constant: str) -> None:
    assert header_constant(name) == constant


def test_a_users_own_register_becomes_constants_with_every_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = tmp_path / "specs"
    specs.mkdir()
    (specs / "Parcel.json").write_text(json.dumps(MESSAGE))
    notes = 'Ask us.\nOr \'"""\' \\ them.'
    (specs / "ShopKeys.enum.json").write_text(json.dumps(register({**TRACE, "notes": notes}, TENANT)))
    planned = find_changes(specs, tmp_path / "own_registers", "own_registers", lambda done, total: None)
    assert planned.problems == ()
    apply_changes(planned)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    keys: Any = importlib.import_module("own_registers.enums").ShopKeys
    trace, tenant = keys.TRACE_ID_KEY, keys.TENANT_KEY
    assert list(keys) == [trace, tenant] == [1050001, 1200000]
    assert (trace.header, trace.about, trace.by, trace.url, trace.notes) == (
        "trace.id",
        'The "trace".',
        "Shop",
        "https://x.test/#a",
        notes,
    )
    assert (tenant.header, tenant.url, tenant.notes) == ("tenant", None, None)
    parcel: Any = importlib.import_module("own_registers").message("Parcel", 0)
    assert parcel.FIELDS[0].enum is keys
    shown = "Parcel(key=ShopKeys.TENANT_KEY, others=[7, ShopKeys.TRACE_ID_KEY])"
    assert repr(parcel(key=1200000, others=[7, trace])) == shown
