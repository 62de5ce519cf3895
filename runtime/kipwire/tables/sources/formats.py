"""The formats of files as plans: the options of a reader turned into pieces of work, and functions that read a piece.

There are five. `kafka_log` is planned in `logs`, `kafka_topic` in `topic_plans`. The others, planned here, have files
that are read once and whole: `kafka_snapshot` has the snapshots at the start of logs, `kafka_partition_files` the
indexes, producer snapshots and checkpoints of brokers, and `kafka_frames` captured requests and responses. Each engine
makes a table of a plan: `kipspark.sources` for Spark, `kipjobs.engines.embedded` in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from kipwire.tables.arrow import pc
from kipwire.tables.errors import FAILFAST, MODES, PERMISSIVE, SourceError
from kipwire.tables.files.access import size_of
from kipwire.tables.files.stores import Storage
from kipwire.tables.sources import logs, topic_plans
from kipwire.tables.sources.capture_files import find_captures
from kipwire.tables.sources.captures import DIRECTIONS, FRAMES_SCHEMA, FrameFilter, Part, parts, read_frames
from kipwire.tables.sources.options import CHOSEN_OPTIONS, Chosen, Options, parse_options
from kipwire.tables.sources.packet_captures import PacketCapture, read_packet_frames, share_capture
from kipwire.tables.sources.partition_files import KINDS, PartitionFile, list_files, read_file
from kipwire.tables.sources.segments import list_segments
from kipwire.tables.sources.snapshots import (
    SNAPSHOT_SCHEMA,
    Snapshot,
    read_snapshot,
    read_snapshot_or_error,
    snapshots_of,
)
from kipwire.traffic.requests import beside_kafka


class Plan(NamedTuple):
    """A table as work to do. Its functions are module functions with bound arguments, so that they can be pickled."""

    work: Callable[[], Iterable[Any]]
    """Lists the pieces of work."""
    read: Callable[[Any], Iterator[pa.RecordBatch]]
    """Yields the rows of a piece, with the columns of the schema."""
    files: Callable[[Any], Iterator[tuple[str, int]]]
    """Yields the files of a piece, each with the number of its bytes in the piece."""
    noun: str
    """Word for one of these files in messages to users, in the singular."""
    unit: str = "MB"
    """Word for a million of the numbers of `files`."""


def log_plan(given: Mapping[str, str]) -> Plan:
    """Return the plan of `kafka_log`, with the columns of `schema_of`."""
    request = logs.request_of(given)
    return Plan(partial(logs.plan, request), partial(logs.read, request), logs.files_of_work, "segment")


def topic_plan(given: Mapping[str, str]) -> Plan:
    """Return the plan of `kafka_topic`: the records that brokers have when it is made."""
    asked = topic_plans.request_of(given)
    work, read = partial(topic_plans.plan, asked), partial(topic_plans.read, asked)
    return Plan(work, read, topic_plans.partitions_of_work, "partition", "million records")


def snapshot_plan(given: Mapping[str, str]) -> Plan:
    """Return the plan of `kafka_snapshot`: the snapshot at the start of each log."""
    options = Options("kafka_snapshot", given, (*CHOSEN_OPTIONS, "mode"))
    permissive = options.one_of("mode", MODES, FAILFAST) == PERMISSIVE
    work = partial(_snapshots, options.roots(), parse_options(options), options.storage())
    return Plan(work, partial(_read_snapshot, permissive), lambda snapshot: iter([(snapshot.path, 0)]), "snapshot")


def _snapshots(roots: tuple[str, ...], chosen: Chosen, storage: Storage) -> list[Snapshot]:
    """Return the snapshots; a task reads one."""
    segments, there = list_segments(roots, chosen.topics, chosen.partitions, storage)
    chosen.check(roots, there)
    return snapshots_of(segments)


def _read_snapshot(permissive: bool, snapshot: Snapshot) -> Iterator[pa.RecordBatch]:
    yield read_snapshot_or_error(snapshot) if permissive else read_snapshot(snapshot)


_FILE_OPTIONS = ("kind", *CHOSEN_OPTIONS, "mode")
_FILES_OF_TASK = 256
"""Files read by one task: starting a task costs as much as reading some hundred of these files, which are small."""


def partition_files_schema(given: Mapping[str, str]) -> pa.Schema:
    """Return the columns of `kafka_partition_files`, which depend on the option `kind`."""
    return KINDS[_kind(_file_options(given))].schema()


def partition_files_plan(given: Mapping[str, str]) -> Plan:
    """Return the plan of `kafka_partition_files`: the files that exist at present."""
    options = _file_options(given)
    kind, chosen = _kind(options), parse_options(options)
    permissive = options.one_of("mode", MODES, FAILFAST) == PERMISSIVE
    return Plan(
        partial(_batches_of_files, options.roots(), options.storage(), kind, chosen),
        partial(_read_files, kind, chosen, permissive),
        lambda files: ((file.path, file.size if KINDS[kind].is_opened else 0) for file in files),
        "file",
    )


def _file_options(given: Mapping[str, str]) -> Options:
    return Options("kafka_partition_files", given, _FILE_OPTIONS)


def _kind(options: Options) -> str:
    if not options.text("kind"):
        raise SourceError(f"kafka_partition_files needs the option kind, which is one of {', '.join(KINDS)}")
    return options.one_of("kind", tuple(KINDS), "")


def _batches_of_files(roots: tuple[str, ...], storage: Storage, kind: str, chosen: Chosen) -> list[list[PartitionFile]]:
    """Return the files in groups of `_FILES_OF_TASK`; a task reads one group."""
    files, there = list_files(KINDS[kind], roots, chosen.topics, chosen.partitions, storage)
    if not KINDS[kind].is_of_broker:
        chosen.check(roots, there)
    return [files[at : at + _FILES_OF_TASK] for at in range(0, len(files), _FILES_OF_TASK)]


def _read_files(kind: str, chosen: Chosen, permissive: bool, files: list[PartitionFile]) -> Iterator[pa.RecordBatch]:
    for file in files:
        for batch in read_file(KINDS[kind], file, permissive):
            yield _of_wanted_partitions(batch, chosen) if KINDS[kind].is_of_broker else batch


def _of_wanted_partitions(batch: pa.RecordBatch, chosen: Chosen) -> pa.RecordBatch:
    """Return the rows of wanted partitions, and all rows with an error, whose partition is not known."""
    for name, wanted in (("topic", chosen.topics), ("partition", chosen.partitions)):
        if wanted:
            column = batch.column(name)
            is_wanted = pc.is_in(column, pa.array(wanted, column.type))
            batch = batch.filter(pc.or_(is_wanted, pc.is_valid(batch.column("error"))))
    return batch


_FRAME_OPTIONS = ("apiKeys", "directions", "clientIds", "ports", "packages", "splitBytes", "packetTasks")

_INDEX_BYTES = 4 * 1024 * 1024
"""Default number of bytes of an index for one task, about 20,000 frames."""


def frames_plan(given: Mapping[str, str]) -> Plan:
    """Return the plan of `kafka_frames`: all captures at the path."""
    options = Options("kafka_frames", given, _FRAME_OPTIONS)
    directions = options.texts("directions")
    for direction in directions:
        if direction not in DIRECTIONS:
            raise SourceError(f"kafka_frames: unknown direction {direction!r}; use request or response")
    chosen = FrameFilter(options.numbers("apiKeys"), directions, options.texts("clientIds"))
    split_bytes = options.number("splitBytes", 1) or _INDEX_BYTES
    packet_tasks = options.number("packetTasks", 1) or 1
    return Plan(
        partial(_parts, options.roots(), options.storage(), split_bytes, packet_tasks),
        partial(_read_part, options.ports("ports"), options.texts("packages"), chosen),
        _files_of_part,
        "capture",
    )


def _parts(
    roots: tuple[str, ...], storage: Storage, split_bytes: int, packet_tasks: int
) -> Iterator[Part | PacketCapture]:
    """Yield the parts of indexes, and the shares of packets; a task reads one."""
    found = find_captures(roots, storage)
    for index in found.indexes:
        yield from parts(index, split_bytes, storage)
    for capture in found.packets:
        yield from share_capture(capture, packet_tasks)


def _read_part(
    ports: tuple[int, ...], packages: tuple[str, ...], chosen: FrameFilter, part: Part | PacketCapture
) -> Iterator[pa.RecordBatch]:
    if isinstance(part, PacketCapture):
        yield from read_packet_frames(part, ports, chosen, beside_kafka(packages))
    else:
        yield from read_frames(part, chosen)


def _files_of_part(part: Part | PacketCapture) -> Iterator[tuple[str, int]]:
    if isinstance(part, PacketCapture):
        yield part.name, sum(size_of(file, part.storage) for file in part.files)
    else:
        yield part.index_file, 0 if part.end is None else part.end - part.start


class FileFormat(NamedTuple):
    """A format of files."""

    schema: Callable[[Mapping[str, str]], pa.Schema]
    """Returns the columns for some options."""
    plan: Callable[[Mapping[str, str]], Plan]


FORMATS = {
    "kafka_log": FileFormat(lambda given: logs.schema_of(Options("kafka_log", given, logs.OPTIONS)), log_plan),
    "kafka_topic": FileFormat(topic_plans.schema_of, topic_plan),
    "kafka_snapshot": FileFormat(lambda _: SNAPSHOT_SCHEMA, snapshot_plan),
    "kafka_partition_files": FileFormat(partition_files_schema, partition_files_plan),
    "kafka_frames": FileFormat(lambda _: FRAMES_SCHEMA, frames_plan),
}
"""All formats, by the name that a reader's `format` takes."""
