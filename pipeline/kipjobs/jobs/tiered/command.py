"""The job `tiered`: its report and its options."""

from __future__ import annotations

from kipjobs.engines import Session, functions_of
from kipjobs.jobs import tiered
from kipjobs.jobs.shared.left_out import damage, left_out, unread_records
from kipjobs.jobs.shared.reading import OF_COORDINATORS, OF_DECODED, decoded_log, log
from kipjobs.jobs.shared.running import on_logs
from kipjobs.report.report import Report, Table
from kipwire.tables.errors import FAILFAST, Mode
from kipwire.tables.files.roots import Roots, roots_text
from kipwire.tables.messages.records import REMOTE

_HIDDEN = ("topic_id", "leader_epochs", "custom_metadata", "is_txn_index_empty")


def tiered_report(session: Session, roots: Roots, mode: Mode = FAILFAST) -> Report:
    """Report the contents of tiered storage, from the log folders of brokers."""
    sf = functions_of(session)
    records = log(session, roots, [tiered.TOPIC], mode, columns=OF_COORDINATORS)
    decoded = tiered.records(decoded_log(session, roots, tiered.TOPIC, mode, columns=OF_DECODED)).persist()
    without = left_out(
        [unread_records(records, REMOTE), *damage(session, roots, mode, [tiered.TOPIC])],
        mode,
    )
    segments = tiered.segments(decoded).persist()
    partitions = tiered.partitions(segments, decoded).persist()
    return Report(
        "Tiered storage",
        (
            Table(
                "unfinished",
                "Copies and removals of segments that have not ended",
                tiered.unfinished(segments),
                ("changed", "topic", "topic_id", "partition", "start_offset"),
                hidden=_HIDDEN,
                note="Those that have begun lately may still go on.",
                is_wrong=True,
            ),
            without.table,
            Table(
                "partitions",
                "Partitions in tiered storage",
                partitions,
                (sf.desc("size"), "topic", "topic_id", "partition"),
            ),
            Table(
                "segments",
                "Their segments",
                segments,
                ("topic", "topic_id", "partition", "start_offset", "changed"),
                hidden=_HIDDEN,
            ),
        ),
        notes=("Sizes and offsets of partitions are those of segments that are complete.",),
        where=roots_text(roots),
        totals=tiered.totals(partitions, segments),
        left_out=without.line,
        is_damaged=without.damaged > 0,
    )


command = on_logs(tiered_report, [tiered.TOPIC], about=tiered.TOPIC)
"""The command `tiered` of kipwire and kipspark."""
