"""Tests use the names that a module gives to others: none with an underscore, in imports, attributes and patches."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.support.places import ROOT

SOURCES = ("", "generator", "runtime", "pipeline", "generated")
"""The folders that modules are imported from."""
PACKAGES = frozenset(
    (
        "kipgen",
        "kipwire",
        "kipjobs",
        "kipspark",
        "kafka_messages",
        "kafka_records",
        "tests",
        "benchmarks",
        "docs",
        "scripts",
    )
)
KERNEL = "kipwire._kernel"
"""The compiled kernel, which has tests of its own."""


def is_private(name: str) -> bool:
    """True if a name is private to its module; `__main__` and the like are not."""
    return name.startswith("_") and not name.startswith("__")


def is_module(name: str) -> bool:
    """True if a dotted name is a module or a package of ours."""
    paths = [ROOT / source / name.replace(".", "/") for source in SOURCES]
    return name in (KERNEL, *PACKAGES) or any(path.is_dir() or path.with_suffix(".py").is_file() for path in paths)


def private_names(source: str) -> Iterator[str]:
    """Yield the private names of our modules that a module imports, reads as attributes of modules, or patches."""
    tree = ast.parse(source)
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {(alias.asname or alias.name): alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in PACKAGES:
            whole = {(alias.asname or alias.name): f"{node.module}.{alias.name}" for alias in node.names}
            modules |= {name: module for name, module in whole.items() if is_module(module)}
            yield from (name for name in whole.values() if is_private(name.rpartition(".")[2]) and name != KERNEL)
    ours = {name: module for name, module in modules.items() if module.partition(".")[0] in PACKAGES}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and ast.unparse(node.value) in ours:
            yield f"{ours[ast.unparse(node.value)]}.{node.attr}"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setattr":
            yield from (name for name in patched(node.args, ours) if is_private(name.rpartition(".")[2]))


def patched(arguments: list[ast.expr], modules: dict[str, str]) -> Iterator[str]:
    """Yield the name that a call of `monkeypatch.setattr` patches, if it is in one of our modules."""
    match arguments:
        case [ast.Constant(value=str(name)), _] if name.partition(".")[0] in PACKAGES:
            yield name
        case [module, ast.Constant(value=str(name)), *_] if ast.unparse(module) in modules:
            yield f"{modules[ast.unparse(module)]}.{name}"


@pytest.mark.parametrize(
    "folder", sorted(path.name for path in (ROOT / "tests").iterdir() if any(path.rglob("*.py"))), ids=str
)
def test_no_test_uses_a_private_name_of_another_module(folder: str) -> None:
    files = sorted((ROOT / "tests" / folder).rglob("*.py"))
    assert files
    found = {str(file.relative_to(ROOT)): [*private_names(file.read_text(encoding="utf-8"))] for file in files}
    assert {file: names for file, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("from kipwire.codec.wire import _bound", "kipwire.codec.wire._bound"),
        ("def test_it():\n    from kipgen.code import _word as word", "kipgen.code._word"),
        ("from kipwire.codec import wire\nwire._bound(1)", "kipwire.codec.wire._bound"),
        ("import kipwire.codec.wire\nassert kipwire.codec.wire._bound", "kipwire.codec.wire._bound"),
        ("from kipwire.codec import wire as w\npatch.setattr(w, '_bound', 1)", "kipwire.codec.wire._bound"),
        ("patch.setattr('kipwire.codec.wire._bound', 1)", "kipwire.codec.wire._bound"),
        ("from tests.support import cost\ncost._steps()", "tests.support.cost._steps"),
    ],
)
def test_a_private_name_is_found(source: str, name: str) -> None:
    assert list(private_names(source)) == [name]


@pytest.mark.parametrize(
    "source",
    [
        "from kipwire import _kernel\n_kernel.read",
        "from docs.site.__main__ import write_site",
        "from pyspark.find_spark_home import _find_spark_home",
        "from kafka_records.record_batch.v2 import RecordBatch\nRecordBatch._read",
        "_own = 1\nassert _own",
        "import sys\nsys._is_gil_enabled()",
    ],
)
def test_other_names_are_none_of_these(source: str) -> None:
    assert list(private_names(source)) == []


def test_modules_are_known_from_their_files() -> None:
    assert is_module("kipwire.codec.wire")
    assert is_module("tests.support")
    assert is_module(KERNEL)
    assert not is_module("kipwire.codec.wire.new")
    assert (ROOT / "tests/support/cost.py").is_file()
