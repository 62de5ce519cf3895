"""`kipspark conform`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kipspark.commands.app import app
from kipspark.commands.options import Html, Master, Out, Remote, TableFormat
from kipspark.commands.running import run
from kipspark.jobs.conform.report import check_golden, conform_report
from kipspark.report.formats import Format
from kipwire.registry import registry_of


@app.command()
def conform(
    count: Annotated[int, typer.Option(min=1, help="Random messages of each version.")] = 100,
    seed: Annotated[int, typer.Option(help="The same seed gives the same messages.")] = 0,
    package: Annotated[list[str] | None, typer.Option(help="Generated packages; by default Kafka's.")] = None,
    golden: Annotated[
        Path | None, typer.Option(help="Files of golden messages, as in tests/golden.", resolve_path=True)
    ] = None,
    out: Out = None,
    table_format: TableFormat = Format.PARQUET,
    html: Html = None,
    master: Master = None,
    remote: Remote = None,
) -> None:
    """Check that encode, decode, JSON and columns agree; exit status 1 if anything differs."""
    packages = package or ["kafka_messages"]
    for name in packages:
        registry_of(name)  # raises before Spark starts
    if golden is not None:
        check_golden(golden)
    report = lambda spark: conform_report(spark, packages, count, seed, golden)  # noqa: E731
    if run(report, out, html, master, remote, table_format=table_format):
        raise typer.Exit(1)
