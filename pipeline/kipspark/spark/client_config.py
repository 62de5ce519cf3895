"""Settings of Kafka's clients: read from a file as Kafka's tools read --command-config, and hidden in errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from kipjobs.errors import SourceError
from kipwire.tools.java_properties import EscapeError, load

_NAME = re.compile(r"[\w.-]+", re.ASCII)

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
    except EscapeError as error:
        raise SourceError(f"{file}:{error}") from None
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
