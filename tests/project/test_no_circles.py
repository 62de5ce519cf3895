"""Files of the generator and of the runtime import each other in one direction, wherever an import is in a file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest

from tests.support.places import ROOT

_KERNEL_IMPORT = re.compile(r"^\s*((?:from|import) kipwire.*)$", re.MULTILINE)


def sources(package: Path) -> dict[str, ast.Module]:
    """Return the parsed modules of a package by their dotted names."""
    found = {}
    for file in package.rglob("*.py"):
        name = ".".join(file.relative_to(package.parent).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = ast.parse(file.read_text(encoding="utf-8"))
    return found


def kernel() -> ast.Module:
    """Return the compiled kernel's imports from the runtime, as a module."""
    texts = [file.read_text(encoding="utf-8") for file in (ROOT / "runtime/kernel").glob("*.p[xy][xi]")]
    return ast.parse("\n".join(line for text in texts for line in _KERNEL_IMPORT.findall(text)))


def imported(name: str, source: ast.Module, modules: dict[str, ast.Module]) -> Iterator[str]:
    """Yield the modules that a module imports: at its top, in functions, and for type checkers alone."""
    is_package = any(other.startswith(f"{name}.") for other in modules)
    for node in ast.walk(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            above = name if is_package else name.rpartition(".")[0]
            origin = resolve_name("." * node.level + (node.module or ""), above)
            for alias in node.names:
                found = f"{origin}.{alias.name}"
                yield from (one for one in (found if found in modules else origin,) if one in modules)


def circle(modules: dict[str, ast.Module]) -> list[str]:
    """Return the modules along one circle, the first again at its end; none where there is no circle."""
    graph = {name: set(imported(name, source, modules)) - {name} for name, source in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found[::-1]
    return []


def test_no_circle_in_the_runtime() -> None:
    modules = sources(ROOT / "runtime/kipwire") | {"kipwire._kernel": kernel()}
    assert not circle(modules)
    assert {"kipwire.message.messages", "kipwire.model.structs"} < set(imported("kipwire._kernel", kernel(), modules))


def test_no_circle_in_the_generator() -> None:
    assert not circle(sources(ROOT / "generator/kipgen"))


@pytest.mark.parametrize(
    "way_back",
    [
        "from acme.first import A",
        "import acme.first",
        "from . import first",
        "from .first import A",
        "def f():\n    from acme import first",
        "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from acme.first import A",
    ],
)
def test_circles_are_found_wherever_the_import_stands(way_back: str, tmp_path: Path) -> None:
    package = tmp_path / "acme"
    package.mkdir()
    for name, text in {"__init__": "", "first": "from acme import second", "second": way_back}.items():
        (package / f"{name}.py").write_text(text)
    found = circle(sources(package))
    assert sorted(set(found)) == ["acme.first", "acme.second"]
    (package / "second.py").write_text("")
    assert not circle(sources(package))
