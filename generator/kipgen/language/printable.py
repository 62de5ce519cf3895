"""The texts of specs: which characters they must not contain."""

from __future__ import annotations

import re

_NOT_IN_PROSE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def control_character(text: str) -> str:
    """What is wrong with the characters of a text, which may have line ends and tabs; "" if nothing is."""
    found = _NOT_IN_PROSE.search(text)
    return f"contains the control character U+{ord(found[0]):04X}; remove it" if found else ""
