"""The error codes of a response, wherever they are in it, and the names of its numbers."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from kipwire.console.call.json_text import Notes
from kipwire.logs.enveloped import message_in, read_enveloped, write_enveloped
from kipwire.model.enums import ErrorNumber
from kipwire.model.errors import DecodeError, shorten
from kipwire.model.structs import Field, Struct
from kipwire.tools.text import count_of

_CODE = "error_code"
"""The name of fields with error codes in packages that have no names for them."""
_MESSAGE = "error_message"


class _Code(NamedTuple):
    path: str
    """Path in JSON names."""
    kind: str
    """The path without indexes."""
    number: int
    name: str
    message: str
    """The broker's explanation; empty if it has none."""


def error_lines(message: Struct) -> list[str]:
    """Describe each error code in a response on a line: its path, its number and name, and the broker's explanation.

    Equal codes in equal fields of several structs share a line.
    """
    shown: dict[tuple[str, int], tuple[_Code, int]] = {}
    for code in _codes(message, "", ""):
        key = code.kind, code.number
        first, places = shown.get(key, (code, 0))
        shown[key] = first, places + 1
    return [_line(*one) for one in shown.values()]


def _line(code: _Code, places: int) -> str:
    more = f" (and in {count_of(places - 1, 'more place')})" if places > 1 else ""
    said = f": {shorten(code.message)}" if code.message else ""
    return f"{code.path}: {code.name}{said}{more}"


def _codes(item: Struct, path: str, kind: str) -> Iterator[_Code]:
    fields, structs = _fields_of(type(item))  # type: ignore[arg-type]  # mypy takes classes for unhashable
    for field in fields:
        number = getattr(item, field.name)
        if isinstance(number, int) and number:
            enum = field.enum
            text = getattr(item, _MESSAGE, None) or ""
            name = str(number) if enum is None else enum.text(number)
            yield _Code(f"{path}{field.json_name}", f"{kind}{field.json_name}", number, name, str(text))
    for field in structs:
        value: Any = getattr(item, field.name)
        at, inner = f"{path}{field.json_name}", f"{kind}{field.json_name}."
        if isinstance(value, Struct):
            yield from _codes(value, f"{at}.", inner)
        else:
            for number, element in enumerate(value or ()):
                yield from _codes(element, f"{at}[{number}].", inner)


@lru_cache(maxsize=1024)
def _fields_of(cls: type[Struct]) -> tuple[tuple[Field, ...], tuple[Field, ...]]:
    """Find the fields of a class that are error codes, and those with structs that have some, at any depth."""
    codes = tuple(field for field in cls.ATTRIBUTES if _is_code(field))
    structs = tuple(field for field in cls.ATTRIBUTES if field.struct is not None and any(_fields_of(field.struct)))  # type: ignore[arg-type]
    return codes, structs


def _is_code(field: Field) -> bool:
    if field.array or field.struct is not None:
        return False
    enum = field.enum
    return field.name == _CODE if enum is None else issubclass(enum, ErrorNumber)


class Names(Notes):
    """The names of numbers, beside them."""

    def beside(self, field: Field, value: Any) -> str:
        """Return the name of a number, or the names of several; of what consumers say the message; empty for others."""
        if isinstance(value, str) and (name := _message_in(field)) is not None:
            return _message_text(name, value)
        if not _is_named(field):
            return ""
        numbers: list[Any] = value if isinstance(value, list) else [value]
        if not all(isinstance(one, int) and not isinstance(one, bool) for one in numbers):
            return ""
        return ", ".join(named.label for one in numbers for named in field.named(one))


@lru_cache(maxsize=4096)
def _message_in(field: Field) -> str | None:
    return message_in(field)


def _message_text(name: str, text: str) -> str:
    """Format the message that bytes are as a line of JSON; empty for bytes of another protocol, such as Connect's."""
    data = b64decode(text)
    try:
        message = read_enveloped(name, data)
    except DecodeError:
        return ""
    return json.dumps(message.to_json()) if write_enveloped(message) == data else ""


@lru_cache(maxsize=4096)
def _is_named(field: Field) -> bool:
    """True if its numbers, or its bits, have names."""
    return field.enum is not None or field.enum_of_bits is not None
