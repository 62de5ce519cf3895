"""Names that docstrings, comments and guides have in backticks exist: `module.name` is found from where it is said."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.places import ROOT

PACKAGES = {
    "kipgen": ROOT / "generator/kipgen",
    "kipwire": ROOT / "runtime/kipwire",
    "kipjobs": ROOT / "pipeline/kipjobs",
    "kipspark": ROOT / "pipeline/kipspark",
}
SAID = re.compile(r"`([a-z_]\w*(?:\.\w+)+)(?:\([^`]*\))?`")
FILES = frozenset({"toml", "json", "css", "py", "pyx", "pxi", "pxd", "j2", "md", "sh"})
"""Suffixes: such a word is the name of a file."""
ELSEWHERE = re.compile(r"kipwire\.(_kernel|drafts\.proposals)\b|.*\b[A-Z]+\b")
"""Compiled and generated modules, and names with a word in capitals that stands for another."""

NO_MODULES = frozenset({"json", "spark"})
"""Python's own module, and a session of Spark, where rooms of these names are near."""

Names = dict[str, "Names | None"]
"""Names in a module or a class; a class has its own in turn. None has no names that are known."""


def stored_in(tree: ast.AST) -> set[str]:
    """Return the variables that code sets."""
    return {one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def names_in(body: list[ast.stmt]) -> Names:
    """Return what statements define, in their blocks, too."""
    found: Names = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = None
        elif isinstance(node, ast.ClassDef):
            own = names_in(node.body)
            own.update({one.attr: None for one in ast.walk(node) if isinstance(one, ast.Attribute)})
            found[node.name] = None if node.bases else own  # a base may have any name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update({(alias.asname or alias.name).partition(".")[0]: None for alias in node.names})
        elif isinstance(node, ast.If | ast.Try | ast.With):
            found |= names_in(node.body) | names_in(getattr(node, "orelse", []))
        else:
            found.update(dict.fromkeys(stored_in(node)))
    return found


def dotted(file: Path) -> str:
    """Return the name of a module, or "" of another file."""
    for package, folder in PACKAGES.items():
        if file.is_relative_to(folder):
            return ".".join([package, *file.relative_to(folder).with_suffix("").parts]).removesuffix(".__init__")
    return ""


@cache
def modules() -> dict[str, Names]:
    files = [file for folder in PACKAGES.values() for file in folder.rglob("*.py") if "proposals" not in file.parts]
    return {dotted(file): names_in(ast.parse(file.read_text("utf-8")).body) for file in files}


def exists(name: str) -> bool:
    """True if a module has the name, or if nothing is known of what has it."""
    parts = name.split(".")
    module = next(end for end in range(len(parts), 0, -1) if ".".join(parts[:end]) in modules())
    here: Names | None = modules()[".".join(parts[:module])]
    for part in parts[module:]:
        if here is None:
            return True
        if part not in here:
            return False
        here = here[part]
    return True


def unknown(text: str, module: str = "", own: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the dotted names in a text that do not exist.

    Args:
        text: the text.
        module: the module that it is in: names may begin at any package around it.
        own: names that mean something else there, such as parameters.
    """
    around = [module[: end.start() + 1] for end in re.finditer(r"\.", module)] if module else []
    for name in SAID.findall(text):
        first, *more = name.split(".")
        is_deep = len(more) > 2 and first not in PACKAGES
        if more[-1] in FILES or is_deep or first in own | NO_MODULES or ELSEWHERE.match(name):
            continue
        found = [f"{package}{name}" for package in ["", *around] if f"{package}{first}" in modules()]
        if found and not any(map(exists, found)):
            yield name


def names_used(tree: ast.Module) -> frozenset[str]:
    """Return the parameters and variables of a module, and what it imports that is not ours."""
    arguments = {one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)}
    foreign = {alias.name for one in ast.walk(tree) if isinstance(one, ast.Import) for alias in one.names}
    return frozenset(arguments | stored_in(tree) | (foreign - PACKAGES.keys()))


def texts() -> Iterator[tuple[Path, str, str, frozenset[str]]]:
    """Yield each file with its text, the module whose names it may begin with, and names that mean something else."""
    for file in [*(ROOT / "docs").glob("*.md"), ROOT / "CONTRIBUTING.md"]:
        yield file, file.read_text("utf-8"), "", frozenset()
    kernel = [file for file in (ROOT / "runtime/kernel").iterdir() if file.suffix in (".pyx", ".pxi", ".pxd")]
    for file in [*kernel, *(ROOT / "templates").glob("*.j2")]:
        yield file, file.read_text("utf-8"), "kipwire.", frozenset()
    for file in (file for folder in PACKAGES.values() for file in folder.rglob("*.py")):
        if "proposals" not in file.parts:
            text = file.read_text("utf-8")
            yield file, text, dotted(file), names_used(ast.parse(text))


def test_dotted_names_in_texts_exist() -> None:
    found = [
        f"{file.relative_to(ROOT)}: {name}"
        for file, text, module, own in texts()
        for name in unknown(text, module, own)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "module", "names"),
    [
        ("see `kipwire.model.lazy.kept`", "", ["kipwire.model.lazy.kept"]),
        ("by `description.walk` and `description.trace`", "kipwire.message.messages", ["description.walk"]),
        ("`lazy.get_or_set`, `lazy.LazyStruct.__get__`, `lazy.kept()`", "kipwire.model.structs", ["lazy.kept"]),
        ("`kipwire.model.types.Type.wdth`", "", ["kipwire.model.types.Type.wdth"]),
        ("`kipgen.toml`, `field.name`, `json.dumps`, `kipwire.model.types.TYPES`", "", []),
    ],
)
def test_a_name_that_is_not_there_is_found(text: str, module: str, names: list[str]) -> None:
    assert list(unknown(text, module)) == names
