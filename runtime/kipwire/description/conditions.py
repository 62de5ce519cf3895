"""Conditions of record formats on values, apart from their types; the same for reading, writing and test strategies.

Generated code has the same demands as expressions, from `kipgen.resolve.wire`. A condition looks at how long values
are (how many elements an array has, how many bytes anything else), or whether they are null.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kipwire.structs import Field, Struct


class Fault(NamedTuple):
    """What is wrong with a value."""

    what: str
    right: str
    """What would be right."""


def is_required(field: Field) -> bool:
    """Whether an attribute has no default, so that whoever makes an instance must give a value."""
    return field.is_attribute and field.default is None and not field.nullable


def fault(field: Field, length: int, length_of: Callable[[str], int | None]) -> Fault | None:
    """What is wrong with a value that is not null, if anything.

    `length_of` gives the length of another attribute of its struct; None where that is null.
    """
    if (other := field.same_length_as) and length != (theirs := length_of(other)):
        there = "is null" if theirs is None else f"has {theirs}"
        return Fault(f"array of {length} elements, but {other} {there}", "both must have the same length")
    return None


def fault_of_null(field: Field, is_set: Callable[[str], Any]) -> Fault | None:
    """What is wrong with a null, if anything; `is_set` gives the value of a bit of its struct, by its name."""
    if (bit := field.required_if) and is_set(bit):
        return Fault(f"is null, but {bit} is set", "give a value")
    return None


def meet(cls: type[Struct], values: dict[str, Any]) -> None:
    """Shorten values of a struct, and clear bits that need one, until they meet the conditions."""
    first: dict[str, str] = {}
    for field in cls.FIELDS:
        if field.required_if and values[field.name] is None:
            values[field.required_if] = False
        if field.same_length_as:
            first[field.name] = first.get(field.same_length_as, field.same_length_as)
    for one in set(first.values()):
        alike = [one, *(name for name in first if first[name] == one)]
        count = min(len(values[name]) for name in alike)
        for name in alike:
            values[name] = values[name][:count]
