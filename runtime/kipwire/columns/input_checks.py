"""Checks that given columns belong to a message: names and types, before any value is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import pyarrow as pa

from kipwire.columns.arrow_types import Column, StructColumns
from kipwire.description.fields import Visitor
from kipwire.message.messages import Message
from kipwire.model.types import KINDS

types = pa.types


def check_columns(cls: type[Message], struct: StructColumns, given: pa.StructType) -> None:
    """Check that a struct type has the columns of a message, in any order.

    A column's type may be another one that holds the same values, such as `large_string` for `string` or `int64` for
    `int32`. Columns of tagged fields may be missing: then they are at their defaults.

    Raises:
        EncodeError: a column is missing, is unknown or has another type; the error has the path.
    """
    _Check(cls).struct(struct, given)


class _Check(Visitor):
    def struct(self, struct: StructColumns, given: pa.DataType) -> None:
        if not types.is_struct(given):
            self.fail(f"must be a struct, not {given}")
        names = [one.name for one in given]
        numbers = {name: number for number, name in enumerate(names)}
        counts = Counter(names)
        for column in struct.columns:
            self.path.append(column.name)
            if counts[column.name] > 1:
                self.fail("there are several columns of this name")
            if column.name in numbers:
                self.column(column, given.field(numbers[column.name]).type)
            elif column.field is not None and column.field.tag is None:
                self.fail("the column is missing")
            self.path.pop()
        known = {column.name for column in struct.columns}
        for name in names:
            if name not in known:
                self.path.append(name)
                self.fail("this version has no such field")

    def column(self, column: Column, given: pa.DataType) -> None:
        if given == pa.null():
            return
        if column.field is None:
            self.unknown(given)
            return
        if column.field.array:
            if not is_any_list(given):
                self.fail(f"must be a list, not {given}")
            given = given.value_type
            if given == pa.null():
                return
        if column.struct is not None:
            self.struct(column.struct, given)
        else:
            self.primitive(column.field.element, given)

    def primitive(self, element: str, given: pa.DataType) -> None:
        if not _is_any(given, _FITTING[KINDS[element]]):
            self.fail(f"must be a column of {_WANTED.get(element, element)}, not {given}")

    def unknown(self, given: pa.DataType) -> None:
        if not is_any_list(given) and not types.is_map(given):
            self.fail(f"must be a map from int32 to binary, not {given}")
        entries = given.value_type if is_any_list(given) else pa.struct([given.key_field, given.item_field])
        pair = [one.type for one in entries] if types.is_struct(entries) else []
        if len(pair) != 2 or not types.is_integer(pair[0]) or not _is_any(pair[1], _BLOBS):
            self.fail(f"must be a map from int32 to binary, not {given}")


_WANTED = {"bytes": "binary", "records": "binary", "uuid": "fixed_size_binary[16]"}


def is_any_list(given: pa.DataType) -> bool:
    """True for any of Arrow's types of lists."""
    return _is_any(given, _LISTS)


def _is_any(given: pa.DataType, types: Iterable[Callable[[pa.DataType], bool]]) -> bool:
    return any(is_one(given) for is_one in types)


_LISTS = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_list_view, types.is_large_list_view)
_BLOBS = (types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary)
_FITTING = {
    "bool": (types.is_boolean,),
    "integer": (types.is_integer,),
    "float": (types.is_float64, types.is_float32),
    "uuid": (*_BLOBS, pa.uuid().equals),
    "text": (types.is_string, types.is_large_string, types.is_string_view),
    "blob": _BLOBS,
}
"""Arrow types that can hold the values of each kind of field."""
