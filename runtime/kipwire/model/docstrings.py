"""What the fields of a generated class mean, read from its docstring: that text is nowhere else in the class."""

from __future__ import annotations

import re
from functools import lru_cache
from uuid import UUID

_ENTRY = re.compile(r"(?P<name>\w+) \([^()]*\): (?P<text>.*)")
_UNKNOWN = "See the spec."


def about(docstring: str, name: str) -> str:
    """What a field means, as its spec says it, and its default if stated; "" if the spec says nothing."""
    text = _entries(docstring).get(name, "")
    return "" if text == _UNKNOWN else text


def without_default(text: str) -> str:
    """The text of an attribute whose default `is_told`, without that."""
    return text.rpartition("Default: ")[0].rstrip()


def is_told(default: object) -> bool:
    """Whether the text ends with the default: where it is another one than everybody expects of its type."""
    return default is None or bool(default.int if isinstance(default, UUID) else default)


@lru_cache(maxsize=256)
def _entries(docstring: str) -> dict[str, str]:
    """The texts of a docstring's attributes, by name."""
    _, _, section = docstring.partition("\n\n    Attributes:\n")
    margin = "        "
    if not section:  # Python 3.13 and later take the indentation away
        _, _, section = docstring.partition("\n\nAttributes:\n")
        margin = "    "
    joined = re.sub(rf"\n{margin} +", " ", section)
    found = (_ENTRY.fullmatch(line.strip()) for line in joined.splitlines())
    return {entry["name"]: entry["text"] for entry in found if entry}
