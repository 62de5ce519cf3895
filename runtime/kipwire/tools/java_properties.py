"""Properties files of Java, read as `java.util.Properties.load` reads them, character for character."""

from __future__ import annotations

from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_BLANK = " \t\f"
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "f": "\f"}
_HEX = frozenset("0123456789abcdefABCDEF")
_DIGITS = 4


class EscapeError(ValueError):
    r"""A `\u` without four hexadecimal digits after it; the argument is the line where its setting ends."""

    def __str__(self) -> str:
        return f"{self.args[0]}: a \\u needs four hexadecimal digits after it"


def load(text: str) -> dict[str, str]:
    r"""Parse the settings of a text; for a repeated name take the last value.

    Args:
        text: the bytes of a file in ISO 8859-1, which Java reads; other characters are `\uXXXX` there.

    Raises:
        EscapeError: a `\u` is not followed by four hexadecimal digits. The error shows nothing of the text, which may
            be a password.
    """
    settings = {}
    for number, line in _logical_lines(text):
        name_end, value_start = _parts(line)
        try:
            settings[_unescape(line[:name_end])] = _unescape(line[value_start:])
        except ValueError:
            raise EscapeError(number) from None
    return settings


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Join continued lines; leave out blank lines, comments and leading white space. Number each by its last line.

    A line that ends with an odd number of backslashes continues on the next one; a comment never does.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")
    parts: list[str] = []
    goes_on = False
    for number, raw in enumerate(lines, 1):
        line = raw.lstrip(_BLANK)
        if not parts and (line[:1] in ("#", "!") or (not line and not goes_on)):
            goes_on = False
            continue
        goes_on = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        part = line[:-1] if goes_on else line
        if part:
            parts.append(part)
        if parts and not goes_on:
            yield number, "".join(parts)
            parts = []
    if parts or goes_on:
        yield len(lines), "".join(parts)


def _parts(line: str) -> tuple[int, int]:
    """Find the end of a setting's name, and the start of its value: after white space, with one `=` or `:` in it."""
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


def _unescape(text: str) -> str:
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
    # Java's characters are UTF-16 code units: two of them can be one character.
    return "".join(found).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
