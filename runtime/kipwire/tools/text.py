"""Text for people: counted things, suggestions, text from outside made safe to show, and lines in colour.

Lines are printed without rich, which takes longer to import than most commands run.
"""

from __future__ import annotations

import os
import sys
from unicodedata import category

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO


_DOTS = "..."
_MOST_BITS = 13_000
"""Bits of a number that is written out: Python refuses more than 4,300 digits."""


def count_of(number: int, noun: str, several: str | None = None) -> str:
    """Format a count with its noun, such as `1 byte` and `3,542 bytes`; `several` is a plural of another form."""
    return f"{number:,} {noun if number == 1 else several or f'{noun}s'}"


def leftover_reason(number: int, what: str) -> str:
    """Format the reason for refusing bytes that follow the last byte of something."""
    return f"{count_of(number, 'trailing byte')} after {what}"


def only_left(number: int) -> str:
    """Format how few bytes there are, such as `but only 2 are left`."""
    if number == 0:
        return "but none are left"
    return f"but only {number} {'is' if number == 1 else 'are'} left"


def cut(text: str, most: int) -> str:
    """Return the text, or the start of one that has more than `most` characters, with dots for the rest."""
    return text if len(text) <= most else f"{text[: most - len(_DOTS)]}{_DOTS}"


def json_words(value: object, most: int = 60, mapping: str = "an object") -> str:
    """Format a value of JSON or TOML for errors: a container as its kind, a long text without its end.

    Args:
        value: it.
        most: the characters of a text at most.
        mapping: the word for a mapping.
    """
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else mapping
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return "a number of many digits"
    return repr(cut(value, most)) if isinstance(value, str) else cut(repr(value), most)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Find the known word most similar to a misspelt one, in any case; None if none is similar."""
    from difflib import get_close_matches  # only errors need it

    by_lower_case = {one.lower(): one for one in known}
    near = get_close_matches(word.lower(), by_lower_case, n=1, cutoff=0.65)
    return by_lower_case[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Make the suffix `; did you mean ...?` for an unknown word; empty if no known word is similar."""
    near = nearest(word, known)
    return f"; did you mean {near}?" if near else ""


def error_line(error: BaseException) -> str:
    """Format an error of a user's code as one line: its class, its text, and its place."""
    from traceback import extract_tb  # only errors need it

    trace = extract_tb(error.__traceback__)
    place = f" ({trace[-1].filename}, line {trace[-1].lineno})" if trace else ""
    return printable_line(f"{type(error).__name__}: {error}{place}")


_STEERING = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Categories of characters that do something instead of being seen: controls, formats, surrogates, ends of lines."""


def printable_text(text: str) -> str:
    """Escape the control characters of a text; its lines and tabs stay."""
    return _escape_all(text, "\n\t")


def printable_line(text: str) -> str:
    """Escape all control characters of a text, so that it is one line: ends of lines and tabs, too."""
    return _escape_all(text, "")


def printable_json(text: str) -> str:
    """Escape the control characters in JSON, whose meaning stays; ends of lines and tabs stay, too."""
    return "\n".join(line if line.isprintable() else "".join(map(_in_json, line)) for line in text.split("\n"))


def _in_json(character: str) -> str:
    """Escape a control as JSON does, in one unit of UTF-16, or two."""
    if character == "\t" or category(character) not in _STEERING:
        return character
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _escape_all(text: str, kept: str) -> str:
    if text.isprintable():
        return text
    return "".join(escape(one) if category(one) in _STEERING and one not in kept else one for one in text)


def escape(character: str) -> str:
    """Escape a character as Python and JSON programmers would write it, with its number in hex digits."""
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


Part = str | tuple[str, str]
"""Text, or text with its style: one or two of `STYLES`, such as `bold red`."""

STYLES = {
    "bold": "1",
    "dim": "2",
    "underline": "4",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
    "bright_cyan": "96",
}


def print_out(*parts: Part) -> None:
    """Print one line to standard output; control characters in it are shown as escapes."""
    _print(sys.stdout, parts)


def print_err(*parts: Part) -> None:
    """Print one line to standard error; as `print_out`."""
    _print(sys.stderr, parts)


def style_line(parts: Iterable[Part], *, coloured: bool, one_line: bool = False) -> str:
    """Format a line with its end; escape control characters, with `one_line` also ends of lines and tabs."""
    if not coloured:
        text = "".join([part if isinstance(part, str) else part[0] for part in parts])
        return f"{printable_line(text) if one_line else printable_text(text)}\n"
    return "".join([_style(part, one_line) for part in parts]) + "\n"


def _print(stream: TextIO, parts: tuple[Part, ...]) -> None:
    line = style_line(parts, coloured=has_colour(stream))
    try:
        stream.write(line)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(line.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def _style(part: Part, one_line: bool) -> str:
    text, style = (part, "") if isinstance(part, str) else part
    shown = printable_line(text) if one_line else printable_text(text)
    if not style:
        return shown
    return f"\x1b[{';'.join(STYLES[one] for one in style.split())}m{shown}\x1b[0m"


def is_terminal(stream: TextIO) -> bool:
    """True if a stream is a terminal."""
    return stream.isatty()


def has_colour(stream: TextIO) -> bool:
    """True if a stream takes colours: a terminal does; NO_COLOR and FORCE_COLOR in the environment override it."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    # Consoles of Windows take escapes only after a call, which rich makes; lines without colour are always right.
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown") and os.name != "nt"
