"""The job `offsets` on logs of a GiB and more, as users start it: in the process beside Spark."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.parquet as pq

from benchmarks.reporting.report import Table
from benchmarks.spark.clock import ProgramCost
from benchmarks.spark.engines import (
    DRIVER_MEMORY,
    IN_PROCESS,
    ON_SPARK,
    Compared,
    comparison,
    cost_of_job,
    in_turn,
)
from benchmarks.spark.kept import kept
from benchmarks.spark.log_data import (
    COMMITTED_PARTITIONS,
    GROUPS,
    MIB,
    PARTITIONS,
    TOPIC,
    LogSize,
    commits_size,
    group_name,
    last_committed,
    link_partitions,
    log_size,
    write_commits,
    write_log,
)
from benchmarks.spark.section import Findings, Run, WrongRowsError, share_of
from benchmarks.targets import Verdict

OF_PARTITION = 1024 * MIB // PARTITIONS
"""Bytes of a partition of the topic and one of commits together; this many partitions together have a GiB."""
COMMITS_SHARE = 16
"""One byte in this many is part of commits."""
_ONCE_FROM = 2
"""GiB from which on there is only one round: Spark takes a quarter of an hour for ten GiB."""
_GOALS = ((2, (12, 700)), (float("inf"), (120, 1024)))
"""Highest seconds of processor time and MiB in the process, each with the GiB up to which they hold."""


@dataclass(frozen=True)
class _Logs:
    """A log folder with some partitions."""

    folder: Path
    partitions: int
    size: int
    records: LogSize
    commits: LogSize

    @property
    def all_commits(self) -> int:
        return self.partitions * self.commits.records


def measure_offsets(run: Run) -> Findings:
    """Run the job on a GiB, and once on the size of the command line if it is larger, in the process and on Spark.

    Raises:
        WrongRowsError: the job does not find the offsets that were committed, or the ends of the partitions.
    """
    whole = max(1, round(run.offsets_gib * PARTITIONS))
    comparisons, details, verdicts = [], [], []
    for partitions in dict.fromkeys((min(PARTITIONS, whole), whole)):
        logs = _logs(run, partitions)
        gib = logs.size / 1024 / MIB
        rounds = run.rounds if gib < _ONCE_FROM else 1
        costs = in_turn(run, f"offsets, {gib:.2f} GiB", rounds, partial(_cost, run, logs))
        shutil.rmtree(logs.folder)
        read = f"{gib:.2f} GiB, {2 * partitions} partitions, {logs.all_commits:,} commits"
        comparisons.append(Compared(read, costs))
        spark = costs[ON_SPARK]
        sizes = ([one.jvm for one in spark], [one.largest_worker for one in spark], [one.workers for one in spark])
        details.append((read, *(f"{median(size) / MIB:,.0f}" for size in sizes)))
        verdicts += [
            Verdict(f"kipwire offsets: {what}", f"{gib:.2f} GiB", figure, bound, at_most=True)
            for what, figure, bound in zip(
                ("CPU seconds", "MiB"),
                (median(one.cpu for one in costs[IN_PROCESS]), max(one.together for one in costs[IN_PROCESS]) / MIB),
                next(bounds for size, bounds in _GOALS if gib < size),
                strict=True,
            )
        ]
    title = f"kipspark offsets: memory at most, with SPARK_DRIVER_MEMORY={DRIVER_MEMORY}"
    return Findings(
        (
            comparison("kipwire offsets beside kipspark offsets", comparisons),
            Table(title, ("read", "JVM MiB", "largest worker MiB", "all workers MiB"), tuple(details)),
        ),
        tuple(verdicts),
    )


def _logs(run: Run, partitions: int) -> _Logs:
    of_partition = share_of(run, OF_PARTITION)
    records = log_size("none", of_partition - of_partition // COMMITS_SHARE)
    commits = commits_size(of_partition // COMMITS_SHARE)
    run.progress.say(f"{PARTITIONS * of_partition // MIB:,} MiB of logs")

    def write(folder: Path) -> None:
        write_log(folder, records)
        write_commits(folder, commits)

    source = kept(run.data, "offsets", write)
    folder = run.scratch / f"offsets-{partitions}"
    size = link_partitions(source, folder, partitions)
    return _Logs(folder, partitions, size, records, commits)


def _cost(run: Run, logs: _Logs, program: str) -> ProgramCost:
    out = run.scratch / f"{logs.folder.name}-{program}"
    cost = cost_of_job(program, "offsets", logs.folder, out)
    _check(program, out, logs)
    shutil.rmtree(out)
    return cost


def _check(program: str, tables: Path, logs: _Logs) -> None:
    """Check the results of the job for each group and partition."""
    offset, end = last_committed(), logs.records.records
    count = logs.all_commits // (GROUPS * COMMITTED_PARTITIONS)
    expected: dict[tuple[str, str, int], tuple[Any, ...]] = {
        (group_name(group), TOPIC, partition): (
            (offset, end, end - offset, count) if partition < logs.partitions else (offset, None, None, count)
        )
        for group in range(GROUPS)
        for partition in range(COMMITTED_PARTITIONS)
    }
    found = {
        (row["group"], row["topic"], row["partition"]): (row["offset"], row["end_offset"], row["lag"], row["commits"])
        for row in pq.read_table(tables / "groups").to_pylist()
    }
    if found != expected:
        wrong = next(key for key in expected | found if expected.get(key) != found.get(key))
        raise WrongRowsError(f"{program} offsets: {wrong}: expected {expected.get(wrong)}, found {found.get(wrong)}")
    written = sum(pq.read_metadata(path).num_rows for path in (tables / "commits").glob("*.parquet"))
    if written != logs.all_commits:
        raise WrongRowsError(f"{program} offsets: expected {logs.all_commits:,} commits, found {written:,}")
