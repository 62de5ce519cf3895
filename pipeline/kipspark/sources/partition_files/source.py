"""`kafka_partition_files`: indexes, producer snapshots and checkpoints of brokers as a Spark data source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kipspark.arrow import pc, struct_type
from kipspark.errors import FAILFAST, MODES, PERMISSIVE, SourceError
from kipspark.files.stores import Storage
from kipspark.sources.chosen import CHOSEN_OPTIONS, Chosen, chosen_of
from kipspark.sources.options import Options
from kipspark.sources.partition_files.kinds import KINDS, PartitionFile
from kipspark.sources.partition_files.reading import list_files, read_file

OPTIONS = ("kind", *CHOSEN_OPTIONS, "mode")
_FILES_OF_TASK = 256
"""A task costs as much as reading some hundred of these files, most of which are small."""


class KafkaPartitionFilesSource(DataSource):
    """`spark.read.format("kafka_partition_files").option("kind", KIND).load(PATH)`; see docs/spark-sources.md."""

    @classmethod
    def name(cls) -> str:
        """The name to pass to `format`."""
        return "kafka_partition_files"

    def schema(self) -> StructType:
        """The columns of the kind."""
        return struct_type(KINDS[_kind(self._options())].schema())

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the files that are there at present."""
        options = self._options()
        return _Reader(
            _Request(
                options.roots(),
                options.storage(),
                _kind(options),
                chosen_of(options),
                options.one_of("mode", MODES, FAILFAST) == PERMISSIVE,
            )
        )

    def _options(self) -> Options:
        return Options(self.name(), self.options, OPTIONS)


def _kind(options: Options) -> str:
    if not options.text("kind"):
        raise SourceError(f"kafka_partition_files needs the option kind, which is one of {', '.join(KINDS)}")
    return options.one_of("kind", tuple(KINDS), "")


class _Request(NamedTuple):
    """What the options say."""

    roots: tuple[str, ...]
    storage: Storage
    kind: str
    chosen: Chosen
    permissive: bool


class _Task(InputPartition):
    """What one Spark task reads."""

    def __init__(self, files: list[PartitionFile]) -> None:
        super().__init__(None)
        self.files = files


class _Reader(DataSourceReader):
    def __init__(self, request: _Request) -> None:
        self.request = request

    def partitions(self) -> Sequence[InputPartition]:
        request = self.request
        kind = KINDS[request.kind]
        files, there = list_files(
            kind, request.roots, request.chosen.topics, request.chosen.partitions, request.storage
        )
        if not kind.is_of_broker:
            request.chosen.check(request.roots, there)
        return [_Task(files[at : at + _FILES_OF_TASK]) for at in range(0, len(files), _FILES_OF_TASK)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, _Task):  # it is None: there is no such file
            return
        kind = KINDS[self.request.kind]
        for file in partition.files:
            for batch in read_file(kind, file, self.request.permissive):
                yield self._wanted(batch) if kind.is_of_broker else batch

    def _wanted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of wanted partitions; a row with an error, whose partition is not known, is always wanted."""
        for name, wanted in (("topic", self.request.chosen.topics), ("partition", self.request.chosen.partitions)):
            if wanted:
                column = batch.column(name)
                is_wanted = pc.is_in(column, pa.array(wanted, column.type))
                batch = batch.filter(pc.or_(is_wanted, pc.is_valid(batch.column("error"))))
        return batch
