"""The `default` of a field: from the text in the spec to a value of Python.

The grammar is Kafka's, without what its generator accepts by accident. It pastes the text into Java, where `010` is
octal 8 although it was checked as 10, and where `0x-1` is no number at all. Here each text has one value or none.
"""

from __future__ import annotations

import base64
import re
from uuid import UUID

from kipgen.language.spec import Default
from kipgen.language.types import FieldType
from kipwire.model.types import TYPES
from kipwire.tools.text import json_words

_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]*)", re.ASCII)
_HEX = re.compile(r"0x[0-9A-Fa-f]+", re.ASCII)
_UUID = re.compile(r"[A-Za-z0-9_-]{22}(?:==)?", re.ASCII)
# Python refuses to convert more than 4,300 decimal digits, with a text of its own. No number of 64 bits needs as many.
_MAX_CHARACTERS = 400
_BOOLS = {"true": True, "false": False}

_OF_KIND: dict[str, Default] = {
    "bool": False,
    "integer": 0,
    "float": 0.0,
    "uuid": UUID(int=0),
    "text": "",
    "blob": (),
    "struct": (),
}
"""The default of a field that gives none, by the kind of its type; `()` is a new empty value."""


def type_default(type_: FieldType) -> Default:
    """Return the default of a field that gives none: zero, false, the empty text, array or struct; of records, null."""
    if str(type_) == "records":
        return None
    return () if type_.is_array else _OF_KIND[type_.kind]


def parse_default(type_: FieldType, text: str) -> Default:
    """Read the text of a default.

    The empty string is the type's own default, `null` the null value (whether the field may be null is not checked
    here). Integers are decimal without leading zeros, or `0x` and hex digits; both are values, not bit patterns.

    Raises:
        ValueError: the text is not a value of the type; the message names a right one.
    """
    if not text:
        return type_default(type_)
    # As in Kafka's specs, so the four letters themselves cannot be the default of a string that may be null.
    if text == "null" and type_.may_be_null:
        return None
    if type_.is_array or type_.kind in ("struct", "blob"):
        raise ValueError(f"{json_words(text)} is not a valid default for {type_}; write null, or leave the default out")
    if type_.kind == "text":
        return text
    if type_.kind == "bool":
        if text.lower() not in _BOOLS:
            raise ValueError(f"{json_words(text)} is not a valid default for bool; write true or false")
        return _BOOLS[text.lower()]
    if type_.kind == "float":
        return _float(text)
    return _uuid(text) if type_.kind == "uuid" else _integer(type_.element, text)


def _integer(name: str, text: str) -> int:
    lowest, highest = TYPES[name].range
    if len(text) > _MAX_CHARACTERS or not (_DECIMAL.fullmatch(text) or _HEX.fullmatch(text)):
        raise ValueError(
            f"{json_words(text)} is not a valid default for {name}; "
            "write decimal digits (no leading zeros), or 0x and hex digits"
        )
    value = int(text, 16 if text.startswith("0x") else 10)
    if not lowest <= value <= highest:
        raise ValueError(f"{json_words(text)} does not fit {name}; write a value from {lowest} to {highest}")
    return value


def _float(text: str) -> float:
    try:
        # `float` also takes digits of other scripts, and underscores between digits.
        if not text.isascii() or "_" in text:
            raise ValueError
        return float(text)
    except ValueError:
        raise ValueError(f"{json_words(text)} is not a valid default for float64; write a number such as 1.5") from None


def _uuid(text: str) -> UUID:
    if not _UUID.fullmatch(text):
        raise ValueError(f"{json_words(text)} is not a valid default for uuid; write 22 characters of URL-safe base64")
    # Just 16 bytes: Kafka's generator lets more pass, and its generated code then fails at run time.
    return UUID(bytes=base64.urlsafe_b64decode(text[:22] + "=="))
