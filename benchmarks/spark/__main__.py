"""Measure the pipeline on Spark.

    python -m benchmarks.spark [--rows 1000000] [--rounds 3] [--only messages|logs|broken]

Queries write to `noop`: all columns are made and thrown away. Processor time is that of the JVM and of all Python
workers together; the ratios compare it, since other load on the machine hardly affects it. The tables go to the
terminal and, if nothing was left out, to benchmarks/RESULTS-spark.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession

from benchmarks.reporting.report import Table, machine, markdown, show
from benchmarks.spark import methods
from benchmarks.spark.broken import WrongRowsError, measure_broken
from benchmarks.spark.clock import Cost, cost_of
from benchmarks.spark.logs import measure_batches, measure_choices, measure_logs, measure_memory
from benchmarks.spark.messages import COMMIT, KINDS, METADATA, Kind, write_kind
from benchmarks.targets import Verdict
from kipspark.sources import register
from kipspark.spark.java import use_java
from kipwire import native

RESULTS = Path(__file__).parent.parent / "RESULTS-spark.md"
AVRO = "4.1.1"
"""The newest spark-avro available when this was written; it also works on Spark 4.3."""
FEW = 20_000
"""Rows for warming up, and for comparing values."""


def main() -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=1_000_000, help="messages of a table (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="samples of each method (default: %(default)s)")
    parser.add_argument("--only", choices=("messages", "logs", "broken"), help="one part; writes no file")
    options = parser.parse_args()
    if not native.in_use:
        print(f"the compiled kernel is needed for this comparison: {native.reason}", file=sys.stderr)
        return 1
    warnings.simplefilter("ignore")
    spark = _session()
    tables: list[Table] = []
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            if options.only in (None, "messages"):
                tables += _compare(spark, folder, options.rows, options.rounds)
            if options.only in (None, "broken"):
                tables.append(measure_broken(spark, folder / "broken", options.rows))
            if options.only in (None, "logs"):
                tables.append(measure_logs(spark, folder / "logs"))
                tables += [measure(spark, folder / "logs") for measure in (measure_choices, measure_batches)]
                tables.append(measure_memory(spark, folder / "logs"))
    except WrongRowsError as error:
        print(error, file=sys.stderr)
        return 1
    finally:
        spark.stop()
    names = ("kipwire", "pyspark", "pyarrow")
    where = replace(machine(()), versions={name: version(name) for name in names} | {"spark-avro": AVRO})
    show(tables)
    print(where)
    how = (
        f"`local[2]`, two tasks. {options.rows:,} messages in Parquet; each method's columns are made and thrown away. "
        f"CPU is processor time of the JVM and of all Python workers together, median of {options.rounds} rounds after "
        "a warm-up, with all methods in each round; rows a second are the best round's. Avro has equal "
        "content: all fields except unknown tagged ones. That our columns, Avro's and the plain UDF's have the same "
        "values is checked before. `plain UDF` decodes with the generated classes (and the compiled kernel) and "
        "makes tuples of them. from_protobuf is missing: its jar was not available for Spark 4."
    )
    if options.only is None:
        text = markdown(tables, where, how, title="Results: Spark", command="make bench-spark")
        RESULTS.write_text(text, encoding="utf-8")
    return 0


def _session() -> SparkSession:
    use_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("benchmark")
        .config("spark.jars.packages", f"org.apache.spark:spark-avro_2.13:{AVRO}")
        .config("spark.driver.memory", "4g")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "OFF")
        .getOrCreate()
    )
    register(spark)
    return spark


def _compare(spark: SparkSession, folder: Path, count: int, rounds: int) -> list[Table]:
    """A table for each kind of message, and one of the targets.

    Raises:
        WrongRowsError: the methods do not give equal values; raised before anything is timed.
    """
    costs = {kind: _costs(spark, folder / kind.message, kind, count, rounds) for kind in KINDS}
    header = ("way", "rows a second", "CPU µs a row", "CPU / identity mapInArrow", "CPU / from_avro")
    tables = [Table(kind.title, header, tuple(_rows(taken, count))) for kind, taken in costs.items()]
    return [_targets(costs), *tables]


def _costs(spark: SparkSession, folder: Path, kind: Kind, count: int, rounds: int) -> dict[str, list[Cost]]:
    few = write_kind(spark, folder / "few", kind, FEW)
    if not methods.equal_content(kind, *few):
        raise WrongRowsError(f"{kind.title}: the ways to decode it do not give equal values")
    for frame in methods.methods(spark, kind, *few).values():
        cost_of(frame)
    many = methods.methods(spark, kind, *write_kind(spark, folder / "many", kind, count))
    costs: dict[str, list[Cost]] = {name: [] for name in many}
    for number in range(rounds):
        for name in reversed(many) if number % 2 else many:
            print(f"{kind.title}: {name} ...", file=sys.stderr)
            costs[name].append(cost_of(many[name]))
    return costs


def _rows(costs: dict[str, list[Cost]], count: int) -> list[tuple[str, ...]]:
    return [
        (
            name,
            f"{count / min(one.wall for one in taken):,.0f}",
            f"{median(one.cpu for one in taken) / count * 1e6:.2f}",
            f"{_ratio(costs, name, methods.FLOOR):.2f}",
            f"{_ratio(costs, name, methods.AVRO):.2f}",
        )
        for name, taken in costs.items()
    ]


def _ratio(costs: dict[str, list[Cost]], one: str, other: str) -> float:
    """The processor time of one way divided by that of another, median over the rounds."""
    return median(a.cpu / b.cpu for a, b in zip(costs[one], costs[other], strict=True))


def _targets(costs: dict[Kind, dict[str, list[Cost]]]) -> Table:
    native, function = methods.NATIVE, methods.FUNCTION
    verdicts = [
        Verdict("native: CPU / from_avro", METADATA.title, _ratio(costs[METADATA], native, methods.AVRO), 1.2, True),
        Verdict(
            "from_message: CPU / from_avro", METADATA.title, _ratio(costs[METADATA], function, methods.AVRO), 1.2, True
        ),
        Verdict("native: CPU / floor", COMMIT.title, _ratio(costs[COMMIT], native, methods.FLOOR), 1.3, True),
        Verdict("plain UDF: CPU / native", METADATA.title, _ratio(costs[METADATA], methods.UDF, native), 10, False),
    ]
    rows = tuple(
        (
            one.target,
            one.what,
            f"{one.figure:.2f}",
            f"{'at most' if one.at_most else 'at least'} {one.bound:g}",
            "reached" if one.reached else "MISSED",
        )
        for one in verdicts
    )
    return Table("Targets", ("target", "message", "figure", "bound", ""), rows)


if __name__ == "__main__":
    sys.exit(main())
