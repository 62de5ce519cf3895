"""Templates can be read, and what they make has every name that it uses."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import jinja2
import pytest
from jinja2 import nodes
from jinja2.runtime import Macro

from kipgen.language.names import RUNTIME_NAMES
from kipgen.python import render
from kipgen.python.pymodel import PyStruct, python_structs
from kipgen.python.steps import Step
from kipgen.reading.check import read_file
from kipgen.reading.rules.examples import LEAF, field_of, spec
from kipgen.resolve.headers import HeaderVersions, resolve_versions
from kipgen.resources import template_folder
from tests.support.places import DATA, ROOT
from tests.support.spec_package import modules_of

DEEPEST = 3

Calls = dict[str, list[str]]
"""Macros that each macro calls, by its `file:name`."""


def calls_of(texts: Mapping[str, str]) -> Calls:
    """Return the call graph of the macros of all templates, by the names of their files."""
    trees = {file: jinja2.Environment().parse(text) for file, text in texts.items()}
    macros = {f"{file}:{macro.name}" for file, tree in trees.items() for macro in tree.find_all(nodes.Macro)}
    calls: Calls = {}
    for file, tree in trees.items():
        imported = dict(_imports(tree))
        for macro in tree.find_all(nodes.Macro):
            called = (_called(call.node, file, imported) for call in macro.find_all(nodes.Call))
            calls[f"{file}:{macro.name}"] = sorted({name for name in called if name in macros})
    return calls


def _imports(tree: nodes.Template) -> Iterator[tuple[str, str]]:
    """Yield the names under which a template knows others, or their macros."""
    for whole in tree.find_all(nodes.Import):
        yield whole.target, f"{_file(whole)}:"
    for some in tree.find_all(nodes.FromImport):
        for name in some.names:
            macro, local = name if isinstance(name, tuple) else (name, name)
            yield local, f"{_file(some)}:{macro}"


def _file(imports: nodes.Import | nodes.FromImport) -> str:
    assert isinstance(imports.template, nodes.Const), "a template imports what it computes; name the file"
    return str(imports.template.value)


def _called(node: nodes.Expr, file: str, imported: dict[str, str]) -> str:
    if isinstance(node, nodes.Name):
        return imported.get(node.name, f"{file}:{node.name}")
    if isinstance(node, nodes.Getattr) and isinstance(node.node, nodes.Name):
        return imported.get(node.node.name, "") + node.attr
    return ""


def too_deep(calls: Calls) -> list[str]:
    """Return the chains of more macros than may call each other, in their order; a repeated macro ends its chain."""
    found = []
    pending = [[name] for name in calls]
    while pending:
        chain = pending.pop()
        if len(chain) > DEEPEST:
            found.append(" > ".join(chain))
        elif chain[-1] not in chain[:-1]:
            pending += [[*chain, name] for name in calls[chain[-1]]]
        else:
            found.append(" > ".join(chain) + ", and so on")
    return sorted(found)


def templates() -> dict[str, str]:
    folder = template_folder()
    return {file.relative_to(folder).as_posix(): file.read_text("utf-8") for file in Path(folder).rglob("*.j2")}


def test_macros_call_each_other_at_most_three_deep() -> None:
    calls = calls_of(templates())
    assert any(calls.values()), "no macro calls another; the calls are not found"
    deep = too_deep(calls)
    assert not deep, f"more than {DEEPEST} macros deep: " + "; ".join(deep)


def test_a_chain_of_four_is_found_across_templates() -> None:
    calls = calls_of(
        {
            "one.j2": '{% import "two.j2" as two %}{% macro a() %}{{ two.b() }}{% endmacro %}{{ a() }}',
            "two.j2": '{% from "three.j2" import c as see %}{% macro b() %}{{ see() | indent }}{% endmacro %}',
            "three.j2": "{% macro c() %}{% call d() %}text{% endcall %}{% endmacro %}{% macro d() %}{% endmacro %}",
        }
    )
    assert too_deep(calls) == ["one.j2:a > two.j2:b > three.j2:c > three.j2:d"]


def test_a_macro_that_calls_itself_is_found() -> None:
    calls = calls_of({"one.j2": "{% macro a() %}{% if x %}{{ a() }}{% endif %}{% endmacro %}"})
    assert too_deep(calls) == ["one.j2:a > one.j2:a, and so on"]


def test_arguments_are_not_deeper_than_the_call_that_gets_them() -> None:
    inner = "{% macro c() %}{{ d() }}{% endmacro %}{% macro d() %}{% endmacro %}"
    calls = calls_of({"one.j2": "{% macro a() %}{{ b(c()) }}{% endmacro %}{% macro b(text) %}{% endmacro %}" + inner})
    assert too_deep(calls) == []


# What each macro makes, as the comment before it shows

SPECS = [ROOT / "schemas" / "kafka_messages", ROOT / "schemas" / "kafka_records", DATA / "layouts"]

EXAMPLE = re.compile(
    r"""\{\#- (?: (?!\#\}). )*? \n (?P<spec>[A-Z]\w*) \ (?P<version>\d+)
    (?: ,\ (?P<struct>[A-Z]\w*) )? (?: ,\ (?P<item>[a-z]\w*) )? :\n\n
    (?P<code> (?: \ {4}[^\n]*\n )+ ) -?\#\}\n \{%\ macro\ (?P<macro>\w+)\(""",
    re.DOTALL | re.VERBOSE,
)


def examples(file: str) -> dict[str, re.Match[str]]:
    """Find the example before each macro: a spec, a version, maybe a struct and an item of it, and the code."""
    return {found["macro"]: found for found in EXAMPLE.finditer(templates()[file])}


def macros(file: str) -> list[str]:
    return [macro.name for macro in jinja2.Environment().parse(templates()[file]).find_all(nodes.Macro)]


def struct_of(name: str, version: int, struct: str | None) -> PyStruct:
    """Return a struct of a message in one version; without a name, the message itself."""
    (file,) = (file for folder in SPECS for file in folder.rglob(f"{name}.json"))
    checked = read_file(file)
    assert checked.spec is not None, checked.problems
    (message,) = (one for one in resolve_versions(checked.spec, HeaderVersions()) if version == one.VERSION)
    structs = {one.class_name: one for one in python_structs(message)}
    return structs[struct or message.__name__]


def step_of(item: str, steps: Sequence[Step]) -> Step:
    """Return the step of an item: its own, or the one with the item in its run."""
    (found,) = (step for step in steps if item in items_of(step))
    return found


def items_of(step: Step) -> set[str]:
    slots = step.run.slots if step.run else ()
    return {field.name for field in (*step.fields, *(slot.field for slot in slots)) if field is not None}


def lines(code: object) -> str:
    """Leave out empty lines, as `dense` does when a class is rendered."""
    return "\n".join(line.rstrip() for line in str(code).splitlines() if line.strip())


def made_by(file: str, struct: PyStruct, item: str | None) -> list[tuple[str, str]]:
    """Render one item, or else the struct around its items; return each macro that was called, and its text."""
    called: list[tuple[str, str]] = []
    call = Macro.__call__

    @functools.wraps(call)
    def recording(macro: Macro, *args: Any, **options: Any) -> str:
        text = call(macro, *args, **options)
        called.append((macro.name, lines(text)))
        return text

    module: Any = render.environment().get_template(file).module
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Macro, "__call__", recording)
        if file == "read.py.j2":
            module.steps([step_of(item, struct.all_read)]) if item else module.end(struct)
        elif item is None:
            module.body(struct, module.steps(struct.write[struct.is_framed :], struct))
        else:
            module.steps([step_of(item, struct.all_written)])
            for tagged in struct.tagged:
                if tagged.field.name == item:
                    module.differs(tagged.field)
    return called


@pytest.mark.parametrize("file", ["read.py.j2", "write.py.j2"])
def test_a_macro_makes_the_python_that_stands_before_it(file: str) -> None:
    shown = examples(file)
    assert [*shown] == macros(file), "a macro without an example before it, such as `MetadataRequest 12, topics:`"
    for macro, example in shown.items():
        struct = struct_of(example["spec"], int(example["version"]), example["struct"])
        texts = [text for name, text in made_by(file, struct, example["item"]) if name == macro]
        code = lines(re.sub("^    ", "", example["code"], flags=re.MULTILINE))
        assert code in texts, f"{macro} of {file} makes this:\n\n" + "\n\n".join(texts)


# Names that generated code uses


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("def f(data):\n    return read_new(data)\n", ["read_new"]),
        ("class C:\n    FIELDS = made(len)\n    def f(self):\n        return [new for _ in self]\n", ["made", "new"]),
        ("import struct\nclass C:\n    a = struct\n    def f(self):\n        return C, a\n", ["a"]),
        ("from kipwire import Field\nx = Field\ndef f(x=x):\n    def g():\n        return x, f\n    return g\n", []),
    ],
)
def test_names_that_a_module_has_not_are_found(text: str, missing: list[str]) -> None:
    if not missing:
        assert render.whole_module("Alpha.json", [text]) == text
    for name in missing:
        with pytest.raises(NameError, match=f"Alpha.json uses '({'|'.join(missing)})' in .*, line"):
            render.whole_module("Alpha.json", [text])
        text = f"{name} = 0\n{text}"


def test_a_template_that_uses_a_name_that_no_module_offers_makes_no_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file, text in templates().items():
        (tmp_path / file).write_text(text.replace("write_struct(", "write_struct_another_way("))
    monkeypatch.setattr(render, "template_folder", lambda: tmp_path)
    render.environment.cache_clear()
    try:
        with pytest.raises(NameError, match=r"uses 'write_struct_another_way' in _write, line \d+.*`__all__`"):
            modules_of(spec(field_of("Inner", fields=[LEAF])), "missing_name", tmp_path)
    finally:
        render.environment.cache_clear()


def test_codec_offers_nothing_that_no_generated_code_takes(
    forms_package: ModuleType, layouts_package: ModuleType
) -> None:
    folders = [Path(str(package.__file__)).parent for package in (forms_package, layouts_package)]
    taken = {
        name
        for folder in [*folders, ROOT / "generated"]
        for file in folder.rglob("*.py")
        for names in re.findall(r"^from kipwire.* import (.*)$", file.read_text("utf-8"), re.MULTILINE)
        for name in names.split(", ")
    }
    assert frozenset[str]().union(*RUNTIME_NAMES.values()) - taken == set()
