"""Tests of many cases check all of them and name those that fail."""

from __future__ import annotations

import pytest

from tests.support import cases
from tests.support.cases import of_each

NUMBERS = [("Even", 0), ("Odd", 1), ("Even", 2), ("Odd", 3), ("Odd", 5)]
MET: list[tuple[str, int]] = []


@of_each("name, number", NUMBERS, together=lambda name, number: name)
def test_every_case_is_checked_with_fixtures(name: str, number: int, request: pytest.FixtureRequest) -> None:
    assert request.node.name.endswith(f"[{name}]")
    assert (number % 2 == 1) is (name == "Odd")
    MET.append((name, number))


def test_all_cases_were_checked() -> None:
    assert sorted(MET) == sorted(NUMBERS), "run the whole module"


def failing(number: int) -> None:
    if number == 3:
        with pytest.raises(ValueError, match="never"):
            pass
    assert number != 5


def test_the_one_case_that_fails_is_named() -> None:
    before = cases.checked()
    with pytest.raises(AssertionError, match="5") as caught:
        cases.check_all(failing, ["number"], [(1,), (5,), (7,)], label=str)
    assert caught.value.__notes__[-1] == "This is the case 5."
    assert cases.checked() == before + 3


def test_all_cases_that_fail_are_named() -> None:
    with pytest.raises(BaseExceptionGroup, match="2 of 4 cases failed") as caught:
        cases.check_all(failing, ["number"], [(3,), (4,), (5,), (6,)], label=str)
    assert [one.__notes__[-1] for one in caught.value.exceptions] == ["This is the case 3.", "This is the case 5."]


def test_cases_that_are_none_or_do_not_fit_are_noticed() -> None:
    with pytest.raises(AssertionError, match="without cases"):
        of_each("number", [], together=str)
    with pytest.raises(AssertionError, match="does not take all of numbr"):
        of_each("numbr", [1], together=str)(failing)
