"""Classes that tests generate from specs of their own, ready to be used."""

from __future__ import annotations

import fcntl
import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kipgen.language.spec import MessageSpec
from kipgen.package.generate import apply_changes, find_changes
from kipgen.python.render import render_message
from kipgen.reading.check import read_file
from kipgen.resolve.headers import HeaderVersions


def write_package(specs: Path, package: Path, *, newest: bool = False) -> None:
    """Generate the package into a folder of its name; every spec must be right."""
    planned = find_changes(specs, package, package.name, lambda done, total: None, newest=newest)
    assert not planned.has_errors, "\n".join(map(str, planned.problems))
    apply_changes(planned)


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Within it the packages of a folder can be imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield


@contextmanager
def generated(specs: Path, name: str, folder: Path) -> Iterator[ModuleType]:
    """Import the package of the specs; worker processes that share the folder generate it once."""
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / f"{name}.done"
        if not done.exists():
            write_package(specs, folder / name)
            done.touch()
    with importable(folder):
        yield importlib.import_module(name)


def modules_of(text: str, package: str, folder: Path) -> dict[int, Any]:
    """Return the module of each version of one spec, by its text.

    The name of the package must be one that no other test imports.
    """
    file = folder / f"{package}.json"
    file.write_text(text, encoding="utf-8")
    checked = read_file(file)
    assert checked.spec is not None, checked.problems
    for path, code in render_message(checked.spec, HeaderVersions(), file.name).items():
        target = folder / package / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(code, encoding="utf-8")
    message = next((child.name for child in (folder / package).glob("*") if child.is_dir()), "no version")
    with importable(folder):
        return {
            version: importlib.import_module(f"{package}.{message}.v{version}")
            for version in checked.spec.valid_versions.each()
        }


def classes_of(text: str, package: str, folder: Path) -> dict[int, Any]:
    """Return the class of each version of the message that a spec describes; see `modules_of`."""
    return {
        version: getattr(module, module.__all__[-1]) for version, module in modules_of(text, package, folder).items()
    }


class _Texts(MetaPathFinder, Loader):
    """Imports modules from their texts."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = texts

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        is_package = f"{name}.__init__" in self.texts
        return ModuleSpec(name, self, is_package=is_package) if is_package or name in self.texts else None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        exec(compile(self.texts.get(f"{name}.__init__") or self.texts[name], name, "exec"), module.__dict__)


@contextmanager
def classes_in_memory(spec: MessageSpec, package: str) -> Iterator[dict[int, Any]]:
    """Make the class of each version of a message without files, and forget it afterwards."""
    texts = render_message(spec, HeaderVersions(), "Probe.json").items()
    finder = _Texts(
        {f"{package}.__init__": " "}
        | {f"{package}.{'.'.join(path.with_suffix('').parts)}": text for path, text in texts}
    )
    sys.meta_path.append(finder)
    message = next(iter(texts))[0].parts[0] if texts else ""
    try:
        modules = {one: importlib.import_module(f"{package}.{message}.v{one}") for one in spec.valid_versions.each()}
        yield {version: getattr(module, module.__all__[-1]) for version, module in modules.items()}
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.partition(".")[0] == package]:
            del sys.modules[name]


class Classes:
    """The classes of a generated package by message and version."""

    def __init__(self, package: ModuleType) -> None:
        self.package = package

    def __call__(self, name: str, version: int) -> Any:
        return self.package.REGISTRY.message(name, version)

    def module(self, name: str, version: int) -> Any:
        """Return the module of a message, which has its structs too."""
        return sys.modules[self(name, version).__module__]

    def struct(self, name: str, version: int, struct: str) -> Any:
        return getattr(self.module(name, version), struct)


def declared_versions(specs: Path) -> list[tuple[str, int]]:
    """Return every message of the specs in every version, known before anything is generated."""
    pairs = []
    for file in sorted(specs.glob("*.json")):
        lowest, _, highest = json.loads(file.read_text())["validVersions"].partition("-")
        pairs += [(file.stem, version) for version in range(int(lowest), int(highest or lowest) + 1)]
    return pairs
