"""The job `compaction`: its report and its options."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path

import click

from kipjobs.engines import DataFrame, Session, functions_of
from kipjobs.jobs import compaction, metadata, transactions
from kipjobs.jobs.metadata.report import left_out_of_metadata, metadata_records
from kipjobs.jobs.shared.left_out import damage, damage_of_files, left_out, unread_places
from kipjobs.jobs.shared.options import (
    BROKERS,
    CONFIG,
    LOG_FOLDERS,
    PERMISSIVE_OPTION,
    Outputs,
    brokers_of,
    folders_of_brokers,
    outputs,
)
from kipjobs.jobs.shared.reading import Brokers, Place, files, heads, log, place_text, removed_to
from kipjobs.jobs.shared.running import Runner, run
from kipjobs.report import charts
from kipjobs.report.report import Chart, Report, Table
from kipwire.tables.errors import FAILFAST, JobError, Mode
from kipwire.tables.sources.options import parse_list
from kipwire.tools.text import did_you_mean
from kipwire.tools.times import now


def compaction_report(
    session: Session, roots: Place, wanted: Sequence[str], mode: Mode = FAILFAST, at: int | None = None
) -> Report:
    """Report the dead part of compacted topics, from the log folders of brokers, or from these.

    Args:
        session: the session.
        roots: of the log folders; or brokers, which do not tell segments, the cleaner's checkpoint and aborted records.
        wanted: these topics; if empty, the compacted topics of the metadata log, and the brokers' own.
        mode: the reaction to damage.
        at: the present time in milliseconds since 1970; by default this machine's.

    Raises:
        JobError: there is no such topic.
    """
    sf = functions_of(session)
    present = files(session, roots, "segment").persist()
    there = {row["topic"] for row in present.select("topic").distinct().toArrow().to_pylist()}
    check_topics(roots, wanted, there)
    is_asked = metadata.TOPIC in there
    # Copies of a record change nothing here. Persisted, since the rows are read once for each kind of record.
    configs = metadata_records(session, roots, metadata.OF_CONFIGS, mode).persist() if is_asked else None
    configured = set() if configs is None or wanted else _topics(compaction.compacted_topics(configs))
    topics = sorted(set(wanted) or there & {*compaction.INTERNAL, *configured})
    if not topics:
        raise JobError(f"{place_text(roots)}: no topic is known to be compacted; name some with --topics")
    batches = heads(session, roots, (*transactions.OF_BATCHES, "max_timestamp_ms"), topics, mode)
    shown = {"isolationLevel": "read_committed"} if isinstance(roots, Brokers) else {}
    records = log(session, roots, topics, mode, columns=compaction.OF_RECORDS, **shown)
    segments = present.where(sf.col("topic").isin(topics))
    snapshots = files(session, roots, "producer", topics, mode)
    known = transactions.known_producers(batches, segments, snapshots, mode).persist()
    producers = transactions.producers(batches, known).persist()
    checkpoints = files(session, roots, "partition_offset", topics, mode).persist()
    held = transactions.partitions(batches, segments, removed_to(checkpoints), producers).persist()
    aborted = files(session, roots, "aborted_transaction", topics, mode)
    judged = compaction.segments(records, segments, aborted, held).persist()
    lags = None if configs is None else compaction.min_lags(configs)
    recent = None if lags is None else compaction.recent_segments(batches, segments, lags, now() if at is None else at)
    replicas = compaction.partitions(judged, checkpoints, held, recent).persist()
    if shown:  # without segments nothing is known of this
        replicas = replicas.drop("waits_for")
    without = left_out(
        [
            *(left_out_of_metadata(session, roots, metadata.OF_CONFIGS, mode) if is_asked else []),
            *damage(session, roots, mode, topics),
            unread_places(transactions.unread_markers(known)),
            *damage_of_files(session, roots, mode, ["producer", "aborted_transaction", "partition_offset"], topics),
        ],
        mode,
    )
    return Report(
        "Compacted topics",
        (
            Table(
                "uncleaned",
                "Replicas that the log cleaner should clean",
                compaction.uncleaned(replicas),
                (sf.desc("dirty_ratio"), sf.desc("dead_bytes"), "topic", "partition", "folder"),
                hidden=("folder", "aborted_records"),
                note=f"Their dirty ratio is above {compaction.CLEANABLE}, at which the cleaner begins unless "
                "min.cleanable.dirty.ratio says otherwise. If they stay here, it has stopped or is too slow.",
                is_wrong=True,
            ),
            without.table,
            Table(
                "partitions",
                "Replicas of compacted partitions",
                replicas,
                (sf.desc("dead_bytes"), "topic", "partition", "folder"),
                hidden=("folder", "aborted_records"),
            ),
            Table(
                "segments",
                "Their segments",
                judged,
                (sf.desc("dead_bytes"), "topic", "partition", "folder", "base_offset"),
                hidden=("folder", "aborted_records"),
            ),
        ),
        charts=(Chart("Dead and live bytes", compaction.bars(replicas, charts.MOST_BARS), charts.dead_bytes),),
        notes=(
            "A record is dead if its key has a later one, if its transaction was aborted, or if it has no key. Bytes "
            "are those of keys and values, not compressed; sizes are those of files.",
            "The log cleaner does not clean the last segment of a partition, nor what is in open transactions.",
            *(
                ["Brokers tell no sizes of files and no aborted records, and a log is one segment here."]
                if shown
                else ()
            ),
        ),
        where=place_text(roots),
        totals=compaction.totals(replicas),
        left_out=without.line,
        is_damaged=without.damaged > 0,
    )


def check_topics(roots: Place, wanted: Collection[str], there: Collection[str]) -> None:
    """Check that the wanted topics exist.

    Raises:
        JobError: one of them is missing.
    """
    for topic in wanted:
        if topic not in there:
            raise JobError(f"--topics: no topic {topic!r} in {place_text(roots)}{did_you_mean(topic, there)}")


def _topics(found: DataFrame) -> set[str]:
    return {row["topic"] for row in found.toArrow().to_pylist()}


@LOG_FOLDERS
@BROKERS
@CONFIG
@click.option(
    "--topics",
    default="",
    metavar="TOPICS",
    show_default=False,
    help="Topics, separated by commas; by default the brokers' own, and those that "
    "the metadata log says are compacted.",
)
@outputs()
@PERMISSIVE_OPTION
def command(
    runner: Runner,
    path: tuple[str, ...],
    brokers: str | None,
    config: Path | None,
    topics: str,
    outputs: Outputs,
    mode: Mode,
) -> None:
    """Run the job."""
    chosen = parse_list(topics)
    if (place := brokers_of(path, brokers, config)) is not None:
        run(runner, partial(compaction_report, roots=place, wanted=chosen, mode=mode), outputs)
        return
    found = folders_of_brokers(path, runner.are_here)
    if found.segments is not None:
        check_topics(found.paths, chosen, {segment.topic for segment in found.segments})
    report_of = partial(compaction_report, roots=found.paths, wanted=chosen, mode=mode)
    run(runner, report_of, outputs, found.size(chosen))
