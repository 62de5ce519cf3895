"""The work for a large spec grows with its size and not faster; no test looks at a clock."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kipgen.language.spec import MessageSpec
from kipgen.python.pymodel import python_structs
from kipgen.python.render import render_message
from kipgen.reading.check import read_bytes
from kipgen.resolve.headers import HeaderVersions
from kipgen.resolve.wire import resolve
from tests.support.cost import cost_of
from tests.support.growing_specs import SHAPES, message, of_tagged_fields, of_versions


def read(spec: dict[str, Any]) -> MessageSpec:
    checked = read_bytes(json.dumps(spec).encode(), "Big.json")
    assert checked.spec is not None
    assert not any(problem.severity == "error" for problem in checked.problems)
    return checked.spec


def growth(work: Callable[[int], Callable[[], object]], count: int) -> float:
    """Return the factor by which the steps grow if the count is three times as large."""
    few, many = (cost_of(work(number)).steps for number in (count, 3 * count))
    return many / few


@pytest.mark.night
@pytest.mark.parametrize("shape", SHAPES)
def test_a_check_grows_with_the_spec(shape: Callable[[int], dict[str, Any]]) -> None:
    def work(count: int) -> Callable[[], object]:
        spec = shape(count)
        return lambda: read(spec)

    assert growth(work, 100) < 3.3


@pytest.mark.night
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape is not of_versions])
def test_resolving_grows_with_the_spec(shape: Callable[[int], dict[str, Any]]) -> None:
    def work(count: int) -> Callable[[], object]:
        spec = read(shape(count))
        return lambda: python_structs(resolve(spec, 1))

    assert growth(work, 200) < 3.3


@pytest.mark.night
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape is not of_versions])
def test_rendering_grows_with_the_spec(shape: Callable[[int], dict[str, Any]]) -> None:
    def work(count: int) -> Callable[[], object]:
        spec = read(shape(count))
        return lambda: render_message(spec, HeaderVersions(), "Big.json")

    assert growth(work, 30) < 3.3


@pytest.mark.night
def test_thousands_of_tagged_fields_are_code_that_python_compiles() -> None:
    spec = message(fields=[{**field, "type": "bool"} for field in of_tagged_fields(3000)["fields"]])
    for text in render_message(read(spec), HeaderVersions(), "Big.json").values():
        compile(text, "Big.py", "exec")
