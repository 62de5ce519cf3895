"""The columns of a struct and their Arrow types, from the field metadata of its class."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa

from kipwire.columns.errors import ColumnError
from kipwire.description.column_order import UNKNOWN as UNKNOWN
from kipwire.message.messages import Message
from kipwire.model.structs import Field, Struct
from kipwire.model.types import TYPES

MOST_COLUMNS = 65_536
"""Limit for the columns of a message, counting the columns of structs at all depths. Structs that share structs may
have 2**31 of them; the widest message of Kafka has about a hundred.
"""
UNKNOWN_TYPE = pa.map_(pa.int32(), pa.field("value", pa.binary(), nullable=False))


class Column(NamedTuple):
    """One field as a column."""

    name: str
    """The attribute's name."""
    type: pa.DataType
    nullable: bool
    field: Field | None
    """Field of the class; None for the unknown tagged fields."""
    struct: StructColumns | None
    """The columns of the struct, or of an array's structs; None for other types."""


class StructColumns(NamedTuple):
    """The columns of one struct."""

    cls: type[Struct]
    columns: tuple[Column, ...]
    """Columns in the order of the spec, the unknown tagged fields last."""
    type: pa.StructType
    total: int
    """Number of columns, at all depths."""


FieldSelection = dict[str, "FieldSelection | None"]
"""The chosen columns by name, each with what is chosen in it; None for all of it."""


def columns_of(cls: type[Message], fields: Iterable[str] | None = None) -> StructColumns:
    """Return the columns of a message, or of what is chosen of it.

    Args:
        cls: the generated class of a message in one version.
        fields: paths of attributes such as `topics.partitions.leader_id`; a struct selects all of its fields.

    Raises:
        ColumnError: a path does not lead to a field, a struct contains itself, which no Arrow type can, or there would
            be more than 65,536 columns.
        TypeError: `fields` is one text instead of several.
    """
    if isinstance(fields, str):
        raise TypeError(f"fields must be a list of paths, not one string: [{fields!r}]")
    return _columns_of(cls, None if fields is None else tuple(fields))  # type: ignore[arg-type]  # classes are hashable


@lru_cache(maxsize=1024)
def _columns_of(cls: type[Message], fields: tuple[str, ...] | None) -> StructColumns:
    selection = None if fields is None else _select([path.split(".") for path in fields])
    where = f"{cls.NAME} v{cls.VERSION}"
    found = _struct_columns(cls, selection, (), where, {})
    if found.total > MOST_COLUMNS:
        what = "it" if fields is None else "what is chosen"
        limit = f"and the limit is {MOST_COLUMNS:,}; choose paths of fields"
        raise ColumnError(f"{where}: {what} would have {found.total:,} columns, {limit}")
    return found


@lru_cache(maxsize=1024)
def has_few_columns(cls: type[Message]) -> bool:
    """True if a message, with all its fields, is within the limit of columns."""
    return _struct_columns(cls, None, (), f"{cls.NAME} v{cls.VERSION}", {}).total <= MOST_COLUMNS


def _select(paths: list[list[str]]) -> FieldSelection | None:
    if [] in paths:  # an empty path selects everything
        return None
    inner: dict[str, list[list[str]]] = {}
    for name, *rest in paths:
        inner.setdefault(name, []).append(rest)
    return {name: _select(rests) for name, rests in inner.items()}


Whole = dict[type[Struct], "StructColumns"]
"""The columns of structs of which everything is chosen, which are the same wherever a struct is used."""


def _struct_columns(
    cls: type[Struct], selection: FieldSelection | None, outer: tuple[type[Struct], ...], where: str, whole: Whole
) -> StructColumns:
    if cls in outer:
        raise ColumnError(f"{where}: {cls.__qualname__} contains itself, which no Arrow type can")
    if selection is None and cls in whole:
        return whole[cls]
    names = [field.name for field in cls.ATTRIBUTES] + [UNKNOWN] * cls.FLEXIBLE
    unknown = selection.keys() - set(names) if selection is not None else set()
    for name in selection or ():
        if name in unknown:
            raise ColumnError(f"{where}: no field {name!r}; there are {', '.join(names) or 'none'}")
    columns = []
    for field in cls.ATTRIBUTES:
        if selection is None or field.name in selection:
            inner = None if selection is None else selection[field.name]
            columns.append(_column(field, inner, (*outer, cls), f"{where}: {field.name}", whole))
    if cls.FLEXIBLE and (selection is None or UNKNOWN in selection):
        columns.append(Column(UNKNOWN, UNKNOWN_TYPE, nullable=False, field=None, struct=None))
    fields = [pa.field(column.name, column.type, nullable=column.nullable) for column in columns]
    count = len(columns) + sum(column.struct.total for column in columns if column.struct is not None)
    found = StructColumns(cls, tuple(columns), pa.struct(fields), count)
    if selection is None:
        whole[cls] = found
    return found


def _column(
    field: Field, selection: FieldSelection | None, outer: tuple[type[Struct], ...], where: str, whole: Whole
) -> Column:
    if field.struct is not None:
        struct = _struct_columns(field.struct, selection, outer, where, whole)
        element = struct.type
    elif selection:
        raise ColumnError(f"{where}: it is not a struct and has no field {next(iter(selection))!r}")
    else:
        struct = None
        element = _primitive(field)
    type_ = pa.list_(pa.field("item", element, nullable=False)) if field.array else element
    return Column(field.name, type_, field.nullable, field, struct)


def _primitive(field: Field) -> pa.DataType:
    """Map a primitive to its Arrow type; a uuid is plain bytes, since few readers support an extension type."""
    arrow = TYPES[field.element].arrow
    return pa.binary(16) if arrow == "binary16" else pa.type_for_alias(arrow)
