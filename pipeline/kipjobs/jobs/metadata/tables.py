"""The history of a cluster, from `__cluster_metadata`: what changed, and what the state was at a time.

The input is rows of `kafka_log`, each record once (see `without_copies`), and rows of `kafka_snapshot` for the state
before the log begins. The log has one partition, and its meaning depends on the order of its records. But no step
orders all of them: transactions are found from their markers, which are few, and other windows are over the records of
one object.

    counting = with_snapshot(records(until(log, time)), until(snapshot, time))
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import reduce

from kafka_messages.enums import ConfigResourceType
from kipjobs.engines import Column, Frame, Functions, functions_of
from kipjobs.jobs.shared.reading import record_of
from kipjobs.jobs.shared.totals import one_row, rows
from kipwire.tables.messages.records import Records, records_type, types_of

TOPIC = "__cluster_metadata"
OF_RECORDS = ("topic", "partition", "offset", "timestamp", "value", "is_control")
"""The columns of `kafka_log` that `records` and `without_copies` need."""
OF_TOPICS = ("TopicRecord", "RemoveTopicRecord", "PartitionRecord")
"""The types of records that `topics` needs."""
OF_CONFIGS = ("ConfigRecord", "TopicRecord", "RemoveTopicRecord")
"""The types of records that `configs` needs."""

_BEGIN, _END, _ABORT = "BeginTransactionRecord", "EndTransactionRecord", "AbortTransactionRecord"
MARKERS = (_BEGIN, _END, _ABORT)
"""The types of records that `records` decodes to leave out aborted transactions."""
_HIGHEST_OFFSET = 2**63 - 1
_LEADER_UNCHANGED = -2
_RESOURCES = {int(one): one.name.lower().replace("_", " ") for one in ConfigResourceType if one}
_CHANGE_NOTHING = ("NoOpRecord", *MARKERS)


def until(rows: Frame, time: datetime | None) -> Frame:
    """Keep the rows of `kafka_log` up to a time, or of `kafka_snapshot` if it has nothing later; all if it is None."""
    sf = functions_of(rows)
    return rows if time is None else rows.where(sf.col("timestamp") <= sf.lit(time))


def records(log: Frame, types: Sequence[str] = ()) -> Frame:
    """Return the decoded committed records: offset, time, type, and a column for each type, such as `topic_record`.

    Records of aborted transactions are left out.

    The type of a record that cannot be read is null; `shared.left_out` finds these.

    Args:
        log: rows of `kafka_log`, with bytes or decoded, then also `MARKERS`.
        types: only these have columns, if any; a record with fewer columns takes less time.
    """
    sf = functions_of(log)
    values = log.where((sf.col("topic") == TOPIC) & ~sf.col("is_control"))
    decoded = values.select(
        "offset", sf.col("timestamp").alias("time"), record_of(values, "metadata", types).alias("_")
    )
    return (
        decoded.join(
            sf.broadcast(_aborted_ranges(values)),
            (sf.col("offset") >= sf.col("first_aborted")) & (sf.col("offset") < sf.col("end_of_aborted")),
            "left_anti",
        )
    ).select("offset", "time", *_columns(sf, types))


def _columns(sf: Functions, types: Sequence[str]) -> list[Column]:
    """Return the columns of decoded records."""
    return [sf.col("_")[name].alias(name) for name in records_type(Records("metadata", tuple(types))).names]


def _aborted_ranges(values: Frame) -> Frame:
    """Find the offsets of aborted transactions: first_aborted, and end_of_aborted, the offset after the last one.

    A transaction may begin before the log does; one without an end does not count yet.
    """
    sf = functions_of(values)
    # The second byte of a value of these types is their number; records of others that begin alike have no marker.
    numbers = [bytes([number]) for number, record in types_of("metadata").items() if record.name in MARKERS]
    are_decoded = "record" in values.columns
    of_types = sf.col("record")["type"].isin(*MARKERS) if are_decoded else sf.substring("value", 2, 1).isin(numbers)
    marker = record_of(values, "metadata", MARKERS)["type"]
    is_open = sf.col("marker") == _BEGIN
    in_order = sf.Window.partitionBy(sf.lit(0)).orderBy("offset")
    return (
        values.where(of_types)
        .select("offset", marker.alias("marker"))
        .where(sf.col("marker").isNotNull())
        .withColumns(
            {
                "before": sf.coalesce(sf.lag("offset").over(in_order), sf.lit(0)),
                "is_last": sf.lead("offset").over(in_order).isNull(),
            }
        )
        .where((sf.col("marker") == _ABORT) | (is_open & sf.col("is_last")))
        .select(
            sf.when(is_open, sf.col("offset")).otherwise(sf.col("before")).alias("first_aborted"),
            sf.when(is_open, sf.lit(_HIGHEST_OFFSET)).otherwise(sf.col("offset")).alias("end_of_aborted"),
        )
    )


def with_snapshot(counting: Frame, snapshot: Frame, types: Sequence[str] = ()) -> Frame:
    """Return the records of a snapshot, and the records of the log after it, with the columns of `records`.

    All records of the snapshot get the offset before its end. Their time is null, since a snapshot does not store it.

    Args:
        counting: of `records`.
        snapshot: rows of `kafka_snapshot`; none if the log has everything.
        types: as of `records`.
    """
    sf = functions_of(counting)
    of_topic = snapshot.where(sf.col("topic") == TOPIC)
    earlier = of_topic.select(
        (sf.col("end_offset") - 1).alias("offset"),
        sf.lit(None).cast("timestamp").alias("time"),
        sf.from_metadata("value", types=types).alias("_"),
    ).select("offset", "time", *_columns(sf, types))
    covered = of_topic.agg(sf.coalesce(sf.max("end_offset"), sf.lit(0)).alias("covered"))
    later = counting.crossJoin(sf.broadcast(covered)).where(sf.col("offset") >= sf.col("covered")).drop("covered")
    return earlier.unionByName(later)


def changes(counting: Frame) -> Frame:
    """Return every record that changes anything, as text: offset, time, type, version, and `record` as JSON.

    The JSON has neither nulls nor an `unknown_tagged_fields` without any.

    Args:
        counting: of `records`.
    """
    sf = functions_of(counting)
    columns = counting.drop("offset", "time", "type").columns
    changing = counting.where(~sf.col("type").isin(*_CHANGE_NOTHING))
    version = sf.coalesce(*[sf.col(f"{name}._version") for name in columns])
    text = sf.regexp_replace(sf.regexp_replace("record", _VERSION_FIRST, "{"), _NO_TAGGED_FIELDS, "")
    found = sf.with_json(changing.withColumn("version", version), columns, "record")
    return found.select("offset", "time", "type", "version", text.alias("record"))


_VERSION_FIRST = r'^\{"_version":[0-9]+,'
_NO_TAGGED_FIELDS = r',"unknown_tagged_fields":\{\}'
"""A pattern of an empty map in JSON. It cannot match in a JSON string, in which quotes are escaped."""


def totals(topics: Frame, partitions: Frame, brokers: Frame) -> Frame:
    """Return one row: topics and partitions that exist, those without a leader or with too few replicas, and brokers.

    Args:
        topics: of `topics`.
        partitions: of `partitions`.
        brokers: of `brokers`.
    """
    sf = functions_of(topics)
    return one_row(
        topics.agg(rows(sf, "topics", sf.col("removed").isNull())),
        partitions.agg(
            rows(sf, "partitions"),
            rows(sf, "without_leader", has_no_leader(sf)),
            rows(sf, "lacking_replicas", lacks_replicas(sf)),
        ),
        brokers.agg(rows(sf, "brokers"), rows(sf, "fenced", sf.col("is_fenced"))),
    )


def has_no_leader(sf: Functions) -> Column:
    """Return a condition on rows of `partitions`: true if the partition has no leader."""
    return sf.coalesce("leader", sf.lit(_NO_LEADER)) == _NO_LEADER


def lacks_replicas(sf: Functions) -> Column:
    """Return a condition on rows of `partitions`: true if the partition has fewer in-sync replicas than replicas."""
    return sf.size("isr") < sf.size("replicas")


_NO_LEADER = -1


def topics(counting: Frame) -> Frame:
    """Return all topics that ever existed: topic, topic_id, created, removed (null while it exists), partitions.

    `created` is null if that was before the log begins; topics that were removed before are missing.

    Args:
        counting: of `with_snapshot`.
    """
    sf = functions_of(counting)
    made = _of_type(counting, "TopicRecord").select(
        "record.topic_id", sf.col("record.name").alias("topic"), sf.col("time").alias("created")
    )
    removed = _of_type(counting, "RemoveTopicRecord").select(
        "record.topic_id", sf.col("time").alias("removed"), sf.col("offset").alias("removed_at")
    )
    partitions = (
        _of_type(counting, "PartitionRecord")
        .groupBy("record.topic_id")
        .agg(sf.count_distinct("record.partition_id").alias("partitions"))
    )
    return (
        made.join(removed, "topic_id", "left")
        .join(partitions, "topic_id", "left")
        .select("topic", uuid_text(sf, "topic_id").alias("topic_id"), "created", "removed", "partitions")
    )


def partition_history(counting: Frame) -> Frame:
    """Return all states of partitions: topic, topic_id, partition, time, offset, leader, replicas, isr, is_removed.

    `time` is null for a state from a snapshot.

    Args:
        counting: of `with_snapshot`.
    """
    sf = functions_of(counting)
    fields = ("leader", "replicas", "isr")
    whole = _of_type(counting, "PartitionRecord").select(
        "offset", "time", "record.topic_id", "record.partition_id", *[f"record.{name}" for name in fields]
    )
    leader = sf.when(sf.col("record.leader") != _LEADER_UNCHANGED, sf.col("record.leader"))
    changed = _of_type(counting, "PartitionChangeRecord").select(
        "offset",
        "time",
        "record.topic_id",
        "record.partition_id",
        leader.alias("leader"),
        "record.replicas",
        "record.isr",
    )
    so_far = (
        sf.Window.partitionBy("topic_id", "partition_id")
        .orderBy("offset")
        .rowsBetween(sf.Window.unboundedPreceding, sf.Window.currentRow)
    )
    states = whole.unionByName(changed)
    for name in fields:
        states = states.withColumn(name, sf.last(name, ignorenulls=True).over(so_far))
    names = _of_type(counting, "TopicRecord").select("record.topic_id", sf.col("record.name").alias("topic"))
    gone = _of_type(counting, "RemoveTopicRecord").select("record.topic_id", sf.lit(True).alias("is_removed"))
    return (
        states.join(names, "topic_id", "left")
        .join(gone, "topic_id", "left")
        .select(
            "topic",
            uuid_text(sf, "topic_id").alias("topic_id"),
            sf.col("partition_id").alias("partition"),
            "time",
            "offset",
            *fields,
            sf.coalesce("is_removed", sf.lit(False)).alias("is_removed"),
        )
    )


def partitions(history: Frame) -> Frame:
    """Return the state of the partitions of existing topics: the last row of each, and its number of changes.

    Args:
        history: of `partition_history`.
    """
    sf = functions_of(history)
    return (
        history.where(~sf.col("is_removed"))
        .groupBy("topic", "topic_id", "partition")
        .agg(
            *[sf.max_by(name, "offset").alias(name) for name in ("leader", "replicas", "isr")],
            sf.max("time").alias("changed"),
            sf.count("time").alias("changes"),
        )
    )


def configs(counting: Frame) -> Frame:
    """Return the configuration that is set: resource_type, resource, name, value, time (null: before the log begins).

    Args:
        counting: of `with_snapshot`.
    """
    sf = functions_of(counting)
    names = reduce(
        lambda case, one: case.when(sf.col("record.resource_type") == one[0], one[1]),
        list(_RESOURCES.items())[1:],
        sf.when(sf.col("record.resource_type") == min(_RESOURCES), _RESOURCES[min(_RESOURCES)]),
    )
    latest = (
        _of_type(counting, "ConfigRecord")
        .select(
            sf.coalesce(names, sf.col("record.resource_type").cast("string")).alias("resource_type"),
            sf.col("record.resource_name").alias("resource"),
            "record.name",
            "record.value",
            "time",
            "offset",
        )
        .groupBy("resource_type", "resource", "name")
        .agg(*[sf.max_by(name, "offset").alias(name) for name in ("value", "time")], sf.max("offset").alias("offset"))
    )
    made = _of_type(counting, "TopicRecord").select("record.topic_id", sf.col("record.name").alias("resource"))
    removed = (
        _of_type(counting, "RemoveTopicRecord")
        .select("record.topic_id", sf.col("offset").alias("removed_at"))
        .join(made, "topic_id")
        .groupBy("resource")
        .agg(sf.max("removed_at").alias("removed_at"))
        .withColumn("resource_type", sf.lit("topic"))
    )
    # A topic's configuration is removed with it; a null value was reset to its default.
    return (
        latest.join(removed, ["resource_type", "resource"], "left")
        .where(
            sf.col("value").isNotNull() & (sf.col("removed_at").isNull() | (sf.col("offset") > sf.col("removed_at")))
        )
        .drop("removed_at", "offset")
    )


def brokers(counting: Frame) -> Frame:
    """Return the registered brokers: broker_id, rack, endpoints, registered (null: before the log begins), is_fenced.

    Args:
        counting: of `with_snapshot`.
    """
    sf = functions_of(counting)
    endpoints = sf.transform(
        "record.end_points", lambda one: sf.concat(one["name"], sf.lit("://"), one["host"], sf.lit(":"), one["port"])
    )
    registered = (
        _of_type(counting, "RegisterBrokerRecord")
        .select("record.broker_id", "offset", "time", "record.rack", endpoints.alias("endpoints"))
        .groupBy("broker_id")
        .agg(
            sf.max_by("rack", "offset").alias("rack"),
            sf.max_by("endpoints", "offset").alias("endpoints"),
            sf.max("time").alias("registered"),
            sf.max("offset").alias("registered_at"),
        )
    )
    fenced = [
        _fencing_changes(counting, "RegisterBrokerRecord", sf.col("record.broker_id"), sf.col("record.fenced")),
        _fencing_changes(counting, "FenceBrokerRecord", sf.col("record.id"), sf.lit(True)),
        _fencing_changes(counting, "UnfenceBrokerRecord", sf.col("record.id"), sf.lit(False)),
        _fencing_changes(
            counting,
            "BrokerRegistrationChangeRecord",
            sf.col("record.broker_id"),
            sf.when(sf.col("record.fenced") != 0, sf.col("record.fenced") > 0),  # 1: fenced, -1: no longer
        ),
    ]
    state = (
        reduce(lambda one, other: one.unionByName(other), fenced)
        .where(sf.col("is_fenced").isNotNull())
        .groupBy("broker_id")
        .agg(sf.max_by("is_fenced", "offset").alias("is_fenced"))
    )
    left = (
        _of_type(counting, "UnregisterBrokerRecord").groupBy("record.broker_id").agg(sf.max("offset").alias("left_at"))
    )
    return (
        registered.join(state, "broker_id", "left")
        .join(left, "broker_id", "left")
        .where(sf.col("left_at").isNull() | (sf.col("left_at") < sf.col("registered_at")))
        .drop("left_at", "registered_at")
    )


def uuid_text(sf: Functions, column: str) -> Column:
    """Format a uuid as Kafka does: base64 with the alphabet of URLs, without padding."""
    return sf.regexp_replace(sf.translate(sf.base64(column), "+/", "-_"), "=+$", "")


def _of_type(counting: Frame, type_: str) -> Frame:
    """Return the records of one type, with its own columns as `record`."""
    sf = functions_of(counting)
    column = next(record.column for record in types_of("metadata").values() if record.name == type_)
    return counting.where(sf.col("type") == type_).select("offset", "time", sf.col(column).alias("record"))


def _fencing_changes(counting: Frame, type_: str, broker: Column, fenced: Column) -> Frame:
    return _of_type(counting, type_).select("offset", broker.alias("broker_id"), fenced.alias("is_fenced"))
