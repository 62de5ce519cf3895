"""Between wire descriptions and templates: structs whose arrays can be read many elements at once, as equal rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from kipgen.python.steps import fixed_code, number_code
from kipgen.resolve.wire import WireField


def has_rows(fields: Sequence[WireField], *, flexible: bool) -> bool:
    """Whether neighbours with these fields can have equal shape: always, or where their lengths and counts agree.

    Without a tag section, after which elements may differ, only those of fixed width qualify.
    """
    may_vary = flexible and not any(field.type.element == "uuid" for field in fields)
    return bool(fields) and all(
        field.tag is None and (fixed_code(field) or (may_vary and _has_one_size(field))) for field in fields
    )


def row_runs(fields: Sequence[WireField]) -> tuple[tuple[WireField, ...], ...]:
    """The fields of a struct that has rows, as they are unpacked: neighbours of fixed width together, others alone."""
    runs: list[tuple[WireField, ...]] = []
    for is_fixed, neighbours in groupby(fields, lambda field: bool(fixed_code(field))):
        run = tuple(neighbours)
        runs += [run] if is_fixed else [(field,) for field in run]
    return tuple(runs)


def _has_one_size(field: WireField) -> bool:
    """Whether its width follows from one compact length or count."""
    return field.compact and bool(number_code(field) if field.type.is_array else field.type.element == "string")


def row_codes(fields: Sequence[WireField]) -> tuple[str, ...]:
    """What the fields of a struct are to `kipwire.codec.arrays.ElementPackers`; empty unless one call can write it all.

    A number is its `struct` code, an array `*` and that of its elements, a flag `bool`. Empty for others, and for
    those of one array, which gain nothing.
    """
    codes = tuple(map(_code, fields))
    return tuple(filter(None, codes)) if all(codes) and sum(field.type.is_array for field in fields) > 1 else ()


def _code(field: WireField) -> str | None:
    if field.tag is not None:
        return None
    code = number_code(field)
    if field.type.is_array:
        return f"*{code}" if code and field.compact and not field.nullable else None
    return "bool" if field.type.element == "bool" else code
