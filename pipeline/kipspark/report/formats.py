"""The formats of the tables that a job writes, and tables as lines of text."""

from __future__ import annotations

from enum import StrEnum

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructType, TimestampType

_TIMES = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timeZone": "UTC"}
"""ISO 8601 in UTC, such as `2026-11-21T08:00:50.123000Z`, whatever the zone of the session is."""
_AS_JSON = {**_TIMES, "ignoreNullFields": "false"}
_NESTED = (ArrayType, MapType, StructType)


class Format(StrEnum):
    """What files of tables are made of."""

    PARQUET = "parquet"
    """A folder for each table, written by Spark's tasks."""
    CSV = "csv"
    """One file for each table, by RFC 4180 in UTF-8."""
    JSONL = "jsonl"
    """One file for each table, with one JSON object a row."""


LINE_ENDS = {Format.CSV: "\r\n", Format.JSONL: "\n"}
"""The formats that are text."""


def lines(frame: DataFrame, text_format: Format) -> DataFrame:
    """The rows of a table as text, in a column `value`; without line ends and without a header."""
    if text_format is Format.CSV:
        return frame.select(sf.concat_ws(",", *map(_csv, frame.schema.names, _types(frame))).alias("value"))
    return frame.select(sf.to_json(sf.struct(*map(_column, frame.schema.names)), _AS_JSON).alias("value"))


def header(frame: DataFrame, text_format: Format) -> str:
    """What is before the lines of a table: the names of its columns, for CSV."""
    if text_format is Format.CSV:
        return ",".join(frame.schema.names) + LINE_ENDS[text_format]
    return ""


def _types(frame: DataFrame) -> list[DataType]:
    return [field.dataType for field in frame.schema.fields]


def _column(name: str) -> Column:
    """The column with that name, even if it has a dot."""
    return sf.col(f"`{name}`")


def _csv(name: str, type_: DataType) -> Column:
    """A field of CSV: nothing for null, and text always in quotes, so that an empty text is not null."""
    column = _column(name)
    if isinstance(type_, TimestampType):
        text = sf.to_csv(sf.struct(column), _TIMES)
    elif isinstance(type_, _NESTED):
        text = _quoted(sf.to_json(column, _AS_JSON))
    elif isinstance(type_, BinaryType):
        text = _quoted(sf.base64(column))
    elif isinstance(type_, StringType):
        text = _quoted(column)
    else:
        text = column.cast("string")
    return sf.when(column.isNull(), sf.lit("")).otherwise(text)


def _quoted(text: Column) -> Column:
    quote = sf.lit('"')
    return sf.concat(quote, sf.replace(sf.make_valid_utf8(text), quote, sf.lit('""')), quote)
