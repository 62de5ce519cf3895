"""The Spark data sources of files that are read as they are at present, once: snapshots, partition files, captures.

Each class is one format: `kafka_snapshot` is what logs begin with, `kafka_partition_files` are the indexes, producer
snapshots and checkpoints of brokers, and `kafka_frames` are captured requests and responses. `base` says how Spark uses
a source, and `log_source` has the one that may also be a stream.
"""

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
from kipspark.sources.capture_files import find_captures
from kipspark.sources.captures import DIRECTIONS, FRAMES_SCHEMA, FrameFilter, Part, parts, read_frames
from kipspark.sources.options import CHOSEN_OPTIONS, Chosen, Options, chosen_of
from kipspark.sources.packet_captures import PacketCapture, read_packet_frames, shared
from kipspark.sources.partition_files import KINDS, PartitionFile, list_files, read_file
from kipspark.sources.segments import list_segments
from kipspark.sources.snapshots import SNAPSHOT_SCHEMA, Snapshot, read_snapshot, snapshots_of


class KafkaSnapshotSource(DataSource):
    """`spark.read.format("kafka_snapshot").load(PATH)`; docs/spark-sources.md has the options."""

    @classmethod
    def name(cls) -> str:
        """The name to pass to `format`."""
        return "kafka_snapshot"

    def schema(self) -> StructType:
        """The columns, which are the same for every snapshot."""
        return struct_type(SNAPSHOT_SCHEMA)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the snapshot that each log begins with."""
        options = Options(self.name(), self.options, CHOSEN_OPTIONS)
        return Reader(partial(_snapshots, options.roots(), chosen_of(options), options.storage()), _read_snapshot)


def _snapshots(roots: tuple[str, ...], chosen: Chosen, storage: Storage) -> list[Snapshot]:
    """The snapshots; a task reads one."""
    segments, there = list_segments(roots, chosen.topics, chosen.partitions, storage)
    chosen.check(roots, there)
    return snapshots_of(segments)


def _read_snapshot(snapshot: Snapshot) -> Iterator[pa.RecordBatch]:
    yield read_snapshot(snapshot)


_FILE_OPTIONS = ("kind", *CHOSEN_OPTIONS, "mode")
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
            partial(_batches_of_files, options.roots(), options.storage(), kind, chosen),
            partial(_read_files, kind, chosen, permissive),
        )

    def _options(self) -> Options:
        return Options(self.name(), self.options, _FILE_OPTIONS)


def _kind(options: Options) -> str:
    if not options.text("kind"):
        raise SourceError(f"kafka_partition_files needs the option kind, which is one of {', '.join(KINDS)}")
    return options.one_of("kind", tuple(KINDS), "")


def _batches_of_files(roots: tuple[str, ...], storage: Storage, kind: str, chosen: Chosen) -> list[list[PartitionFile]]:
    """The files, as many together as are worth a task."""
    files, there = list_files(KINDS[kind], roots, chosen.topics, chosen.partitions, storage)
    if not KINDS[kind].is_of_broker:
        chosen.check(roots, there)
    return [files[at : at + _FILES_OF_TASK] for at in range(0, len(files), _FILES_OF_TASK)]


def _read_files(kind: str, chosen: Chosen, permissive: bool, files: list[PartitionFile]) -> Iterator[pa.RecordBatch]:
    for file in files:
        for batch in read_file(KINDS[kind], file, permissive):
            yield _of_wanted_partitions(batch, chosen) if KINDS[kind].is_of_broker else batch


def _of_wanted_partitions(batch: pa.RecordBatch, chosen: Chosen) -> pa.RecordBatch:
    """The rows of wanted partitions; a row with an error, whose partition is not known, is always wanted."""
    for name, wanted in (("topic", chosen.topics), ("partition", chosen.partitions)):
        if wanted:
            column = batch.column(name)
            is_wanted = pc.is_in(column, pa.array(wanted, column.type))
            batch = batch.filter(pc.or_(is_wanted, pc.is_valid(batch.column("error"))))
    return batch


_FRAME_OPTIONS = ("apiKeys", "directions", "clientIds", "ports", "splitBytes", "packetTasks")

_INDEX_BYTES = 4 * 1024 * 1024
"""The default number of bytes of an index for one task, which is about 20,000 frames."""


class KafkaFramesSource(DataSource):
    """`spark.read.format("kafka_frames").load(PATH)`; docs/spark-sources.md has the options."""

    @classmethod
    def name(cls) -> str:
        """The name to pass to `format`."""
        return "kafka_frames"

    def schema(self) -> StructType:
        """The columns, which are the same for every capture."""
        return struct_type(FRAMES_SCHEMA)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of all captures at the path."""
        options = Options(self.name(), self.options, _FRAME_OPTIONS)
        directions = options.texts("directions")
        for direction in directions:
            if direction not in DIRECTIONS:
                raise SourceError(f"kafka_frames: there is no direction {direction!r}; use request or response")
        chosen = FrameFilter(options.numbers("apiKeys"), directions, options.texts("clientIds"))
        split_bytes = options.number("splitBytes", 1) or _INDEX_BYTES
        packet_tasks = options.number("packetTasks", 1) or 1
        return Reader(
            partial(_parts, options.roots(), options.storage(), split_bytes, packet_tasks),
            partial(_read_part, options.ports("ports"), chosen),
        )


def _parts(
    roots: tuple[str, ...], storage: Storage, split_bytes: int, packet_tasks: int
) -> Iterator[Part | PacketCapture]:
    """The parts of indexes, and the shares of packets; a task reads one."""
    found = find_captures(roots, storage)
    for index in found.indexes:
        yield from parts(index, split_bytes, storage)
    for capture in found.packets:
        yield from shared(capture, packet_tasks)


def _read_part(ports: tuple[int, ...], chosen: FrameFilter, part: Part | PacketCapture) -> Iterator[pa.RecordBatch]:
    if isinstance(part, PacketCapture):
        yield from read_packet_frames(part, ports, chosen)
    else:
        yield from read_frames(part, chosen)
