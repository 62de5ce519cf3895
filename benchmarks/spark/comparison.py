"""A table for each kind of message: the cost of each way from bytes to columns."""

from __future__ import annotations

from statistics import median
from typing import NamedTuple

from pyspark.sql import DataFrame

from benchmarks.reporting.report import Table
from benchmarks.spark import methods
from benchmarks.spark.clock import Cost, cost_of
from benchmarks.spark.kept import kept
from benchmarks.spark.messages import COMMIT, METADATA, Kind, read_kind, write_avro, write_wire
from benchmarks.spark.section import Findings, Run, WrongRowsError, ratio
from benchmarks.targets import Verdict

BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"
LARGE_BATCH = 50_000
FEW = 20_000
"""Rows for warming up, and for comparing values."""


def compare_commits(run: Run) -> Findings:
    """Compare the ways for a small message.

    Raises:
        WrongRowsError: the ways do not give equal values; raised before anything is timed.
    """
    costs = _costs(run, COMMIT, in_large_batches=(methods.NATIVE, methods.FUNCTION))
    verdicts = (
        _verdict("with_message: CPU / identity mapInArrow", COMMIT, costs, methods.NATIVE, methods.FLOOR, 1.3),
        _verdict("from_message, where: CPU / from_message", COMMIT, costs, methods.FILTERED, methods.FUNCTION, 1.1),
    )
    return Findings((_table(COMMIT, costs),), verdicts)


def compare_metadata(run: Run) -> Findings:
    """Compare the ways for a message with structs in arrays in structs in arrays.

    Raises:
        WrongRowsError: as `compare_commits`.
    """
    costs = _costs(run, METADATA)
    verdicts = (
        _verdict("with_message: CPU / from_avro", METADATA, costs, methods.NATIVE, methods.AVRO, 1.2),
        _verdict("from_message: CPU / from_avro", METADATA, costs, methods.FUNCTION, methods.AVRO, 1.2),
        _verdict("plain UDF: CPU / with_message", METADATA, costs, methods.UDF, methods.NATIVE, 10, at_most=False),
    )
    return Findings((_table(METADATA, costs),), verdicts)


class _Way(NamedTuple):
    """A query to time."""

    frame: DataFrame
    rows: int
    batch: str
    """Rows of an Arrow batch."""


def _costs(run: Run, kind: Kind, in_large_batches: tuple[str, ...] = ()) -> dict[str, list[Cost]]:
    """Measure the cost of a row by each way, in each round; by some ways also in larger Arrow batches."""
    spark, progress = run.spark, run.progress
    usual = str(spark.conf.get(BATCH))

    def tables(count: int) -> methods.Tables:
        progress.say(f"{count:,} messages")
        wire = kept(run.data, f"{kind.message}-{count}", lambda folder: write_wire(folder, kind, count))
        avro = kept(run.data, f"{kind.message}-{count}-avro", lambda folder: write_avro(spark, wire, folder, kind))
        return methods.Tables(*read_kind(spark, wire, avro))

    rows, slow_rows = kind.times * run.rows, min(run.slow_rows, run.rows)
    few, slow, many = (tables(count) for count in (min(FEW, rows), slow_rows, rows))
    progress.say("equal values?")
    if not methods.equal_content(kind, few):
        raise WrongRowsError(f"{kind.title}: the ways to decode it do not give equal values")
    for name, frame in {**methods.fast(kind, few), **methods.slow(spark, kind, few)}.items():
        progress.say(f"{name}, warm-up")
        cost_of(frame)
    ways: dict[str, _Way] = {}
    for name, frame in methods.fast(kind, many).items():
        ways[name] = _Way(frame, rows, usual)
        if name in in_large_batches:
            ways[f"{name}, Arrow batches of {LARGE_BATCH:,} rows"] = _Way(frame, rows, str(LARGE_BATCH))
    for name, frame in methods.slow(spark, kind, slow).items():
        ways[name] = _Way(frame, slow_rows, usual)
    costs: dict[str, list[Cost]] = {name: [] for name in ways}
    for number in range(run.rounds):
        for name in reversed(ways) if number % 2 else ways:
            progress.say(f"{name}, round {number + 1} of {run.rounds}")
            way = ways[name]
            spark.conf.set(BATCH, way.batch)
            costs[name].append(cost_of(way.frame).of_each(way.rows))
    spark.conf.set(BATCH, usual)
    return costs


def _table(kind: Kind, costs: dict[str, list[Cost]]) -> Table:
    header = ("way", "rows a second", "CPU µs a row", "CPU / identity mapInArrow", "CPU / from_avro")
    rows = [
        (
            name,
            f"{1 / min(one.wall for one in taken):,.0f}",
            f"{median(one.cpu for one in taken) * 1e6:.2f}",
            f"{ratio(costs, name, methods.FLOOR):.2f}",
            f"{ratio(costs, name, methods.AVRO):.2f}",
        )
        for name, taken in costs.items()
    ]
    return Table(kind.title, header, tuple(rows))


def _verdict(
    target: str, kind: Kind, costs: dict[str, list[Cost]], one: str, other: str, bound: float, *, at_most: bool = True
) -> Verdict:
    return Verdict(target, kind.title, ratio(costs, one, other), bound, at_most)
