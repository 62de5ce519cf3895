"""`kafka_frames`: captured requests and responses as a Spark data source."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from kipspark.arrow import struct_type
from kipspark.errors import SourceError
from kipspark.files.stores import Storage
from kipspark.sources.base import Reader
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
        chosen = FrameFilter(options.numbers("apiKeys"), directions, options.texts("clientIds"))
        split_bytes = options.number("splitBytes", 1) or DEFAULT_SPLIT_BYTES
        packet_tasks = options.number("packetTasks", 1) or 1
        return Reader(
            partial(_plan, options.roots(), options.storage(), split_bytes, packet_tasks),
            partial(_read, options.ports("ports"), chosen),
        )


def _plan(
    roots: tuple[str, ...], storage: Storage, split_bytes: int, packet_tasks: int
) -> Iterator[Part | PacketCapture]:
    """The parts of indexes, and the shares of packets; a task reads one."""
    found = find_captures(roots, storage)
    for index in found.indexes:
        yield from parts(index, split_bytes, storage)
    for capture in found.packets:
        yield from shared(capture, packet_tasks)


def _read(ports: tuple[int, ...], chosen: FrameFilter, part: Part | PacketCapture) -> Iterator[pa.RecordBatch]:
    if isinstance(part, PacketCapture):
        yield from read_packet_frames(part, ports, chosen)
    else:
        yield from read_frames(part, chosen)
