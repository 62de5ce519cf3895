"""The jobs as the command line runs them: from places to reports, whose tables are computed when they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from kipspark import charts
from kipspark.errors import JobError
from kipspark.jobs import conform, encodings, metadata, offsets, traffic
from kipspark.jobs.replicas import without_copies
from kipspark.jobs.transactions import committed
from kipspark.live import COMMITTED_ONLY, READER_GROUPS, live, live_ends, live_stream
from kipspark.report import Chart, Report, Table
from kipspark.types import struct_type


def offsets_report(spark: SparkSession, path: Path) -> Report:
    """Groups over time, from the log folders of brokers."""
    # The content of other topics is not looked at, so only __consumer_offsets and the ends of batches stay.
    log = without_copies(spark.read.format("kafka_log").option("includeControl", "true").load(str(path))).persist()
    lagging = offsets.with_lag(offsets.commits(committed(log)), offsets.ends(log)).persist()
    over_time = lagging.where(sf.col("lag").isNotNull()).select(
        sf.concat_ws(" ", "group", sf.concat("topic", sf.lit("-"), "partition")).alias("name"), "time", "lag"
    )
    return Report(
        f"Consumer groups in {path}",
        (
            Table(
                "groups", "Where groups stand", offsets.latest(lagging), (sf.desc("lag"), "group", "topic", "partition")
            ),
            _membership_table(offsets.membership(committed(log))),
            _commits_table(lagging),
        ),
        (Chart("Lag over time", over_time.orderBy("time").limit(5000), charts.lag_over_time),),
        ("Lag is the end of a partition at the time of the commit less the offset that was committed.",),
    )


def live_offsets_report(spark: SparkSession, bootstrap_servers: str, options: Mapping[str, str]) -> Report:
    """Groups as they stand now, from the live `__consumer_offsets`.

    Raises:
        SourceError: as `live`.
    """
    # Kept, since reading adds to this topic: the groups that Spark reads with are members, too.
    log = live(spark, bootstrap_servers, [offsets.TOPIC], {**options, **COMMITTED_ONLY}).persist()
    commits = offsets.commits(log).persist()
    topics = [row["topic"] for row in commits.select("topic").distinct().collect()]
    groups = offsets.standing(commits, live_ends(spark, bootstrap_servers, topics, options))
    came_and_went = offsets.membership(log).where(~sf.col("group").startswith(READER_GROUPS))
    return Report(
        f"Consumer groups at {bootstrap_servers}",
        (
            Table("groups", "Where groups stand", groups, (sf.desc("lag"), "group", "topic", "partition")),
            _membership_table(came_and_went),
            _commits_table(commits),
        ),
        notes=(
            "Lag is the end of a partition now less the offset that was committed. What it was at the time of a commit "
            "only log folders tell: kipspark offsets PATH.",
            "Commits of transactions that were aborted do not count. While a transaction is open, commits that were "
            "made behind its own are not seen.",
            f"Groups that Spark reads with, {READER_GROUPS}-..., are left out of who came and went.",
        ),
    )


def _membership_table(events: DataFrame) -> Table:
    place = ("log_partition", "log_offset")
    return Table("membership", "Who came and went", events, ("time", *place, "event"), hidden=place)


def _commits_table(commits: DataFrame) -> Table:
    return Table(
        "commits",
        "The last commits",
        commits,
        (sf.desc("time"), "group", "topic", "partition"),
        hidden=("leader_epoch", "metadata", "is_deleted", "log_partition", "log_offset"),
        shown=10,
    )


def commits_of_folders(spark: SparkSession, path: Path) -> DataFrame:
    """Commits as a stream, from the log folders of one broker.

    Raises:
        JobError: there is no such folder.
    """
    if not path.exists():
        raise JobError(f"{path}: there is no such file or folder")
    return offsets.commits(spark.readStream.format("kafka_log").option("topics", offsets.TOPIC).load(str(path)))


def commits_of_brokers(spark: SparkSession, bootstrap_servers: str, options: Mapping[str, str]) -> DataFrame:
    """Commits as a stream, from the live `__consumer_offsets`, without those of transactions that were aborted.

    Raises:
        SourceError: as `live`.
    """
    return offsets.commits(live_stream(spark, bootstrap_servers, [offsets.TOPIC], {**options, **COMMITTED_ONLY}))


def write_stream(commits: DataFrame, out: Path, checkpoint: Path, seconds: int | None) -> None:
    """Write a stream to Parquet files as it comes; goes on where the checkpoint says.

    Args:
        commits: the stream.
        out: where the files go.
        checkpoint: what was read so far.
        seconds: how often to look for new ones; None: write what there is, and end.
    """
    writer = commits.writeStream.format("parquet").option("checkpointLocation", str(checkpoint)).outputMode("append")
    triggered = (
        writer.trigger(availableNow=True) if seconds is None else writer.trigger(processingTime=f"{seconds} seconds")
    )
    triggered.start(str(out)).awaitTermination()


def traffic_report(spark: SparkSession, path: Path) -> Report:
    """Who uses which APIs, from captures."""
    found = traffic.inspected(spark.read.format("kafka_frames").load(str(path))).persist()
    paired = traffic.exchanges(found).persist()
    apis = traffic.by_api(paired)
    slowest = apis.groupBy("api").agg(
        sf.max("latency_ms_median").alias("median"),
        sf.max("latency_ms_99").alias("high"),
        sf.sum("requests").alias("n"),
    )
    return Report(
        f"Traffic in {path}",
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
                "errors", "Error codes", traffic.errors(paired), (sf.desc("fields"), "api", "client_id", "path", "code")
            ),
            Table(
                "unknown_tags",
                "Tagged fields that Kafka 4.4 does not know",
                traffic.unknown_tags(found),
                ("api", "path", "tag"),
            ),
            Table("faults", "Frames that cannot be decoded", traffic.faults(found), ("capture", "number")),
            Table(
                "exchanges",
                "The slowest exchanges",
                paired.drop("error_codes", "request_unknown_tags", "response_unknown_tags"),
                (sf.desc("latency_ms"), "connection", "correlation_id"),
                hidden=("capture", "api_key", "listener", "software", "request_fault", "response_fault"),
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
        ("A Fetch waits for records as long as its client allows, so its latency is no sign of a slow broker.",),
    )


def metadata_report(spark: SparkSession, path: Path, at: str | None) -> Report:
    """The history of a cluster, from the folder of its metadata log or one above."""
    log = without_copies(spark.read.format("kafka_log").option("topics", metadata.TOPIC).load(str(path)))
    counting = metadata.until(metadata.records(log), at).persist()
    history = metadata.partition_history(counting).persist()
    changes = metadata.changes(counting)
    return Report(
        f"Cluster metadata in {path}" + (f" as of {at}" if at else ""),
        (
            Table("topics", "Topics", metadata.topics(counting), ("created", "topic")),
            Table("partitions", "Partitions", metadata.partitions(history), ("topic", "partition")),
            Table(
                "configs",
                "Configuration that is set",
                metadata.configs(counting),
                ("resource_type", "resource", "name"),
            ),
            Table("brokers", "Brokers", metadata.brokers(counting), ("broker_id",)),
            Table("partition_history", "The last changes of partitions", history, (sf.desc("offset"),), shown=10),
            Table("changes", "The last records", changes, (sf.desc("offset"),), shown=10),
        ),
        (
            Chart(
                "What changed when", changes.select(sf.col("type").alias("name"), "time").orderBy("time"), charts.events
            ),
        ),
        ("The state is that of the log. What was before the log starts stands in a snapshot, which is not read.",),
    )


def encodings_report(spark: SparkSession, path: Path) -> Report:
    """What KIP-625's encodings would save on the traffic of captures."""
    counted = encodings.counts(spark.read.format("kafka_frames").load(str(path))).persist()
    advice = encodings.advice(counted).persist()
    saved = advice.groupBy("message").agg(sf.sum("saved").alias("saved")).orderBy(sf.desc("saved")).limit(16)
    return Report(
        f"Integer encodings for the traffic in {path}",
        (
            Table(
                "advice",
                "Fields that would save most",
                advice,
                (sf.desc("saved"), "message", "path"),
                hidden=("is_element", "negative"),
            ),
            Table("counts", "Messages", counted, (sf.desc("messages"), "message"), hidden=("counts",)),
        ),
        (Chart("Bytes saved by message", saved.select(sf.col("message").alias("name"), "saved"), charts.savings),),
        ("saved: bytes less than with the fixed form of the type's width. For a spec to paste into: kipgen advise.",),
    )


def conform_report(spark: SparkSession, packages: list[str], count: int, seed: int, golden: Path | None) -> Report:
    """Random messages of every version through all ways of reading and writing, and golden messages if given."""
    known = conform.cases(packages, count, seed)
    rows = [tuple(case[name] for name in conform.CASES_SCHEMA.names) for case in known]
    # A partition for every few classes: reading them takes longer than checking their messages.
    cases = spark.createDataFrame(rows, struct_type(conform.CASES_SCHEMA)).repartition(max(len(rows) // 64, 1), "seed")
    tables = [
        Table(
            "differences", "Random messages that differ", conform.differences(cases), ("package", "message", "version")
        )
    ]
    notes = [f"{len(known) * count:,} random messages in {len(known)} versions of messages, seed {seed}."]
    if golden is not None:
        corpus = golden_corpus(spark, golden)
        tables.append(
            Table(
                "golden",
                "Golden messages that differ",
                conform.golden_differences(corpus),
                ("package", "message", "version"),
            )
        )
        notes.append(f"{corpus.count():,} golden messages from {golden}.")
    return Report("Conformance", tuple(tables), (), tuple(notes))


def golden_corpus(spark: SparkSession, path: Path) -> DataFrame:
    """Golden messages: JSON lines of the kind `message`, as tests/golden has them; files may be packed with gzip."""
    if not path.exists():
        raise JobError(f"{path}: there is no such file or folder")
    text = sf.col("value")
    schema = "kind string, message string, version smallint, hex string"
    return (
        spark.read.option("pathGlobFilter", "*.jsonl*")
        .text(str(path))
        .select(sf.from_json(text, schema).alias("line"), sf.get_json_object(text, "$.json").alias("json"))
        .where((sf.col("line.kind") == "message") & sf.col("line.hex").isNotNull() & sf.col("json").isNotNull())
        .select(
            sf.lit("kafka_messages").alias("package"),
            "line.message",
            "line.version",
            sf.unhex("line.hex").alias("bytes"),
            "json",
        )
    )
