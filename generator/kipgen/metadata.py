"""What a generated class says of its fields in `FIELDS`: calls of `kipwire.Field`, and the lines of the docstring."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kipgen.code import Code, quoted
from kipgen.layout_parts import BitsPart, ChecksumPart, ConstantPart, SizePart, ValuePart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kipgen.layout import FieldLayout
    from kipgen.layout_parts import Part

Arguments = dict[str, object]
WithDefault = tuple["FieldLayout", Code]
"""A field with the expression that stands for its default."""


class Computed(NamedTuple):
    """Something on the wire that no attribute holds, as the docstring explains it."""

    field: FieldLayout
    note: str
    """Why it is not an attribute, in a word or two."""


def fields_metadata(fields: Iterable[WithDefault]) -> tuple[Code, ...]:
    """The calls for the fields of a message's struct."""
    return tuple(_call(field, _of_value(field, default)) for field, default in fields)


def parts_metadata(parts: Iterable[Part], fields: Iterable[WithDefault]) -> tuple[Code, ...]:
    """The calls for what stands in a struct of a record format."""
    attributes = {field.attribute: (field, default) for field, default in fields}
    return tuple(call for part in parts for call in _of_part(part, attributes))


def computed_fields(parts: Iterable[Part]) -> Iterator[Computed]:
    """What a struct of a record format has besides its attributes, in the order of the wire."""
    for part in parts:
        if isinstance(part, SizePart):
            yield Computed(part.plain, "computed size")
        elif isinstance(part, ChecksumPart):
            yield Computed(part.plain, f"computed {part.algorithm}")
        elif isinstance(part, ConstantPart):
            yield Computed(part.plain, f"always {part.value}")
        elif isinstance(part, BitsPart):
            yield Computed(part.plain, "made of bits")
            yield from (Computed(bit.plain, "computed bit") for bit in part.bits if bit.presence_of)


def _of_part(part: Part, attributes: Mapping[str, WithDefault]) -> Iterator[Code]:
    if isinstance(part, ValuePart):
        field = part.field
        presence = part.presence
        wire = {
            "prefix": part.size or part.count,
            "sized": field.type.is_array and part.size not in (None, "rest"),
            "size_only_with": part.size_only_with,
            "present_if": presence.name if presence and presence.means_present else None,
            "absent_if": presence.name if presence and not presence.means_present else None,
            "sorted_by": part.sorted_by,
            "same_length_as": part.same_length_as,
        }
        yield _call(field, _of_value(*attributes[field.attribute]) | wire)
    elif isinstance(part, SizePart):
        yield _call(part.plain, {"encoding": part.encoding and str(part.encoding), "role": "size"})
    elif isinstance(part, ChecksumPart):
        yield _call(part.plain, {"role": "checksum", "algorithm": part.algorithm, "start": part.start})
    elif isinstance(part, ConstantPart):
        yield _call(part.plain, {"role": "constant", "default": part.value})
    else:
        yield _call(part.plain, {"role": "bits"})
        for bit in part.bits:
            values: Arguments = {"role": "presence"} if bit.presence_of else _of_value(*attributes[bit.name])
            yield _call(bit.plain, values | {"bit": bit.lowest})


def _of_value(field: FieldLayout, default: Code) -> Arguments:
    return {
        "default": default,
        "struct": field.struct and Code(field.struct),
        "nullable": field.nullable,
        "compact": field.is_sized and field.compact,
        "tag": field.tag,
        "encoding": field.encoding and str(field.encoding),
        "bits": field.bits,
        "ignorable": field.ignorable,
        "map_key": field.map_key,
        "entity_type": field.entity_type,
    }


def _call(field: FieldLayout, arguments: Arguments) -> Code:
    """The call of `kipwire.Field`; an argument that is None, False or empty, or `()`, is the default."""
    given = [f"{name}={_expression(value)}" for name, value in arguments.items() if _is_given(value)]
    names = map(quoted, (field.attribute, field.spec_name, str(field.type)))
    return Code(f"kipwire.Field({', '.join([*names, *given])})")


def _is_given(value: object) -> bool:
    return value is not None and value is not False and value not in ("", "()")


def _expression(value: object) -> str:
    return value if isinstance(value, Code) else quoted(value) if isinstance(value, str) else repr(value)
