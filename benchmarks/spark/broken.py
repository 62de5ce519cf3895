"""A million messages, 10,000 of them broken."""

from __future__ import annotations

import time
from collections.abc import Iterator

from pyspark.errors import PythonException
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as sf

import kipspark
from benchmarks.reporting.report import Table
from benchmarks.spark.kept import kept
from benchmarks.spark.messages import COMMIT, write_messages
from benchmarks.spark.section import Findings, Run, WrongRowsError
from kipspark.reasons import reason

EVERY = 100
"""One in this many messages is cut short."""


def measure_broken(run: Run) -> Findings:
    """Decode them in both modes.

    Raises:
        WrongRowsError: PERMISSIVE lost a good message or gave no error for a broken one, or FAILFAST went on.
    """
    count = run.rows
    folder = kept(run.data, f"broken-{count}", lambda made: write_messages(made, _messages(count), count))
    broken = run.spark.read.parquet(str(folder))
    arguments = ("OffsetCommitValue", None)
    as_columns = broken.select(
        kipspark.from_message("data", *arguments, mode="PERMISSIVE").alias("message"),
        kipspark.error_of_message("data", *arguments).alias("error"),
    )
    as_table = broken.transform(
        kipspark.with_message, "message", "data", *arguments, mode="PERMISSIVE", error="error"
    ).select("message", "error")
    rows = []
    for name, decoded in (("from_message", as_columns), ("with_message", as_table)):
        run.progress.say(f"{name}, PERMISSIVE")
        _check(decoded, count)
        observation = Observation()
        start = time.perf_counter()
        kipspark.counted(decoded, "error", observation).write.format("noop").mode("overwrite").save()
        seconds = time.perf_counter() - start
        seen = observation.get
        rows.append((f"{name}, PERMISSIVE", f"{seen['rows']:,} rows, {seen['broken']:,} broken", f"{seconds:.1f} s"))
    run.progress.say("from_message, FAILFAST")
    strict = broken.select(kipspark.from_message("data", *arguments))
    rows.append(("from_message, FAILFAST", *_failure(strict)))
    header = ("way", "what it gives", "after")
    return Findings(
        (Table(f"{count:,} OffsetCommitValues, {count // EVERY:,} of them cut short", header, tuple(rows)),)
    )


def _messages(count: int) -> Iterator[bytes]:
    for number in range(count):
        data = COMMIT.make(number)
        yield data[: 2 + number // EVERY % (len(data) - 2)] if number % EVERY == EVERY // 2 else data


def _check(decoded: DataFrame, count: int) -> None:
    """Check that each good message is there with its value, and each broken one with its error."""
    message, error = sf.col("message"), sf.col("error")
    found = decoded.agg(
        sf.count(message).alias("good"),
        sf.count_distinct("message.offset").alias("different"),
        sf.sum("message.offset").alias("sum"),
        sf.count(error).alias("broken"),
        sf.count(sf.when(message.isNull() == error.isNull(), 1)).alias("neither"),
        sf.count(sf.when((sf.length("error.reason") > 0) & (sf.col("error.offset") >= 2), 1)).alias("explained"),
    ).first()
    good = [number for number in range(count) if number % EVERY != EVERY // 2]
    expected = (len(good), len(good), sum(good), count - len(good), 0, count - len(good))
    if found is None or tuple(found) != expected:
        raise WrongRowsError(f"expected {expected}, found {found}")


def _failure(strict: DataFrame) -> tuple[str, str]:
    """Run a query with FAILFAST, and return its error and the seconds until then."""
    start = time.perf_counter()
    try:
        strict.write.format("noop").mode("overwrite").save()
    except PythonException as error:
        return reason(error), f"{time.perf_counter() - start:.1f} s"
    raise WrongRowsError("FAILFAST did not stop")
