"""Decode messages in whole tables: like `from_message`, and faster with PERMISSIVE.

    from kipspark import with_message

    responses = frames.select("timestamp", "body").transform(with_message, "response", "body", "MetadataResponse", 12)

Here whole batches go to Python and back. For a column function Spark keeps the rows of all other columns and, unless
rows are made first as with FAILFAST, copies its results more often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, StructField, StructType

from kipspark.arrow import struct_type
from kipspark.errors import FAILFAST, JobError, Mode
from kipspark.messages.decoding import checked_mode, checked_selection, decode, decode_strictly
from kipspark.messages.row_errors import ERROR_TYPE, error_array
from kipspark.messages.selection import KAFKA, Selection, all_versions_type

Columns = dict[str, pa.Array]
"""The columns of a batch by name, in their order."""


def with_message(
    frame: DataFrame,
    name: str,
    data: str,
    message: str,
    version: int | None = None,
    *,
    package: str = KAFKA,
    fields: Iterable[str] | None = None,
    mode: Mode = "FAILFAST",
    error: str | None = None,
) -> DataFrame:
    """The same table with a column of messages, like those of `from_message`.

    All columns of the table go through Python, so select the needed ones first.

    Args:
        frame: a table with a binary column.
        name: of the new column; a column of this name, such as that of the bytes, is replaced.
        data: name of the column of bytes.
        message: as in `from_message`.
        version: as in `from_message`.
        package: as in `from_message`.
        fields: as in `from_message`.
        mode: as in `from_message`.
        error: with the mode PERMISSIVE, the name of a second new column: why a message is broken, as in
            `error_of_message`.

    Raises:
        JobError: as `from_message`; or there is no such column of bytes, or an `error` without PERMISSIVE.
        UnsupportedVersionError: as `from_message`.
    """
    selection = checked_selection(package, message, version, fields)
    _check_columns(frame, name, data, error)
    if checked_mode(mode) == FAILFAST:
        if error is not None:
            raise JobError(
                f"FAILFAST stops at a broken message, so {error!r} would be empty; set PERMISSIVE or drop {error!r}"
            )
        make = _strict(selection, name, data)
    else:
        make = _lenient(selection, name, data, error)
    new = {name: struct_type(all_versions_type(selection))} | (
        {} if error is None else {error: struct_type(ERROR_TYPE)}
    )
    whole = {field.name: field for field in frame.schema} | {one: StructField(one, type_) for one, type_ in new.items()}

    def decoded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = make(dict(zip(batch.schema.names, batch.columns, strict=True)))
            yield pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    return frame.mapInArrow(decoded, StructType(list(whole.values())))


def _check_columns(frame: DataFrame, name: str, data: str, error: str | None) -> None:
    names = frame.columns
    if data not in names or not isinstance(frame.schema[data].dataType, BinaryType):
        raise JobError(f"there is no binary column {data!r}; the columns are {', '.join(names)}")
    twice = sorted({one for one in names if names.count(one) > 1})
    if twice:
        raise JobError(f"there are several columns {twice[0]!r}; rename or drop one")
    if error == name:
        raise JobError(f"name and error are both {name!r}; the messages and their errors need different columns")


def _strict(selection: Selection, name: str, data: str) -> Callable[[Columns], Columns]:
    return lambda columns: columns | {name: decode_strictly(selection, columns[data])}


def _lenient(selection: Selection, name: str, data: str, error: str | None) -> Callable[[Columns], Columns]:
    def decoded(columns: Columns) -> Columns:
        rows, errors = decode(selection, columns[data])
        if error is None:
            return columns | {name: rows}
        return columns | {name: rows, error: error_array(errors, len(rows))}

    return decoded
