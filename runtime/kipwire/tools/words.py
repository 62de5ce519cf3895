"""What messages for people have in common: numbers of things, and hints to what a misspelt word was meant to be."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def counted(number: int, noun: str) -> str:
    """A number of things in words, as in `1 byte` and `3,542 bytes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def left_over(number: int, what: str) -> str:
    """What is wrong if bytes follow the last one of something."""
    return f"{counted(number, 'byte')} {'is' if number == 1 else 'are'} left over behind {what}"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that a misspelt one is most like, in whatever case; None if it is like none of them."""
    from difflib import get_close_matches  # only errors need it

    by_lower_case = {one.lower(): one for one in known}
    near = get_close_matches(word.lower(), by_lower_case, n=1, cutoff=0.65)
    return by_lower_case[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The question after a word that is not known, with the `; ` before it; empty if no known word is like it."""
    near = nearest(word, known)
    return f"; did you mean {near}?" if near else ""
