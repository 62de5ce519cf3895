"""Remove the passwords and keys of client settings and URLs from texts of errors."""

from __future__ import annotations

import re
from collections.abc import Mapping

HIDDEN = "[hidden]"

_SECRET = re.compile(r"password|passwd|secret|jaas|key|token|credential|certificate", re.IGNORECASE)
"""Matches the names of settings whose values must not be shown."""
_BETWEEN = re.compile(r"[\s\"'=;,]+")
"""Separates the parts of such a value, any of which an error may show on its own."""
_SHORTEST = 3
"""The fewest characters of a part that can be distinguished from other text."""
_LOGIN = re.compile(r"(?<=://)[^/?#\s]*@")


def without_secrets(text: str, settings: Mapping[str, str]) -> str:
    """The text, with the values of secret settings hidden."""
    values = [value for name, value in settings.items() if _SECRET.search(name)]
    parts = {part for value in values for part in (value, *_BETWEEN.split(value)) if len(part) >= _SHORTEST}
    for part in sorted(parts, key=len, reverse=True):
        text = text.replace(part, HIDDEN)
    return text


def without_login(address: str) -> str:
    """A URL, or a text with URLs, with user names and passwords hidden."""
    return _LOGIN.sub(f"{HIDDEN}@", address)
