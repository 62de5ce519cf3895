"""`kipspark traffic`: its report and its options.

The report chooses tables of `tables`, which decodes frames and pairs them; versions and fixes come from
`kipwire.traffic`, as `kipwire tap` has them, so that both give the same verdict on an upgrade. What a release does not
serve is a table of what is wrong, and a metric.
"""

from __future__ import annotations

from functools import partial

import click

from kipjobs.engines import DataFrame, Session, functions_of
from kipjobs.jobs import traffic
from kipjobs.jobs.shared.options import CAPTURES, PORTS, Outputs, captures, outputs
from kipjobs.jobs.shared.reading import frames
from kipjobs.jobs.shared.running import Runner, run
from kipjobs.report import charts
from kipjobs.report.metrics import Gauge, Metrics
from kipjobs.report.report import Chart, Report, Table
from kipwire.cli.apis import registry_named
from kipwire.cli.options import more_packages_option
from kipwire.message.registry import KAFKA_PACKAGE
from kipwire.model.errors import PackageError
from kipwire.tables.errors import JobError
from kipwire.tables.files.roots import Roots, roots_text
from kipwire.traffic.upgrades import line_of, releases

LATEST = releases()[-1]
"""The newest line of releases of Kafka that is known."""

_OF_EXCHANGES = (
    *("latency_ms", "max_wait_ms", "api", "api_version", "client_id", "errors", "timestamp"),
    *("request_bytes", "response_bytes", "connection", "correlation_id"),
)
_HIDDEN = ("capture", "api_key", "listener", "software", "request_error", "response_error")
"""Columns of exchanges that only files have."""


def traffic_report(
    session: Session, roots: Roots, ports: str = "", release: str = LATEST, packages: tuple[str, ...] = ()
) -> Report:
    """Report the use of APIs by clients, from captures, and the requests that a release of Kafka does not serve.

    In packets, only connections to the given ports are read, if any are given. Packages have APIs beside Kafka's.
    """
    sf = functions_of(session)
    found = traffic.inspect_all(frames(session, roots, ports, packages), packages).persist()
    paired = traffic.exchanges(found).persist()
    apis = traffic.by_api(paired)
    missing = traffic.unserved(paired, release).persist()
    broken = traffic.errors(found)
    unread = traffic.unread(broken).persist()
    totals = traffic.totals(found, paired, missing, broken).persist()
    slowest = apis.groupBy("api").agg(
        sf.max("latency_ms_median").alias("median"),
        sf.max("latency_ms_99").alias("high"),
        sf.sum("requests").alias("n"),
    )
    return Report(
        "Traffic",
        (
            Table(
                "unserved",
                f"What Kafka {release} does not serve",
                missing,
                ("client_id", sf.desc("requests"), "api", "api_version"),
                hidden=("api_key",),
                is_wrong=True,
                none="none of the requests that were read",
            ),
            Table(
                "unread",
                "What was not read",
                unread,
                (sf.desc("bytes"), "reason"),
                is_wrong=True,
                none="nothing",
            ),
            Table(
                "errors",
                "What cannot be decoded",
                broken,
                ("capture", "number", "connection", "direction", "error"),
                hidden=("capture", "reason", "unread_bytes"),
                is_wrong=True,
            ),
            Table(
                "clients",
                "Clients and the APIs they use",
                traffic.by_client(paired),
                (sf.desc("requests"), "client_id", "api"),
                hidden=("responses", "latency_ms_highest"),
                flag="with_errors",
            ),
            Table("apis", "APIs and versions", apis, (sf.desc("requests"), "api", "api_version"), flag="with_errors"),
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
                "exchanges",
                "The slowest exchanges",
                paired.withColumn("errors", traffic.error_names(sf)).select(*_OF_EXCHANGES, *_HIDDEN),
                (traffic.slowness(sf).desc(), "connection", "correlation_id"),
                hidden=_HIDDEN,
                shown=5,
                note="Slowest without what clients let brokers wait for, which a Fetch does for records (max wait ms).",
                flag="errors",
            ),
        ),
        (
            Chart(
                "Latency by API",
                # Without APIs that wait for records: their latency is the clients' choice.
                slowest.where(~sf.col("api").isin(*traffic.WAITING))
                .orderBy(sf.desc("n"), "api")
                .limit(16)
                .select(sf.col("api").alias("name"), "median", "high"),
                charts.latencies,
            ),
        ),
        metrics=(*metrics_of(missing, release), *evidence_of(totals, unread)),
        where=roots_text(roots),
        totals=totals,
    )


def metrics_of(missing: DataFrame, release: str) -> tuple[Metrics, ...]:
    """Return the number of requests of each client that an upgrade would break, as metrics.

    Args:
        missing: of `traffic.unserved`.
        release: the release of Kafka for which it was computed.
    """
    sf = functions_of(missing)
    labels = ("client_id", "software", "api", "api_version", "release", "fix")
    requests = Gauge(
        "kipwire_unserved_requests",
        "Captured requests that the release of Kafka does not serve.",
        "requests",
        {label: label for label in labels},
    )
    plain = missing.withColumn("release", sf.lit(release))
    for name in ("client_id", "software", "fix"):
        plain = plain.withColumn(name, sf.coalesce(name, sf.lit("")))
    return (Metrics(plain, (requests,)),)


def evidence_of(totals: DataFrame, unread: DataFrame) -> tuple[Metrics, ...]:
    """Return what was read and what was not, as metrics: without requests nothing is known of an upgrade.

    Args:
        totals: of `traffic.totals`.
        unread: of `traffic.unread`.
    """
    read = (
        Gauge("kipwire_read_requests", "Captured requests that were read.", "requests"),
        Gauge("kipwire_read_clients", "Client ids of the captured requests that were read.", "clients"),
    )
    missed = Gauge("kipwire_unread_bytes", "Captured bytes that were not read.", "bytes", {"reason": "reason"})
    return Metrics(totals, read), Metrics(unread, (missed,))


@CAPTURES
@PORTS
@more_packages_option
@click.option(
    "--upgrade-to",
    default=LATEST,
    metavar="RELEASE",
    help="Release of Kafka, such as 4.4: whose requests does it not serve?",
)
@outputs("File for the requests that the release does not serve, in Prometheus' text format.")
def command(
    runner: Runner, path: tuple[str, ...], ports: str, packages: tuple[str, ...], upgrade_to: str, outputs: Outputs
) -> None:
    """Run the job."""
    try:
        registry_named(KAFKA_PACKAGE, *packages)
        release = line_of(upgrade_to)
    except PackageError as error:
        raise JobError(str(error)) from None
    except ValueError as error:
        raise JobError(f"--upgrade-to: {error}") from None
    found = captures(path, ports, runner.are_here)
    report_of = partial(traffic_report, roots=found.paths, ports=ports, release=release, packages=packages)
    run(runner, report_of, outputs, found.size)
