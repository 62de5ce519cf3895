"""The tables of docs/sources name, for each statement of a source document, code and tests that exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.places import ROOT

PAGES = {
    name: ROOT / "docs" / "sources" / f"{name}.md"
    for name in ("kip-482", "kip-625", "wire-format-0.8", "kip-82", "kip-98")
}


class Row(NamedTuple):
    """A statement, with the cells of its table as they are."""

    number: int
    statement: str
    built: str
    tests: str
    note: str

    @property
    def is_whole(self) -> bool:
        return self.built.startswith("`")


def rows(page: Path) -> list[Row]:
    found = []
    for line in page.read_text(encoding="utf-8").splitlines():
        if not re.match(r"\| *\d", line):
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        assert len(cells) == 5, f"{page.name}: {len(cells)} cells instead of 5 in {line}"
        found.append(Row(int(cells[0]), *cells[1:]))
    return found


@cache
def functions(file: Path) -> frozenset[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.fixture(params=PAGES)
def page(request: pytest.FixtureRequest) -> Path:
    return PAGES[request.param]


def test_a_row_names_code_and_tests_that_exist(page: Path) -> None:
    wrong = []
    for row in rows(page):
        paths = re.findall(r"`([^`]+)`", row.built)
        wrong += [f"{row.number}: {path} does not exist" for path in paths if not (ROOT / path).exists()]
        for test in re.findall(r"`([^`]+)`", row.tests):
            file, _, name = test.partition("::")
            if not name.startswith("test_") or not (ROOT / file).is_file() or name not in functions(ROOT / file):
                wrong.append(f"{row.number}: there is no test {test}")
    assert wrong == []


def test_what_is_not_whole_has_its_reason(page: Path) -> None:
    wrong = []
    for row in rows(page):
        if not row.statement:
            wrong.append(f"{row.number}: no statement")
        if not row.is_whole and not row.built.startswith("partly: `") and row.built != "not built":
            wrong.append(f"{row.number}: says neither which code does it nor that none does")
        if row.built != "not built" and "`" not in row.tests:
            wrong.append(f"{row.number}: no test")
        if not row.is_whole and not row.note:
            wrong.append(f"{row.number}: no reason")
    assert wrong == []


def test_rows_are_numbered_without_gaps(page: Path) -> None:
    numbers = [row.number for row in rows(page)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > 25


def test_the_table_of_all_documents_counts_their_rows(page: Path) -> None:
    built = [row.built for row in rows(page)]
    parts = [sum(one.startswith(start) for one in built) for start in ("`", "partly: ", "not built")]
    line = next(line for line in (page.parent / "README.md").read_text().splitlines() if f"]({page.name}) |" in line)
    assert [int(cell) for cell in line.split("|")[-5:-1]] == [len(built), *parts]
