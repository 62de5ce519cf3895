"""Tests of thousands of small cases: one test for all cases of some messages, which names each that fails.

A test of its own costs pytest and its worker processes milliseconds, which is more than most cases take.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import pytest

import kafka_messages

Case = TypeVar("Case")
Versioned = TypeVar("Versioned", bound=tuple[Any, ...])

THOROUGH = os.environ.get("KIPWIRE_TESTS") == "thorough"
"""True if all cases run, as by `make test-thorough` each night; the default suite runs some of them."""
_STEP = 8

_NEIGHBOURS = 12
"""Messages of Kafka that share a test: few enough that worker processes end together."""


def _parts() -> dict[str, str]:
    names = sorted(kafka_messages.names())
    parts = [names[at : at + _NEIGHBOURS] for at in range(0, len(names), _NEIGHBOURS)]
    return {name: f"{part[0]} to {part[-1]}" for part in parts for name in part}


PARTS = _parts()
"""The messages of Kafka by name, each with its part of them: some neighbours in the order of their names."""

_checked = 0


def checked() -> int:
    """Return the number of cases that this process has checked so far."""
    return _checked


def some(cases: Sequence[Case]) -> list[Case]:
    """Return a part of many like cases: the first, the last, and every eighth between; all in `make test-thorough`."""
    return list(cases) if THOROUGH else [*cases[:-1:_STEP], *cases[-1:]]


def some_versions(cases: Iterable[Versioned]) -> list[Versioned]:
    """Classes to try, each given by a tuple that ends with its version: the newest version, and every eighth before it.

    Versions of one message differ in a few fields, and each of them has golden bytes. All in `make test-thorough`.
    """
    messages: dict[tuple[Any, ...], list[Versioned]] = {}
    for case in cases:
        messages.setdefault(tuple(case[:-1]), []).append(case)
    return [case for versions in messages.values() for case in (versions if THOROUGH else versions[::-_STEP][::-1])]


def of_each(
    names: str,
    cases: Iterable[Any],
    *,
    together: Callable[..., str],
    label: Callable[..., str] = lambda *case: "-".join(map(str, case)),
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test with each case; this decorator takes the place of `parametrize`.

    Args:
        names: the arguments that a case has values for, separated by commas.
        cases: a tuple each, or the one value.
        together: the group of a case, given as arguments, such as its message. Each group is a test with this name;
            of Kafka's messages each part.
        label: what a failure calls a case.
    """
    arguments = [name.strip() for name in names.split(",")]
    groups: dict[str, list[tuple[Any, ...]]] = {}
    for case in cases:
        values = tuple(case) if len(arguments) > 1 else (case,)
        group = together(*values)
        groups.setdefault(PARTS.get(group, group), []).append(values)
    assert groups, "a test without cases cannot fail"

    def decorate(check: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(check)
        def test(group: str, **fixtures: Any) -> None:
            check_all(functools.partial(check, **fixtures), arguments, groups[group], label)

        own = inspect.signature(check)
        fixtures = [one for name, one in own.parameters.items() if name not in arguments]
        assert len(fixtures) + len(arguments) == len(own.parameters), f"{check.__name__} does not take all of {names}"
        group = inspect.Parameter("group", inspect.Parameter.KEYWORD_ONLY)
        test.__signature__ = own.replace(parameters=[*fixtures, group])  # type: ignore[attr-defined]
        parametrized: Callable[..., None] = pytest.mark.parametrize("group", groups)(test)
        return parametrized

    return decorate


def check_all(
    check: Callable[..., None],
    names: Sequence[str],
    cases: Sequence[tuple[Any, ...]],
    label: Callable[..., str],
) -> None:
    """Check every case, also after one has failed.

    Raises:
        BaseException: the failure of the one case that failed, with its label.
        BaseExceptionGroup: the failures of several cases.
    """
    global _checked
    failures: list[BaseException] = []
    for case in cases:
        _checked += 1
        try:
            check(**dict(zip(names, case, strict=True)))
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"This is the case {label(*case)}.")
            failures.append(error)
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} of {len(cases)} cases failed", failures)
