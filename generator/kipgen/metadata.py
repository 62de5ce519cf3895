"""What a generated class says of its fields in `FIELDS`: calls of `kipwire.Field`, and the lines of the docstring."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kipgen.code import Code, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kipgen.layout import FieldLayout
    from kipgen.pyfield import PyField


class Computed(NamedTuple):
    """Something on the wire that no attribute holds, as the docstring explains it."""

    field: FieldLayout
    note: str
    """Why it is not an attribute, in a word or two."""


def fields_metadata(items: Iterable[PyField], *, flexible: bool, is_bounded: bool) -> tuple[Code, ...]:
    """The calls for what stands in a struct, bits after their integers."""
    return tuple(_call(one, flexible, is_bounded) for item in items for one in (item, *item.inner))


def computed_fields(items: Iterable[FieldLayout]) -> Iterator[Computed]:
    """What a struct has besides its attributes, in the order of the wire."""
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


def _call(field: PyField, flexible: bool, is_bounded: bool) -> Code:
    """The call of `kipwire.Field`; an argument that is None, False, empty or `()` is the default.

    Where prefixes follow from types, they are not said; nor that they are compact where the struct is flexible.
    """
    told, presence = field.role, field.presence
    arguments: dict[str, object] = {
        "default": field.metadata_default if told in ("value", "constant") else None,
        "struct": field.struct and Code(field.struct),
        "nullable": field.nullable,
        "compact": Code(field.compact) if field.is_sized and field.compact != flexible else None,
        "tag": field.tag,
        "encoding": field.encoding and str(field.encoding),
        "role": told if told != "value" else None,
        "bits": field.bits,
        "bit": field.lowest,
        "ignorable": field.ignorable,
        "map_key": field.map_key,
        "entity_type": field.entity_type,
        "prefix": field.prefix if is_bounded else None,
        "sized": field.sized,
        "size_only_with": field.partner and field.partner.value,
        "present_if": presence.name if told == "value" and presence and presence.means_present else None,
        "absent_if": presence.name if told == "value" and presence and not presence.means_present else None,
        "sorted_by": field.sorted_by,
        "same_length_as": field.same_length_as,
        "algorithm": field.algorithm,
        "start": field.start,
    }
    given = [f"{name}={_expression(value)}" for name, value in arguments.items() if _is_given(value)]
    names = map(quoted, (field.attribute, field.spec_name, str(field.type)))
    return Code(f"kipwire.Field({', '.join([*names, *given])})")


def _is_given(value: object) -> bool:
    return value is not None and value is not False and value not in ("", "()")


def _expression(value: object) -> str:
    return value if isinstance(value, Code) else quoted(value) if isinstance(value, str) else repr(value)
