"""Properties files as Java reads them: `java.util.Properties.load`, character for character."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

_BLANK = " \t\f"
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "f": "\f"}
_HEX = frozenset("0123456789abcdefABCDEF")
_DIGITS = 4


class MalformedError(ValueError):
    r"""A `\u` without four hexadecimal digits after it; the argument is the line where its setting ends."""


def load(text: str) -> dict[str, str]:
    r"""The settings of a text; for a repeated name the last value.

    Raises:
        MalformedError: a `\u` is not followed by four hexadecimal digits. The error shows nothing of the text.
    """
    settings = {}
    for number, line in _logical_lines(text):
        name_end, value_start = _parts(line)
        try:
            settings[_unescaped(line[:name_end])] = _unescaped(line[value_start:])
        except ValueError:
            raise MalformedError(number) from None
    return settings


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """The logical lines without blank lines, comments and leading white space, each with its last line number.

    A line that ends with an odd number of backslashes continues on the next one; a comment never does.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
    whole, goes_on = "", False
    for number, raw in enumerate(lines, 1):
        line = raw.lstrip(_BLANK)
        if not whole and (line[:1] in ("#", "!") or (not line and not goes_on)):
            goes_on = False
            continue
        whole += line
        goes_on = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        if goes_on:
            whole = whole[:-1]
        elif whole:
            yield number, whole
            whole = ""
    if whole or goes_on:
        yield len(lines), whole


def _parts(line: str) -> tuple[int, int]:
    """Where the name of a setting ends, and where its value starts: after white space, with one `=` or `:` in it."""
    end, escaped = 0, False
    while end < len(line) and (escaped or line[end] not in _BLANK + "=:"):
        escaped = line[end] == "\\" and not escaped
        end += 1
    start = end
    while start < len(line) and line[start] in _BLANK:
        start += 1
    if start < len(line) and line[start] in "=:":
        start += 1
    while start < len(line) and line[start] in _BLANK:
        start += 1
    return end, start


def _unescaped(text: str) -> str:
    chars = iter(text)
    found = []
    for char in chars:
        if char == "\\":
            char = next(chars, "")
            if char == "u":
                digits = "".join(islice(chars, _DIGITS))
                if len(digits) < _DIGITS or not _HEX.issuperset(digits):
                    raise ValueError
                char = chr(int(digits, 16))
            else:
                char = _ESCAPES.get(char, char)
        found.append(char)
    # Java's characters are those of UTF-16: two of them can be one.
    return "".join(found).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
