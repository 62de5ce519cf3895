"""`kafka_frames`: captured requests and responses as a Spark data source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kipspark.arrow import struct_type
from kipspark.errors import SourceError
from kipspark.files.stores import Storage
from kipspark.sources.capture_files import find_captures
from kipspark.sources.captures import Part, parts, read_frames
from kipspark.sources.frame_rows import DIRECTIONS, FRAMES_SCHEMA, FrameFilter
from kipspark.sources.options import Options
from kipspark.sources.packet_captures import PacketCapture, read_packet_frames, shared

OPTIONS = ("apiKeys", "directions", "clientIds", "ports", "splitBytes", "packetTasks")

DEFAULT_SPLIT_BYTES = 4 * 1024 * 1024
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
        options = Options(self.name(), self.options, OPTIONS)
        directions = options.texts("directions")
        for direction in directions:
            if direction not in DIRECTIONS:
                raise SourceError(f"kafka_frames: there is no direction {direction!r}; use request or response")
        return _FramesReader(
            _Request(
                options.roots(),
                options.storage(),
                FrameFilter(options.numbers("apiKeys"), directions, options.texts("clientIds")),
                options.ports("ports"),
                options.number("splitBytes", 1) or DEFAULT_SPLIT_BYTES,
                options.number("packetTasks", 1) or 1,
            )
        )


class _Request(NamedTuple):
    """What the options say."""

    roots: tuple[str, ...]
    storage: Storage
    chosen: FrameFilter
    ports: tuple[int, ...]
    split_bytes: int
    packet_tasks: int


class _Task(InputPartition):
    """What one Spark task reads."""

    def __init__(self, part: Part | PacketCapture) -> None:
        super().__init__(None)
        self.part = part


class _FramesReader(DataSourceReader):
    def __init__(self, request: _Request) -> None:
        self.request = request

    def partitions(self) -> Sequence[InputPartition]:
        request = self.request
        found = find_captures(request.roots, request.storage)
        ranges = [part for index in found.indexes for part in parts(index, request.split_bytes, request.storage)]
        shares = [share for capture in found.packets for share in shared(capture, request.packet_tasks)]
        return [*map(_Task, ranges), *map(_Task, shares)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, _Task):
            return  # it is None: there is no partition
        if isinstance(partition.part, PacketCapture):
            yield from read_packet_frames(partition.part, self.request.ports, self.request.chosen)
        else:
            yield from read_frames(partition.part, self.request.chosen)
