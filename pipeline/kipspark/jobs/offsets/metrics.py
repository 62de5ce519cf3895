"""The metrics of `kipspark offsets`, by the names and labels that dashboards expect.

Offsets and lag are as kafka_exporter has them, and the lag in seconds as kafka-lag-exporter has it. What neither has
begins with `kipspark`.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from kipspark.report.metrics import Gauge, Metrics

_PARTITION = {"topic": "topic", "partition": "partition"}
_GROUP = {"consumergroup": "group", **_PARTITION}
_GROUPS = (
    Gauge(
        "kafka_consumergroup_current_offset",
        "The offset that a group has committed for a partition, which is the next one it would read.",
        "offset",
        _GROUP,
    ),
    Gauge(
        "kafka_consumergroup_lag",
        "The end of the partition minus the committed offset; 0 if the group is ahead of it.",
        "lag",
        _GROUP,
    ),
    Gauge(
        "kafka_consumergroup_group_lag_seconds",
        "How old the first record is that the group has not read; 0 if there is none.",
        "lag_seconds",
        {"group": "group", **_PARTITION},
    ),
)
_ENDS = Gauge("kafka_topic_partition_current_offset", "The offset of the next record.", "end_offset", _PARTITION)
_STALLED = Gauge(
    "kipspark_consumergroup_stalled_seconds",
    "How long the committed offset has not moved, of groups that stand still while the topic grows.",
    "stalled_seconds",
    _GROUP,
)
_AS_OF = Gauge(
    "kipspark_offsets_as_of_timestamp_seconds",
    "The time that lag and ages are of: that of the last known record, or of reading from brokers.",
    "seconds",
)


def metrics_of(groups: DataFrame, stalled: DataFrame, ends: DataFrame, as_of: DataFrame) -> tuple[Metrics, ...]:
    """The metrics of all groups and partitions.

    Args:
        groups: the present offsets, with lag and lag_seconds.
        stalled: of `kipspark.jobs.offsets.lag.stalled`.
        ends: topic, partition and end_offset.
        as_of: one row with the time.
    """
    seconds = as_of.select((sf.unix_micros("as_of") / sf.lit(1_000_000.0)).alias("seconds"))
    return (
        Metrics(groups, _GROUPS),
        Metrics(stalled, (_STALLED,)),
        Metrics(ends, (_ENDS,)),
        Metrics(seconds, (_AS_OF,)),
    )
