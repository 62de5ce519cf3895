"""Column functions for Spark 4.0, which uses pandas: the same values as with Arrow, but slower.

pandas has no integer columns with nulls, and Spark turns a struct into a data frame, which cannot be null. So a struct
goes in as JSON, and comes out as the only element of a list.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, StructType

from kipwire.tables.errors import JobError

_functions: Any = sf
"""Untyped, since pandas_udf is typed for use as a decorator only."""

_TYPES = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "void": pa.null(),
}
"""Arrow's types by Spark's names of simple types."""

_WORDS = re.compile(r"[<>,:]|[^<>,:]+")


def decoder(function: Callable[..., pa.Array], type_: StructType) -> Callable[..., Column]:
    """Return a function from columns of bytes to one of structs.

    Args:
        function: takes binary arrays and gives a struct array of the same length.
        type_: the type of the structs.
    """

    def decoded(*data: pd.Series) -> pd.Series:
        rows = function(*[pa.array(part, pa.binary()) for part in data]).to_pylist(maps_as_pydicts="strict")
        return pd.Series([None if row is None else [row] for row in rows], dtype=object)

    listed = _functions.pandas_udf(decoded, ArrayType(type_))
    return lambda *columns: listed(*columns)[0]


def encoder(function: Callable[[pa.Array], pa.Array]) -> Callable[..., Column]:
    """Return a function from a column of structs to one of bytes.

    Args:
        function: takes a struct array and gives a binary one of the same length.
    """

    def encoded(rows: pd.Series, types: pd.Series) -> pd.Series:
        type_ = arrow_type(types.iloc[0]) if len(types) else pa.struct([])
        values = [None if pd.isna(row) else _value(json.loads(row), type_) for row in rows]
        return pd.Series(function(pa.array(values, type_)).to_pylist(), dtype=object)

    typed = _functions.pandas_udf(encoded, "binary")
    return lambda column: typed(sf.to_json(column), sf.typeof(column))


def arrow_type(text: str) -> pa.DataType:
    """Return the Arrow type for a result of Spark's `typeof`, such as `struct<offset:bigint>`.

    Raises:
        JobError: no field of a message has such a type.
    """
    return _next_type(_WORDS.findall(text)[::-1])


def _next_type(words: list[str]) -> pa.DataType:
    """Parse the type that the last words describe, and remove them from the list."""
    name = words.pop()
    if name in _TYPES:
        return _TYPES[name]
    if name not in ("array", "map", "struct"):
        raise JobError(f"a column of type {name.partition('(')[0]} cannot be a field of a message")
    words.pop()  # <
    if name == "array":
        type_ = pa.list_(_next_type(words))
    elif name == "map":
        key = _next_type(words)
        words.pop()  # ,
        type_ = pa.map_(key, _next_type(words))
    else:
        fields = []
        while words[-1] != ">":
            field = words.pop()
            words.pop()  # :
            fields.append((field, _next_type(words)))
            if words[-1] == ",":
                words.pop()
        type_ = pa.struct(fields)
    words.pop()  # >
    return type_


def _value(value: Any, type_: pa.DataType) -> Any:
    """Convert a value from JSON to one that Arrow accepts."""
    if value is None:
        return None
    if pa.types.is_struct(type_):
        return {field.name: _value(value.get(field.name), field.type) for field in type_}
    if pa.types.is_list(type_):
        return [_value(one, type_.value_type) for one in value]
    if pa.types.is_map(type_):
        return [(_value(key, type_.key_type), _value(one, type_.item_type)) for key, one in value.items()]
    if pa.types.is_binary(type_):
        return b64decode(value)
    if pa.types.is_integer(type_):
        return int(value)  # the key of a map is text
    return float(value) if pa.types.is_floating(type_) else value  # NaN is text, too
