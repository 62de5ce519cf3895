"""The JSON Schema of specs refuses in an editor what `kipgen check` refuses, also between properties."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from kipgen.language.layout_properties import PROPERTIES
from kipgen.reading.rules.examples import LEAF, field_of, layout, spec, struct_named
from kipgen.reading.source import load
from kipgen.resources import enum_schema_path, schema_path
from kipwire.model import types
from tests.support.places import DATA, ROOT
from tests.support.subjects.rule_checks import check_text

VALIDATOR = Draft202012Validator(json.loads(schema_path().read_text("utf-8")))
TYPES = (
    *("bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64", "string", "uuid", "bytes", "records"),
    *("Inner", "[]int8", "[]int16", "[]int32", "[]uint32", "[]int64", "[]string", "[]Inner", " int32 ", " []int16 "),
)


def refused(text: str) -> bool:
    return not VALIDATOR.is_valid(json.loads(text))


@pytest.mark.parametrize("property_", ["encoding", "elementEncoding"])
@pytest.mark.parametrize("type_", TYPES)
def test_encodings_are_refused_on_what_cannot_have_them(type_: str, property_: str, tmp_path: Path) -> None:
    bits = next((bits for bits in ("32", "64") if bits in type_), "16")
    for value in (f"packed{bits}", {"0-1": f"fixed{bits}", "2+": f"upacked{bits}"}):
        text = spec(field_of(type_, fields=[] if "Inner" in type_ else None, **{property_: value}))  # type: ignore[arg-type]
        problems = check_text(tmp_path, text).problems
        assert {problem.rule for problem in problems} <= {"encoding-type", "element-encoding-type"}
        assert refused(text) == bool(problems)


@pytest.mark.parametrize("property_", ["checksum", "constant", "bits"])
def test_an_integer_without_an_attribute_has_no_encoding(property_: str, tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "checksum": {"algorithm": "crc32", "from": "Beta"},
        "constant": 7,
        "bits": [{"name": "Kind", "bits": "0-1"}],
    }
    beta = field_of("int8", "Beta")
    good = layout(field_of("int32", **{property_: values[property_]}), beta)
    bad = layout(field_of("int32", encoding="packed32", **{property_: values[property_]}), beta)
    assert check_text(tmp_path, good).problems == ()
    assert not refused(good)
    assert check_text(tmp_path, bad).problems != ()
    assert refused(bad)
    assert not refused(layout(field_of("int32", sizeOf="rest", encoding="packed32"), beta))


OF_LAYOUTS: dict[str, tuple[str, object]] = {
    "size": ("string", "varint"),
    "count": ("[]int32", "varint"),
    "sizeOf": ("int32", "rest"),
    "checksum": ("int32", {"algorithm": "crc32", "from": "Other"}),
    "constant": ("int8", 7),
    "bits": ("int8", [{"name": "Kind", "bits": 1}]),
    "presentIf": ("string", "Flag"),
    "absentIf": ("string", "Flag"),
    "required": ("int32", True),
    "requiredIf": ("string", "Flag"),
    "sizeOnlyWith": ("string", "Other"),
    "sorted": ("[]Inner", True),
    "sameLengthAs": ("[]int32", "Other"),
}


def nested(field: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return a field at the top, in structs in structs, and in a common struct: the fields, and the common structs."""
    inner = field_of("[]Nest", "Out", fields=[LEAF, field_of("Deep", "Down", fields=[field])])
    shared = struct_named("Shared", LEAF, field)
    return [(field, ()), (inner, ()), (field_of("Shared", "Use"), (shared,))]


def test_every_property_of_layouts_is_tried() -> None:
    assert set(OF_LAYOUTS) >= {one.name for one in PROPERTIES.values()}


@pytest.mark.parametrize("property_", OF_LAYOUTS)
def test_properties_of_layouts_are_refused_in_other_messages(property_: str, tmp_path: Path) -> None:
    type_, value = OF_LAYOUTS[property_]
    field = field_of(type_, fields=[] if "Inner" in type_ else None, **{property_: value})  # type: ignore[arg-type]
    for fields, common in nested(field):
        assert not refused(layout(fields, common=common))
        text = spec(fields, common=common)
        assert refused(text)
        assert "layouts-only" in {problem.rule for problem in check_text(tmp_path, text).problems}
        for type_name in ("request", "response", "header", "metadata", "coordinator-key"):
            assert refused(text.replace('"data"', f'"{type_name}"'))


@pytest.mark.parametrize(
    "more", [{"tag": 0}, {"taggedVersions": "2+"}, {"flexibleVersions": "none"}, {"elementEncoding": "packed32"}]
)
def test_properties_that_layouts_do_not_have_are_refused_in_them(more: dict[str, Any], tmp_path: Path) -> None:
    type_ = "[]int32" if "elementEncoding" in more else "string"
    for fields, common in nested(field_of(type_, **more)):
        text = layout(fields, common=common)
        assert refused(text)
        assert "not-in-layouts" in {problem.rule for problem in check_text(tmp_path, text).problems}
        assert not refused(spec(fields, common=common))


@pytest.mark.parametrize("type_", ["request", "response", "data", "header", "metadata", "layout", "coordinator-key"])
def test_headers_are_refused_where_no_header_is(type_: str, tmp_path: Path) -> None:
    more = ("" if type_ == "layout" else '"apiKey": 7, ') + '"headerVersions": {"0+": "1"}'
    flexible = "none" if type_ in ("layout", "coordinator-key") else "2+"
    text = spec(type_=type_, valid="0", flexible=flexible, more=more)
    assert refused(text) == (type_ not in ("request", "response"))
    broken = {problem.rule for problem in check_text(tmp_path, text).problems}
    assert broken == ({"header-versions-on-requests"} if refused(text) else set())
    assert not refused(text.replace('"0"', '"none"', 1)), "a retired message only keeps its number"


SCHEMA: Any = VALIDATOR.schema
ENUM_SCHEMA = json.loads(enum_schema_path().read_text("utf-8"))
PLACEHOLDER = re.compile(r"\$\{\d+(?::([^}]*)|\|([^,|]*)[^|]*\|)?\}")


def typed(body: Any) -> Any:
    """Return the JSON that a snippet leaves where nothing is typed over it."""
    if isinstance(body, dict):
        return {name: typed(value) for name, value in body.items()}
    if isinstance(body, list):
        return [typed(value) for value in body]
    text = PLACEHOLDER.sub(lambda found: found[1] or found[2] or "", body) if isinstance(body, str) else body
    return json.loads(text[1:]) if isinstance(text, str) and text.startswith("^") else text


def snippets(part: dict[str, Any]) -> dict[str, Any]:
    return {one["label"]: typed(one["body"]) for one in part["defaultSnippets"]}


MESSAGES = snippets(SCHEMA)
FIELDS = snippets(SCHEMA["$defs"]["field"])
OF_MESSAGES = snippets(SCHEMA["$defs"]["ofMessages"])
IN_LAYOUTS = snippets(SCHEMA["$defs"]["ofLayouts"])
WHOLE = {
    **{name: json.dumps(body) for name, body in MESSAGES.items()},
    **{f"{name} of a message": spec(json.dumps(body), flexible="0+") for name, body in (FIELDS | OF_MESSAGES).items()},
    **{f"{name} of a layout": layout(json.dumps(body)) for name, body in (FIELDS | IN_LAYOUTS).items()},
}


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_a_snippet_is_right_as_it_comes(text: str, tmp_path: Path) -> None:
    assert check_text(tmp_path, text).problems == ()
    assert not refused(text)


def test_each_type_of_fields_is_proposed_with_its_meaning() -> None:
    proposed = SCHEMA["$defs"]["field"]["properties"]["type"]["defaultSnippets"]
    assert [one["body"] for one in proposed][: len(types.TYPES)] == [*types.TYPES]
    assert all(one["description"].endswith(".") for one in proposed)


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield each part of a schema that can refuse a value, which conditions alone do not."""
    if isinstance(schema, dict):
        yield schema
        for name, value in schema.items():
            yield from () if name in ("if", "not") else parts(value)
    for one in schema if isinstance(schema, list) else ():
        yield from parts(one)


@pytest.mark.parametrize("schema", [SCHEMA, ENUM_SCHEMA], ids=["message", "enum"])
def test_a_refusal_that_an_editor_would_explain_by_a_pattern_has_words(schema: Any) -> None:
    patterns = [one for one in parts(schema) if isinstance(one.get("pattern"), str)]
    assert [one for one in patterns if "patternErrorMessage" not in one] == []
    forbidding = [one for one in parts(schema) if False in one.get("properties", {}).values()]
    assert [one for one in forbidding if "errorMessage" not in one] == []
    texts = [one[name] for one in parts(schema) for name in ("patternErrorMessage", "errorMessage") if name in one]
    assert len(texts) > (30 if schema is SCHEMA else 3)
    assert [text for text in texts if not text.endswith(".") or "^" in text] == []


SPECS = [
    file
    for folder in (ROOT / "schemas", DATA / "forms", DATA / "layouts")
    for file in sorted(folder.rglob("*.json"))
    if not file.name.endswith((".enum.json", ".schema.json"))
]


def test_every_spec_of_the_repository_is_accepted() -> None:
    wrong = []
    for file in SPECS:
        document: Any = load(file, file.name).document
        wrong += [f"{file}: {error.message}" for error in VALIDATOR.iter_errors(document.value)]
    assert wrong == []
    assert len(SPECS) > 300
