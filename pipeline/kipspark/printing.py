"""Text for a terminal or a page, which names from peers, files and users must not control."""

from __future__ import annotations

import sys

_INSTEAD = "·"


def printable(text: object) -> str:
    """The text with a dot for each character that cannot be printed: controls, escapes, changes of direction."""
    return "".join(char if char.isprintable() else _INSTEAD for char in str(text))


def say(text: str = "") -> None:
    """Print lines."""
    print(_lines(text), flush=True)


def complain(text: str) -> None:
    """Print an error to stderr."""
    print(_lines(f"kipspark: {text}"), file=sys.stderr)


def _lines(text: str) -> str:
    return "\n".join(printable(line) for line in text.split("\n"))
