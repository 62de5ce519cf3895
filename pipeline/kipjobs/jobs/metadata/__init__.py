"""The history of a cluster, from its metadata log (`kipspark metadata`)."""

from __future__ import annotations

from kipjobs.jobs.metadata.tables import (
    MARKERS,
    OF_CONFIGS,
    OF_RECORDS,
    OF_TOPICS,
    TOPIC,
    brokers,
    changes,
    configs,
    has_no_leader,
    lacks_replicas,
    partition_history,
    partitions,
    records,
    topics,
    totals,
    until,
    uuid_text,
    with_snapshot,
)

__all__ = [
    "MARKERS",
    "OF_CONFIGS",
    "OF_RECORDS",
    "OF_TOPICS",
    "TOPIC",
    "brokers",
    "changes",
    "configs",
    "has_no_leader",
    "lacks_replicas",
    "partition_history",
    "partitions",
    "records",
    "topics",
    "totals",
    "until",
    "uuid_text",
    "with_snapshot",
]
