"""Share groups: start offsets, lag and deliveries (`kipspark share`)."""

from __future__ import annotations

from kipjobs.jobs.share.tables import (
    GROUPS,
    TOPIC,
    TYPES_OF_CLUSTER,
    TYPES_OF_GROUPS,
    batches,
    partitions,
    states,
    topic_ids,
    topics_of_groups,
    totals,
    troubled,
)

__all__ = [
    "GROUPS",
    "TOPIC",
    "TYPES_OF_CLUSTER",
    "TYPES_OF_GROUPS",
    "batches",
    "partitions",
    "states",
    "topic_ids",
    "topics_of_groups",
    "totals",
    "troubled",
]
