"""The records and batches that the tables of a job are without: found, counted and named.

A record of a type or version that is not known, or without a type, may be intact: a later Kafka has written it, or
a program that is no broker. Jobs pass it over, as coordinators do (KIP-915), and say so. What is damaged ends a job,
unless it is to leave it out: a batch whose bytes are wrong, a file beside segments, or a record of a known type and
version whose bytes are not that message.

The functions that decode (`from_coordinator` and its like) give null for all of these records. So a job asks here, with
the same types, which they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

import pyarrow as pa

from kipjobs.engines import DataFrame, Frame, Session, functions_of
from kipjobs.jobs.shared.reading import OF_HEADS, Brokers, Place, broken_batches, broken_files, broken_snapshots
from kipjobs.report.metrics import Gauge, Metrics
from kipjobs.report.report import Table
from kipwire.tables.errors import FAILFAST, JobError, Mode
from kipwire.tables.messages.records import COORDINATORS, Records, unreadable_records
from kipwire.tools.text import count_of

UNKNOWN, DAMAGED = "unknown", "damaged"
"""The kinds of what is left out."""

_COLUMNS = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("kind", pa.string()),
        ("type", pa.string()),
        ("version", pa.int32()),
        ("reason", pa.string()),
        ("file", pa.string()),
        ("position", pa.int64()),
    ]
)
_PLACE = ("topic", "partition", "offset", "file", "position")


class LeftOut(NamedTuple):
    """Records, batches and files that the tables of a job are without."""

    rows: DataFrame
    """One row for each record, batch or file, with `_COLUMNS`."""
    unknown: int
    damaged: int
    first: dict[str, Any] | None
    """The first row; a damaged one if there is one."""

    @property
    def table(self) -> Table:
        """The table for a report, of what is wrong."""
        return Table(
            "left_out",
            "Records and batches that could not be read",
            self.rows,
            ("kind", *_PLACE),
            hidden=("file", "position"),
            note="The other tables are without them. Unknown: of a type or version that this release does not know.",
            is_wrong=True,
        )

    @property
    def metrics(self) -> Metrics:
        """The numbers of what is left out, by kind."""
        sf = functions_of(self.rows)
        kinds = [
            sf.struct(sf.lit(kind).alias("kind"), sf.lit(number).cast("bigint").alias("number"))
            for kind, number in ((DAMAGED, self.damaged), (UNKNOWN, self.unknown))
        ]
        counts = self.rows.agg(sf.count("*").alias("all")).select(sf.explode(sf.array(*kinds)).alias("one"))
        return Metrics(counts.select("one.kind", "one.number"), (_GAUGE,))

    @property
    def line(self) -> str:
        """One line that says how many there are, and where the first is; empty if there are none."""
        if self.first is None:
            return ""
        numbers = [
            *(
                [count_of(self.damaged, "damaged batch or record", "damaged batches or records")]
                if self.damaged
                else []
            ),
            *(
                [count_of(self.unknown, "record of an unknown type or version", "records of unknown types or versions")]
                if self.unknown
                else []
            ),
        ]
        return f"left out: {' and '.join(numbers)}; the first: {_text(self.first)}; the table left_out has all"


_GAUGE = Gauge(
    "kipwire_left_out",
    "How many records and batches the other metrics are without: damaged, or of an unknown type or version.",
    "number",
    {"kind": "kind"},
)


def unread_records(rows: Frame, family: str, types: Iterable[str] = ()) -> Frame:
    """Find the records of internal topics that cannot be decoded, with the columns of `LeftOut.rows`.

    Args:
        rows: of `kafka_log`, of one topic: topic, partition, offset, value, is_control, and key for a coordinator's.
        family: as of `kipwire.tables.messages.records.Records`.
        types: those that are decoded; of others only unknown types are found.
    """
    sf = functions_of(rows)
    keys = ["key"] if family in COORDINATORS else []
    chosen = rows.where(~sf.col("is_control")).select("topic", "partition", "offset", *keys, "value")
    found = sf.map_batches(chosen, partial(_unreadable, Records(family, tuple(types))), _COLUMNS)
    return found.dropDuplicates(["topic", "partition", "offset"])  # which several replicas have


def unread_in_snapshots(rows: Frame, types: Iterable[str] = ()) -> Frame:
    """Find the records of rows of `kafka_snapshot` that cannot be decoded; file and reason have their place."""
    sf = functions_of(rows)
    chosen = rows.select("topic", "partition", sf.col("number").cast("bigint").alias("offset"), "value", "snapshot")
    found = sf.map_batches(chosen, partial(_unreadable, Records("metadata", tuple(types))), _COLUMNS)
    number = sf.concat(sf.lit("record "), sf.col("offset").cast("string"), sf.lit(" of the snapshot: "))
    in_file = found.withColumn("reason", sf.concat(number, sf.col("reason")))
    return in_file.withColumn("offset", sf.lit(None).cast("bigint"))


def _unreadable(records: Records, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        values = batch.column("value")
        keys = batch.column("key") if "key" in batch.schema.names else values
        found = unreadable_records(records, keys, values)
        if not found:
            continue
        numbers = pa.array([one.row for one in found], pa.int64())
        place = [batch.column(name).take(numbers) for name in ("topic", "partition", "offset")]
        of_snapshot = "snapshot" in batch.schema.names
        file = batch.column("snapshot").take(numbers) if of_snapshot else pa.nulls(len(found), pa.string())
        told = [
            [UNKNOWN if one.is_unknown else DAMAGED for one in found],
            [one.type for one in found],
            [one.version for one in found],
            [one.reason for one in found],
        ]
        columns = [pa.array(column, field.type) for column, field in zip(told, list(_COLUMNS)[3:7], strict=True)]
        yield pa.RecordBatch.from_arrays([*place, *columns, file, pa.nulls(len(found), pa.int64())], schema=_COLUMNS)


def damage(session: Session, roots: Place, mode: Mode, topics: Collection[str]) -> list[DataFrame]:
    """Find the damaged batches of topics whose records are read; none with FAILFAST, which ends at the first one."""
    if mode == FAILFAST:
        return []
    return [_of_damage(broken_batches(session, roots, topics, includeControl="true"))]


def damage_of_heads(
    session: Session, roots: Place, mode: Mode, topics: Collection[str] = (), but: Collection[str] = ()
) -> list[DataFrame]:
    """Do as `damage` for topics of which only the heads of batches are read: all if empty, `but` those."""
    if mode == FAILFAST or isinstance(roots, Brokers):  # heads from brokers are not judged
        return []
    found = _of_damage(broken_batches(session, roots, topics, **OF_HEADS))
    return [found.where(~functions_of(found).col("topic").isin(*but)) if but else found]


def damage_of_snapshots(session: Session, roots: Place, mode: Mode, topics: Collection[str]) -> list[DataFrame]:
    """Do as `damage` for the snapshots of logs."""
    return [] if mode == FAILFAST else [_of_damage(broken_snapshots(session, roots, topics))]


def damage_of_files(
    session: Session, roots: Place, mode: Mode, kinds: Iterable[str], topics: Collection[str] = ()
) -> list[DataFrame]:
    """Do as `damage` for files beside segments, of these kinds."""
    return [] if mode == FAILFAST else [_of_damage(broken_files(session, roots, kind, topics)) for kind in kinds]


def _of_damage(rows: Frame) -> Frame:
    """Make rows of damage: of topic, partition, file, position and error."""
    return unread_places(rows.withColumn("kind", functions_of(rows).lit(DAMAGED)))


def unread_places(rows: Frame) -> Frame:
    """Make rows of what lies at places in files: of topic, partition, kind, file, position and error."""
    sf = functions_of(rows)
    nothing = sf.lit(None)
    return rows.select(
        "topic",
        "partition",
        nothing.cast("bigint").alias("offset"),
        "kind",
        nothing.cast("string").alias("type"),
        nothing.cast("int").alias("version"),
        sf.col("error").alias("reason"),
        "file",
        "position",
    )


def left_out(frames: Sequence[DataFrame], mode: Mode) -> LeftOut:
    """Count what is left out.

    Args:
        frames: of the functions above, which have nothing in common.
        mode: the reaction to damage.

    Raises:
        JobError: something is damaged, and the mode is FAILFAST.
    """
    rows = reduce(lambda one, other: one.unionByName(other), frames).persist()
    sf = functions_of(rows)
    counts = {
        row["kind"]: row["number"]
        for row in rows.groupBy("kind").agg(sf.count("*").alias("number")).toArrow().to_pylist()
    }
    first = rows.orderBy("kind", *_PLACE).limit(1).toArrow().to_pylist() if counts else []
    found = LeftOut(rows, counts.get(UNKNOWN, 0), counts.get(DAMAGED, 0), first[0] if first else None)
    if found.damaged and mode == FAILFAST:
        raise JobError(f"{_text(first[0])}; --permissive leaves it out and goes on")
    return found


def _text(row: dict[str, Any]) -> str:
    """Name a row: where it is, and what is wrong."""
    place = f"{row['topic']}-{row['partition']}"
    if row["offset"] is not None:
        return f"{place} offset {row['offset']}: {row['reason']}"
    if row["file"] is not None and row["file"] in row["reason"]:
        return str(row["reason"])
    if row["position"] is not None:
        return f"{row['file']} byte {row['position']}: {row['reason']}"
    return f"{row['file']}: {row['reason']}" if row["file"] else f"{place}: {row['reason']}"
