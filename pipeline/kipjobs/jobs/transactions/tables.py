"""Producers with open transactions in partitions, what these hold back, and the state of each transactional id.

The input is batch headers of all replicas, from `kafka_log` with the level `batches` and `includeControl`, and rows of
`kafka_partition_files` for the same path. A transaction of a producer ends with its next marker in the partition. Batch
headers do not have the content of markers, so `with_markers` reads it from the segments.

The state of transactional ids is from rows of `kafka_log` of `__transaction_state`. The same record may occur several
times, from several replicas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa

from kafka_messages.end_txn_marker.v0 import EndTxnMarker
from kafka_messages.enums import TransactionState
from kipjobs.engines import Column, Frame, Functions, functions_of
from kipjobs.jobs.shared.left_out import DAMAGED, UNKNOWN
from kipjobs.jobs.shared.reading import folder, last_ends, record_of
from kipjobs.jobs.shared.totals import one_row, rows, total
from kipwire import KipwireError, UnsupportedVersionError
from kipwire.cluster.model import OPEN_STATES
from kipwire.logs import read_segment
from kipwire.records import control_record
from kipwire.records.producer_sequence import HIGHEST_SEQUENCE
from kipwire.tables.errors import FAILFAST, Mode, SourceError
from kipwire.tables.files.access import path_text

TOPIC = "__transaction_state"

TYPE = "TransactionLog"
"""The type of record that `transactions` decodes."""
OF_BATCHES = (
    *("topic", "partition", "base_offset", "last_offset", "base_timestamp", "max_timestamp", "records_count"),
    *("producer_id", "producer_epoch", "base_sequence", "is_transactional", "is_control", "segment", "batch_position"),
)
"""Columns of batches that these functions need."""

MARKER_FIELDS = (
    ("marker_type", pa.string()),
    ("coordinator_epoch", pa.int32()),
    ("marker_kind", pa.string()),
    ("marker_error", pa.string()),
)
"""The columns that `with_markers` adds: COMMIT or ABORT, the epoch of the coordinator that had it written, and of one
that cannot be read the kind (see `shared.left_out`) and the reason."""

_PARTITION = ["topic", "partition"]
_PRODUCER = [*_PARTITION, "producer_id"]
_NONE = -1
"""Kafka's value for a missing epoch, sequence number or offset."""


def log_starts(segments: Frame) -> Frame:
    """Return the first offset of each replica: topic, partition, folder, log_start.

    Args:
        segments: rows of `kafka_partition_files` of the kind `segment`.
    """
    sf = functions_of(segments)
    return segments.groupBy(*_PARTITION, folder(sf, "file").alias("folder")).agg(
        sf.min("base_offset").alias("log_start")
    )


def producers(batches: Frame, known: Frame) -> Frame:
    """Return the producers of each partition, with the state that a broker has of them once it has read the log.

    Columns: topic, partition, producer_id, producer_epoch, coordinator_epoch, last_sequence (both -1 if there is none),
    last_timestamp, start_offset (null without an open transaction), started, records (of the open transaction).

    Args:
        batches: with `OF_BATCHES`.
        known: of `known_producers`, persisted.
    """
    sf = functions_of(batches)
    opened = known.where(sf.col("is_open")).select(*_PRODUCER, "ended_at", sf.col("opened_at"))
    data = batches.where(sf.col("is_transactional") & ~sf.col("is_control"))
    transactions = (
        data.join(sf.broadcast(opened), _PRODUCER)
        .where(sf.col("base_offset") > sf.col("ended_at"))
        .dropDuplicates([*_PRODUCER, "base_offset"])
        .groupBy(*_PRODUCER)
        .agg(
            sf.min("base_offset").alias("first_offset"),
            sf.min_by("base_timestamp", "base_offset").alias("started"),
            sf.sum("records_count").alias("records"),
        )
    )
    start = sf.when(sf.col("is_open"), sf.least("opened_at", "first_offset"))
    is_whole = sf.col("opened_at").isNull() | (sf.col("first_offset") <= sf.col("opened_at"))
    return known.join(transactions, _PRODUCER, "left").select(
        *_PRODUCER,
        "producer_epoch",
        "coordinator_epoch",
        "last_sequence",
        "last_timestamp",
        start.alias("start_offset"),
        sf.when(is_whole, sf.col("started")).alias("started"),
        "records",
    )


def known_producers(batches: Frame, segments: Frame, snapshots: Frame, mode: Mode = FAILFAST) -> Frame:
    """Return the last state of each producer: the columns of `producers` without `records`, and `is_open`.

    `opened_at` is the first offset of the open transaction in a snapshot, `ended_at` the offset of the last marker,
    or -1. `unread_markers` reads the last columns.

    Args:
        batches: with `OF_BATCHES`.
        segments: rows of `kafka_partition_files` of the kind `segment`.
        snapshots: rows of the kind `producer`. A snapshot is used if the log begins at its offset: it has the state
            of the producers before the log.
        mode: the reaction to a damaged marker.
    """
    sf = functions_of(batches)
    before = _of_snapshots(segments, snapshots)
    last_delta = (sf.col("last_offset") - sf.col("base_offset")).cast("int")
    in_log = batches.where(sf.col("producer_id") != _NONE).select(
        *_PRODUCER,
        sf.col("base_offset").alias("at"),
        "producer_epoch",
        sf.when(sf.col("base_sequence") < 0, sf.lit(_NONE))
        .otherwise((sf.col("base_sequence").cast("bigint") + last_delta).bitwiseAND(HIGHEST_SEQUENCE).cast("int"))
        .alias("sequence"),
        sf.col("max_timestamp").alias("last_timestamp"),
        (sf.col("is_control") & sf.col("is_transactional")).alias("is_marker"),
        (~sf.col("is_control") & sf.col("is_transactional")).alias("is_data"),
        sf.when(sf.col("is_control"), sf.struct("segment", sf.col("batch_position").alias("position"))).alias("place"),
        sf.lit(None).cast("int").alias("earlier_epoch"),
        sf.lit(None).cast("bigint").alias("earlier_start"),
    )
    is_marker, is_data = sf.col("is_marker"), sf.col("is_data")
    gathered = (
        in_log.unionByName(before)
        .groupBy(*_PRODUCER)
        .agg(
            sf.max_by("producer_epoch", "at").alias("producer_epoch"),
            sf.max_by("last_timestamp", "at").alias("last_timestamp"),
            sf.max_by(
                sf.struct("sequence", "producer_epoch"), sf.when(~is_marker | (sf.col("sequence") >= 0), sf.col("at"))
            ).alias("data"),
            sf.max(sf.when(is_marker, sf.col("at"))).alias("marker_at"),
            sf.max_by("place", sf.when(is_marker, sf.col("at"))).alias("place"),
            sf.max(sf.when(is_data, sf.col("at"))).alias("data_at"),
            sf.max(sf.when(sf.col("earlier_epoch").isNotNull(), sf.col("at"))).alias("earlier_at"),
            sf.max_by("earlier_epoch", sf.when(sf.col("earlier_epoch").isNotNull(), sf.col("at"))).alias(
                "earlier_epoch"
            ),
            sf.max_by("earlier_start", sf.when(sf.col("earlier_epoch").isNotNull(), sf.col("at"))).alias(
                "earlier_start"
            ),
        )
    )
    ended_at = sf.coalesce("marker_at", sf.lit(_NONE).cast("bigint"))
    opened_at = sf.when((sf.col("earlier_start") >= 0) & (ended_at <= sf.col("earlier_at")), sf.col("earlier_start"))
    placed = gathered.select(
        *_PRODUCER,
        "producer_epoch",
        "last_timestamp",
        # A new epoch begins with new sequence numbers.
        sf.when(sf.col("data.producer_epoch") == sf.col("producer_epoch"), sf.col("data.sequence"))
        .otherwise(_NONE)
        .alias("last_sequence"),
        "earlier_epoch",
        ended_at.alias("ended_at"),
        opened_at.alias("opened_at"),
        (sf.coalesce("data_at", sf.lit(_NONE)) > ended_at).alias("has_data"),
        sf.col("place.segment").alias("marker_segment"),
        sf.col("place.position").alias("marker_position"),
    )
    return (
        functions_of(placed)
        .add_columns(placed, partial(with_markers, mode), MARKER_FIELDS)
        .select(
            *_PRODUCER,
            "producer_epoch",
            "last_timestamp",
            "last_sequence",
            sf.coalesce("coordinator_epoch", "earlier_epoch", sf.lit(_NONE)).alias("coordinator_epoch"),
            "ended_at",
            "opened_at",
            (sf.col("has_data") | sf.col("opened_at").isNotNull()).alias("is_open"),
            "marker_segment",
            "marker_position",
            "marker_kind",
            "marker_error",
        )
    )


def unread_markers(known: Frame) -> Frame:
    """Return the last markers that cannot be read: topic, partition, kind, file, position, error.

    Args:
        known: of `known_producers`.
    """
    sf = functions_of(known)
    place = (sf.col("marker_segment").alias("file"), sf.col("marker_position").alias("position"))
    unread = known.where(sf.col("marker_error").isNotNull())
    error = sf.col("marker_error").alias("error")
    return unread.select("topic", "partition", sf.col("marker_kind").alias("kind"), *place, error)


def _of_snapshots(segments: Frame, snapshots: Frame) -> Frame:
    """Return the producers in the snapshot at the first offset of each replica, as if they were batches before it."""
    sf = functions_of(segments)
    starts = log_starts(segments).where(sf.col("log_start") > 0).drop("topic", "partition")
    first = snapshots.where(sf.col("producer_id").isNotNull()).join(
        sf.broadcast(starts),
        (folder(sf, "file") == sf.col("folder")) & (sf.col("snapshot_offset") == sf.col("log_start")),
    )
    return first.select(
        *_PRODUCER,
        (sf.col("snapshot_offset") - 1).alias("at"),
        "producer_epoch",
        sf.col("last_sequence").alias("sequence"),
        "last_timestamp",
        sf.lit(False).alias("is_marker"),
        sf.lit(False).alias("is_data"),
        sf.lit(None).cast("struct<segment:string,position:bigint>").alias("place"),
        sf.col("coordinator_epoch").alias("earlier_epoch"),
        sf.col("current_txn_first_offset").alias("earlier_start"),
    )


def partitions(batches: Frame, segments: Frame, removed: Frame, known: Frame) -> Frame:
    """Return the last stable offset of each partition, up to which readers of committed data may read.

    Columns: topic, partition, log_start, last_stable_offset (the first offset that is not decided, or the end),
    end_offset, held_back (the number of records from the last stable offset on) and open_transactions.

    Args:
        batches: with `OF_BATCHES`.
        segments: rows of `kafka_partition_files` of the kind `segment`.
        removed: of `removed_to`.
        known: of `producers`.
    """
    sf = functions_of(batches)
    lowest = log_starts(segments).groupBy(*_PARTITION).agg(sf.min("log_start").alias("lowest"))
    starts = lowest.join(sf.broadcast(removed), _PARTITION, "left").select(
        *_PARTITION, sf.greatest("lowest", "removed_to").alias("log_start")
    )
    ends = last_ends(batches, segments)
    undecided = (
        known.where(sf.col("start_offset").isNotNull())
        .groupBy(*_PARTITION)
        .agg(sf.min("start_offset").alias("first_undecided"), sf.count("*").alias("open_transactions"))
    )
    held = (
        batches.where(~sf.col("is_control"))
        .join(sf.broadcast(undecided.drop("open_transactions")), _PARTITION)
        .where(sf.col("base_offset") >= sf.col("first_undecided"))
        .dropDuplicates([*_PARTITION, "base_offset"])
        .groupBy(*_PARTITION)
        .agg(sf.sum("records_count").alias("held_back"))
    )
    return (
        starts.join(ends, _PARTITION)
        .join(undecided, _PARTITION, "left")
        .join(held, _PARTITION, "left")
        .select(
            *_PARTITION,
            "log_start",
            # As in Kafka, a transaction does not hold back readers at offsets that were deleted.
            sf.when(sf.col("first_undecided").isNull(), sf.col("end_offset"))
            .otherwise(sf.greatest("first_undecided", "log_start"))
            .alias("last_stable_offset"),
            "end_offset",
            sf.coalesce("held_back", sf.lit(0)).alias("held_back"),
            sf.coalesce("open_transactions", sf.lit(0)).alias("open_transactions"),
        )
    )


def open_transactions(known: Frame, held: Frame, coordinated: Frame, all_coordinators: bool) -> Frame:
    """Return the open transactions of all partitions, and whether a coordinator will end them.

    Columns, those first for which people come: topic, partition, is_hanging, started, held_back (how many records
    readers of committed data cannot see because of it; 0 if another one of the partition began before it),
    transactional_id and state (null if no coordinator knows the producer), producer_id, producer_epoch, start_offset,
    records, last_timestamp, coordinator_epoch.

    A transaction is hanging, so that it will never end, if no coordinator has the partition in a transaction of that
    producer. Kafka's own tool uses the same rule. `is_hanging` is null if the producer's coordinator may be missing.

    Args:
        known: of `producers`.
        held: of `partitions`.
        coordinated: of `coordinators.transactions`.
        all_coordinators: true if the logs of all coordinators were read.
    """
    sf = functions_of(known)
    name = sf.concat(sf.col("topic"), sf.lit("-"), sf.col("partition").cast("string"))
    by_producer = coordinated.select("producer_id", "transactional_id", "state", "partitions")
    has_partition = sf.array_contains("partitions", name)
    is_hanging = sf.when(sf.col("transactional_id").isNotNull(), ~has_partition).when(sf.lit(all_coordinators), True)
    is_first = sf.greatest("start_offset", "log_start") == sf.col("last_stable_offset")
    return (
        known.where(sf.col("start_offset").isNotNull())
        .join(by_producer, "producer_id", "left")
        .join(held.select(*_PARTITION, "log_start", "last_stable_offset", "held_back"), _PARTITION, "left")
        .select(
            *_PARTITION,
            is_hanging.alias("is_hanging"),
            "started",
            sf.when(is_first, sf.col("held_back")).otherwise(0).alias("held_back"),
            "transactional_id",
            "state",
            "producer_id",
            "producer_epoch",
            "start_offset",
            "records",
            "last_timestamp",
            "coordinator_epoch",
        )
    )


def totals(coordinated: Frame, opened: Frame, held: Frame) -> Frame:
    """Return one row: the numbers of transactional ids, open and hanging transactions, and records that are held back.

    Args:
        coordinated: of `transactions`.
        opened: of `open_transactions`. Only those with a true `is_hanging` count as hanging.
        held: of `partitions`.
    """
    sf = functions_of(opened)
    return one_row(
        coordinated.agg(rows(sf, "transactional_ids")),
        opened.agg(rows(sf, "open"), rows(sf, "hanging", sf.col("is_hanging"))),
        held.agg(total(sf, "held_back", "held_back_records")),
    )


def lines(coordinated: Frame, opened: Frame, most: int) -> Frame:
    """Return the last transactions, with those that are open first: name, time, end (null if open), is_hanging.

    Args:
        coordinated: of `transactions`: the last transaction of each transactional id.
        opened: of `open_transactions`; a line more for each that hangs, or that no coordinator knows.
        most: the number of rows at most.
    """
    sf = functions_of(coordinated)
    is_open = sf.col("state").isin(*OPEN_STATES)
    known = coordinated.where(sf.col("started").isNotNull()).select(
        sf.col("transactional_id").alias("name"),
        sf.col("started").alias("time"),
        sf.when(~is_open, sf.coalesce("changed", "started")).alias("end"),
        sf.lit(False).alias("is_hanging"),
    )
    producer = sf.concat(sf.lit("producer "), sf.col("producer_id").cast("string"))
    partition = sf.concat(sf.lit(" in "), sf.col("topic"), sf.lit("-"), sf.col("partition").cast("string"))
    of_none = sf.col("state").isNull() | sf.coalesce("is_hanging", sf.lit(False))
    others = opened.where(of_none & sf.col("started").isNotNull()).select(
        sf.concat(sf.coalesce("transactional_id", producer), partition).alias("name"),
        sf.col("started").alias("time"),
        sf.when(sf.lit(False), sf.col("started")).alias("end"),
        sf.coalesce("is_hanging", sf.lit(False)).alias("is_hanging"),
    )
    every = known.unionByName(others)
    return every.orderBy(sf.col("end").isNull().desc(), sf.desc("time"), "name").limit(most)


def without_coordinator(known: Frame, coordinated: Frame) -> Frame:
    """Return the producers with an open transaction that no coordinator knows, with the columns of `producers`.

    Args:
        known: of `producers`.
        coordinated: of `coordinators.transactions`.
    """
    sf = functions_of(known)
    return known.where(sf.col("start_offset").isNotNull()).join(coordinated, "producer_id", "left_anti")


def with_markers(mode: Mode, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Add to rows the content of the markers at `marker_segment` and `marker_position`: the columns of `MARKER_FIELDS`.

    They are null if a row has no marker, if the broker has removed the segment since, or if compaction has left only
    the header of the batch. A marker of a later Kafka is an error in its row; with PERMISSIVE, so is a damaged one.
    """
    for batch in batches:
        places = zip(
            batch.column("marker_segment").to_pylist(), batch.column("marker_position").to_pylist(), strict=True
        )
        found = [_marker_or_error(mode, segment, position) for segment, position in places]
        added = [pa.array(column, type_) for column, (_, type_) in zip(_transpose(found), MARKER_FIELDS, strict=True)]
        schema = pa.schema([*batch.schema, *MARKER_FIELDS])
        yield pa.RecordBatch.from_arrays([*batch.columns, *added], schema=schema)


def _transpose(found: Sequence[tuple[str | int | None, ...]]) -> list[list[str | int | None]]:
    return [[one[column] for one in found] for column in range(len(MARKER_FIELDS))]


def _marker_or_error(
    mode: Mode, segment: str | None, position: int | None
) -> tuple[str | None, int | None, str | None, str | None]:
    if segment is None or position is None or not Path(segment).exists():
        return None, None, None, None
    try:
        return (*_marker(segment, position), None, None)
    except UnsupportedVersionError as error:
        return None, None, UNKNOWN, path_text(f"{error} (in {segment})")
    except OSError as error:
        raise SourceError(f"{segment}: cannot be read: {error.strerror or error}") from None
    except (KipwireError, ValueError) as error:
        text = f"{segment}: {error}"
        if mode == FAILFAST:
            raise SourceError(text) from None
        return None, None, DAMAGED, path_text(text)


def _marker(segment: str, position: int) -> tuple[str | None, int | None]:
    for batch in read_segment(segment, start=position, grows=True):
        for record in batch.records:
            type_, _, value = control_record(record)
            return type_, value.coordinator_epoch if isinstance(value, EndTxnMarker) else None
        return None, None
    return None, None


def transactions(log: Frame) -> Frame:
    """Return the last state of each transactional id.

    Columns: transactional_id, coordinator_partition (of the topic), producer_id, producer_epoch, state in the words
    of Kafka's tools, timeout_ms, started (null if none is open or was), changed, and `partitions` such as `orders-0`.

    Records that cannot be read are left out; `shared.left_out` finds them.
    """
    sf = functions_of(log)
    record = record_of(log, "transaction", [TYPE])
    value = sf.col("value")
    return (
        log.where((sf.col("topic") == TOPIC) & ~sf.col("is_control"))
        .select("partition", "offset", record.alias("record"))
        .where(sf.col("record.type") == TYPE)
        .groupBy(
            sf.col("record.key.transaction_log.transactional_id").alias("transactional_id"),
            sf.col("partition").alias("coordinator_partition"),
        )
        .agg(sf.max_by("record.value.transaction_log", "offset").alias("value"))
        .where(value.isNotNull())  # a tombstone: the transactional id has expired
        .select(
            "transactional_id",
            "coordinator_partition",
            value["producer_id"].alias("producer_id"),
            value["producer_epoch"].alias("producer_epoch"),
            _state(sf, value["transaction_status"]).alias("state"),
            value["transaction_timeout_ms"].alias("timeout_ms"),
            sf.kafka_time(value["transaction_start_timestamp_ms"]).alias("started"),
            sf.kafka_time(value["transaction_last_update_timestamp_ms"]).alias("changed"),
            _partitions(sf, value["transaction_partitions"]).alias("partitions"),
        )
    )


def _state(sf: Functions, status: Column) -> Column:
    """Return the name of a state in Kafka's tools, such as PrepareCommit; an unknown number as text."""
    words = {int(one): one.name.title().replace("_", "") for one in TransactionState}
    return sf.coalesce(*[sf.when(status == number, word) for number, word in words.items()], status.cast("string"))


def _partitions(sf: Functions, topics: Column) -> Column:
    """Return partitions by topic as one list of names such as `orders-0`; empty for null."""
    names = sf.transform(
        topics,
        lambda one: sf.transform(
            one["partition_ids"], lambda number: sf.concat(one["topic"], sf.lit("-"), number.cast("string"))
        ),
    )
    return sf.coalesce(sf.array_sort(sf.flatten(names)), sf.array().cast("array<string>"))
