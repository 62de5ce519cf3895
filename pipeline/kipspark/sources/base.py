"""The common part of kipspark's data sources: a plan of tasks, and the rows of a task.

The docstring of the package explains in which process Spark calls each part.

    def reader(self, schema: StructType) -> DataSourceReader:
        options = Options(self.name(), self.options, CHOSEN_OPTIONS)
        return Reader(partial(_plan, options.roots(), chosen_of(options), options.storage()), _read)

The reader of a stream has more steps, and the same tasks: see `log_source`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

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
