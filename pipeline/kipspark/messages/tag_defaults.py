"""Defaults for tagged fields that stored messages do not have, since a later release of the specs added them.

Such a column is null for what was stored before. A message that leaves a tagged field out has its default, so null
means the default wherever null is not a value itself.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pyarrow as pa

from kipspark.arrow import pc
from kipwire.description.column_order import UNKNOWN
from kipwire.model.structs import Field, Struct


def with_tag_defaults(array: pa.Array, cls: type[Struct]) -> pa.Array:
    """The same structs, or lists of structs, with the defaults of tagged fields instead of nulls that are not values.

    Args:
        array: structs with columns of the class, or lists of them.
        cls: the class of the structs.
    """
    if pa.types.is_list(array.type):
        before = array.values
        elements = with_tag_defaults(before, cls)
        if elements is before:
            return array
        return pa.Array.from_buffers(
            array.type, len(array), array.buffers()[:2], offset=array.offset, children=[elements]
        )
    if not pa.types.is_struct(array.type):  # another type than that of the field, which is an error later
        return array
    fields = {field.name: field for field in cls.ATTRIBUTES}
    children = [array.field(number) for number in range(array.type.num_fields)]
    after = [_filled(child, fields.get(column.name)) for child, column in zip(children, array.type, strict=True)]
    if all(new is old for new, old in zip(after, children, strict=True)):
        return array
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(after, fields=list(array.type), mask=mask)


def _filled(child: pa.Array, field: Field | None) -> pa.Array:
    if field is None:
        return child
    if field.tag is not None and not field.nullable and child.null_count:
        try:
            child = pc.fill_null(child, pa.scalar(_default_of(field, child.type), child.type))
        except (TypeError, pa.ArrowException):  # the column is of another type than the field
            return child
    return child if field.struct is None else with_tag_defaults(child, field.struct)


def _default_of(field: Field, type_: pa.DataType) -> Any:
    """The default of a field, as a value of a column."""
    if field.array:
        return []
    if field.struct is not None:
        inner = {one.name: one for one in field.struct.ATTRIBUTES}
        return {
            column.name: _default_of(inner[column.name], column.type) if column.name in inner else []
            for column in type_
            if column.name in inner or column.name == UNKNOWN
        }
    default = field.default_value()
    return default.bytes if isinstance(default, UUID) else default
