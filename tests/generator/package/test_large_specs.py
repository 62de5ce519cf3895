"""The work for a large spec grows with its size and not faster; no test looks at a clock."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kipgen.language.spec import MessageSpec
from kipgen.python.pymodel import python_structs
from kipgen.python.render import HeaderVersions, render_message
from kipgen.reading.check import read_bytes
from kipgen.resolve.wire import resolve
from tests.support.cost import cost_of

pytestmark = pytest.mark.same_without_kernel("no message is read")

TYPES = ("int32", "string", "[]int32", "bytes", "uuid", "bool")


def fields(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"name": f"Field{n}", "type": TYPES[n % len(TYPES)], "versions": "1+", **more} for n in range(count)]


def message(**parts: Any) -> dict[str, Any]:
    return {"name": "Big", "type": "data", "validVersions": "0-1", "flexibleVersions": "1+", "fields": [], **parts}


def of_fields(count: int) -> dict[str, Any]:
    return message(fields=fields(count))


def of_tagged_fields(count: int) -> dict[str, Any]:
    return message(fields=[{**field, "tag": n, "taggedVersions": "1+"} for n, field in enumerate(fields(count))])


def of_structs(count: int) -> dict[str, Any]:
    parts = [{"name": f"Part{n}", "type": f"[]Part{n}", "versions": "0+", "fields": fields(2)} for n in range(count)]
    return message(fields=parts)


def of_common_structs(count: int) -> dict[str, Any]:
    common = [{"name": f"Part{n}", "versions": "0+", "fields": fields(2)} for n in range(count)]
    uses = [{"name": f"Part{n}", "type": f"Part{n}", "versions": "0+"} for n in range(count)]
    return message(fields=uses, commonStructs=common)


def of_versions(count: int) -> dict[str, Any]:
    new = [{**field, "versions": f"{n}-{n + 3}"} for n, field in enumerate(fields(count))]
    return message(fields=new, validVersions=f"0-{count - 1}")


def of_items(count: int) -> dict[str, Any]:
    kinds = ({"type": "int32"}, {"type": "string", "size": "int16"})
    items = [{"name": f"Item{n}", "versions": "0+", **kinds[n % 2]} for n in range(count)]
    return {"name": "Big", "type": "layout", "validVersions": "0-1", "fields": items}


SHAPES = [of_fields, of_tagged_fields, of_structs, of_common_structs, of_versions, of_items]


def read(spec: dict[str, Any]) -> MessageSpec:
    checked = read_bytes(json.dumps(spec).encode(), "Big.json")
    assert checked.spec is not None
    assert not any(problem.severity == "error" for problem in checked.problems)
    return checked.spec


def growth(work: Callable[[int], Callable[[], object]], count: int) -> float:
    """How many times the steps are that three times as much takes."""
    few, many = (cost_of(work(number)).steps for number in (count, 3 * count))
    return many / few


@pytest.mark.parametrize("shape", SHAPES)
def test_a_check_grows_with_the_spec(shape: Callable[[int], dict[str, Any]]) -> None:
    def work(count: int) -> Callable[[], object]:
        spec = shape(count)
        return lambda: read(spec)

    assert growth(work, 100) < 3.3


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape is not of_versions])
def test_resolving_grows_with_the_spec(shape: Callable[[int], dict[str, Any]]) -> None:
    def work(count: int) -> Callable[[], object]:
        spec = read(shape(count))
        return lambda: python_structs(resolve(spec, 1))

    assert growth(work, 200) < 3.3


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape is not of_versions])
def test_rendering_grows_with_the_spec(shape: Callable[[int], dict[str, Any]]) -> None:
    def work(count: int) -> Callable[[], object]:
        spec = read(shape(count))
        return lambda: render_message(spec, HeaderVersions(), "Big.json")

    assert growth(work, 30) < 3.3


def test_thousands_of_tagged_fields_are_code_that_python_compiles() -> None:
    spec = message(fields=[{**field, "type": "bool"} for field in of_tagged_fields(3000)["fields"]])
    for text in render_message(read(spec), HeaderVersions(), "Big.json").values():
        compile(text, "Big.py", "exec")
