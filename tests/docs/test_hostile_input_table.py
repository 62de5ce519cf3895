"""The tests that tests/hostile-input.md names are there."""

from __future__ import annotations

import re

import pytest

from tests.support.places import TESTS

PAGE = TESTS / "hostile-input.md"
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", PAGE.read_text(encoding="utf-8"))))


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_every_test_that_the_table_names_is_there(file: str, test: str) -> None:
    text = (TESTS / file).read_text(encoding="utf-8")
    assert not test or f"def {test}(" in text


def test_every_row_names_a_test() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## Promises")[2]
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 20
    assert [row for row in rows if "_" not in row.split("|")[3] or ".py" not in row.split("|")[3]] == []
