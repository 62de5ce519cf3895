"""Find values that a version of a message would lose, by the rule of `kipwire.convert`.

A field that a version does not have is dropped if it has its default value or is ignorable (the spec's `ignorable`).
In columns null is not a value: a row of a version has null in the fields that only other versions have.
"""

from __future__ import annotations

from functools import reduce
from uuid import UUID

import pyarrow as pa

from kipwire.model.structs import Field, Struct
from kipwire.tables.arrow import pc
from kipwire.tables.messages.selection import VERSION

Structs = tuple[type[Struct], ...]
"""The classes of one struct in all versions, the highest first."""


def kept_type(given: pa.DataType, known: pa.DataType) -> pa.DataType:
    """Return the given type, without the fields of structs that the known type lacks."""
    if pa.types.is_struct(given) and pa.types.is_struct(known):
        names = [field.name for field in given if known.get_field_index(field.name) >= 0]
        return pa.struct([(name, kept_type(given.field(name).type, known.field(name).type)) for name in names])
    if pa.types.is_list(given) and pa.types.is_list(known):
        return pa.list_(kept_type(given.value_type, known.value_type))
    return given


def lossy_rows(rows: pa.StructArray, kept: pa.DataType, structs: Structs) -> list[tuple[int, str]]:
    """Find the rows with a value in a field that is neither kept nor droppable, each with the path of such a field.

    Args:
        rows: messages.
        kept: of `kept_type`.
        structs: the classes of the message, whose fields are ignorable or not.
    """
    return [(row, path) for path, losing in _lost(rows, kept, structs, "", None) for row in losing]


def _lost(
    array: pa.Array, kept: pa.DataType, structs: Structs, path: str, parents: pa.Array | None
) -> list[tuple[str, list[int]]]:
    """Return the paths of fields that are not kept, and the rows that would lose a value there.

    Args:
        array: structs or lists.
        kept: the type that is kept of them.
        structs: the classes of these structs.
        path: of these structs in the message.
        parents: the row of each struct; None if the structs are the rows.
    """
    if pa.types.is_list(array.type) and pa.types.is_list(kept):
        inner = pc.list_parent_indices(array)
        rows = inner if parents is None else parents.take(inner)
        return _lost(array.flatten(), kept.value_type, structs, path, rows)
    if not pa.types.is_struct(array.type):
        return []
    found = []
    for column in array.type:
        if column.name == VERSION and not path:
            continue
        child = pc.struct_field(array, column.name)
        where = f"{path}.{column.name}" if path else column.name
        fields = [field for cls in structs for field in cls.ATTRIBUTES if field.name == column.name]
        if kept.get_field_index(column.name) >= 0:
            inner_structs = tuple(field.struct for field in fields if field.struct is not None)
            found += _lost(child, kept.field(column.name).type, inner_structs, where, parents)
        elif not fields or not fields[0].ignorable:
            losing = pc.indices_nonzero(_has_content(child, fields[0] if fields else None))
            if len(losing):
                found.append((where, (losing if parents is None else parents.take(losing)).to_pylist()))
    return found


def _has_content(values: pa.Array, field: Field | None) -> pa.Array:
    """Return a mask: true for values that are neither null nor the default of their field.

    Args:
        values: the column of a field.
        field: None for the unknown tagged fields, and for fields that no version has.
    """
    if pa.types.is_map(values.type):
        offsets = values.offsets
        return pc.and_(values.is_valid(), pc.greater(offsets[1:], offsets[:-1]))
    if field is None or field.default is None:  # null is the default: every value counts
        return values.is_valid()
    return pc.and_(values.is_valid(), pc.invert(pc.fill_null(_is_default(values, field), False)))


def _is_default(values: pa.Array, field: Field) -> pa.Array:
    """Return a mask: true for values that are the default of a field; undefined for nulls."""
    if pa.types.is_list(values.type):
        return pc.equal(pc.list_value_length(values), 0)
    if pa.types.is_struct(values.type):
        inner = {one.name: one for one in field.struct.ATTRIBUTES} if field.struct is not None else {}
        set_fields = [_has_content(pc.struct_field(values, one.name), inner.get(one.name)) for one in values.type]
        return pc.invert(reduce(pc.or_, set_fields, pa.repeat(False, len(values))))
    default = field.default_value()
    try:
        scalar = pa.scalar(default.bytes if isinstance(default, UUID) else default, values.type)
    except (TypeError, pa.ArrowException):  # the column does not have the field's type
        return pa.repeat(False, len(values))
    return pc.equal(values, scalar)
