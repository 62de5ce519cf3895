"""Where share groups are (KIP-932), from `__share_group_state`: start offsets, and what was delivered after them.

Rows of `kafka_log` in; records that are there more than once, from several replicas, do no harm.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructField, StructType

from kafka_messages.enums import ShareDeliveryState
from kipspark.arrow import spark_type
from kipspark.jobs.metadata import TOPIC as METADATA
from kipspark.jobs.metadata import uuid_text
from kipspark.jobs.share_batches import STATE_TYPE, final_state
from kipspark.spark.functions import from_coordinator, from_metadata

TOPIC = "__share_group_state"
GROUPS = "__consumer_offsets"

_SNAPSHOT, _UPDATE = "ShareSnapshot", "ShareUpdate"
_TOPIC = "TopicRecord"
_TOPICS = "ShareGroupStatePartitionMetadata"
"""The type of the group coordinator's record that has the topics of a share group, with ids and names."""


def states(log: DataFrame) -> DataFrame:
    """The last state of each partition of each group, after its last snapshot and all updates of it.

    Columns: group, topic_id (bytes), partition, start_offset, state_epoch, leader_epoch, snapshot_epoch,
    delivery_complete_count (-1 if it is not known), written (when the last snapshot was), batches (a list of
    first_offset, last_offset, delivery_state as a number, delivery_count). A state without its snapshot is left out.

    Raises:
        BrokenMessageError: when it is computed, at the first broken record.
    """
    record = from_coordinator("key", "value", coordinator="share")
    key, value = sf.col("record.key"), sf.col("record.value")
    rows = (
        log.where((sf.col("topic") == TOPIC) & ~sf.col("is_control"))
        .select("offset", record.alias("record"))
        .where(sf.col("record.type").isin(_SNAPSHOT, _UPDATE))
        .select(
            "offset",
            *[
                sf.coalesce(key["share_snapshot"][name], key["share_update"][name]).alias(column)
                for name, column in (("group_id", "group"), ("topic_id", "topic_id"), ("partition", "partition"))
            ],
            value["share_snapshot"].alias("snapshot"),
            value["share_update"].alias("update"),
            (value["share_snapshot"].isNull() & value["share_update"].isNull()).alias("is_removed"),
        )
    )
    schema = StructType([StructField(name, spark_type(type_)) for name, type_ in STATE_TYPE])
    found = rows.groupBy("group", "topic_id", "partition").applyInArrow(final_state, schema)
    return found.withColumn("written", sf.when(sf.col("written") >= 0, sf.timestamp_millis("written")))


def topic_ids(log: DataFrame, snapshot: DataFrame) -> DataFrame:
    """All topics that the metadata log names: topic_id (bytes) and topic.

    Args:
        log: rows of `__cluster_metadata`.
        snapshot: rows of `kafka_snapshot`, for what was before the log begins.
    """
    made = sf.col("record.topic_record")
    values = log.where((sf.col("topic") == METADATA) & ~sf.col("is_control")).select("value")
    return (
        values.unionByName(snapshot.where(sf.col("topic") == METADATA).select("value"))
        .select(from_metadata("value", types=[_TOPIC]).alias("record"))
        .where(made.isNotNull())
        .select(made["topic_id"].alias("topic_id"), made["name"].alias("topic"))
        .distinct()
    )


def topics_of_groups(log: DataFrame) -> DataFrame:
    """The topics of share groups, as their coordinators know them: topic_id (bytes) and topic.

    Args:
        log: rows of `__consumer_offsets`.
    """
    record = from_coordinator("key", "value", types=[_TOPICS])
    value = sf.col("record.value.share_group_state_partition_metadata")
    topics = sf.concat(
        *[
            sf.transform(
                value[name], lambda one: sf.struct(one["topic_id"].alias("topic_id"), one["topic_name"].alias("topic"))
            )
            for name in ("initializing_topics", "initialized_topics")
        ]
    )
    return (
        log.where((sf.col("topic") == GROUPS) & ~sf.col("is_control"))
        .select(record.alias("record"))
        .where((sf.col("record.type") == _TOPICS) & value.isNotNull())
        .select(sf.explode(topics).alias("one"))
        .select("one.*")
        .distinct()
    )


def partitions(found: DataFrame, topics: DataFrame, ends: DataFrame) -> DataFrame:
    """The partitions of share groups.

    Columns: group, topic (null if its name is not known), topic_id, partition, start_offset (null before the first
    delivery), end_offset (null if the partition is not there), lag, batches (how many there are), epochs and counts as
    of `states`, written. `lag` is the number of records that are not finished, as Kafka's own tool says it; it is null
    without start, end or delivery_complete_count.

    Args:
        found: of `states`.
        topics: topic_id and topic, each id once.
        ends: topic, partition and end_offset.
    """
    start = sf.when(sf.col("start_offset") >= 0, sf.col("start_offset"))
    finished = sf.col("delivery_complete_count")
    lag = sf.when(finished >= 0, sf.col("end_offset") - start - finished)
    return (
        found.join(sf.broadcast(topics), "topic_id", "left")
        .join(ends, ["topic", "partition"], "left")
        .select(
            "group",
            "topic",
            uuid_text("topic_id").alias("topic_id"),
            "partition",
            start.alias("start_offset"),
            "end_offset",
            lag.alias("lag"),
            sf.size("batches").alias("batches"),
            "state_epoch",
            "leader_epoch",
            "snapshot_epoch",
            "delivery_complete_count",
            "written",
        )
    )


def batches(found: DataFrame, topics: DataFrame) -> DataFrame:
    """What was delivered after start offsets, a row for each range of offsets with the same state.

    Columns: group, topic, topic_id, partition, first_offset, last_offset, state, delivery_count.

    Args:
        found: of `states`.
        topics: as of `partitions`.
    """
    words = [sf.when(sf.col("one.delivery_state") == int(state), state.name) for state in ShareDeliveryState]
    return (
        found.join(sf.broadcast(topics), "topic_id", "left")
        .select("group", "topic", "topic_id", "partition", sf.explode("batches").alias("one"))
        .select(
            "group",
            "topic",
            uuid_text("topic_id").alias("topic_id"),
            "partition",
            "one.first_offset",
            "one.last_offset",
            sf.coalesce(*words, sf.col("one.delivery_state").cast("string")).alias("state"),
            "one.delivery_count",
        )
    )
