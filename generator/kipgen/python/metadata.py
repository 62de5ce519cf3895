"""The `FIELDS` of a generated class: calls of `kipwire.Field`, and the lines of the docstring."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kipgen.code import Code, quoted
from kipgen.resolve.wire import WireField
from kipwire.structs import Field

_ARGUMENTS = [one.name for one in inspect.signature(Field).parameters.values() if one.kind is one.KEYWORD_ONLY]


class Computed(NamedTuple):
    """Something on the wire that no attribute holds, as the docstring explains it."""

    field: WireField
    note: str
    """Why it is not an attribute, in a word or two."""


def fields_metadata(items: Iterable[WireField], *, flexible: bool, is_bounded: bool) -> tuple[Code, ...]:
    """The calls for the items of a struct, bits after their integers."""
    return tuple(_call(one, flexible, is_bounded) for item in items for one in (item, *item.inner))


def computed_fields(items: Iterable[WireField]) -> Iterator[Computed]:
    """The items of a struct that are not attributes, in the order of the wire."""
    for item in items:
        note = {
            "size": "computed size",
            "checksum": f"computed {item.algorithm}",
            "constant": f"always {item.default}",
            "bits": "made of bits",
            "presence": "computed bit",
        }.get(item.role)
        if note:
            yield Computed(item, note)
        yield from computed_fields(item.inner)


def _call(field: WireField, flexible: bool, is_bounded: bool) -> Code:
    """The call of `kipwire.Field`; an argument that is None, False, empty or `()` is the default.

    Prefixes that follow from types are left out, and so is `compact` where it follows from the struct.
    """
    default = Code("()") if field.is_mutable else field.default_expression
    derived = {
        "default": default if field.role in ("value", "constant") else None,
        "compact": Code(field.compact) if field.is_sized and field.compact != flexible else None,
        "encoding": field.encoding and str(field.encoding),
        "role": field.role if field.role != "value" else None,
        "prefix": field.prefix if is_bounded else None,
    }
    arguments = {name: derived[name] if name in derived else getattr(field, name) for name in _ARGUMENTS}
    given = [f"{name}={_expression(value)}" for name, value in arguments.items() if _is_given(value)]
    names = map(quoted, (field.attribute, field.spec_name, str(field.type)))
    return Code(f"kipwire.Field({', '.join([*names, *given])})")


def _is_given(value: object) -> bool:
    return value is not None and value is not False and value not in ("", "()")


def _expression(value: object) -> str:
    return value if isinstance(value, Code) else quoted(value) if isinstance(value, str) else repr(value)
