"""Errors without the passwords and keys that the settings of a client, or an address, have."""

from __future__ import annotations

import re
from collections.abc import Mapping

HIDDEN = "[hidden]"

_SECRET = re.compile(r"password|passwd|secret|jaas|key|token|credential|certificate", re.IGNORECASE)
"""What the name of a setting has in it whose value is to be seen by nobody."""
_BETWEEN = re.compile(r"[\s\"'=;,]+")
"""What stands between the parts of such a value, each of which an error may show by itself."""
_SHORTEST = 3
"""Characters of a part that can be told from other text."""
_LOGIN = re.compile(r"(?<=://)[^/?#\s]*@")


def without_secrets(text: str, settings: Mapping[str, str]) -> str:
    """The text, with what the secret ones of the settings have in them hidden."""
    values = [value for name, value in settings.items() if _SECRET.search(name)]
    parts = {part for value in values for part in (value, *_BETWEEN.split(value)) if len(part) >= _SHORTEST}
    for part in sorted(parts, key=len, reverse=True):
        text = text.replace(part, HIDDEN)
    return text


def without_login(address: str) -> str:
    """An address, or a text with addresses, with names and passwords of users hidden."""
    return _LOGIN.sub(f"{HIDDEN}@", address)
