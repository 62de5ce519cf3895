"""The job `transactions`: its report and its options."""

from __future__ import annotations

from typing import NamedTuple

from kipjobs.engines import DataFrame, Session, functions_of
from kipjobs.jobs import metadata, transactions
from kipjobs.jobs.metadata.report import left_out_of_metadata, metadata_records
from kipjobs.jobs.shared.left_out import (
    damage,
    damage_of_files,
    damage_of_heads,
    left_out,
    unread_places,
    unread_records,
)
from kipjobs.jobs.shared.options import folders_of_brokers
from kipjobs.jobs.shared.reading import OF_COORDINATORS, OF_DECODED, decoded_log, files, heads, log, removed_to
from kipjobs.jobs.shared.running import on_logs
from kipjobs.jobs.transactions.tables import TOPIC, TYPE
from kipjobs.report import charts
from kipjobs.report.report import Chart, Report, Table
from kipwire.cluster.model import OPEN_STATES
from kipwire.tables.errors import FAILFAST, Mode
from kipwire.tables.files.roots import Roots, roots_text
from kipwire.tools.text import count_of
from kipwire.tools.times import now


def transactions_report(session: Session, roots: Roots, mode: Mode = FAILFAST, at: int | None = None) -> Report:
    """Report the transactions of coordinators and of partitions, from the log folders of brokers.

    Args:
        session: the session.
        roots: of the log folders.
        mode: the reaction to damage.
        at: the present time in milliseconds since 1970, after which no time is plausible; by default this machine's.
    """
    sf = functions_of(session)
    states = log(session, roots, [TOPIC], mode, columns=OF_COORDINATORS)
    coordinated = transactions.transactions(
        decoded_log(session, roots, TOPIC, mode, columns=OF_DECODED, types=[TYPE])
    ).persist()
    columns = dict.fromkeys((*transactions.OF_BATCHES, *transactions.OF_TIMES))
    batches = heads(session, roots, columns, mode=mode)
    segments = files(session, roots, "segment").persist()
    snapshots = files(session, roots, "producer", mode=mode)
    known = transactions.known_producers(batches, segments, snapshots, mode).persist()
    producers = transactions.producers(batches, known).persist()
    removed = removed_to(files(session, roots, "partition_offset", mode=mode))
    partitions = transactions.partitions(batches, segments, removed, producers).persist()
    is_known = transactions.without_coordinator(producers, coordinated).isEmpty() and not coordinated.isEmpty()
    coordinators = None if is_known else _coordinators(session, roots, segments, mode)
    are_all = coordinators is not None and coordinators.are_all
    opened = transactions.open_transactions(producers, partitions, coordinated, are_all).persist()
    is_open = sf.col("state").isin(*OPEN_STATES)
    without = left_out(
        [
            unread_records(states, "transaction", [TYPE]),
            *damage(session, roots, mode, [TOPIC]),
            *damage_of_heads(session, roots, mode, but=[TOPIC]),
            *damage_of_files(session, roots, mode, ["producer", "partition_offset"]),
            unread_places(transactions.unread_markers(known)),
            *([] if coordinators is None else left_out_of_metadata(session, roots, metadata.OF_TOPICS, mode)),
        ],
        mode,
    )
    return Report(
        "Transactions",
        (
            Table(
                "open",
                "Open transactions of partitions",
                opened,
                (sf.desc("is_hanging"), sf.desc("held_back"), "start_offset", "topic", "partition", "producer_id"),
                is_wrong=True,
            ),
            without.table,
            Table(
                "implausible_times",
                "Segments with times before 1970 or in the future",
                transactions.implausible_times(batches, now() if at is None else at),
                ("topic", "partition", "segment", "producer_id"),
                hidden=("lowest_ms", "highest_ms"),
                note="Retention by time keeps a segment until its highest time is old. A producer that counts in other "
                "units, or whose clock is wrong, wrote them.",
                is_wrong=True,
            ),
            Table(
                "transactions",
                "Transactional ids, as their coordinators know them",
                coordinated,
                (is_open.desc(), "started", "transactional_id"),
            ),
            Table(
                "partitions",
                "Partitions, and where they end for readers of committed data",
                partitions.where(sf.col("topic") != metadata.TOPIC),
                (sf.desc("held_back"), "topic", "partition"),
            ),
            Table(
                "producers",
                "Producers of partitions",
                producers,
                ("topic", "partition", "producer_id"),
                hidden=("started", "records"),
                shown=10,
            ),
        ),
        (
            Chart(
                "Transactions over time", transactions.lines(coordinated, opened, charts.MOST_BARS), charts.transactions
            ),
        ),
        notes=(
            "A hanging transaction is open in a partition, but no coordinator has that partition in a transaction of "
            "the producer: only an operator can end it, with kipwire transactions --brokers ... --abort.",
            *(() if coordinators is None else (coordinators.note,)),
        ),
        where=roots_text(roots),
        totals=transactions.totals(coordinated, opened, partitions),
        left_out=without.line,
        is_damaged=without.damaged > 0,
    )


class _Coordinators(NamedTuple):
    """The transaction coordinators whose logs are there."""

    partitions: list[int]
    """Partitions of `__transaction_state` that have a folder."""
    number: int | None
    """Number of partitions of the topic; None if the metadata log does not have it."""

    @property
    def are_all(self) -> bool:
        return self.number is not None and self.partitions == list(range(self.number))

    @property
    def note(self) -> str:
        """Note on the logs that were read: if some are missing, a transaction without coordinator may not hang."""
        topic, read = TOPIC, ", ".join(map(str, self.partitions))
        if self.are_all:
            return f"{topic} was read as a whole: {count_of(len(self.partitions), 'partition')}."
        if not self.partitions:
            what = f"There is no {topic}: no transactional id is known"
        elif self.number is None:
            what = f"No metadata log says whether {topic} has more partitions than those here ({read})"
        else:
            of_all = count_of(self.number, "partition")
            what = f"Only {len(self.partitions)} of {of_all} of {topic} ({read}) could be read"
        return f"{what}, so transactions of producers that no coordinator here knows may or may not be hanging."


def _coordinators(session: Session, roots: Roots, segments: DataFrame, mode: Mode) -> _Coordinators:
    sf = functions_of(session)
    of_topic = segments.where(sf.col("topic") == TOPIC).select("partition").distinct()
    there = sorted(row["partition"] for row in of_topic.toArrow().to_pylist())
    if segments.where(sf.col("topic") == metadata.TOPIC).isEmpty():
        return _Coordinators(there, None)
    topics = metadata.topics(metadata_records(session, roots, metadata.OF_TOPICS, mode).persist())
    of_theirs = topics.where((sf.col("topic") == TOPIC) & sf.col("removed").isNull())
    ((number,),) = of_theirs.agg(sf.max("partitions")).collect()
    return _Coordinators(there, number)


command = on_logs(transactions_report, find=folders_of_brokers)
"""The command `transactions` of kipwire and kipspark."""
