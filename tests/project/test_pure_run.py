"""What `make test-pure` leaves out cannot have another result without the compiled kernel, or it says why."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.places import ROOT

MARKER = "same_without_kernel"
CODECS = {"kipwire", "kipspark", "kafka_messages", "kafka_records", "importlib"}
"""Packages that read or write messages, and what finds classes that were just generated, which do so too."""
NO_CODECS = (
    "kipwire.__version__",
    "kipwire.model.api_keys",
    "kipwire.model.abi",
    "kipwire.description.column_order",
    "kipwire.drafts.header_keys",
    "kipwire.model.extras",
    "kipwire.model.structs",
    "kipwire.model.types",
    "kipwire.tools",
)
"""Modules of those that read and write no messages: facts, files, words."""
MODULES = sorted((ROOT / "tests").rglob("test_*.py"))


def imported(file: Path) -> Iterator[str]:
    """The modules that a file imports, anywhere in it; names taken from modules may be modules, too."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            if not all(f"{node.module}.{alias.name}" in NO_CODECS for alias in node.names):
                yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def file_of(module: str) -> Path | None:
    """The file of a module of the tests, the generator or the documentation."""
    places = [ROOT / folder / module.replace(".", "/") for folder in ("generator", ".")]
    files = [file for place in places for file in (place.with_suffix(".py"), place / "__init__.py")]
    return next((file for file in files if file.is_file()), None)


def codecs_reached(file: Path) -> set[str]:
    """The codecs that a file imports, itself or by what it imports."""
    seen, waiting, found = {file}, [file], set()
    while waiting:
        for module in imported(waiting.pop()):
            package = module.partition(".")[0]
            other = file_of(module)
            if module.startswith(NO_CODECS):
                continue
            if package in CODECS:
                found.add(package)
            elif other is not None and other not in seen:
                seen.add(other)
                waiting.append(other)
    return found


def reasons(text: str) -> list[str | None]:
    """The reason of each mark in a module; None for a mark without one."""
    tree = ast.parse(text)
    given = {
        id(node.func): str(node.args[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)
    }
    return [given.get(id(node)) for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == MARKER]


@pytest.mark.parametrize("file", MODULES, ids=lambda file: file.stem)
def test_what_is_left_out_without_a_reason_reaches_no_codec(file: Path) -> None:
    if None in reasons(file.read_text()):
        assert codecs_reached(file) == set(), f"{file.name}: give the mark a reason, or take it away"


def test_marks_and_codecs_are_found() -> None:
    text = f'pytestmark = [pytest.mark.{MARKER}]\n@pytest.mark.{MARKER}("why")\ndef test_it(): ...\n'
    assert sorted(reasons(text), key=str) == [None, "why"]
    assert codecs_reached(ROOT / "tests/runtime/test_reserved_tags.py") >= {"importlib"}
    assert codecs_reached(ROOT / "tests/generator/compat/test_compat_command.py") >= {"kipwire"}
    assert any(None in reasons(file.read_text()) for file in MODULES)
