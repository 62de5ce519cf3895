"""No text of a spec, a file's or a folder's name becomes code: the syntax tree stays, only texts in it may differ."""

from __future__ import annotations

import ast
import copy
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kipgen.code import Code, CodeEnvironment, NotCode, comment, fit
from kipgen.python.render import registry_entry, render_message, render_package
from kipgen.reading import check
from kipgen.resolve.headers import HeaderVersions

MESSAGE: dict[str, Any] = {
    "apiKey": 7,
    "type": "request",
    "name": "ProbeRequest",
    "about": "What it is.",
    "listeners": ["broker"],
    "validVersions": "0-2",
    "flexibleVersions": "1+",
    "fields": [
        {"name": "Word", "type": "string", "versions": "0+", "default": "red", "about": "A word."},
        {"name": "Group", "type": "string", "versions": "0+", "entityType": "groupId", "about": "A group."},
        {"name": "Number", "type": "int32", "versions": "0+", "default": "5", "encoding": "packed32", "about": "One."},
        {"name": "Id", "type": "uuid", "versions": "0+", "about": "An id.", "ignorable": True},
        {"name": "Part", "type": "float64", "versions": "0+", "default": "1.5", "about": "A part."},
        {
            "name": "Topics",
            "type": "[]Topic",
            "versions": "0+",
            "about": "Topics.",
            "fields": [
                {"name": "Name", "type": "string", "versions": "0+", "mapKey": True, "about": "Its name."},
                {"name": "Tagged", "type": "int8", "versions": "1+", "tag": 0, "taggedVersions": "1+", "about": "T."},
            ],
        },
        {"name": "Shared", "type": "Shade", "versions": "1+", "tag": 1, "taggedVersions": "1+", "about": "Shared."},
    ],
    "commonStructs": [
        {
            "name": "Shade",
            "versions": "0+",
            "about": "A shade.",
            "fields": [{"name": "Depth", "type": "int64", "versions": "0+", "about": "How dark."}],
        }
    ],
}
LAYOUT: dict[str, Any] = {
    "type": "layout",
    "name": "Probe",
    "about": "A record.",
    "validVersions": "0-1",
    "fields": [
        {"name": "Size", "type": "int32", "sizeOf": "rest", "versions": "0+", "about": "Its size."},
        {"name": "Magic", "type": "int8", "constant": "version", "versions": "0+", "about": "Its version."},
        {
            "name": "Flags",
            "type": "int8",
            "versions": "0+",
            "about": "Flags.",
            "bits": [{"name": "IsOld", "bits": "0", "about": "Old."}, {"name": "Level", "bits": "1-3", "about": "L."}],
        },
        {"name": "Key", "type": "bytes", "size": "int32", "versions": "0+", "about": "A key."},
    ],
}
FRAGMENTS = [
    '"',
    "'",
    '"""',
    "'''",
    "\\",
    "\n",
    "\r",
    "\t",
    "\f",
    "\x00",
    "\x1b[2J",
    "\x85",
    "\u2028",
    "\u202e",
    "#",
    "(",
    ")",
    ":",
    "=",
    ";",
    "{{ 7 * 7 }}",
    "{% raw %}",
    "{#",
    "%s",
    "{0}",
    "coding: utf-7",
    "coding=raw-unicode-escape",
    "+ACI-",
    "\\u0022",
    "\\N{QUOTATION MARK}",
    "\nimport os\n",
    '"\nimport os\n"""',
    "\r__import__('os')\r#",
    "é",
    "\U0001f600",
]
hostile = st.lists(st.sampled_from([*FRAGMENTS, "a", " ", "Z9"]), min_size=1, max_size=6).map("".join)
"""Texts with other characters than letters and digits, or which `unlike_a_name` gives some."""


def unlike_a_name(text: str) -> str:
    """Return the text, or a longer one if it could be a name or is blank, which is the same as no text.

    White space of any kind around the name of a type is no part of it.
    """
    letters = "".join(text.split())
    is_hostile = letters and not (letters.isalnum() and letters.isascii())
    return text if is_hostile else f"{text}\n#"


def texts(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all texts in a spec."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from texts(inner, (*path, key))


def with_text(spec: dict[str, Any], path: tuple[Any, ...], text: str) -> dict[str, Any]:
    changed: Any = copy.deepcopy(spec)
    here = changed
    for step in path[:-1]:
        here = here[step]
    here[path[-1]] = text
    return dict(changed)


def generated(spec: dict[str, Any], source: str = "specs/Probe.json") -> list[str] | None:
    """Return the modules of a spec; None if it is refused."""
    checked = check.read_bytes(json.dumps(spec).encode(), "Probe.json")
    if checked.spec is None:
        assert any(problem.severity == "error" for problem in checked.problems)
        return None
    return list(render_message(checked.spec, HeaderVersions(), source).values())


def skeleton(module: str) -> str:
    """Return a module's syntax tree without the content of its texts, read as Python reads a file, by its encoding."""
    tree = ast.parse(module.encode())
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = "text"
            node.kind = None
    return ast.dump(tree)


@cache
def plain_skeletons(name: str) -> list[str]:
    """Return the skeletons of the modules of a spec that is not attacked."""
    return list(map(skeleton, generated({"ProbeRequest": MESSAGE, "Probe": LAYOUT}[name]) or []))


EVERY_PLACE = [(spec, path) for spec in (MESSAGE, LAYOUT) for path in texts(spec)]


@pytest.mark.parametrize("spec", [MESSAGE, LAYOUT])
def test_the_specs_that_are_attacked_are_good_ones(spec: dict[str, Any]) -> None:
    assert generated(spec)


@settings(deadline=None)  # the first example reads the templates
@given(st.sampled_from(EVERY_PLACE), hostile.map(unlike_a_name))
def test_no_text_of_a_spec_becomes_code(location: tuple[dict[str, Any], tuple[Any, ...]], text: str) -> None:
    spec, path = location
    modules = generated(with_text(spec, path, text))
    if modules is not None:
        assert list(map(skeleton, modules)) == plain_skeletons(spec["name"])


@pytest.mark.parametrize("fragment", FRAGMENTS)
@pytest.mark.parametrize("spec", [MESSAGE, LAYOUT], ids=["message", "layout"])
def test_prose_with_any_fragment_is_text_or_refused(spec: dict[str, Any], fragment: str) -> None:
    attacked = spec
    for path in texts(spec):
        if path[-1] == "about":
            attacked = with_text(attacked, path, f"x {fragment}")
    modules = generated(attacked)
    if modules is not None:
        assert list(map(skeleton, modules)) == plain_skeletons(spec["name"])


@settings(deadline=None, max_examples=50)
@given(hostile, st.sampled_from([MESSAGE, LAYOUT]))
def test_no_name_of_a_file_or_folder_becomes_code(name: str, spec: dict[str, Any]) -> None:
    modules = generated(spec, f"{name}/sub {name}/{name}.json")
    assert modules is not None
    assert list(map(skeleton, modules)) == plain_skeletons(spec["name"])


@given(st.text(st.characters(), max_size=20))
def test_a_comment_is_one_line_of_printable_text_that_sets_no_encoding(text: str) -> None:
    shown = comment(text)
    assert shown.isprintable()
    assert not set(shown) & set("\"'\\:=#") - {"\\"}
    assert ast.dump(ast.parse(f"# {shown}\nx = 1".encode())) == ast.dump(ast.parse("x = 1"))


@settings(deadline=None)
@given(hostile)
def test_no_name_of_a_package_becomes_code(name: str) -> None:
    checked = check.read_bytes(json.dumps(MESSAGE).encode(), "Probe.json")
    assert checked.spec is not None
    entries = [registry_entry(checked.spec, HeaderVersions())]
    hostile_text, plain = render_package(name, entries), render_package("plain", entries)
    assert skeleton(hostile_text) == skeleton(plain)


def test_an_about_with_nul_is_a_problem_with_a_place() -> None:
    text = json.dumps(with_text(MESSAGE, ("fields", 0, "about"), "a\x00b"), indent=1)
    problems = check.read_bytes(text.encode(), "Probe.json").problems
    (problem,) = (problem for problem in problems if problem.severity == "error")
    line = text[: text.index("\\u0000")].count("\n") + 1
    assert (problem.location.line, problem.rule) == (line, "control-character")
    assert problem.path == "ProbeRequest.Word"
    assert "U+0000" in problem.text


def test_templates_print_neither_texts_nor_what_holds_them() -> None:
    environment = CodeEnvironment()

    class Thing:
        text = 'a"b'
        words = ("plain", "x\ny")
        code = Code('"fine"')
        word = "list[Foo] | None"

    for template in ("{{ it.text }}", "{{ 'a' ~ it.text }}", '{{ "%s" % it.text }}', "{{ it.text | indent }}"):
        with pytest.raises((ValueError, TypeError), match=r"neither a word nor|NotCode"):
            environment.from_string(template).render(it=Thing())
    with pytest.raises((ValueError, TypeError)):
        environment.from_string("{% for one in it.words %}{{ one }}{% endfor %}").render(it=Thing())
    shown = environment.from_string("{{ it.code }} {{ it.word }}{{ ' yes' if it.text }}").render(it=Thing())
    assert shown == '"fine" list[Foo] | None yes'
    assert isinstance(fit({"a": "\n"}), NotCode)
