"""Types as other languages write them, and what a spec has instead.

The nearest spelling alone is a bad guess: `long` is near to no type, and `Item[]` is an array. So these tables come
before it. Every answer must be a type that the parser accepts (tests/generator/spec/test_foreign_types.py), which is
why an array of arrays gets none.
"""

from __future__ import annotations

import re

from kipwire.model.types import TYPES
from kipwire.tools.text import nearest

NAMES = {
    **dict.fromkeys(("byte", "sbyte", "tinyint", "i8"), "int8"),
    **dict.fromkeys(("short", "smallint", "i16"), "int16"),
    **dict.fromkeys(("ushort", "u16"), "uint16"),
    **dict.fromkeys(("int", "integer", "i32", "sint32", "sfixed32"), "int32"),
    **dict.fromkeys(("uint", "u32", "fixed32"), "uint32"),
    **dict.fromkeys(("long", "bigint", "i64", "sint64", "sfixed64"), "int64"),
    **dict.fromkeys(("double", "float", "real", "f64", "f32", "float32"), "float64"),
    **dict.fromkeys(("boolean", "bit", "flag"), "bool"),
    **dict.fromkeys(("str", "text", "varchar", "utf8"), "string"),
    **dict.fromkeys(("binary", "blob", "bytearray", "bytestring", "buffer", "byte[]", "[]byte"), "bytes"),
    **dict.fromkeys(("guid", "uuid4"), "uuid"),
}
"""The type that is meant by a name of another language, in small letters."""

_MAP = 'write an array of structs with a key and a value, such as []Entry with "mapKey": true for the key'
_TIME = "write int64, for milliseconds since 1970"
_LENGTH = "write int32 or int64, for milliseconds"
_NULLABLE = 'write {type}, and set "nullableVersions" to the versions in which it may be null'
_ADVICE = {
    "enum": 'write int8, and name a table of its numbers with "enum"',
    **dict.fromkeys(("map", "dict", "dictionary", "hashmap"), _MAP),
    **dict.fromkeys(("timestamp", "datetime", "date", "time", "instant"), _TIME),
    **dict.fromkeys(("duration", "interval", "timedelta"), _LENGTH),
    **dict.fromkeys(("number", "decimal"), "write int32, int64 or float64"),
}
"""Advice where no type has just that meaning, by names in small letters."""

_BUILDING = {
    **dict.fromkeys(("struct", "object", "record", "message"), "write a struct's name, such as Topic, and its fields"),
    **dict.fromkeys(("array", "list", "set"), "write [] before the type of the elements, as in []int32"),
}
"""Advice for words that, with a capital, are good names of structs.

So `advice_on_struct` leaves them out: an undefined `Record` is more likely a struct that has no fields yet.
"""

_LISTS = "array|list|set|vec|vector|seq|sequence|iterable"
_ARRAY = re.compile(
    rf"(?:{_LISTS})\s*[<\[(](?P<inside>.*)[>\])]|repeated\s+(?P<repeated>.*)|\[(?P<rust>[^\]].*)\]", re.I
)
_MAP_OF = re.compile(r"(?:\w*map|dict|dictionary)\s*[<\[(].*", re.I)
_OPTIONAL = re.compile(
    r"(?:optional|option|nullable)\s*[<\[(](?P<inside>.*)[>\])]|optional\s+(?P<word>.*)|(?P<mark>.*)\?", re.I
)
_STRUCT = re.compile(r"[A-Z][A-Za-z0-9]*", re.ASCII)


def advice_on(text: str) -> str:
    """Advise on a text that is not a type: words that follow `; `, or "" where nothing resembles it.

    Args:
        text: a type as written.
    """
    trimmed = text.strip()
    if _MAP_OF.fullmatch(trimmed):
        return _MAP
    optional = _OPTIONAL.fullmatch(trimmed)
    if optional:
        inside = guess_type(next(group for group in optional.groups() if group is not None))
        return _NULLABLE.format(type=inside) if inside else ""
    advice = (_ADVICE | _BUILDING).get(trimmed.lower())
    if advice:
        return advice
    type_ = guess_type(trimmed)
    return f"did you mean {type_}?" if type_ else ""


def advice_on_struct(name: str) -> str:
    """Advise on an undefined struct name, if it is a type of another language; or return ""."""
    word = name.lower()
    return advice_on(word) if word in NAMES or word in _ADVICE else ""


def guess_type(text: str) -> str | None:
    """Guess the type that a text means, written another way or misspelt; None if nothing resembles it."""
    trimmed = text.strip()
    same = NAMES.get(trimmed.lower())
    if same:
        return same
    if trimmed in TYPES:
        return trimmed
    array = _ARRAY.fullmatch(trimmed)
    if trimmed.endswith("[]"):
        element = trimmed[:-2]
    elif trimmed.startswith("[]"):
        element = trimmed[2:]
    elif array:
        element = next(group for group in array.groups() if group is not None)
    else:
        return trimmed if _STRUCT.fullmatch(trimmed) and trimmed.lower() not in TYPES else nearest(trimmed, TYPES)
    inside = guess_type(element)
    return None if inside is None or inside.startswith("[]") else f"[]{inside}"
