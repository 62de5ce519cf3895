"""Bytes that can be touched: each field lights up with its type, its value and what it means, without a script.

Each piece of the bytes is the label of a radio button: pointing shows what it is, a click or a tap keeps that, arrow
keys go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup

from docs.site.templating import render
from kipwire.console.inspect.text import piece_text
from kipwire.console.inspect.tree import Inspection, Piece

_TAGS = ("tags", "tag", "size", "unknown")
_LENGTHS = ("length", "count", "marker")


class Touched(NamedTuple):
    """One piece of the bytes, as it is shown."""

    data: str
    """In hex."""
    colour: str
    """A class of CSS: `value`, `length`, `tags`, or `fault` for bytes from an error on."""
    path: str
    kind: str
    value: str
    where: str
    about: str


def touch(inspection: Inspection, name: str, chosen: str = "") -> Markup:
    """Write the bytes as HTML.

    Args:
        inspection: the bytes with their meaning.
        name: of the group of buttons, which no other one of the page has.
        chosen: path of the field whose value is lit at first; by default the place of the error, or else the first.
    """
    pieces = [piece for piece in inspection.pieces if piece.end > piece.start]
    parts = [
        (part, [_touched(piece, inspection.data) for piece in group])
        for part, group in groupby(pieces, lambda it: it.part)
    ]
    if inspection.error is not None:
        parts.append(("cannot be read", list(_fault(inspection))))
        chosen = chosen or "error"
    shown = [one for _, group in parts for one in group]
    lit = next((at for at, one in enumerate(shown) if one.path == chosen and one.colour in ("value", "fault")), 0)
    return Markup(render("touch.html.j2", parts=parts, name=name, lit=lit))


def _touched(piece: Piece, data: bytes) -> Touched:
    colour = "value" if piece.role == "value" else "tags" if piece.role in _TAGS else "length"
    size = piece.end - piece.start
    where = f"byte {piece.start}" if size == 1 else f"bytes {piece.start} to {piece.end - 1}"
    path = piece.path or ("tagged fields" if piece.role == "tags" else "message")
    return Touched(
        data[piece.start : piece.end].hex(" "), colour, path, piece.kind, piece_text(piece), where, piece.about
    )


def _fault(inspection: Inspection) -> Iterator[Touched]:
    error, rest = inspection.error, inspection.rest
    assert error is not None
    data = inspection.data[rest:].hex(" ") or "the bytes end here"
    yield Touched(data, "fault", "error", "", "", f"from byte {rest} on", str(error))
