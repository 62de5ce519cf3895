"""Generated code is formatted as by black, although kipgen gives black only the long lines."""

from __future__ import annotations

import copy
import json
from typing import Any

import black
import pytest
from black.mode import TargetVersion
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kipgen.code import literal
from kipgen.language.spec import MessageSpec
from kipgen.python.pymodel import LINE_LENGTH, docstring_text
from kipgen.python.render import format_code, registry_entry, render_message, render_package
from kipgen.python.render_enums import render_enums
from kipgen.reading import check
from kipgen.reading.enum_spec import EnumSpec, EnumValue
from kipgen.resolve.headers import HeaderVersions
from tests.support.cases import some
from tests.support.places import DATA, FORMS, LAYOUTS
from tests.support.subjects.random_specs import TEXTS, random_layouts, random_messages

CASES = {
    case["name"]: case["spec"]
    for case in map(json.loads, (DATA / "spec-cases.jsonl").read_text("utf-8").splitlines())
    if case["expect"] == "ok" and "messages" not in case["spec"]
}
EXAMPLES = {file.stem: json.loads(file.read_text("utf-8")) for file in (*FORMS.glob("*.json"), *LAYOUTS.glob("*.json"))}
MODE = black.Mode(target_versions={TargetVersion.PY311}, line_length=LINE_LENGTH)
few = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def checked(spec: dict[str, Any]) -> MessageSpec | None:
    return check.read_bytes(json.dumps(spec).encode(), "Probe.json").spec


def check_modules(spec: dict[str, Any]) -> None:
    """Check the modules of a spec; if it has problems, there are none."""
    found = checked(spec)
    modules = render_message(found, HeaderVersions(), "specs/Probe.json") if found else {}
    for text in modules.values():
        assert_formatted(text)


def assert_formatted(text: str) -> None:
    assert black.format_str(text, mode=MODE) == text


@pytest.mark.parametrize("name", some([*CASES, *EXAMPLES]))
def test_code_of_a_spec_is_as_black_formats_it(name: str) -> None:
    spec = CASES.get(name) or EXAMPLES[name]
    assert checked(spec) is not None
    check_modules(spec)


@pytest.mark.night
@few
@given(random_messages())
def test_code_of_any_message_is_as_black_formats_it(spec: dict[str, Any]) -> None:
    check_modules(spec)


@pytest.mark.night
@few
@given(random_layouts(), TEXTS)
def test_code_of_any_record_format_is_as_black_formats_it(spec: dict[str, Any], about: str) -> None:
    fields = copy.deepcopy(spec["fields"])
    fields[0]["about"] = about
    check_modules({**spec, "about": about, "fields": fields})


@pytest.mark.parametrize("default", ["1e16", "-1.5e+300", "1e-7", "123456789.5"])
def test_a_default_with_an_exponent_is_as_black_formats_it(default: str) -> None:
    field = {"name": "Ratio", "type": "float64", "versions": "0+", "default": default}
    head = {"apiKey": 7, "type": "request", "name": "ProbeRequest", "validVersions": "0", "flexibleVersions": "0+"}
    check_modules({**head, "fields": [field]})


@pytest.mark.parametrize("about", ["", " ", "\t\n "])
def test_a_blank_text_is_as_no_text(about: str) -> None:
    fields = [{"name": "Alpha", "type": "int8", "versions": "0", "about": about}]
    head = {"type": "data", "name": "Probe", "validVersions": "0-1", "flexibleVersions": "none"}
    check_modules({**head, "about": about, "fields": fields})  # version 1 has the text alone


@settings(deadline=None)
@given(TEXTS)
def test_a_literal_is_as_black_has_it(text: str) -> None:
    assert eval(literal(text)) == text
    assert_formatted(f"x = {literal(text[:40])}\n")


@settings(deadline=None)
@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_a_docstring_is_as_black_has_it(first: str, more: list[str]) -> None:
    lines = [first, "", "Attributes:", *(f"    {text}" for text in more)] if more else [first]
    assert_formatted(f'class Probe:\n    """{docstring_text(lines)}"""\n')


@pytest.mark.parametrize("count", [0, 1, 2, 5])
@pytest.mark.parametrize("length", [1, 20, 60])
def test_a_registry_is_as_black_formats_it(count: int, length: int) -> None:
    spec = checked(CASES["minimal-data"])
    assert spec is not None
    names = [f"Probe{'abcdefghij' * 6}"[:length] + str(number) for number in range(count)]
    entries = [
        registry_entry(MessageSpec(**{**_values(spec), "name": name, "type": kind}), HeaderVersions())
        for name, kind in zip(names, ["request", "response", "data", "header", "request"], strict=False)
    ]
    assert_formatted(render_package("probe.package", entries))


def _values(spec: MessageSpec) -> dict[str, Any]:
    return {name: getattr(spec, name) for name in spec.__dataclass_fields__}


@few
@given(st.lists(TEXTS, max_size=3), TEXTS, st.sampled_from([None, True, False]))
def test_names_of_numbers_are_as_black_formats_them(abouts: list[str], about: str, retriable: bool | None) -> None:
    values = tuple(
        EnumValue(name=f"NAME_{number}", number=number, about=text, retriable=retriable)
        for number, text in enumerate(abouts)
    )
    assert_formatted(render_enums("probe", [EnumSpec(name="Probes", about=about, values=values)] if abouts else [], []))


def test_black_gets_only_long_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []

    def noted(code: str, *, mode: black.Mode) -> str:
        given.append(code)
        return code

    monkeypatch.setattr(black, "format_str", noted)
    short = f'x = 1\n"""{"a" * 200}\n{"b" * 200}\n"""\ny = 2\n'
    assert format_code(short) == short
    assert given == []
    long = f"x = {' + '.join(['number'] * 20)}"
    assert format_code(f"{short}    {long}\n") == f"{short}    {long}\n"
    assert given == [long]
