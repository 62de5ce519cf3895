"""`kafka_partition_files`: indexes, producer snapshots and checkpoints of brokers as a Spark data source."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from kipspark.arrow import pc, struct_type
from kipspark.errors import FAILFAST, MODES, PERMISSIVE, SourceError
from kipspark.files.stores import Storage
from kipspark.sources.base import Reader
from kipspark.sources.options import CHOSEN_OPTIONS, Chosen, Options, chosen_of
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
        kind, chosen = _kind(options), chosen_of(options)
        permissive = options.one_of("mode", MODES, FAILFAST) == PERMISSIVE
        return Reader(
            partial(_plan, options.roots(), options.storage(), kind, chosen), partial(_read, kind, chosen, permissive)
        )

    def _options(self) -> Options:
        return Options(self.name(), self.options, OPTIONS)


def _kind(options: Options) -> str:
    if not options.text("kind"):
        raise SourceError(f"kafka_partition_files needs the option kind, which is one of {', '.join(KINDS)}")
    return options.one_of("kind", tuple(KINDS), "")


def _plan(roots: tuple[str, ...], storage: Storage, kind: str, chosen: Chosen) -> list[list[PartitionFile]]:
    """The files, as many together as are worth a task."""
    files, there = list_files(KINDS[kind], roots, chosen.topics, chosen.partitions, storage)
    if not KINDS[kind].is_of_broker:
        chosen.check(roots, there)
    return [files[at : at + _FILES_OF_TASK] for at in range(0, len(files), _FILES_OF_TASK)]


def _read(kind: str, chosen: Chosen, permissive: bool, files: list[PartitionFile]) -> Iterator[pa.RecordBatch]:
    for file in files:
        for batch in read_file(KINDS[kind], file, permissive):
            yield _wanted(batch, chosen) if KINDS[kind].is_of_broker else batch


def _wanted(batch: pa.RecordBatch, chosen: Chosen) -> pa.RecordBatch:
    """The rows of wanted partitions; a row with an error, whose partition is not known, is always wanted."""
    for name, wanted in (("topic", chosen.topics), ("partition", chosen.partitions)):
        if wanted:
            column = batch.column(name)
            is_wanted = pc.is_in(column, pa.array(wanted, column.type))
            batch = batch.filter(pc.or_(is_wanted, pc.is_valid(batch.column("error"))))
    return batch
