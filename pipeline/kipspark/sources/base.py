"""The part of a Spark data source that all of ours have: a plan of tasks, and the rows of a task.

Spark uses a source in three places, each a Python process of its own:

1. A worker beside the driver makes the source from the user's options. Its `schema` gives the columns.
2. Another one makes the reader by `reader`, and calls its `partitions` once. So the options are checked and the paths
   are listed there: what is wrong ends a query before its first task, and a file that appears later is not read.
3. Spark pickles the reader and each partition. A worker of some executor calls `read` with a partition, and does so
   again on another machine if the task fails. So the rows follow from the reader and the partition alone.

Hence a source of ours is plain data and two functions of its module, which pickle finds by their names:

- `plan()` lists the pieces of work of a query. One task reads one piece: a part of an index, ranges of segments, some
  files. A task costs some milliseconds by itself, so a piece is large enough to be worth it.
- `read(work)` gives the rows of a piece as Arrow batches, with exactly the columns of `schema`.

`functools.partial` binds to both what they need of the options; there is no other state.

    def reader(self, schema: StructType) -> DataSourceReader:
        options = Options(self.name(), self.options, CHOSEN_OPTIONS)
        return Reader(partial(_plan, options.roots(), chosen_of(options), options.storage()), _read)

For a plan without work Spark makes one task all the same, with a partition of its own; it has no rows.

The reader of a stream has more steps, and the same tasks: see `log_source`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

W = TypeVar("W")
"""A piece of work: plain data that says what one task reads."""

Plan = Callable[[], Iterable[W]]
Read = Callable[[W], Iterator[pa.RecordBatch]]


class Task(InputPartition, Generic[W]):
    """A piece of work as Spark passes it to the task that reads it."""

    def __init__(self, work: W) -> None:
        super().__init__(None)
        self.work = work


class Reader(DataSourceReader, Generic[W]):
    """A reader of what is there at present."""

    def __init__(self, plan: Plan[W], read: Read[W]) -> None:
        """Take the two functions.

        Args:
            plan: lists the pieces of work, each for one task.
            read: gives the rows of one piece.
        """
        self._plan = plan
        self._read = read

    def partitions(self) -> Sequence[InputPartition]:
        """The tasks of a query; Spark calls it once."""
        return tasks(self._plan())

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        return rows(partition, self._read)


def tasks(work: Iterable[W]) -> list[InputPartition]:
    """A task for each piece of work."""
    return [Task(piece) for piece in work]


def rows(partition: InputPartition | None, read: Read[W]) -> Iterator[pa.RecordBatch]:
    """The rows of a task; none for the one that Spark makes where there is no work."""
    if isinstance(partition, Task):
        yield from read(partition.work)
