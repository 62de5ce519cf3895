"""Input and results of a section of the benchmark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

from benchmarks.reporting.report import Table
from benchmarks.spark.clock import Cost, cost_of
from benchmarks.spark.log_data import MIB
from benchmarks.spark.progress import Progress
from benchmarks.targets import Verdict


class WrongRowsError(Exception):
    """Ways that are compared do not give the same rows, or not the rows that were written."""


@dataclass(frozen=True)
class Run:
    """The session, folders and sizes that the command line chooses."""

    spark: SparkSession
    data: Path
    """Folder of data that later runs use again."""
    scratch: Path
    """Folder of files that may be removed after the run."""
    rows: int
    """Messages of a table."""
    slow_rows: int
    """Messages for the ways that take long."""
    rounds: int
    """Samples of each way, after one that does not count."""
    offsets_gib: float
    """The size of the logs for the job offsets."""
    traffic_gib: float
    """The size of the packets for the job traffic."""
    share: float
    """Share of the other sizes that logs have: 1 for results."""
    progress: Progress


def share_of(run: Run, size: int) -> int:
    """Return the bytes that a log has in a run, of its size for results: a MiB at least."""
    return max(MIB, round(size * run.share))


class Findings(NamedTuple):
    """Results of a section."""

    tables: tuple[Table, ...]
    verdicts: tuple[Verdict, ...] = ()


Section = Callable[[Run], Findings]


def interleaved(run: Run, frames: dict[str, DataFrame]) -> dict[str, list[Cost]]:
    """Measure queries in each round, there and back, after a round that does not count."""
    for name, frame in frames.items():
        run.progress.say(f"{name}, warm-up")
        cost_of(frame)
    costs: dict[str, list[Cost]] = {name: [] for name in frames}
    for number in range(run.rounds):
        for name in reversed(frames) if number % 2 else frames:
            run.progress.say(f"{name}, round {number + 1} of {run.rounds}")
            costs[name].append(cost_of(frames[name]))
    return costs


def ratio(costs: dict[str, list[Cost]], one: str, other: str) -> float:
    """Return the ratio of the processor times of two ways, median over the rounds."""
    return median(a.cpu / b.cpu for a, b in zip(costs[one], costs[other], strict=True))
