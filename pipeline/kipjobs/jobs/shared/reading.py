"""Log folders and captures as several jobs read them, and the first steps on their rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa

from kipjobs.engines import Column, DataFrame, Frame, Functions, Session, engine_of, functions_of
from kipwire.logs.internal_topics import COORDINATORS
from kipwire.tables.errors import FAILFAST, PERMISSIVE, Mode
from kipwire.tables.files.roots import Roots, roots_text
from kipwire.tables.sources.options import path_options
from kipwire.tables.sources.partition_files import KINDS
from kipwire.tables.sources.snapshots import SNAPSHOT_SCHEMA

_COMMIT = "0001"
"""The type of a control record that commits, in hexadecimal; it follows the version, in the key."""
OF_COMMITTED = (
    *("topic", "partition", "offset", "timestamp", "key", "value"),
    *("producer_id", "is_transactional", "is_control"),
)
"""Columns of records that `committed` and `without_copies` need, and the columns of their content."""
OF_COORDINATORS = ("topic", "partition", "offset", "timestamp", "key", "value", "is_control")
"""The columns of records of the brokers' own topics that jobs need."""
OF_DECODED = ("topic", "partition", "offset", "timestamp", "is_control")
"""The columns of such records that jobs need beside their content."""
_LOG_START = "log-start-offset-checkpoint"
_LOG = "/log"
"""Name of the one segment that a log of brokers is taken for."""
OF_HEADS = {"level": "batches", "includeControl": "true"}
"""Options for the heads of all batches."""
_LENIENT = {"failOnMissingTopics": "false"}
"""Options for reports, since a cluster, or one of its brokers, need not have each topic of a report."""


@dataclass(frozen=True)
class Brokers:
    """A cluster that a job reads in place of log folders."""

    options: Mapping[str, str] = field(repr=False)
    """Options of `kafka_topic` that say how to reach it."""

    def __str__(self) -> str:
        return self.options["brokers"]


Place = Roots | Brokers
"""Paths of log folders, or brokers."""


def place_text(place: Place) -> str:
    """Return the paths, or the addresses of brokers, for a title."""
    return str(place) if isinstance(place, Brokers) else roots_text(place)


def log(
    session: Session,
    roots: Place,
    topics: Iterable[str],
    mode: Mode = FAILFAST,
    *,
    columns: Iterable[str],
    **options: str,
) -> DataFrame:
    """Return rows of `kafka_log`.

    Args:
        session: the session.
        roots: of the log folders.
        topics: only those, as far as they are there; all if empty.
        mode: the reaction to a damaged batch; with PERMISSIVE it has no row here, and one in `broken_batches`.
        columns: of the rows.
        options: of the source.
    """
    error = ("error",) if mode == PERMISSIVE else ()
    names = (*columns, *error)
    chosen = {"topics": ",".join(topics), "columns": ",".join(names), "mode": mode, **options}
    rows = _read(session, "kafka_log", roots, chosen)
    if isinstance(roots, Brokers) and "segment" in names and "level" not in options:
        sf = functions_of(rows)
        name = [sf.lit("/"), sf.col("topic"), sf.lit("-"), sf.col("partition").cast("string"), sf.lit(_LOG)]
        rows = rows.withColumn("segment", sf.concat(*name))
    return _whole(rows, mode)


def decoded_log(
    session: Session, roots: Place, topic: str, mode: Mode, *, columns: Iterable[str], types: Iterable[str] = ()
) -> DataFrame:
    """Return rows of `kafka_log` of an internal topic, with its records decoded by the source in the column `record`.

    A record that cannot be read is null; `left_out` finds these.

    Args:
        session: the session.
        roots: of the log folders.
        topic: one of `kipwire.logs.internal_topics.INTERNAL_TOPICS`.
        mode: as of `log`.
        columns: of the rows, with `offset`.
        types: of the records that are decoded; others have only their type.
    """
    chosen = {
        "topics": topic,
        "decode": "coordinator" if topic in COORDINATORS else "metadata",
        "types": ",".join(types),
        "columns": ",".join((*columns, "record")),
        "mode": mode,
        "failOnBrokenMessages": "false",
    }
    rows = _read(session, "kafka_log", roots, chosen)
    return rows if mode == FAILFAST else rows.where(functions_of(rows).col("offset").isNotNull())


def record_of(log: DataFrame, family: str, types: Iterable[str] = ()) -> Column:
    """Return the decoded records of a log: its column `record`, or else decoded from its bytes.

    Args:
        log: of `decoded_log`, or with the bytes `value`, and `key` for a coordinator's topic.
        family: as of `kipwire.tables.messages.records.Records`.
        types: of records, as they were for `decoded_log`.
    """
    sf = functions_of(log)
    if "record" in log.columns:
        return sf.col("record")
    if family == "metadata":
        return sf.from_metadata("value", types=types)
    return sf.from_coordinator("key", "value", coordinator=family, types=types)


def broken_batches(session: Session, roots: Place, topics: Iterable[str], **options: str) -> DataFrame:
    """Return the damaged batches of a log: topic, partition, file, position, error; see `log` for the arguments."""
    columns = "topic,partition,segment,batch_position,error"
    chosen = {"topics": ",".join(topics), "columns": columns, "mode": PERMISSIVE, **options}
    rows = _read(session, "kafka_log", roots, chosen)
    sf = functions_of(rows)
    return rows.where(sf.col("error").isNotNull()).select(
        "topic", "partition", sf.col("segment").alias("file"), sf.col("batch_position").alias("position"), "error"
    )


def files(session: Session, roots: Place, kind: str, topics: Iterable[str] = (), mode: Mode = FAILFAST) -> DataFrame:
    """Return rows of `kafka_partition_files` of a kind.

    Args:
        session: the session.
        roots: of the log folders.
        kind: of the files.
        topics: only those, as far as they are there; all if empty.
        mode: the reaction to a damaged file; with PERMISSIVE its entries before the damage are rows here, and the
            damage is a row of `broken_files`.
    """
    return _whole(_files(session, roots, kind, topics, mode), mode)


def broken_files(session: Session, roots: Place, kind: str, topics: Iterable[str] = ()) -> DataFrame:
    """Return the damaged files of a kind: topic, partition, file, position (null), error."""
    return _damage(_files(session, roots, kind, topics, PERMISSIVE), "file")


def _damage(rows: DataFrame, file: str) -> DataFrame:
    """Return the rows of damage in whole files, whose name is in a column."""
    sf = functions_of(rows)
    nowhere = sf.lit(None).cast("bigint").alias("position")
    return rows.where(sf.col("error").isNotNull()).select(
        "topic", "partition", sf.col(file).alias("file"), nowhere, "error"
    )


def _files(session: Session, roots: Place, kind: str, topics: Iterable[str], mode: Mode) -> DataFrame:
    if isinstance(roots, Brokers):
        found = offsets(session, roots, topics)
        return functions_of(found).map_batches(found, partial(_as_files, kind), KINDS[kind].schema())
    return _read(session, "kafka_partition_files", roots, {"kind": kind, "topics": ",".join(topics), "mode": mode})


def offsets(session: Session, brokers: Brokers, topics: Iterable[str] = ()) -> DataFrame:
    """Return the first offsets and the ends of partitions, as brokers have them."""
    return _read(session, "kafka_log", brokers, {"level": "offsets", "topics": ",".join(topics)})


def _as_files(kind: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Make what a broker shows of files: one segment from the start of a log, and the checkpoint of that start."""
    schema = KINDS[kind].schema()
    for batch in batches:
        rows = []
        for row in batch.to_pylist() if kind in ("segment", "partition_offset") else ():
            made = {name: row[name] for name in ("topic", "partition")}
            made |= {"base_offset": row["start_offset"], "offset": row["start_offset"], "checkpoint": _LOG_START}
            made["file"] = f"/{row['topic']}-{row['partition']}{_LOG}" if kind == "segment" else f"/{_LOG_START}"
            rows.append({name: made.get(name) for name in schema.names})
        yield pa.RecordBatch.from_pylist(rows, schema=schema)


def _no_snapshots(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.RecordBatch.from_pylist([], schema=SNAPSHOT_SCHEMA)


def snapshots(session: Session, roots: Place, topics: Iterable[str], mode: Mode = FAILFAST) -> DataFrame:
    """Return rows of `kafka_snapshot` of these topics, none for a missing one; the mode is as of `files`."""
    return _whole(_snapshots(session, roots, topics, mode), mode)


def broken_snapshots(session: Session, roots: Place, topics: Iterable[str]) -> DataFrame:
    """Return the damaged snapshots of these topics, with the columns of `broken_files`."""
    return _damage(_snapshots(session, roots, topics, PERMISSIVE), "snapshot")


def _snapshots(session: Session, roots: Place, topics: Iterable[str], mode: Mode) -> DataFrame:
    if isinstance(roots, Brokers):  # clients cannot have them
        found = offsets(session, roots, topics)
        return functions_of(found).map_batches(found, _no_snapshots, SNAPSHOT_SCHEMA)
    return _read(session, "kafka_snapshot", roots, {"topics": ",".join(topics), "mode": mode})


def heads(
    session: Session, roots: Place, columns: Iterable[str], topics: Iterable[str] = (), mode: Mode = FAILFAST
) -> DataFrame:
    """Return the heads of all batches of these topics, or of all topics; with control batches, which take offsets too.

    Args:
        session: the session.
        roots: of the log folders.
        columns: of batches.
        topics: only those, as far as they are there; all if empty.
        mode: as of `log`.
    """
    return log(session, roots, topics, mode, columns=columns, **OF_HEADS)


def _read(session: Session, source: str, roots: Place, options: Mapping[str, str]) -> DataFrame:
    if isinstance(roots, Brokers):
        return session.read.format("kafka_topic").options(**_LENIENT, **options, **roots.options).load()
    return session.read.format(source).options(**_LENIENT, **options, **path_options(roots)).load()


def _whole(rows: DataFrame, mode: Mode) -> DataFrame:
    """Return the rows without an error; with FAILFAST all of them."""
    return rows if mode == FAILFAST else rows.where(functions_of(rows).col("error").isNull()).drop("error")


def without_copies(log: Frame) -> Frame:
    """Return the rows of `kafka_log` with each record once, if the folders of several replicas were read."""
    return log.dropDuplicates(["topic", "partition", "offset"])


def committed(log: Frame) -> Frame:
    """Return the committed records, without control records; transactions that were aborted or are open are left out.

    Args:
        log: rows of `kafka_log`, read with `includeControl`, with each record once.
    """
    sf = functions_of(log)
    ending = sf.when(sf.col("is_control"), sf.hex(sf.substring("key", 3, 2)))
    # From the end of the log, since Spark evaluates a window that starts at the current row anew for each row.
    later = (
        sf.Window.partitionBy("topic", "partition", "producer_id")
        .orderBy(sf.desc("offset"))
        .rowsBetween(sf.Window.unboundedPreceding, -1)
    )
    in_transactions = (
        log.where(sf.col("is_transactional"))
        .withColumn("ending", sf.last(ending, ignorenulls=True).over(later))
        .where(sf.col("ending") == _COMMIT)
        .drop("ending")
    )
    return log.where(~sf.col("is_transactional")).unionByName(in_transactions).where(~sf.col("is_control"))


def present_ends(session: Session, roots: Place, mode: Mode = FAILFAST) -> DataFrame:
    """Return the ends of all partitions as `last_ends`; brokers have them without a look at batches."""
    if isinstance(roots, Brokers):
        return offsets(session, roots).select("topic", "partition", "end_offset")
    batches = heads(session, roots, ("topic", "partition", "last_offset"), mode=mode)
    return last_ends(batches, files(session, roots, "segment"))


def last_ends(batches: Frame, segments: Frame) -> Frame:
    """Return the last ends of partitions: topic, partition, end_offset, which is the offset of the next record.

    It is after the last batch, and not before the base offset of the last segment: retention leaves an empty segment.

    Args:
        batches: rows of `heads`, with control batches, since control records take offsets too.
        segments: rows of `kafka_partition_files` of the kind `segment`.
    """
    sf = functions_of(batches)
    after = batches.select("topic", "partition", (sf.col("last_offset") + 1).alias("end"))
    ends = after.unionByName(segments.select("topic", "partition", sf.col("base_offset").alias("end")))
    return ends.groupBy("topic", "partition").agg(sf.max("end").alias("end_offset"))


def removed_to(checkpoints: Frame) -> Frame:
    """Return the offset up to which the records of a partition are removed: topic, partition, removed_to.

    Records below it may still be in a segment, and no consumer gets them (DeleteRecords, retention). It is the highest
    one of all replicas, since a log never starts earlier again.

    Args:
        checkpoints: rows of `kafka_partition_files` of the kind `partition_offset`.
    """
    sf = functions_of(checkpoints)
    starts = checkpoints.where(sf.col("checkpoint") == _LOG_START)
    return starts.groupBy("topic", "partition").agg(sf.max("offset").alias("removed_to"))


def folder(sf: Functions, column: str) -> Column:
    """Return the folder of a file, or of a folder."""
    return sf.regexp_replace(column, "/[^/]*$", "")


def frames(session: Session, roots: Roots, ports: str, packages: tuple[str, ...] = ()) -> DataFrame:
    """Return rows of `kafka_frames`; in packets, only connections to the given ports are read, if any are given."""
    chosen = {
        "ports": ports,
        "packages": ",".join(packages),
        "packetTasks": str(engine_of(session).tasks_at_once(session)),
        **path_options(roots),
    }
    return session.read.format("kafka_frames").options(**chosen).load()
