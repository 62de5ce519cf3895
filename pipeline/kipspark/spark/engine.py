"""Spark as one of the engines of jobs: the methods of `kipjobs.engines` that PySpark does not have.

Jobs call the functions of PySpark by their names, and `SparkFunctions` passes them on; here are those alone for which
PySpark has no name, or which the embedded engine does otherwise. A method that is added here needs its counterpart in
`kipjobs.engines.embedded.functions` and a place in `kipjobs.engines.functions`. Files are written by Spark's tasks
where a table need not fit in memory.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)
from pyspark.sql.window import WindowSpec

from kipjobs.engines import frames as interface
from kipjobs.engines.functions import AddedFunctions, ArrowMap, NamedFunctions
from kipspark.arrow import spark_type, struct_type
from kipspark.spark.column_functions import ColumnOrName, compute_once
from kipspark.spark.functions import passing_record_decoder
from kipspark.spark.session import tasks_at_once
from kipwire.tables.arrow import HIGHEST_MILLISECOND
from kipwire.tables.files.access import read_path
from kipwire.tables.messages.records import Records
from kipwire.tools.times import FIRST_MICROSECOND, LAST_MICROSECOND, NONE


class SparkFunctions:
    """All functions of PySpark, and the ones that it lacks. Its frames are PySpark's `DataFrame`."""

    Window = Window()  # an object, since of a class only what is declared as its own can fulfil a protocol

    def __getattr__(self, name: str) -> Any:
        return getattr(sf, name)

    def from_coordinator(
        self, key: ColumnOrName, value: ColumnOrName, *, coordinator: str = "group", types: Iterable[str] = ()
    ) -> Column:
        """Decode records; null for those that cannot be read."""
        function = passing_record_decoder(Records(coordinator, tuple(types)))
        return compute_once(function, "from_coordinator", {"key": key, "value": value}, from_rows=True)

    def from_metadata(self, value: ColumnOrName, *, types: Iterable[str] = ()) -> Column:
        """Decode records; null for those that cannot be read."""
        function = passing_record_decoder(Records("metadata", tuple(types)))
        return compute_once(function, "from_metadata", {"value": value}, from_rows=True)

    def valid_text(self, column: ColumnOrName) -> Column:
        """Replace bytes that are not UTF-8 by U+FFFD."""
        return sf.make_valid_utf8(column)

    def kafka_time(self, column: ColumnOrName) -> Column:
        """Convert Kafka's milliseconds to times, where 64 bits hold the microseconds."""
        number = _column_of(column)
        fits = (number != NONE) & number.between(-HIGHEST_MILLISECOND, HIGHEST_MILLISECOND)
        return sf.when(fits, sf.timestamp_millis(number))

    def bytes_of(self, column: ColumnOrName) -> Column:
        """Return the number of bytes."""
        return sf.octet_length(column)

    def hashes(self, column: ColumnOrName) -> tuple[Column, Column]:
        """Return two hashes of together 96 bits."""
        return sf.xxhash64(column), sf.hash(column)

    def broadcast(self, frame: Any) -> Any:
        """Let each process that joins a small frame have all its rows."""
        return sf.broadcast(frame)

    def with_json(self, frame: Any, columns: Sequence[str], name: str) -> Any:
        """Add the one of these structs that is not null, as JSON."""
        return frame.withColumn(name, sf.coalesce(*[sf.to_json(one) for one in columns]))

    def map_batches(self, frame: Any, change: ArrowMap, schema: pa.Schema) -> Any:
        """Return the rows that a function makes of batches of rows."""
        return frame.mapInArrow(change, struct_type(schema))

    def add_columns(self, frame: Any, change: ArrowMap, fields: Sequence[tuple[str, pa.DataType]]) -> Any:
        """Do as `map_batches`, for a function that adds columns."""
        added = [StructField(name, spark_type(type_)) for name, type_ in fields]
        return frame.mapInArrow(change, StructType([*frame.schema, *added]))

    def map_groups(
        self, frame: Any, by: Sequence[str], change: Callable[[pa.Table], pa.Table], schema: pa.Schema
    ) -> Any:
        """Return the rows that a function makes of all rows of each group."""
        return frame.groupBy(*by).applyInArrow(change, struct_type(schema))


def _column_of(given: ColumnOrName) -> Column:
    return sf.col(given) if isinstance(given, str) else given


class SparkEngine:
    """Spark, on this machine or on others."""

    functions = SparkFunctions()

    def tasks_at_once(self, session: SparkSession) -> int:
        """Return about how many tasks run at the same time."""
        return tasks_at_once(session)

    def sees(self, frame: DataFrame, folder: Path) -> bool:
        """Return True if Spark sees a folder of this machine."""
        probe = folder / "probe"
        probe.write_text("seen")
        try:
            return [row[0] for row in frame.sparkSession.read.text(read_path(probe)).collect()] == ["seen"]
        except PySparkException:
            return False
        finally:
            probe.unlink()

    def write_parquet(self, frame: DataFrame, folder: Path) -> None:
        """Write a table as Parquet files, by Spark's tasks."""
        frame.write.parquet(str(folder))

    def write_text(self, frame: DataFrame, order: Sequence[ColumnOrName], text_format: str, file: Path) -> None:
        """Write a table to one file: Spark's tasks write its parts, since not every table fits in memory."""
        parts = file.with_name(f"{file.name}.parts")
        end = LINE_ENDS[text_format]
        lines(frame.orderBy(*order), text_format).write.option("lineSep", end).text(str(parts))
        with file.open("xb") as opened:
            opened.write((",".join(frame.schema.names) + end if text_format == "csv" else "").encode())
            for part in sorted(parts.glob("part-*")):
                with part.open("rb") as written:
                    shutil.copyfileobj(written, opened)
                part.unlink()  # so that a table is not twice on the disk
        shutil.rmtree(parts)


ENGINE = SparkEngine()

if TYPE_CHECKING:

    def _as_jobs_use_them(
        session: SparkSession, frame: DataFrame, column: Column, window: WindowSpec, added: SparkFunctions
    ) -> tuple[interface.Session, interface.DataFrame, interface.Column, interface.Window, _Added, _Named]:
        """Let type checkers compare PySpark's classes and functions with what jobs call."""
        return session, frame, column, window, added, sf

    _Added = AddedFunctions[Column]
    _Named = NamedFunctions[Column]

LINE_ENDS = {"csv": "\r\n", "jsonl": "\n"}
"""The formats that are text."""
_TIMES = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timeZone": "UTC"}
"""ISO 8601 in UTC, such as `2026-11-21T08:00:50.123000Z`, whatever the zone of the session is."""
_AS_JSON = {**_TIMES, "ignoreNullFields": "false"}
_NESTED = (ArrayType, MapType, StructType)


def lines(frame: DataFrame, text_format: str) -> DataFrame:
    """Return the rows of a table as text, in a column `value`; without line ends and without a header."""
    types: list[DataType] = [field.dataType for field in frame.schema.fields]
    if text_format == "csv":
        return frame.select(sf.concat_ws(",", *map(_csv, frame.schema.names, types)).alias("value"))
    columns = [
        _time_text(name).alias(name) if isinstance(type_, TimestampType) else _column(name)
        for name, type_ in zip(frame.schema.names, types, strict=True)
    ]
    return frame.select(sf.to_json(sf.struct(*columns), _AS_JSON).alias("value"))


def _column(name: str) -> Column:
    """Return the column with a name, even if the name has a dot."""
    return sf.col(f"`{name}`")


def _time_text(name: str) -> Column:
    """Format times as the embedded engine does: one without a date is the number with its unit."""
    column = _column(name)
    number = sf.unix_micros(column)
    milliseconds = sf.expr(f"unix_micros(`{name}`) div 1000").cast("string")
    beyond = sf.when(number % 1000 == 0, sf.concat(milliseconds, sf.lit("ms"))).otherwise(
        sf.concat(number.cast("string"), sf.lit("us"))
    )
    has_date = number.between(FIRST_MICROSECOND, LAST_MICROSECOND)
    return sf.when(has_date, sf.to_csv(sf.struct(column), _TIMES)).when(column.isNotNull(), beyond)


def _csv(name: str, type_: DataType) -> Column:
    """Format a field of CSV: null is empty, and text is always in quotes, so that an empty text is not null."""
    column = _column(name)
    if isinstance(type_, TimestampType):
        text = _time_text(name)
    elif isinstance(type_, _NESTED):
        text = _quote(sf.to_json(column, _AS_JSON))
    elif isinstance(type_, BinaryType):
        text = _quote(sf.base64(column))
    elif isinstance(type_, StringType):
        text = _quote(column)
    else:
        text = column.cast("string")
    return sf.when(column.isNull(), sf.lit("")).otherwise(text)


def _quote(text: Column) -> Column:
    quote = sf.lit('"')
    return sf.concat(quote, sf.replace(sf.make_valid_utf8(text), quote, sf.lit('""')), quote)
