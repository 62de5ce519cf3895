"""One type for all versions of a message: every field of every version, null where a version does not have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import pyarrow as pa

from kipspark.errors import JobError
from kipspark.messages.selection import Selection
from kipwire import Message, columns
from kipwire.columns.arrow_types import Column, StructColumns, columns_of
from kipwire.description.column_order import ordered, places
from kipwire.model.types import TYPES
from kipwire.tools.text import nearest

VERSION = "_version"
"""The column with a row's version, if versions may differ."""

VERSION_TYPE = pa.int16()

_WIDER = {
    pa.binary(16): pa.binary(),
    **{
        pa.type_for_alias(row.arrow): pa.type_for_alias(f"int{2 * row.bits}")
        for row in TYPES.values()
        if row.kind == "integer" and not row.signed
    },
}
"""Types that Spark does not have, and the types used instead."""


@lru_cache
def all_versions_type(selection: Selection) -> pa.StructType:
    """The columns of a message in all chosen versions, in the order of `kipwire.description.column_order`.

    A later release of the specs adds columns at the end of structs. Every column may be null, at every level.

    Raises:
        JobError: no version has a chosen field, or a field has incompatible types.
        KipwireError: as `Selection.classes`.
    """
    versions = [
        (cls.VERSION, columns_of(cls, fields_of(selection, cls))) for cls in sorted(selection.classes, key=_version_of)
    ]
    leading = [] if selection.version is not None else [pa.field(VERSION, VERSION_TYPE)]
    merged = pa.struct([*leading, *_merged(versions, selection.message)])
    for path in selection.fields or ():
        if not _has(merged, path.split(".")):
            near = _nearest_field(all_versions_type(replace(selection, fields=None)), path.split("."))
            raise JobError(f"{selection.message} has no field {path!r} in {_versions(selection)}{near}")
    return merged


def fields_of(selection: Selection, cls: type[Message]) -> tuple[str, ...] | None:
    """Those of the chosen fields that one version has."""
    if selection.fields is None:
        return None
    return _fields_of(selection.fields, cls)  # type: ignore[arg-type]  # classes are hashable


@lru_cache
def _fields_of(fields: tuple[str, ...], cls: type[Message]) -> tuple[str, ...]:
    """Kept, since each of Spark's batches asks for them."""
    whole = pa.struct(list(columns.schema(cls)))
    return tuple(path for path in fields if _has(whole, path.split(".")))


def spark_able(type_: pa.DataType) -> pa.DataType:
    """A type with all that Spark does not have replaced by what holds the same values; everything may be null."""
    if pa.types.is_struct(type_):
        return pa.struct([(field.name, spark_able(field.type)) for field in type_])
    if pa.types.is_list(type_):
        return pa.list_(spark_able(type_.value_type))
    return _WIDER.get(type_, type_)


def _version_of(cls: type[Message]) -> int:
    return cls.VERSION


def _merged(versions: Sequence[tuple[int, StructColumns]], where: str) -> pa.StructType:
    """The columns of one struct in several versions, ascending."""
    parts: dict[str, list[tuple[int, Column]]] = {}
    for version, struct in versions:
        for column in struct.columns:
            parts.setdefault(column.name, []).append((version, column))
    order = ordered(places(version, map(_named, struct.columns)) for version, struct in versions)
    return pa.struct([(name, _merged_type(parts[name], f"{where}.{name}")) for name in order])


def _named(column: Column) -> tuple[str, int | None]:
    return column.name, None if column.field is None else column.field.tag


def _merged_type(parts: Sequence[tuple[int, Column]], where: str) -> pa.DataType:
    """The type of one column in several versions."""
    structs = [(version, column.struct) for version, column in parts if column.struct is not None]
    if len(structs) == len(parts):
        merged = _merged(structs, where)
        types = [pa.list_(merged) if pa.types.is_list(column.type) else merged for _, column in parts]
    else:
        types = [spark_able(column.type) for _, column in parts]
    for type_ in types[1:]:
        if type_ != types[0]:
            raise JobError(f"{where} is {types[0]} in one version and {type_} in another; choose one version")
    return types[0]


def _has(type_: pa.DataType, path: list[str]) -> bool:
    for name in path:
        if pa.types.is_list(type_):
            type_ = type_.value_type
        if not pa.types.is_struct(type_) or type_.get_field_index(name) < 0:
            return False
        type_ = type_.field(name).type
    return True


def _nearest_field(type_: pa.DataType, path: list[str]) -> str:
    """The suffix `; did you mean ...?` for a path that is not there; empty if no field has a similar name."""
    for known, name in enumerate(path):
        if pa.types.is_list(type_):
            type_ = type_.value_type
        if not pa.types.is_struct(type_):
            return ""
        if type_.get_field_index(name) < 0:
            near = nearest(name, [field.name for field in type_])
            return "" if near is None else f"; did you mean {'.'.join([*path[:known], near])}?"
        type_ = type_.field(name).type
    return ""


def _versions(selection: Selection) -> str:
    return "any version" if selection.version is None else f"version {selection.version}"
