"""`kipspark conform`: its report and its options."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from kipjobs.errors import JobError
from kipjobs.files.access import read_path
from kipjobs.jobs.shared.options import Outputs, outputs
from kipjobs.jobs.shared.running import run
from kipjobs.report.report import Report, Table
from kipspark.arrow import struct_type
from kipspark.jobs import conform
from kipspark.running import OnSpark
from kipwire.message.registry import registry_of

_NO_GOLDEN = "no golden messages; expected lines of the kind message in *.jsonl or *.jsonl.gz"


def conform_report(spark: SparkSession, packages: list[str], count: int, seed: int, golden: Path | None) -> Report:
    """Check all ways of reading and writing with random messages of every version, and golden messages if given."""
    known = conform.cases(packages, count, seed)
    rows = [tuple(case[name] for name in conform.CASES_SCHEMA.names) for case in known]
    # A partition for every few classes: importing them takes longer than checking their messages.
    cases = spark.createDataFrame(rows, struct_type(conform.CASES_SCHEMA)).repartition(max(len(rows) // 64, 1), "seed")
    different = conform.differences(cases).persist()
    tables = [Table("differences", "Random messages that differ", different, ("package", "message", "version"))]
    notes = [f"{len(known) * count:,} random messages in {len(known)} versions of messages, seed {seed}."]
    if golden is not None:
        corpus = golden_corpus(spark, golden).persist()
        known_bytes = corpus.count()
        if not known_bytes:
            raise JobError(f"{golden}: {_NO_GOLDEN}")
        different = conform.golden_differences(corpus).persist()
        tables.append(Table("golden", "Golden messages that differ", different, ("package", "message", "version")))
        notes.append(f"{known_bytes:,} golden messages from {golden}.")
    return Report("Conformance", tuple(tables), (), tuple(notes))


def check_golden(path: Path) -> None:
    """Check that there may be golden messages at a path.

    Raises:
        JobError: it does not exist, or has no such files.
    """
    if not path.exists():
        raise JobError(f"{path}: there is no such file or folder")
    if path.is_dir() and not any(path.glob("*.jsonl*")):
        raise JobError(f"{path}: {_NO_GOLDEN}")


def golden_corpus(spark: SparkSession, path: Path) -> DataFrame:
    """Read golden messages: JSON lines of the kind `message`, as in tests/golden; files may be compressed with gzip.

    Lines that cannot be read are rows too, with nulls, so that a damaged file does not pass as a smaller one.

    Raises:
        JobError: as `check_golden`.
    """
    check_golden(path)
    text = sf.col("value")
    schema = "kind string, message string, version smallint, hex string"
    return (
        spark.read.option("pathGlobFilter", "*.jsonl*")
        .text(read_path(path))
        .where(sf.trim(text) != "")
        .select(sf.from_json(text, schema).alias("line"), sf.get_json_object(text, "$.json").alias("json"))
        .where(sf.coalesce("line.kind", sf.lit("message")) == "message")
        .select(
            sf.lit("kafka_messages").alias("package"),
            "line.message",
            "line.version",
            sf.unhex("line.hex").alias("bytes"),
            "json",
        )
    )


@click.option("--count", type=click.IntRange(min=1), default=100, help="Random messages of each version.")
@click.option("--seed", type=int, default=0, help="The same seed gives the same messages.")
@click.option("--package", multiple=True, metavar="PACKAGE", help="Generated packages; by default Kafka's.")
@click.option(
    "--golden",
    type=click.Path(path_type=Path, resolve_path=True),
    metavar="PATH",
    help="Files of golden messages, as in tests/golden.",
)
@outputs()
def command(
    runner: OnSpark,
    count: int,
    seed: int,
    package: tuple[str, ...],
    golden: Path | None,
    outputs: Outputs,
) -> None:
    """Run `kipspark conform`."""
    packages = list(package) or ["kafka_messages"]
    for name in packages:
        registry_of(name)  # raises before Spark starts
    if golden is not None:
        check_golden(golden)
    report_of = partial(conform_report, packages=packages, count=count, seed=seed, golden=golden)
    if run(runner, report_of, outputs):
        click.get_current_context().exit(1)
