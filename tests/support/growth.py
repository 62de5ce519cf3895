"""Growth of the steps of an action with the size of its input, from the first use on."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from tests.support.cost import TooManySteps, steps_of
from tests.support.spec_package import importable, write_package

Action = Callable[[], object]

LINEAR = 2.6
"""Factor by which the steps may grow if the size doubles: two, and a little for logarithms."""
QUADRATIC = 4.5
_FEW = 400
"""Steps that any action may take, such as for the first import of a module."""


def slow(action: Callable[[int], Action], count: int, *more: int, factor: float = LINEAR) -> str | None:
    """Return the fault in the growth of an action; None if it is linear.

    Args:
        action: returns the action for a size, with all its input prepared; the action is the first use of the class.
        count: the smallest size.
        more: others, each at most twice the one before.
        factor: by which the steps may grow from one size to the next.
    """
    for size in (2, more[0]):  # to import what it needs, some of it for larger sizes only
        steps_of(action(size))
    before = max(steps_of(action(count)), _FEW)
    for size in more:
        most = int(factor * before)
        try:
            before = max(steps_of(action(size), most), _FEW)
        except TooManySteps:
            return f"more than {most} steps for {size}, {before} for {count}"
        count = size
    return None


def untold(names: set[str], *tables: Mapping[str, object]) -> str:
    """Return the public names that no table has, and the names in tables that are not public; "" if there are none."""
    told = [name.split(",")[0].split(" ")[0] for table in tables for name in table]
    missing, gone = sorted(names.difference(told)), sorted(set(told) - names)
    texts = [f"give them a row: {', '.join(missing)}"] if missing else []
    return "; ".join([*texts, f"they are not there any more: {', '.join(gone)}"] if gone else texts)


class Fresh(NamedTuple):
    """A message whose class has not been used yet."""

    package: ModuleType
    cls: Any
    """Class in version 1, which has all fields."""
    values: dict[str, Any]
    """Plain values with one element on the way to the innermost field."""
    data: bytes
    """A message of these values."""
    path: str
    """Path of the innermost field."""


class Packages:
    """Generated packages of growing specs, which can be had as if they were used for the first time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, tuple[dict[str, Any], bytes, str]] = {}

    def fresh(self, shape: Callable[[int], dict[str, Any]], name: str, count: int) -> Fresh:
        """Return a message of a shape in a size, from a newly imported package; `name` must be the shape's name."""
        package = f"growing_{''.join(filter(str.isalnum, name))}_{count}"
        if package not in self._made:
            specs = self._folder / f"{package}_specs"
            specs.mkdir()
            (specs / "Big.json").write_text(json.dumps(shape(count)), encoding="utf-8")
            write_package(specs, self._folder / package)
            cls = self._imported(package).message("Big", 1)
            path, values = _innermost(cls)
            self._made[package] = values, importlib.import_module("kipwire").build(cls, values).encode(), path
        found = self._imported(package)
        values, data, path = self._made[package]
        return Fresh(found, found.message("Big", 1), values, data, path)

    def _imported(self, name: str) -> Any:
        for module in [one for one in sys.modules if one == name or one.startswith(f"{name}.")]:
            del sys.modules[module]
        importlib.invalidate_caches()
        with importable(self._folder):
            return importlib.import_module(name)


def _innermost(cls: Any) -> tuple[str, dict[str, Any]]:
    """Return the path to the first field at the greatest depth, along first fields, and values on the way to it."""
    field = next((one for one in cls.ATTRIBUTES if one.struct is not None), None)
    if field is None:
        return (cls.ATTRIBUTES[0].name, {}) if cls.ATTRIBUTES else ("", {})
    path, values = _innermost(field.struct)
    if not values:
        values = {one.name: 5 for one in field.struct.ATTRIBUTES if one.type == "int32"}
    return f"{field.name}.{path}", {field.name: [values] if field.array else values}
