"""Changes by scripts/mutants.py, and its verdicts on tests that notice them, do not notice them, or do not end."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.mutants import AREAS, Area, Mutant, draw_mutants, judge, mutants_of
from tests.support.places import ROOT

SOURCE = b'''"""Takes 2 from 3."""

def least(count: int, names: list[str] = []) -> int:
    """Not below 1."""
    if count < 1:  # \xc3\xa9
        raise ValueError(f"{count + 1} is wrong")
    while count > 9:
        count -= 2
    return min(count, 8)
'''
TESTS = """
import pytest
from least import least

def test_small_numbers() -> None:
    assert least(1) == 1
    with pytest.raises(ValueError):
        least(0)

def test_large_numbers() -> None:
    assert least(20) == 8
"""


def lines(mutants: list[Mutant]) -> set[str]:
    return {one.of(SOURCE).splitlines()[one.line - 1].decode().strip() for one in mutants}


def test_each_piece_of_code_is_changed_and_nothing_else() -> None:
    assert lines(mutants_of("least.py", SOURCE)) == {
        *("if count <= 1:  # é", "if count < 2:  # é", "if count < 0:  # é", "if True:  # é", "if False:  # é", "pass"),
        *("while count >= 9:", "while count > 10:", "while count > 8:", "while False:"),
        *("count += 2", "count -= 3", "count -= 1"),
        *("return max(count, 8)", "return min(count, 9)", "return min(count, 7)"),
    }


@pytest.mark.night
def test_a_seed_draws_the_same_mutants() -> None:
    area = AREAS["resolve"]
    assert (
        draw_mutants(ROOT, area, 5, 1, []) == draw_mutants(ROOT, area, 5, 1, []) != draw_mutants(ROOT, area, 5, 2, [])
    )
    assert len(draw_mutants(ROOT, area, 5, 1, [])) == 5


@pytest.mark.parametrize("name", AREAS)
def test_areas_have_modules_and_tests(name: str) -> None:
    area = AREAS[name]
    assert all(any(ROOT.glob(pattern)) for pattern in f"{area.modules} {area.tests} {area.native_tests}".split())


@pytest.mark.night
def test_tests_judge_a_mutant_that_is_gone_afterwards(tmp_path: Path) -> None:
    module = tmp_path / "runtime" / "least.py"
    module.parent.mkdir()
    module.write_bytes(SOURCE)
    (tmp_path / "test_least.py").write_text(TESTS)
    area = Area("runtime/*.py", "test_least.py")
    by_line = {
        one.of(SOURCE).splitlines()[one.line - 1].decode().strip(): one
        for one in draw_mutants(tmp_path, area, 99, 0, [])
    }
    verdicts = {
        line: judge(tmp_path, area, by_line[line], seconds)
        for line, seconds in [("if False:  # é", 60.0), ("count -= 1", 60.0), ("count += 2", 3.0)]
    }
    assert verdicts == {
        "if False:  # é": "test_least.py::test_small_numbers",
        "count -= 1": None,
        "count += 2": "a time-out",
    }
    assert module.read_bytes() == SOURCE
