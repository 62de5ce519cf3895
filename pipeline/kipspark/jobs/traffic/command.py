"""`kipspark traffic`: its report and its options."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from kipspark.files.roots import Roots, shown_roots
from kipspark.jobs import traffic
from kipspark.jobs.shared.reading import frames
from kipspark.jobs.shared.running import on_captures
from kipspark.report import charts
from kipspark.report.report import Chart, Report, Table


def traffic_report(spark: SparkSession, roots: Roots, ports: str = "") -> Report:
    """Who uses which APIs, from captures; of packets, only connections to the given ports, if any."""
    found = traffic.inspected(frames(spark, roots, ports)).persist()
    paired = traffic.exchanges(found).persist()
    apis = traffic.by_api(paired)
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
    )


command = on_captures(traffic_report)
"""Run `kipspark traffic`."""
