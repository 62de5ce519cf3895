"""Makes a column of a function on Arrow arrays: computed once for each row, on bytes or structs only, with a name.

Spark moves a filter below what it filters if it can, and then computes there once more what the filter asks for:
`select(from_message(...).alias("m")).where("m.offset > 5")` would decode every message twice. So would a join on a
field, and all else from which Spark makes filters. The functions here are therefore what Spark leaves in its place:

- Spark 4.2 and newer leave filters above what they take for expensive. Functions in Python are not, but regular
  expressions and `array_join` are, and so is everything that has one in it. So the argument gets an `array_join` that
  costs nothing. To Spark the function stays deterministic: it can be used in joins and aggregates, and two columns of
  one decoding share it.
- Spark 4.0 and 4.1 leave filters only above what is not deterministic. So the result depends on the number of the
  partition, which is never negative. There Spark refuses it where it asks for something deterministic: in the
  condition of a join, and in an aggregate such as `max`. The function itself stays deterministic, so it is shared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import pyarrow as pa
import pyspark
from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

ColumnOrName = Column | str
ColumnFunction = Callable[..., Column]

BYTES, STRUCTS = "binary", "struct"
"""The types of arguments."""

_BYTES_OR_NULL = ("binary", "void")
"""The types, as Spark names them, of columns of bytes."""

_SPARK = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
_KEEPS_EXPENSIVE = (4, 2)
"""First version of Spark that leaves filters above expensive columns, and that gives columns of a scan to functions."""

_FIXES = {
    BYTES: "remove the cast, or convert it to bytes with to_binary or encode",
    STRUCTS: "use the result of from_message, or build one with struct or named_struct",
}


_NO_NAME = str.maketrans("`.", "'/")
"""The characters by which Spark would take a text for a name with parts."""


def column_function(function: Callable[..., pa.Array], name: str, type_: StructType | str) -> ColumnFunction:
    """Turn a function on Arrow arrays into one on columns.

    Make it once and keep it: Spark compares function objects to see that two columns come from the same call.

    Args:
        function: takes arrays, and returns one of the same length.
        name: shown by Spark in plans and in names of columns.
        type_: of its result. Structs are decoded from bytes; bytes are encoded from structs.
    """
    function.__name__ = name
    functions: Any = sf  # arrow_udf is typed for use as a decorator only
    if not hasattr(functions, "arrow_udf"):  # Spark 4.0
        from kipspark.spark import pandas_functions

        if isinstance(type_, StructType):
            return pandas_functions.decoder(function, type_)
        return pandas_functions.encoder(function)
    return cast(ColumnFunction, functions.arrow_udf(function, type_))


def compute_once(
    function: ColumnFunction,
    caller: str,
    arguments: Mapping[str, ColumnOrName],
    *,
    takes: str = BYTES,
    part: str | None = None,
    from_rows: bool = False,
) -> Column:
    """Return the result of a function for each row, as a column that Spark computes once, whatever filters it.

    Args:
        function: of `column_function`.
        caller: name of the function that users call.
        arguments: their columns, by the names of its arguments.
        takes: the type of all arguments. Another type is an error when Spark analyzes the query.
        part: the name of a field of the result, for functions that make two columns in one go.
        from_rows: true to make Spark turn a columnar scan, such as of Parquet, into rows first; see `_from_rows`.
            Two columns then do not share a call.
    """
    columns = [_column(given) for given in arguments.values()]
    shown = [given if isinstance(given, str) else _text(given) for given in arguments.values()]
    types_fit = [
        _type_fits(column, takes, caller, name, text)
        for column, text, name in zip(columns, shown, arguments, strict=True)
    ]
    if takes == BYTES:
        columns = [column.cast("binary") for column in columns]  # a null has no type of its own
    first = columns[0]
    if _SPARK < _KEEPS_EXPENSIVE:
        columns[0] = sf.when(_all(types_fit), first)
    elif from_rows:
        columns[0] = _from_rows(first, _all(types_fit) & _seems_expensive(first, takes))
    else:
        columns[0] = sf.when(_all(types_fit) & _seems_expensive(first, takes), first)
    result = function(*columns)
    if part is not None:
        result = result.getField(part)
    if _SPARK < _KEEPS_EXPENSIVE:
        result = sf.when(sf.spark_partition_id() >= 0, result)
    return result.alias(f"{caller}({', '.join(shown)})")


def _column(given: ColumnOrName) -> Column:
    return sf.col(given) if isinstance(given, str) else given


def _text(column: Column) -> str:
    """Return the text of a column as Spark writes it, such as `value`."""
    return repr(column).removeprefix("Column<'").removesuffix("'>")


def _all(conditions: list[Column]) -> Column:
    first, *others = conditions
    for one in others:
        first = first & one
    return first


def _seems_expensive(column: Column, takes: str) -> Column:
    """Return a condition that is true for every row, but that Spark takes for expensive and cannot simplify."""
    if takes == BYTES:
        never = sf.octet_length(column) < 0
    else:
        never = sf.size(sf.array_repeat(column, 1)) < 1
    return sf.array_join(sf.when(never, sf.array().cast("array<string>")), "").isNull()


def _from_rows(column: Column, always: Column) -> Column:
    """Return the same bytes, which Spark takes from rows and not from a columnar scan, such as of Parquet.

    After a columnar child, Spark copies the results of functions from Arrow into columns of its own, value by value,
    and these into rows, which takes as long as everything else together. `nullif` uses its first argument twice, so
    Spark computes that in a step of its own, which makes rows. An array with a value is never an empty one.
    """
    empty = sf.array().cast("array<binary>")
    return sf.nullif(sf.array(column), sf.when(always, empty)).getItem(0)


def _type_fits(column: Column, takes: str, caller: str, argument: str, shown: str) -> Column:
    """Return a condition that Spark reduces to true if a column has the type; if not, Spark's analysis fails.

    Spark has no function to fail with a custom text during analysis. But it looks at the first argument of `date_part`
    then, and its error for an unknown one has it as it is, but for dots and quotes: "Cannot extract".
    """
    type_ = sf.typeof(column)
    is_right = type_.isin(*_BYTES_OR_NULL) if takes == BYTES else type_.startswith("struct<")
    why = f", the type of {shown}: {argument} of {caller} must be {takes}; {_FIXES[takes]}".translate(_NO_NAME)
    wrong = sf.concat(sf.lit("a message from "), sf.translate(type_, "`", "'"), sf.lit(why))
    return sf.date_part(sf.when(is_right, "year").otherwise(wrong), sf.lit(None).cast("date")).isNull()
