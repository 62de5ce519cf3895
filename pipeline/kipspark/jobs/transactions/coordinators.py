"""The state of each transactional id at its coordinator, from `__transaction_state`.

Rows of `kafka_log` in; records that are there more than once, from several replicas, do no harm.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from kafka_messages.enums import TransactionState
from kipspark.spark.functions import from_coordinator

TOPIC = "__transaction_state"

_TYPE = "TransactionLog"
OPEN = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
"""The states of transactions that have not ended."""


def transactions(log: DataFrame) -> DataFrame:
    """The last state of each transactional id.

    Columns: transactional_id, coordinator_partition (of the topic), producer_id, producer_epoch, state in the words
    of Kafka's tools, timeout_ms, started (null if none is open or was), changed, and `partitions` such as `orders-0`.

    Raises:
        BrokenMessageError: when it is computed, at the first broken record.
    """
    record = from_coordinator("key", "value", coordinator="transaction", types=[_TYPE])
    value = sf.col("value")
    return (
        log.where((sf.col("topic") == TOPIC) & ~sf.col("is_control"))
        .select("partition", "offset", record.alias("record"))
        .where(sf.col("record.type") == _TYPE)
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
            _state(value["transaction_status"]).alias("state"),
            value["transaction_timeout_ms"].alias("timeout_ms"),
            _time(value["transaction_start_timestamp_ms"]).alias("started"),
            _time(value["transaction_last_update_timestamp_ms"]).alias("changed"),
            _partitions(value["transaction_partitions"]).alias("partitions"),
        )
    )


def _state(status: Column) -> Column:
    """The word that Kafka's tools have for a state, such as PrepareCommit; a number that is not known stays one."""
    words = {int(one): one.name.title().replace("_", "") for one in TransactionState}
    return sf.coalesce(*[sf.when(status == number, word) for number, word in words.items()], status.cast("string"))


def _time(milliseconds: Column) -> Column:
    return sf.when(milliseconds >= 0, sf.timestamp_millis(milliseconds))


def _partitions(topics: Column) -> Column:
    """Partitions by topic as one list of names, which are those of their folders; empty for null."""
    names = sf.transform(
        topics,
        lambda one: sf.transform(
            one["partition_ids"], lambda number: sf.concat(one["topic"], sf.lit("-"), number.cast("string"))
        ),
    )
    return sf.coalesce(sf.array_sort(sf.flatten(names)), sf.array().cast("array<string>"))
