"""The texts of fields are found in the source of their class, wherever that comes from, and in older docstrings."""

from __future__ import annotations

import compileall
import importlib
import json
import shutil
import sys
import typing
import zipfile
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings

from kipgen.python.render import render_message
from kipgen.reading.check import read_bytes
from kipgen.resolve.headers import HeaderVersions
from kipwire import Field, Struct
from kipwire.model.abi import LEVEL, OLDEST
from tests.support.level_checks import classes, folder
from tests.support.spec_package import importable, write_package
from tests.support.subjects.random_specs import TEXTS

NAME = "texts_probe"
SPEC = {
    "name": "Probe",
    "type": "data",
    "validVersions": "0",
    "flexibleVersions": "0+",
    "fields": [
        {"name": "First", "type": "int32", "versions": "0+", "about": "Which one."},
        {"name": "Second", "type": "string", "versions": "0+"},
        {
            "name": "Inner",
            "type": "Inner",
            "versions": "0+",
            "tag": 0,
            "taggedVersions": "0+",
            "about": "What is in it.",
            "fields": [{"name": "First", "type": "bool", "versions": "0+", "about": "Of another struct."}],
        },
    ],
}
TEXTS_OF_SPEC = {"first": "Which one.", "second": "", "inner": "What is in it."}


@pytest.fixture
def package(tmp_path: Path) -> Iterator[Path]:
    """A generated package that has not been imported."""
    specs = tmp_path / "specs"
    specs.mkdir()
    (specs / "Probe.json").write_text(json.dumps(SPEC))
    write_package(specs, tmp_path / NAME)
    yield tmp_path / NAME
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]


def probe(place: Path) -> Any:
    """Return the class of a package in a folder or an archive."""
    with importable(place):
        return importlib.import_module(f"{NAME}.probe.v0").Probe


def texts(cls: Any) -> dict[str, str]:
    return {field.name: field.about for field in cls.FIELDS}


def test_each_field_has_the_text_of_its_own_struct(package: Path) -> None:
    cls = probe(package.parent)
    assert texts(cls) == TEXTS_OF_SPEC
    assert texts(cls.FIELDS[2].struct) == {"first": "Of another struct."}


def test_texts_are_found_in_an_archive(package: Path) -> None:
    archive = package.parent / "archive.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        for file in package.rglob("*.py"):
            zipped.write(file, file.relative_to(package.parent))
    shutil.rmtree(package)
    assert texts(probe(archive)) == TEXTS_OF_SPEC


def test_there_are_no_texts_where_only_bytecode_was_shipped(package: Path) -> None:
    compileall.compile_dir(package, quiet=1, legacy=True)
    for file in package.rglob("*.py"):
        file.unlink()
    assert texts(probe(package.parent)) == dict.fromkeys(TEXTS_OF_SPEC, "")


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file.unlink(),
        lambda file: file.write_text("class Probe(\n"),
        lambda file: file.write_bytes(b"\xff"),
        lambda file: file.write_bytes(b"\0"),
        lambda file: file.write_text("class Probe: pass\n"),
    ],
    ids=["gone", "half written", "no text", "a zero byte", "another class"],
)
def test_there_are_no_texts_once_the_source_is_no_longer_that_of_the_class(
    change: Callable[[Path], object], package: Path
) -> None:
    cls = probe(package.parent)
    change(package / "probe/v0.py")
    assert texts(cls) == dict.fromkeys(TEXTS_OF_SPEC, "")


def test_texts_are_of_the_class_and_not_of_what_has_its_name_later(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cls = probe(package.parent)
    monkeypatch.setitem(sys.modules, f"{NAME}.probe.v0", json)
    assert texts(cls) == TEXTS_OF_SPEC


class Loader:
    """The loader of a module that is in memory alone."""

    def __init__(self, source: str) -> None:
        self.source = source

    def get_source(self, name: str) -> str:
        return self.source


@settings(deadline=None)
@given(TEXTS)
def test_any_text_of_a_spec_is_found_again(text: str) -> None:
    field = {"name": "First", "type": "int32", "versions": "0+", "about": text}
    spec = read_bytes(json.dumps({**SPEC, "fields": [field]}).encode(), "Probe.json").spec
    assume(spec)  # texts with control characters are refused
    assert spec is not None
    (source,) = [text for file, text in render_message(spec, HeaderVersions(), "").items() if file.name == "v0.py"]
    module: dict[str, Any] = {"__name__": NAME, "__spec__": ModuleSpec(NAME, Loader(source))}  # type: ignore[arg-type]
    exec(source, module)
    assert texts(module["Probe"]) == {"first": " ".join(text.split()).replace('"""', "'''")}


def test_a_field_and_a_class_without_a_module_have_no_text() -> None:
    assert Field("one", "One", "int32", default=0).about == ""
    owner: Any = type("Owner", (Struct,), {"__doc__": None, "FIELDS": (Field("one", "One", "int32", default=0),)})
    assert owner.FIELDS[0].about == ""


@pytest.mark.parametrize("margin", ["    ", ""], ids=["as written", "as since Python 3.13"])
@pytest.mark.parametrize("section", ["Attributes", "Computed"])
def test_docstrings_are_read_with_and_without_indentation(section: str, margin: str) -> None:
    lines = [
        "All.",
        "",
        f"{section}:",
        "    one (int32, tag 1): First",
        "        line: two.",
        "    two (bool): Second.",
    ]
    docstring = "\n".join([lines[0], *(line and margin + line for line in lines[1:])]) + f"\n{margin}"
    owner: Any = type("Owner", (Struct,), {"__doc__": docstring, "FIELDS": (Field("one", "One", "int32", default=0),)})
    assert owner.FIELDS[0].about == "First line: two."


def texts_in(cls: type[Struct]) -> Iterator[tuple[str, str, str]]:
    """Yield the fields of a class and of the structs in it: their class, name and text."""
    for field in cls.FIELDS:
        yield cls.__name__, field.name, field.about
        if field.struct is not None:
            yield from texts_in(field.struct)


@pytest.mark.parametrize("level", range(OLDEST, LEVEL + 1))
def test_code_of_each_level_has_the_texts_in_of_its_specs(level: int, tmp_path: Path) -> None:
    package = f"again_{level}"
    write_package(folder(level) / "specs", tmp_path / package)
    seen = 0
    with importable(folder(level)), importable(tmp_path):
        for cls in classes(level):
            module = importlib.import_module(cls.__module__.replace(f"level_{level}", package, 1))
            now = getattr(module, cls.__name__)
            assert list(texts_in(cls)) == list(texts_in(now))
            assert list(typing.get_type_hints(cls)) == list(typing.get_type_hints(now))
            assert cls.__init__.__annotations__ == now.__init__.__annotations__
            seen += sum(bool(text) for _, _, text in texts_in(cls))
    assert seen
