"""`kipspark traffic`: its report and its options."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from kipjobs.engines import DataFrame, Session, functions_of
from kipjobs.errors import JobError
from kipjobs.files.roots import Roots, shown_roots
from kipjobs.jobs import traffic
from kipjobs.jobs.shared.options import CAPTURES, PORTS, Outputs, captures, outputs
from kipjobs.jobs.shared.reading import frames
from kipjobs.jobs.shared.running import Runner, run
from kipjobs.report import charts
from kipjobs.report.metrics import Gauge, Metrics
from kipjobs.report.outputs import Format
from kipjobs.report.report import Chart, Report, Table
from kipwire.traffic.upgrades import line_of, releases

LATEST = releases()[-1]
"""The newest line of releases of Kafka that is known."""


def traffic_report(session: Session, roots: Roots, ports: str = "", release: str = LATEST) -> Report:
    """Who uses which APIs, from captures, and what a release of Kafka does not serve of it.

    Of packets, only connections to the given ports are read, if any.
    """
    sf = functions_of(session)
    found = traffic.inspected(frames(session, roots, ports)).persist()
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
    sf = functions_of(missing)
    labels = ("client_id", "software", "api", "api_version", "release", "fix")
    requests = Gauge(
        "kipspark_unserved_requests",
        "Captured requests that the release of Kafka does not serve.",
        "requests",
        {label: label for label in labels},
    )
    plain = missing.withColumn("release", sf.lit(release))
    for name in ("client_id", "software", "fix"):
        plain = plain.withColumn(name, sf.coalesce(name, sf.lit("")))
    return (Metrics(plain, (requests,)),)


@CAPTURES
@PORTS
@click.option(
    "--upgrade-to",
    default=LATEST,
    metavar="RELEASE",
    help="Release of Kafka, such as 4.4: whose requests does it not serve?",
)
@outputs
@click.option(
    "--metrics",
    metavar="FILE",
    help="File for the requests that the release does not serve, in Prometheus' text format; - is standard output.",
)
def command(
    runner: Runner,
    path: tuple[str, ...],
    ports: str,
    upgrade_to: str,
    out: Path | None,
    table_format: Format,
    html: Path | None,
    metrics: str | None,
) -> None:
    """Run the job."""
    try:
        release = line_of(upgrade_to)
    except ValueError as error:
        raise JobError(f"--upgrade-to: {error}") from None
    found = captures(path, ports, runner.are_here)
    report_of = partial(traffic_report, roots=found.paths, ports=ports, release=release)
    run(runner, report_of, Outputs(out, table_format, html, metrics), found.size)
