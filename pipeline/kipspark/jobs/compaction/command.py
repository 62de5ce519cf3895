"""`kipspark compaction`: its report and its options."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Annotated

import typer
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from kipjobs.errors import JobError
from kipjobs.files.roots import Roots, shown_roots
from kipjobs.sources.options import listed
from kipspark.jobs import compaction, metadata, transactions
from kipspark.jobs.metadata.report import metadata_records
from kipspark.jobs.shared.options import Html, LogFolders, Master, Out, Remote, TableFormat, folders_of_brokers
from kipspark.jobs.shared.reading import files, heads, log
from kipspark.jobs.shared.running import run
from kipspark.report.outputs import Format
from kipspark.report.report import Report, Table
from kipwire.tools.text import did_you_mean


def compaction_report(spark: SparkSession, roots: Roots, wanted: Sequence[str]) -> Report:
    """How much of compacted topics is dead, from the log folders of brokers.

    Args:
        spark: the session.
        roots: of the log folders.
        wanted: these topics; if empty, those that the metadata log says are compacted, and the brokers' own.

    Raises:
        JobError: there is no such topic.
    """
    present = files(spark, roots, "segment").persist()
    there = {row["topic"] for row in present.select("topic").distinct().toArrow().to_pylist()}
    check_topics(roots, wanted, there)
    configured = _compacted(spark, roots) if metadata.TOPIC in there and not wanted else set()
    topics = sorted(set(wanted) or there & {*compaction.INTERNAL, *configured})
    if not topics:
        raise JobError(f"{shown_roots(roots)}: no topic is known to be compacted; name some with --topics")
    batches = heads(spark, roots, transactions.OF_BATCHES, topics)
    records = log(spark, roots, topics, columns=",".join(compaction.OF_RECORDS))
    segments = present.where(sf.col("topic").isin(topics))
    snapshots = files(spark, roots, "producer", topics)
    producers = transactions.producers(batches, segments, snapshots).persist()
    held = transactions.partitions(batches, segments, producers).persist()
    aborted = files(spark, roots, "aborted_transaction", topics)
    judged = compaction.segments(records, segments, aborted, held).persist()
    checkpoints = files(spark, roots, "partition_offset", topics)
    return Report(
        f"Compacted topics in {shown_roots(roots)}",
        (
            Table(
                "partitions",
                "Replicas of compacted partitions",
                compaction.partitions(judged, checkpoints, held),
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
        notes=(
            "A record is dead if its key has a later one, if its transaction was aborted, or if it has no key. Bytes "
            "are those of keys and values, not compressed; sizes are those of files.",
            "The log cleaner does not clean the last segment of a partition, nor what is in open transactions.",
        ),
    )


def check_topics(roots: Roots, wanted: Collection[str], there: Collection[str]) -> None:
    """Check that there are the topics that are wanted.

    Raises:
        JobError: one of them is not there.
    """
    for topic in wanted:
        if topic not in there:
            raise JobError(f"--topics: there is no {topic!r} in {shown_roots(roots)}{did_you_mean(topic, there)}")


def _compacted(spark: SparkSession, roots: Roots) -> set[str]:
    """The topics that the metadata log says are compacted."""
    # Copies of a record change nothing here. Persisted, since each kind of record is looked for on its own.
    found = compaction.compacted_topics(metadata_records(spark, roots, metadata.OF_CONFIGS).persist())
    return {row["topic"] for row in found.toArrow().to_pylist()}


def command(
    path: LogFolders = None,
    topics: Annotated[
        str,
        typer.Option(
            help="Topics, separated by commas; by default the brokers' own, and those that the metadata log says are "
            "compacted."
        ),
    ] = "",
    out: Out = None,
    table_format: TableFormat = Format.PARQUET,
    html: Html = None,
    master: Master = None,
    remote: Remote = None,
) -> None:
    """Run `kipspark compaction`."""
    found = folders_of_brokers(path, remote)
    wanted = listed(topics)
    if found.segments is not None:
        check_topics(found.paths, wanted, {segment.topic for segment in found.segments})
    run(
        partial(compaction_report, roots=found.paths, wanted=wanted),
        out,
        html,
        master,
        remote,
        size=found.size(wanted),
        table_format=table_format,
    )
