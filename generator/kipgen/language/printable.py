"""Prose of specs: which characters have no place in it."""

from __future__ import annotations

import re

_NOT_IN_PROSE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def control_character(text: str) -> str:
    """Says which character does not belong into prose, which may have line ends and tabs; "" if all do."""
    found = _NOT_IN_PROSE.search(text)
    return f"has the control character U+{ord(found[0]):04X}; take it out" if found else ""
