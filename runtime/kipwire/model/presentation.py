"""Display of structs: by `repr` on one line; by pprint, rich, IPython and hypothesis on several."""

from __future__ import annotations

import sys
from functools import cache

from kipwire.model.enums import literals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Struct = Any  # of kipwire.model.structs, which imports this module

_INDENT = 4
_OF_STRUCTS = "kipwire.model.structs"
_NEEDED = "_format_namespace_items"


class _Name:
    """The name of a number, shown as a program would write it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def shown_values(struct: Struct) -> Iterator[tuple[str, object]]:
    """Yield the displayed parts of a struct, by name: its attributes, then its unknown tagged fields if it has any."""
    names = literals(struct)
    for field in struct.ATTRIBUTES:
        if not hasattr(struct, field.slot):
            yield field.name, _Name("<missing>")  # it was deleted; what is shown is still wanted
        elif field.name in names:
            yield field.name, _Name(names[field.name])
        elif field.is_unmade(struct) and _may_have_unmade(field.struct):
            yield field.name, _Name(f"{field.struct.__name__}()")  # in full it would be as long as there are ways down
        else:
            yield field.name, getattr(struct, field.name)
    if struct.FLEXIBLE and getattr(struct, "_unknown_tagged_fields", None):
        yield "unknown_tagged_fields", struct._unknown_tagged_fields


@cache
def _may_have_unmade(cls: type[Struct]) -> bool:
    """True if a struct of defaults contains tagged structs, at any depth."""
    inner = [field for field in cls.ATTRIBUTES if field.struct is not None and not field.array]
    return any(field.is_lazy or (field.default is not None and _may_have_unmade(field.struct)) for field in inner)


def one_line(struct: Struct) -> str:
    """Format a struct as a call of its class."""
    if "pprint" in sys.modules:  # which asks for this text before it looks for a way to print several lines
        _add_to_pprint(sys.modules["pprint"], type(struct))
    values = [f"{name}={value!r}" for name, value in shown_values(struct)]
    return f"{type(struct).__name__}({', '.join(values)})"


def pretty(struct: Struct, printer: Any) -> None:
    """Print a struct with a printer of IPython or hypothesis."""
    printer.begin_group(_INDENT, f"{type(struct).__name__}(")
    for number, (key, value) in enumerate(shown_values(struct)):
        printer.text("," if number else "")
        printer.breakable(" " if number else "")
        printer.text(f"{key}=")
        printer.pretty(value)
    printer.indentation -= _INDENT
    printer.breakable("")
    printer.end_group(0, ")")


def _add_to_pprint(pprint: Any, cls: type) -> None:
    """Make pprint show structs as it shows dataclasses; a pprint without methods for these shows one line."""
    known = getattr(pprint.PrettyPrinter, "_dispatch", None)
    # A class with a text of its own is shown by that text.
    if known is not None and cls.__repr__.__module__ == _OF_STRUCTS and hasattr(pprint.PrettyPrinter, _NEEDED):
        known.setdefault(cls.__repr__, _pprint)


def _pprint(
    printer: Any, struct: Struct, stream: Any, indent: int, allowance: int, context: object, level: int
) -> None:
    """Print a struct that is too long for one line, as a method of pprint's printer."""
    name = type(struct).__name__
    stream.write(f"{name}(")
    items = list(shown_values(struct))
    printer._format_namespace_items(items, stream, indent + len(name) + 1, allowance, context, level)
    stream.write(")")
