"""What jobs may use of an engine, by the names of PySpark.

A job that needs another function adds it here, and to `embedded/functions.py`; Spark has it already, unless PySpark has
nothing of the kind: these are last in `Functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

if TYPE_CHECKING:  # the names of PySpark are the language of jobs, which do not need PySpark to run
    from pyspark.sql import Column as Column
    from pyspark.sql import DataFrame as DataFrame
    from pyspark.sql import SparkSession
    from pyspark.sql.window import WindowSpec as Window

    Session = SparkSession
    ColumnOrName = Column | str
else:
    Column = DataFrame = Session = Window = ColumnOrName = Any

Batches = Iterable[pa.RecordBatch]
ArrowMap = Callable[[Batches], Iterator[pa.RecordBatch]]
"""From the batches of some rows, in any number, to batches of others."""


class Windows(Protocol):
    """The windows of an engine."""

    unboundedPreceding: int  # noqa: N815  PySpark's own name
    currentRow: int  # noqa: N815  PySpark's own name

    def partitionBy(self, *columns: ColumnOrName) -> Window: ...  # noqa: N802  PySpark's own name


class Functions(Protocol):
    """The functions that jobs use."""

    @property
    def Window(self) -> Windows: ...  # noqa: N802  PySpark's own name

    def array(self, *columns: ColumnOrName) -> Column: ...
    def array_contains(self, column: ColumnOrName, value: Any) -> Column: ...
    def array_except(self, one: ColumnOrName, other: ColumnOrName) -> Column: ...
    def array_sort(self, column: ColumnOrName) -> Column: ...
    def base64(self, column: ColumnOrName) -> Column: ...
    def broadcast(self, frame: DataFrame) -> DataFrame: ...
    def coalesce(self, *columns: ColumnOrName) -> Column: ...
    def col(self, name: str) -> Column: ...
    def concat(self, *columns: ColumnOrName) -> Column: ...
    def concat_ws(self, separator: str, *columns: ColumnOrName) -> Column: ...
    def count(self, column: ColumnOrName) -> Column: ...
    def count_distinct(self, column: ColumnOrName) -> Column: ...
    def current_timestamp(self) -> Column: ...
    def desc(self, column: str) -> Column: ...
    def explode(self, column: ColumnOrName) -> Column: ...
    def first(self, column: ColumnOrName) -> Column: ...
    def flatten(self, column: ColumnOrName) -> Column: ...
    def greatest(self, *columns: ColumnOrName) -> Column: ...
    def hex(self, column: ColumnOrName) -> Column: ...
    def lag(self, column: ColumnOrName) -> Column: ...
    def last(self, column: ColumnOrName, ignorenulls: bool = False) -> Column: ...
    def lead(self, column: ColumnOrName) -> Column: ...
    def least(self, *columns: ColumnOrName) -> Column: ...
    def lit(self, value: Any) -> Column: ...
    def max(self, column: ColumnOrName) -> Column: ...
    def max_by(self, column: ColumnOrName, order: ColumnOrName) -> Column: ...
    def min(self, column: ColumnOrName) -> Column: ...
    def min_by(self, column: ColumnOrName, order: ColumnOrName) -> Column: ...
    def percentile(self, column: ColumnOrName, part: float) -> Column: ...
    def regexp_replace(self, column: ColumnOrName, pattern: str, replacement: str) -> Column: ...
    def round(self, column: ColumnOrName) -> Column: ...
    def size(self, column: ColumnOrName) -> Column: ...
    def struct(self, *columns: ColumnOrName) -> Column: ...
    def substring(self, column: ColumnOrName, position: int, length: int) -> Column: ...

    def sum(self, column: ColumnOrName) -> Column:
        """The sum of whole numbers; jobs have no others to add."""

    def timestamp_millis(self, column: ColumnOrName) -> Column: ...
    def transform(self, column: ColumnOrName, change: Callable[[Column], Column]) -> Column: ...
    def translate(self, column: ColumnOrName, matching: str, replace: str) -> Column: ...
    def unix_micros(self, column: ColumnOrName) -> Column: ...
    def when(self, condition: Column, value: Any) -> Column: ...

    # What follows are the differences between the engines.

    def from_coordinator(
        self, key: ColumnOrName, value: ColumnOrName, *, coordinator: str = "group", types: Iterable[str] = ()
    ) -> Column:
        """As `kipspark.from_coordinator`, which stops at a broken record."""

    def from_metadata(self, value: ColumnOrName, *, types: Iterable[str] = ()) -> Column:
        """As `kipspark.from_metadata`, which stops at a broken record."""

    def from_message(self, data: ColumnOrName, message: str, version: int) -> Column:
        """As `kipspark.from_message`, which stops at a broken message."""

    def valid_text(self, column: ColumnOrName) -> Column:
        """A text with U+FFFD for all that is not UTF-8."""

    def octets(self, column: ColumnOrName, position: int) -> Column:
        """The bytes from a position on, the first of which is 1."""

    def bytes_of(self, column: ColumnOrName) -> Column:
        """The number of bytes of a binary column."""

    def hashes(self, column: ColumnOrName) -> tuple[Column, Column]:
        """Two hashes of together 96 bits or more, by which values are told apart within one run."""

    def with_json(self, frame: DataFrame, columns: Sequence[str], name: str) -> DataFrame:
        """The rows with one more column: the one of these structs that is not null, as JSON without nulls in it."""

    def mapped(self, frame: DataFrame, change: ArrowMap, schema: pa.Schema) -> DataFrame:
        """The rows that a function makes of batches of rows; other processes may call it for parts of them."""

    def extended(self, frame: DataFrame, change: ArrowMap, fields: Sequence[tuple[str, pa.DataType]]) -> DataFrame:
        """As `mapped`, for a function that adds columns after the others."""

    def grouped(
        self, frame: DataFrame, by: Sequence[str], change: Callable[[pa.Table], pa.Table], schema: pa.Schema
    ) -> DataFrame:
        """The rows that a function makes of all rows of each group."""


class Engine(Protocol):
    """What is done with sessions and whole data frames."""

    functions: Functions

    def tasks_at_once(self, session: Session) -> int:
        """About how many tasks run at the same time."""

    def sees(self, frame: DataFrame, folder: Path) -> bool:
        """Whether what writes the files of tables sees a folder of this machine."""

    def write_parquet(self, frame: DataFrame, folder: Path) -> None:
        """Write a table as Parquet files of a new folder."""

    def write_text(self, frame: DataFrame, order: Sequence[ColumnOrName], text_format: str, file: Path) -> None:
        """Write a table, sorted, as CSV or JSON lines to a new file."""
