"""Helpers for messages that people read: counted things, and suggestions for misspelt words."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: int, noun: str) -> str:
    """A count with its noun, such as `1 byte` and `3,542 bytes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def left_over(number: int, what: str) -> str:
    """The reason for refusing bytes that follow the last byte of something."""
    return f"{counted(number, 'trailing byte')} after {what}"


def only_left(number: int) -> str:
    """The words for too few bytes, such as `but only 2 are left`."""
    if number == 0:
        return "but none are left"
    return f"but only {number} {'is' if number == 1 else 'are'} left"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most similar to a misspelt one, in any case; None if none is similar."""
    from difflib import get_close_matches  # only errors need it

    by_lower_case = {one.lower(): one for one in known}
    near = get_close_matches(word.lower(), by_lower_case, n=1, cutoff=0.65)
    return by_lower_case[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The suffix `; did you mean ...?` for an unknown word; empty if no known word is similar."""
    near = nearest(word, known)
    return f"; did you mean {near}?" if near else ""
