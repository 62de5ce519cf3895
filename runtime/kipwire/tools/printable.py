"""Makes text from outside safe to show: nothing in it can move a cursor, end a line or change the reading direction."""

from __future__ import annotations

from unicodedata import category

_STEERING = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Categories of characters that do something instead of being seen: controls, formats, surrogates, ends of lines."""


def printable_text(text: str) -> str:
    """The text with control characters as escapes; its lines and tabs stay."""
    return _shown(text, "\n\t")


def printable_line(text: str) -> str:
    """The text on one line: line ends and tabs are escapes, too."""
    return _shown(text, "")


def _shown(text: str, kept: str) -> str:
    if text.isprintable():
        return text
    return "".join(escaped(one) if category(one) in _STEERING and one not in kept else one for one in text)


def escaped(character: str) -> str:
    """A character as Python and JSON programmers would write it, with its number in hex digits."""
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
