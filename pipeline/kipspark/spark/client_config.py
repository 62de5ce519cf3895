"""Settings of Kafka's clients: read from a file as Kafka's tools read --command-config, and hidden in texts of errors.

A file is read as `java.util.Properties.load` reads it, character for character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from kipjobs.errors import SourceError

_NAME = re.compile(r"[\w.-]+", re.ASCII)

_BLANK = " \t\f"
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "f": "\f"}
_HEX = frozenset("0123456789abcdefABCDEF")
_DIGITS = 4

HIDDEN = "[hidden]"

_SECRET = re.compile(r"password|passwd|secret|jaas|key|token|credential|certificate", re.IGNORECASE)
"""Matches the names of settings whose values must not be shown."""
_BETWEEN = re.compile(r"[\s\"'=;,]+")
"""Separates the parts of a secret value, any of which an error may show on its own."""
_SHORTEST = 3
"""Lowest number of characters of a part that can be distinguished from other text."""
_LOGIN = re.compile(r"(?<=://)[^/?#\s]*@")


def client_options(file: Path) -> dict[str, str]:
    """Return the settings of a file as options of Spark's Kafka connector, whose names start with `kafka.`.

    No error shows content of the file, which may be a password or a part of a key.

    Raises:
        SourceError: the file cannot be read, or a part of it is not a client setting.
    """
    try:
        # The encoding that Java reads such files in; other characters are written as \uXXXX.
        settings = load(file.read_bytes().decode("iso-8859-1"))
    except OSError as error:
        raise SourceError(f"{file}: cannot be read: {error.strerror or error}") from None
    except MalformedError as error:
        raise SourceError(f"{file}:{error.args[0]}: a \\u needs four hexadecimal digits after it") from None
    for number, (name, value) in enumerate(settings.items(), 1):
        if not _NAME.fullmatch(name):
            raise SourceError(
                f"{file}: the name of setting {number} has characters other than letters, digits, dots, hyphens and "
                "underscores; a value that continues on the next line needs a backslash at the end of the line"
            )
        if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            raise SourceError(
                f"{file}: setting {number} has half a surrogate pair: a \\u escape without its other half"
            )
    return {f"kafka.{name}": value for name, value in settings.items()}


class MalformedError(ValueError):
    r"""A `\u` without four hexadecimal digits after it; the argument is the line where its setting ends."""


def load(text: str) -> dict[str, str]:
    r"""Parse the settings of a text; for a repeated name the last value counts.

    Raises:
        MalformedError: a `\u` is not followed by four hexadecimal digits. The error shows nothing of the text.
    """
    settings = {}
    for number, line in _logical_lines(text):
        name_end, value_start = _parts(line)
        try:
            settings[_unescape(line[:name_end])] = _unescape(line[value_start:])
        except ValueError:
            raise MalformedError(number) from None
    return settings


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the logical lines without blank lines, comments and leading white space, each with its last line number.

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
    """Find the end of a setting's name, and the start of its value, after white space with one `=` or `:` in it."""
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


def without_secrets(text: str, settings: Mapping[str, str]) -> str:
    """Hide the values of secret settings in a text."""
    values = [value for name, value in settings.items() if _SECRET.search(name)]
    parts = {part for value in values for part in (value, *_BETWEEN.split(value)) if len(part) >= _SHORTEST}
    for part in sorted(parts, key=len, reverse=True):
        text = text.replace(part, HIDDEN)
    return text


def without_login(address: str) -> str:
    """Hide user names and passwords in a URL, or in a text with URLs."""
    return _LOGIN.sub(f"{HIDDEN}@", address)
