"""Structs and rows as JSON and CSV, formatted as Spark does."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from json.encoder import encode_basestring
from math import isfinite
from typing import Any

import pyarrow as pa

from kipwire.tables.arrow import python_rows, python_values
from kipwire.tools.times import date_text

_CONTROL = re.compile(r"\\u00[01][0-9a-f]")


def json_texts(columns: list[pa.Array]) -> pa.StringArray:
    """Return as JSON, for each row, the struct that is not null, without the nulls in it; null if there is none."""
    texts: list[str | None] = [None] * len(columns[0])
    for column in columns:
        if column.null_count == len(column):
            continue
        for row, value in enumerate(column.to_pylist(maps_as_pydicts="lossy")):
            if value is not None and texts[row] is None:
                texts[row] = dump_line(without_nulls(value))
    return pa.array(texts, pa.string())


def dump_line(value: Any) -> str:
    """Return plain data as JSON in one line, without spaces."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return double_text(value) if isfinite(value) else f'"{double_text(value)}"'
        case str():
            return _in_json(value)
        case bytes():
            return f'"{b64encode(value).decode()}"'
        case datetime():
            return f'"{time_text(value)}"'
        case dict():
            return "{" + ",".join(f"{_in_json(str(name))}:{dump_line(one)}" for name, one in value.items()) + "}"
        case list():
            return "[" + ",".join(map(dump_line, value)) + "]"
    raise TypeError(f"{value!r} cannot be written as JSON")


def _in_json(text: str) -> str:
    quoted = encode_basestring(text)
    return _CONTROL.sub(lambda found: found[0][:2] + found[0][2:].upper(), quoted) if "\\u00" in quoted else quoted


_PLAIN = range(-3, 7)
"""The exponents of ten with which Java writes a double without an exponent."""


def double_text(value: float) -> str:
    """Format a double as Java does, such as `1.048576E7`."""
    if not isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    power = exponent + len(digits) - 1
    if value == 0 or power in _PLAIN:
        text = f"{Decimal(repr(value)):f}"
        return text if "." in text else f"{text}.0"
    first, *others = map(str, digits)
    return f"{'-' if sign else ''}{first}.{''.join(others) or '0'}E{power}"


def without_nulls(value: Any) -> Any:
    """Return a struct, or a list of them, without the fields that are null."""
    if isinstance(value, dict):
        return {name: without_nulls(one) for name, one in value.items() if one is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value


def time_text(time: datetime) -> str:
    """Format a time as ISO 8601 in UTC, such as `2026-11-21T08:00:50.123000Z`."""
    return f"{date_text(time)}Z"


def csv_field(type_: pa.DataType) -> Callable[[Any], str]:
    """Return a function that formats values of a type as CSV: null is empty, and text is always in quotes."""
    if pa.types.is_timestamp(type_):
        return lambda value: value or "" if value is None or isinstance(value, str) else time_text(value)
    if pa.types.is_nested(type_):
        return lambda value: "" if value is None else _in_quotes(dump_line(value))
    if pa.types.is_binary(type_):
        return lambda value: "" if value is None else _in_quotes(b64encode(value).decode())
    if pa.types.is_string(type_):
        return lambda value: "" if value is None else _in_quotes(value)
    if pa.types.is_floating(type_):
        return lambda value: "" if value is None else double_text(value)
    if pa.types.is_boolean(type_):
        return lambda value: "" if value is None else str(value).lower()
    return lambda value: "" if value is None else str(value)


def csv_head(schema: pa.Schema) -> str:
    """Return the first line of a CSV file, with its end: the names of columns."""
    return ",".join(schema.names) + "\r\n"


def csv_lines(batch: pa.RecordBatch) -> Iterator[str]:
    """Yield rows as lines of CSV, with their ends."""
    columns = [map(csv_field(column.type), python_values(column)) for column in batch.columns]
    return (",".join(row) + "\r\n" for row in zip(*columns, strict=True))


def json_lines(batch: pa.RecordBatch) -> Iterator[str]:
    """Yield rows as lines of JSON, with their ends."""
    return (f"{dump_line(row)}\n" for row in python_rows(batch))


def _in_quotes(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
