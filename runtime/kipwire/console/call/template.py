"""A request to edit: all its fields, each with what it means, as JSON with comments, which `kipwire call` reads."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from kipwire.console.call.json_text import Line, Notes, lines_of
from kipwire.console.call.requests import own_values
from kipwire.description.json_form import default_to_json
from kipwire.message.messages import Message
from kipwire.model.structs import Field, Struct

_WIDTH = 100
"""Characters of a line of a comment."""
_MOST_NAMES = 20
"""Of a table whose numbers a comment lists."""


def template_lines(cls: type[Message]) -> Iterator[Line]:
    """The lines of a template.

    Args:
        cls: the class of the request.
    """
    known = range(cls.MIN_VERSION, cls.MAX_VERSION + 1)
    versions = f"; there are {known[0]} to {known[-1]}" if len(known) > 1 else ""
    yield ((f"// {cls.NAME}, version {cls.VERSION}{versions}. What is left out has its default.", "dim"),)
    yield from lines_of(cls, _sample(cls) | own_values(cls), _Abouts())


def _sample(cls: type[Struct]) -> dict[str, Any]:
    """The JSON form of a struct of defaults with one element in each array of structs, to show its fields."""
    plain: dict[str, Any] = {}
    for field in cls.ATTRIBUTES:
        if field.struct is not None:
            element = _sample(field.struct)
            plain[field.json_name] = [element] if field.array else element
        else:
            plain[field.json_name] = default_to_json(field)
    return plain


class _Abouts(Notes):
    """What fields mean, above them."""

    def above(self, field: Field) -> list[str]:
        about = f"{field.about} " if field.about else ""
        lines = textwrap.wrap(f"{about}({_type(field)})", _WIDTH)
        enum = field.enum or field.enum_of_bits
        if enum is not None and len(enum) <= _MOST_NAMES:
            what = "Bits" if field.enum_of_bits is not None else "Numbers"
            lines += textwrap.wrap(f"{what}: {', '.join(f'{int(one)} {one.label}' for one in enum)}", _WIDTH)
        return lines


def _type(field: Field) -> str:
    element = "object" if field.struct is not None else field.element
    element = {"bytes": "bytes in base64", "records": "records in base64, or an array of records"}.get(element, element)
    words = f"array of {element}s" if field.array and field.struct is not None else element
    if field.array and field.struct is None:
        words = f"array of {element}"
    return f"{words} or null" if field.nullable else words
