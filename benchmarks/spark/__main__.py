"""Measure the pipeline on Spark.

    python -m benchmarks.spark [--rows 1000000] [--rounds 3] [--offsets-gib 1] [--traffic-gib 2] [--only SECTION]

Queries write to `noop`: all columns are made and thrown away. Processor time is the time of the JVM and all Python
workers together; the ratios compare it, since other load on the machine hardly affects it. The tables go to the
terminal and, unless only one section is measured, to benchmarks/RESULTS-spark.md, after each section. Data is kept in
build/bench-spark.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.options import parsed, parser_of
from benchmarks.peers import WrongBytesError
from benchmarks.reporting.report import Machine, Table, machine, markdown, show
from benchmarks.spark.broken import measure_broken
from benchmarks.spark.comparison import compare_commits, compare_metadata
from benchmarks.spark.dumps import measure_dumps
from benchmarks.spark.engines import measure_samples, measure_traffic
from benchmarks.spark.logs import (
    measure_batches,
    measure_choices,
    measure_columns,
    measure_decoded,
    measure_memory,
    measure_records,
)
from benchmarks.spark.messages import COMMIT, METADATA
from benchmarks.spark.offsets import measure_offsets
from benchmarks.spark.progress import Progress
from benchmarks.spark.section import Findings, Run, Section, WrongRowsError
from benchmarks.targets import Verdict
from kipspark.sources import register
from kipspark.spark.java import use_java
from kipwire import native

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "RESULTS-spark.md"
DATA = ROOT / "build" / "bench-spark"
SCRATCH = DATA / "scratch"
AVRO = "4.1.1"
"""The newest spark-avro available when this was written; it also works on Spark 4.3."""
SLOW_ROWS = 250_000
SMOKE_SHARE = 1 / 256
SECTIONS: dict[str, tuple[str, Section]] = {
    "samples": ("jobs on samples, in the process and on Spark", measure_samples),
    "offsets": ("offsets, in the process and on Spark", measure_offsets),
    "traffic": ("traffic, in the process and on Spark", measure_traffic),
    "commits": (COMMIT.title, compare_commits),
    "metadata": (METADATA.title, compare_metadata),
    "broken": ("broken messages", measure_broken),
    "records": ("records of logs", measure_records),
    "choices": ("chosen columns, and Parquet", measure_choices),
    "columns": ("the cost of each column", measure_columns),
    "decoded": ("decoded in the source", measure_decoded),
    "batches": ("level=batches", measure_batches),
    "memory": ("memory", measure_memory),
    "dumps": ("beside kafka-dump-log", measure_dumps),
}
"""Sections by the name for `--only`: the text of the progress line, and the function that measures it."""


def main() -> int:
    """Run the command line; return the exit status."""
    options = _options()
    if not native.in_use:
        print(f"the compiled kernel is needed for this comparison: {native.reason}", file=sys.stderr)
        return 1
    warnings.simplefilter("ignore")
    chosen = {name: SECTIONS[name] for name in ([options.only] if options.only else SECTIONS)}
    progress = Progress(len(chosen))
    start = time.monotonic()
    shutil.rmtree(SCRATCH, ignore_errors=True)  # of a run that was killed
    spark = _session()
    sizes = (options.offsets_gib, options.traffic_gib)
    share = SMOKE_SHARE if options.smoke else 1
    data = DATA / "smoke" if options.smoke else DATA
    run = Run(spark, data, SCRATCH, options.rows, SLOW_ROWS, options.rounds, *sizes, share, progress)
    done: dict[str, Findings] = {}
    try:
        for name, (title, measure) in chosen.items():
            progress.begin(title)
            done[name] = measure(run)
            progress.end()
            show(done[name].tables)
            if not (options.only or options.smoke):
                RESULTS.write_text(results_text(done, list(chosen), _how(run, start)), encoding="utf-8")
    except (WrongRowsError, WrongBytesError, subprocess.CalledProcessError) as error:
        progress.end()
        print(error, file=sys.stderr)
        return 1
    finally:
        spark.stop()
        shutil.rmtree(SCRATCH, ignore_errors=True)
    show(_targets(done))
    print(_where())
    return 0


def _options() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="messages of a table (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="samples of each way (default: %(default)s)")
    parser.add_argument(
        "--offsets-gib", type=float, default=1, help="GiB of logs for the job offsets (default: %(default)s)"
    )
    parser.add_argument(
        "--traffic-gib", type=float, default=2, help="GiB of packets for the job traffic (default: %(default)s)"
    )
    parser.add_argument("--only", choices=tuple(SECTIONS), help="one section; writes no file")
    return parsed(parser, rows=2_000, rounds=1, offsets_gib=1 / 1024, traffic_gib=1 / 1024)


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


def _how(run: Run, start: float) -> str:
    return (
        f"`local[2]`, two tasks. {run.rows:,} messages in Parquet, {COMMIT.times} times as many of the small kind, and "
        f"{min(run.slow_rows, run.rows):,} for ways without the compiled kernel and for the plain UDF; each way's "
        "columns are made and thrown away. "
        f"CPU is processor time of the JVM and of all Python workers together, median of {run.rounds} rounds after "
        "a warm-up, with all ways in each round; rows a second are the best round's. Avro has equal "
        "content: all fields except unknown tagged ones. That our columns, Avro's and the plain UDF's have the same "
        "values is checked before. `plain UDF` decodes with the generated classes (and the compiled kernel) and "
        "makes tuples of them. from_protobuf is missing: its jar was not available for Spark 4. kafka-dump-log, "
        "`kipwire` and `kipspark` are programs of their own, with their start; kafka-dump-log runs in one thread. Both "
        "programs of a job run in turn, their tables are compared, and memory is the sum of all processes at its most. "
        "Seconds depend on what else the machine does; seconds of processor time, and ratios of them, hardly do. "
        f"Took {(time.monotonic() - start) / 60:.1f} minutes."
    )


def results_text(done: dict[str, Findings], chosen: list[str], how: str) -> str:
    """Return the text of the file of results so far, with a note on missing sections."""
    if missing := [name for name in chosen if name not in done]:
        how += f" Not measured, since the run did not end: {', '.join(missing)}."
    tables = [*_targets(done), *(table for findings in done.values() for table in findings.tables)]
    return markdown(tables, _where(), how, title="Results: Spark", command="make bench-spark")


def _where() -> Machine:
    names = ("kipwire", "pyspark", "pyarrow")
    return replace(machine(()), versions={name: version(name) for name in names} | {"spark-avro": AVRO})


def _targets(done: dict[str, Findings]) -> list[Table]:
    """Return the targets of the measured sections; no table if there are none."""
    rows = tuple(_row(verdict) for findings in done.values() for verdict in findings.verdicts)
    return [Table("Targets", ("target", "of", "figure", "bound", ""), rows)] if rows else []


def _row(one: Verdict) -> tuple[str, ...]:
    bound = f"{'at most' if one.at_most else 'at least'} {one.bound:g}"
    return one.target, one.what, f"{one.figure:.2f}", bound, "reached" if one.reached else "MISSED"


if __name__ == "__main__":
    sys.exit(main())
