"""A request to edit: all its fields, each with what it means, as JSON with comments, which `kipwire call` reads."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from kipwire.console.call.json_text import Line, Notes, lines_of
from kipwire.console.call.requests import own_values
from kipwire.description.json_codec import default_to_json
from kipwire.message.messages import Message
from kipwire.model.structs import Field, Struct

_WIDTH = 100
"""Characters of a line of a comment."""
_MOST_NAMES = 20
"""Limit for the names of an enum that a comment lists."""


def template_lines(cls: type[Message]) -> Iterator[Line]:
    """Format the request of defaults as lines of JSON, with a comment for each field.

    Args:
        cls: the class of the request.
    """
    known = range(cls.MIN_VERSION, cls.MAX_VERSION + 1)
    versions = f"; there are {known[0]} to {known[-1]}" if len(known) > 1 else ""
    yield ((f"// {cls.NAME}, version {cls.VERSION}{versions}. What is left out has its default.", "dim"),)
    yield from lines_of(cls, _sample(cls, set()) | own_values(cls), _Abouts())


def _sample(cls: type[Struct], seen: set[type[Struct]]) -> dict[str, Any]:
    """Build the JSON form of a struct of defaults with one element in each array of structs, to show its fields.

    A class is shown once: structs that share structs would be shown as often as there are ways to them. After that an
    array is empty and an object has no keys, which means its defaults.
    """
    found: dict[str, Any] = {}
    for field in cls.ATTRIBUTES:
        if field.struct is None:
            found[field.json_name] = default_to_json(field)
            continue
        is_new = field.struct not in seen
        seen.add(field.struct)
        element = _sample(field.struct, seen) if is_new else {}
        found[field.json_name] = ([element] if is_new else []) if field.array else element
    return found


class _Abouts(Notes):
    """Descriptions of fields, above them."""

    def __init__(self) -> None:
        self._seen: set[type[Struct]] = set()

    def above(self, field: Field) -> list[str]:
        """Describe a field: its meaning, type and numbers."""
        about = f"{field.about} " if field.about else ""
        lines = textwrap.wrap(f"{about}({_type(field)}{self._again(field)})", _WIDTH)
        enum = field.enum or field.enum_of_bits
        if enum is not None and len(enum) <= _MOST_NAMES:
            what = "Bits" if field.enum_of_bits is not None else "Numbers"
            lines += textwrap.wrap(f"{what}: {', '.join(f'{int(one)} {one.label}' for one in enum)}", _WIDTH)
        return lines

    def _again(self, field: Field) -> str:
        """Make a remark about a struct whose fields were shown before; empty the first time."""
        if field.struct is None:
            return ""
        is_new = field.struct not in self._seen
        self._seen.add(field.struct)
        return "" if is_new else f", with the fields of {field.struct.__name__} above"


def _type(field: Field) -> str:
    element = "object" if field.struct is not None else field.element
    element = {"bytes": "bytes in base64", "records": "records in base64, or an array of records"}.get(element, element)
    words = f"array of {element}s" if field.array and field.struct is not None else element
    if field.array and field.struct is None:
        words = f"array of {element}"
    return f"{words} or null" if field.nullable else words
