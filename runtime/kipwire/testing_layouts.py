"""What `kipwire.testing` minds in layouts: how long values may be, and what some of them have to do with others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kipwire.layouts import SizeOf, Value
from kipwire.values import integer_range

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kipwire.fields import Field
    from kipwire.layouts import Part


def has_room(parts: Sequence[Part], field: Field) -> bool:
    """Whether the sizes around a field's value have room for long ones; those of 16 bits may not."""
    for part in parts:
        if isinstance(part, SizeOf) and integer_range(part.type, part.encoding)[1] < 1 << 16:
            return False
        if isinstance(part, Value) and part.name == field.name and part.size == "int16" and field.array:
            return False
    return True


def arranged(parts: Sequence[Part], values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of a struct that can stand together, made of any that cannot.

    A set loses elements whose keys are there already, and is put into order, so that it is read as it was written.
    Of arrays that must be of the same length the longer ones lose elements.
    """
    result = dict(values)
    first: dict[str, str] = {}
    for part in parts:
        if isinstance(part, Value) and part.sorted_by:
            by_key = {getattr(element, part.sorted_by): element for element in result[part.name]}
            result[part.name] = [by_key[key] for key in sorted(by_key)]
        if isinstance(part, Value) and part.same_length_as:
            first[part.name] = first.get(part.same_length_as, part.same_length_as)
    for one in set(first.values()):
        alike = [one, *(name for name in first if first[name] == one)]
        count = min(len(result[name]) for name in alike)
        for name in alike:
            result[name] = result[name][:count]
    return result
