"""Between layout and templates: structs whose arrays can be read many elements at once, as rows of one `struct` format.

All rows of an array have one width: always, where every field has a fixed one, or for as long as neighbours have
their lengths and counts in common. A tag section that holds anything is no part of a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kipgen.layout import FieldLayout
from kipgen.steps import Run, Slot, fixed_code, number_code


@dataclass(frozen=True, slots=True)
class AlikeRow:
    """A struct of numbers, texts and arrays of numbers; its elements are rows where they are like their neighbours."""

    fields: tuple[FieldLayout, ...]

    @property
    def codes(self) -> tuple[str, ...]:
        """What each field is to `kipwire.rows`."""
        return tuple(_code(field) or "" for field in self.fields)

    @property
    def arrays(self) -> tuple[FieldLayout, ...]:
        """The fields that are arrays of numbers."""
        return tuple(field for field in self.fields if field.type.is_array)

    @property
    def is_packed(self) -> bool:
        """Whether one call writes an element: texts have too many lengths to keep a format for each."""
        return "text" not in self.codes and not any(array.nullable for array in self.arrays)


def fixed_row(fields: Sequence[FieldLayout], *, flexible: bool) -> Run | None:
    """The fields of a struct of fixed width, and a skipped byte for its tag section; None for other structs."""
    slots = [Slot(code, field) for field in fields if field.tag is None and (code := fixed_code(field))]
    if not fields or len(slots) < len(fields):
        return None
    return Run((*slots, Slot("x")) if flexible else tuple(slots))


def alike_row(fields: Sequence[FieldLayout], *, flexible: bool) -> AlikeRow | None:
    """The row of a struct whose width depends on its values; None for those with fields of other kinds."""
    if not flexible or not all(map(_code, fields)) or all(map(fixed_code, fields)):
        return None
    return AlikeRow(tuple(fields))


def _code(field: FieldLayout) -> str | None:
    """A `struct` code, `bool`, `text`, or `*` and the code of an array's elements; None for any other field."""
    if field.tag is not None:
        return None
    if field.type.is_array:
        code = number_code(field)
        return f"*{code}" if code and field.compact else None
    if field.type.element == "string":
        return "text" if field.compact else None
    return "bool" if field.type.element == "bool" else number_code(field)
