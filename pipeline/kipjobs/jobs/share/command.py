"""The job `share`: its report and its options.

It is not a part of `offsets`, whose rows are commits with a lag at their time: a share group has no commits, and its
offsets and lag are of its last state.
"""

from __future__ import annotations

from collections.abc import Iterable

from kipjobs.engines import DataFrame, Session, functions_of
from kipjobs.jobs import metadata, share
from kipjobs.jobs.metadata.report import metadata_snapshot
from kipjobs.jobs.shared.left_out import (
    damage,
    damage_of_heads,
    damage_of_snapshots,
    left_out,
    unread_in_snapshots,
    unread_records,
)
from kipjobs.jobs.shared.reading import (
    OF_COORDINATORS,
    OF_DECODED,
    Place,
    decoded_log,
    log,
    place_text,
    present_ends,
)
from kipjobs.jobs.shared.running import on_logs
from kipjobs.report.report import Report, Table
from kipwire.tables.errors import FAILFAST, Mode


def share_report(session: Session, roots: Place, mode: Mode = FAILFAST) -> Report:
    """Report the positions of share groups, from the log folders of brokers, or from these."""
    sf = functions_of(session)

    def rows(topic: str) -> DataFrame:
        return log(session, roots, [topic], mode, columns=OF_COORDINATORS)

    ends = present_ends(session, roots, mode)

    def records(topic: str, types: Iterable[str] = ()) -> DataFrame:
        return decoded_log(session, roots, topic, mode, columns=OF_DECODED, types=types)

    of_cluster = share.topic_ids(
        records(metadata.TOPIC, share.TYPES_OF_CLUSTER), metadata_snapshot(session, roots, mode)
    )
    of_groups = share.topics_of_groups(records(share.GROUPS, share.TYPES_OF_GROUPS))
    topics = _names(of_cluster, of_groups).persist()
    states = share.states(records(share.TOPIC)).persist()
    read = (share.TOPIC, share.GROUPS, metadata.TOPIC)
    without = left_out(
        [
            unread_records(rows(share.TOPIC), "share"),
            unread_records(rows(share.GROUPS), "group", share.TYPES_OF_GROUPS),
            unread_records(rows(metadata.TOPIC), "metadata", share.TYPES_OF_CLUSTER),
            unread_in_snapshots(metadata_snapshot(session, roots, mode), share.TYPES_OF_CLUSTER),
            *damage(session, roots, mode, read),
            *damage_of_snapshots(session, roots, mode, [metadata.TOPIC]),
            *damage_of_heads(session, roots, mode, but=read),
        ],
        mode,
    )
    partitions = share.partitions(states, topics, ends).persist()
    batches = share.batches(states, topics).persist()
    return Report(
        "Share groups",
        (
            Table(
                "troubled",
                "Records that were delivered more than once, or given up",
                share.troubled(batches),
                (sf.desc("delivery_count"), "group", "topic", "topic_id", "partition", "first_offset"),
                note="ARCHIVED: a consumer has rejected them, or they were delivered as often as the group allows.",
                is_wrong=True,
            ),
            without.table,
            Table(
                "partitions",
                "Start offsets and lag of share groups",
                partitions,
                (sf.desc("lag"), "group", "topic", "topic_id", "partition"),
                hidden=("state_epoch", "leader_epoch", "snapshot_epoch", "delivery_complete_count"),
            ),
            Table(
                "batches",
                "What was delivered after the start offsets",
                batches,
                ("group", "topic", "topic_id", "partition", "first_offset"),
            ),
        ),
        notes=(
            "Lag is the number of records after the start offset whose delivery is not finished. Names of topics are "
            "from the metadata log, or else from the group coordinators' log.",
        ),
        where=place_text(roots),
        totals=share.totals(partitions, batches),
        left_out=without.line,
        is_damaged=without.damaged > 0,
    )


def _names(of_cluster: DataFrame, of_groups: DataFrame) -> DataFrame:
    """Return the names of topics, each id once: from the metadata log, or else from group coordinators."""
    sf = functions_of(of_cluster)
    both = of_cluster.withColumn("rank", sf.lit(0)).unionByName(of_groups.withColumn("rank", sf.lit(1)))
    return both.groupBy("topic_id").agg(sf.min_by("topic", "rank").alias("topic"))


command = on_logs(share_report, about=share.TOPIC, has_brokers=True)
"""The command `share` of kipwire and kipspark."""
