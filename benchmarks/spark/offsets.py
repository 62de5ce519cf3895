"""The job `offsets` as users start it, in the process and on Spark: seconds, and memory at most."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from benchmarks.reporting.report import Table
from benchmarks.spark.clock import ProgramCost, cost_of_program
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
from benchmarks.spark.section import Findings, Run, WrongRowsError

OF_PARTITION = 1024 * MIB // PARTITIONS
"""Bytes of a partition of the topic and one of commits together: as many partitions as a GiB has are written."""
COMMITS_SHARE = 16
"""One byte in this many is of commits."""
DRIVER_MEMORY = "1g"
"""What Spark takes if nothing else is said."""


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
    """Run the job on as much as was asked for, and on a GiB if that is more.

    Raises:
        WrongRowsError: the job does not find the offsets that were committed, or the ends of the partitions.
    """
    whole = max(1, round(run.offsets_gib * PARTITIONS))
    rows, here = [], []
    for partitions in dict.fromkeys((min(PARTITIONS, whole), whole)):
        logs = _logs(run, partitions)
        read = f"{logs.size / 1024 / MIB:.2f} GiB, {2 * partitions} partitions"
        run.progress.say(f"{logs.size / 1024 / MIB:.2f} GiB")
        in_process = _cost(run, logs, "kipwire")
        cost = _cost(run, logs, "kipspark", "--master", "local[2]")
        shutil.rmtree(logs.folder)
        rows.append(
            (
                read,
                f"{logs.all_commits:,}",
                f"{cost.wall:.1f}",
                f"{cost.cpu:.1f}",
                f"{cost.jvm / MIB:,.0f}",
                f"{cost.largest_worker / MIB:,.0f}",
                f"{cost.workers / MIB:,.0f}",
            )
        )
        here.append(
            (
                read,
                f"{in_process.wall:.1f}",
                f"{in_process.cpu:.1f}",
                f"{in_process.itself / MIB:,.0f}",
                f"{cost.cpu / in_process.cpu:.1f}x",
            )
        )
    header = ("read", "commits", "seconds", "CPU seconds", "JVM MiB", "largest worker MiB", "all workers MiB")
    title = f"kipspark offsets: memory at most, with SPARK_DRIVER_MEMORY={DRIVER_MEMORY}, start of Spark included"
    header_here = ("read", "seconds", "CPU seconds", "MiB", "CPU of Spark")
    return Findings(
        (
            Table(title, header, tuple(rows)),
            Table("kipwire offsets: the same job in the process, memory at most", header_here, tuple(here)),
        )
    )


def _logs(run: Run, partitions: int) -> _Logs:
    records = log_size("none", OF_PARTITION - OF_PARTITION // COMMITS_SHARE)
    commits = commits_size(OF_PARTITION // COMMITS_SHARE)
    run.progress.say("1 GiB of logs")

    def write(folder: Path) -> None:
        write_log(folder, records)
        write_commits(folder, commits)

    source = kept(run.data, "offsets", write)
    folder = run.scratch / f"offsets-{partitions}"
    size = link_partitions(source, folder, partitions)
    return _Logs(folder, partitions, size, records, commits)


def _cost(run: Run, logs: _Logs, program: str, *more: str) -> ProgramCost:
    out = run.scratch / f"{logs.folder.name}-{program}"
    command = [str(Path(sys.executable).parent / program), "offsets", str(logs.folder)]
    cost = cost_of_program([*command, "--out", str(out), *more], {**os.environ, "SPARK_DRIVER_MEMORY": DRIVER_MEMORY})
    _check(out, logs)
    shutil.rmtree(out)
    return cost


def _check(tables: Path, logs: _Logs) -> None:
    """Check what the job says of each group and partition."""
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
        raise WrongRowsError(f"kipspark offsets: {wrong}: expected {expected.get(wrong)}, found {found.get(wrong)}")
    written = sum(pq.read_metadata(path).num_rows for path in (tables / "commits").glob("*.parquet"))
    if written != logs.all_commits:
        raise WrongRowsError(f"kipspark offsets: expected {logs.all_commits:,} commits, found {written:,}")
