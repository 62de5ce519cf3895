"""What the fields of a generated class mean, read from its docstring: that text stands nowhere else in the class."""

from __future__ import annotations

import re
from functools import lru_cache

from kipwire.uuids import ZERO_UUID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.fields import Field

_ENTRY = re.compile(r"(?P<name>\w+) \([^()]*\): (?P<text>.*)")
_UNKNOWN = "See the spec."


def about(field: Field) -> str:
    """What a field means, as its spec says it; "" where that says nothing, or where there are no docstrings."""
    text = _entries((field.owner and field.owner.__doc__) or "").get(field.name, "")
    if text == _UNKNOWN:
        return ""
    return text.rpartition("Default: ")[0].rstrip() if _has_remark(field) else text


def _has_remark(field: Field) -> bool:
    """Whether the text ends with the default: where it is another one than everybody expects of its type."""
    return field.is_attribute and (field.default is None or field.default not in (0, "", b"", (), ZERO_UUID))


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
