"""One type for all versions of a message: every field of every version, null where a version does not have it."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa

from kipspark.errors import JobError
from kipspark.messages.selection import Selection
from kipwire import Message, columns
from kipwire.types import TYPES

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
    """The columns of a message in all chosen versions, in the order of the highest one, then those of older ones.

    Raises:
        JobError: no version has a chosen field, or a field has incompatible types.
        KipwireError: as `Selection.classes`.
    """
    merged: pa.DataType = pa.struct([(VERSION, VERSION_TYPE)] if selection.version is None else [])
    for cls in selection.classes:
        merged = _merged(
            merged, spark_able(pa.struct(list(columns.schema(cls, fields_of(selection, cls))))), selection.message
        )
    for path in selection.fields or ():
        if not _has(merged, path.split(".")):
            raise JobError(f"{selection.message} has no field {path!r} in {_versions(selection)}")
    return merged


def fields_of(selection: Selection, cls: type[Message]) -> tuple[str, ...] | None:
    """Those of the chosen fields that one version has."""
    if selection.fields is None:
        return None
    whole = pa.struct(list(columns.schema(cls)))
    return tuple(path for path in selection.fields if _has(whole, path.split(".")))


def spark_able(type_: pa.DataType) -> pa.DataType:
    """A type with all that Spark does not have replaced by what holds the same values; everything may be null."""
    if pa.types.is_struct(type_):
        return pa.struct([(field.name, spark_able(field.type)) for field in type_])
    if pa.types.is_list(type_):
        return pa.list_(spark_able(type_.value_type))
    return _WIDER.get(type_, type_)


def _merged(one: pa.DataType, other: pa.DataType, where: str) -> pa.DataType:
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        types = {field.name: field.type for field in one}
        for field in other:
            before = types.get(field.name)
            types[field.name] = field.type if before is None else _merged(before, field.type, f"{where}.{field.name}")
        return pa.struct(list(types.items()))
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(_merged(one.value_type, other.value_type, where))
    if one != other:
        raise JobError(f"{where} is {one} in one version and {other} in another; choose one version")
    return one


def _has(type_: pa.DataType, path: list[str]) -> bool:
    for name in path:
        if pa.types.is_list(type_):
            type_ = type_.value_type
        if not pa.types.is_struct(type_) or type_.get_field_index(name) < 0:
            return False
        type_ = type_.field(name).type
    return True


def _versions(selection: Selection) -> str:
    return "any version" if selection.version is None else f"version {selection.version}"
