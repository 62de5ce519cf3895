"""The common part of kipspark's data sources: a plan of tasks, and the rows of a task.

The docstring of the package explains in which process Spark calls each part.

    def reader(self, schema: StructType) -> DataSourceReader:
        options = Options(self.name(), self.options, CHOSEN_OPTIONS)
        return Reader(partial(_plan, options.roots(), chosen_of(options), options.storage()), _read)

The reader of a stream has more steps, and the same tasks: see `log_source`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kipspark.arrow import struct_type
from kipwire.tables.errors import SourceError

W = TypeVar("W")
"""A piece of work: plain data that describes the input of one task."""

Plan = Callable[[], Iterable[W]]
Read = Callable[[W], Iterator[pa.RecordBatch]]


class Task(InputPartition, Generic[W]):
    """A piece of work as Spark passes it to the task that reads it."""

    def __init__(self, work: W) -> None:
        super().__init__(None)
        self.work = work


class Reader(DataSourceReader, Generic[W]):
    """A reader of the files that exist when a query is planned."""

    def __init__(self, plan: Plan[W], read: Read[W]) -> None:
        """Take the two functions.

        Args:
            plan: lists the pieces of work, each for one task.
            read: yields the rows of one piece.
        """
        self._plan = plan
        self._read = read

    def partitions(self) -> Sequence[InputPartition]:
        """Return the tasks of a query; Spark calls it once."""
        return tasks(self._plan())

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Return the rows of one task."""
        return rows(partition, self._read)


def tasks(work: Iterable[W]) -> list[InputPartition]:
    """Return a task for each piece of work."""
    return [Task(piece) for piece in work]


def rows(partition: InputPartition | None, read: Read[W]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task; none for the empty task that Spark makes if there is no work."""
    if isinstance(partition, Task):
        yield from read(partition.work)


class StreamSource(DataSource):
    """A source that may also be a stream."""

    def __reduce__(self) -> tuple[Callable[[Any], DataSource], tuple[Any]]:
        """Let the process that plans a stream find kipwire, too, if a session has brought it in an archive.

        In Spark 4.0 to 4.3, that process looks for archives in a folder "streaming_job", in which there are none. The
        process that makes a source is on the same machine and has found the archive.
        """
        archive, source = str(Path(__file__).parents[2]), type(self)
        if not Path(archive).is_file():
            return source, (self.options,)
        module, name = source.__module__, source.__name__

        def made(options: Any) -> DataSource:  # a function in a function is pickled with its code
            if archive not in sys.path:
                sys.path.append(archive)
            found: DataSource = getattr(import_module(module), name)(options)  # found only now
            return found

        return made, (self.options,)


def chosen_columns(source: str, schema: StructType, whole: pa.Schema) -> pa.Schema:
    """Return the columns of a schema, which the user may have given.

    Args:
        source: its name, for errors.
        schema: of the rows.
        whole: all columns that the source has.

    Raises:
        SourceError: there is no such column, or it has another type.
    """
    types = {field.name: field.dataType for field in struct_type(whole)}
    for field in schema:
        type_ = types.get(field.name)
        if type_ is None:
            raise SourceError(f"{source}: unknown column {field.name!r}; the columns are {', '.join(whole.names)}")
        if field.dataType != type_:
            raise SourceError(
                f"{source}: the column {field.name!r} cannot be {field.dataType.simpleString()}; "
                f"it is {type_.simpleString()}"
            )
    return pa.schema([whole.field(name) for name in schema.names])
