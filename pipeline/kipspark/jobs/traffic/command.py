"""`kipspark traffic`: its report and its options."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from kipjobs.errors import JobError
from kipjobs.files.roots import Roots, shown_roots
from kipspark.jobs import traffic
from kipspark.jobs.shared.options import Captures, Html, Master, Out, Ports, Remote, TableFormat, captures
from kipspark.jobs.shared.reading import frames
from kipspark.jobs.shared.running import run
from kipspark.report import charts
from kipspark.report.metrics import Gauge, Metrics
from kipspark.report.outputs import Format
from kipspark.report.report import Chart, Report, Table
from kipwire.traffic.upgrades import line_of, releases

LATEST = releases()[-1]
"""The newest line of releases of Kafka that is known."""


def traffic_report(spark: SparkSession, roots: Roots, ports: str = "", release: str = LATEST) -> Report:
    """Who uses which APIs, from captures, and what a release of Kafka does not serve of it.

    Of packets, only connections to the given ports are read, if any.
    """
    found = traffic.inspected(frames(spark, roots, ports)).persist()
    paired = traffic.exchanges(found).persist()
    apis = traffic.by_api(paired)
    missing = traffic.unserved(paired, release).persist()
    slowest = apis.groupBy("api").agg(
        sf.max("latency_ms_median").alias("median"),
        sf.max("latency_ms_99").alias("high"),
        sf.sum("requests").alias("n"),
    )
    return Report(
        f"Traffic in {shown_roots(roots)}",
        (
            Table(
                "clients",
                "Clients and the APIs they use",
                traffic.by_client(paired),
                (sf.desc("requests"), "client_id", "api"),
                hidden=("responses", "latency_ms_highest"),
            ),
            Table("apis", "APIs and versions", apis, (sf.desc("requests"), "api", "api_version")),
            Table(
                "unserved",
                f"What Kafka {release} does not serve",
                missing,
                ("client_id", sf.desc("requests"), "api", "api_version"),
                hidden=("api_key",),
            ),
            Table(
                "error_codes",
                "Error codes",
                traffic.error_codes(paired),
                (sf.desc("fields"), "api", "client_id", "path", "code"),
            ),
            Table(
                "unknown_tags",
                "Tagged fields that Kafka 4.4 does not know",
                traffic.unknown_tags(found),
                ("api", "path", "tag"),
            ),
            Table(
                "errors",
                "What cannot be decoded",
                traffic.errors(found),
                ("capture", "number", "connection", "direction", "error"),
                hidden=("capture",),
            ),
            Table(
                "exchanges",
                "The slowest exchanges",
                paired.drop("error_codes", "request_unknown_tags", "response_unknown_tags"),
                (sf.desc("latency_ms"), "connection", "correlation_id"),
                hidden=("capture", "api_key", "listener", "software", "request_error", "response_error"),
                shown=5,
            ),
        ),
        (
            Chart(
                "Latency by API",
                slowest.orderBy(sf.desc("n")).limit(16).select(sf.col("api").alias("name"), "median", "high"),
                charts.latencies,
            ),
        ),
        ("A Fetch waits for records as long as its client allows, so its latency does not indicate a slow broker.",),
        metrics=metrics_of(missing, release),
    )


def metrics_of(missing: DataFrame, release: str) -> tuple[Metrics, ...]:
    """How many requests of each client an upgrade would break.

    Args:
        missing: of `traffic.unserved`.
        release: the one of which it is.
    """
    labels = ("client_id", "software", "api", "api_version", "release", "fix")
    requests = Gauge(
        "kipspark_unserved_requests",
        "Captured requests that the release of Kafka does not serve.",
        "requests",
        {label: label for label in labels},
    )
    plain = missing.withColumn("release", sf.lit(release)).na.fill("", ["client_id", "software", "fix"])
    return (Metrics(plain, (requests,)),)


def command(
    path: Captures = None,
    ports: Ports = "",
    upgrade_to: Annotated[
        str, typer.Option(help="Release of Kafka, such as 4.4: whose requests does it not serve?", metavar="RELEASE")
    ] = LATEST,
    out: Out = None,
    table_format: TableFormat = Format.PARQUET,
    html: Html = None,
    metrics: Annotated[
        str | None,
        typer.Option(
            help="File for the requests that the release does not serve, in Prometheus' text format; - is standard "
            "output.",
            metavar="FILE",
        ),
    ] = None,
    master: Master = None,
    remote: Remote = None,
) -> None:
    """Run `kipspark traffic`."""
    try:
        release = line_of(upgrade_to)
    except ValueError as error:
        raise JobError(f"--upgrade-to: {error}") from None
    found = captures(path, ports, remote)
    report = partial(traffic_report, roots=found.paths, ports=ports, release=release)
    run(report, out, html, master, remote, size=found.size, table_format=table_format, metrics=metrics)
