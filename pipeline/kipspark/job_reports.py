"""The reports of the jobs, as the command line runs them.

Only what the notes say is computed here; the rest is computed when a report is shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from kipspark.errors import JobError
from kipspark.interrupts import ctrl_c
from kipspark.jobs import conform, encodings, metadata, offsets, traffic
from kipspark.jobs.replicas import without_copies
from kipspark.jobs.transactions import committed
from kipspark.report import charts
from kipspark.report.report import Chart, Report, Table
from kipspark.spark.live import COMMITTED_ONLY, READER_GROUPS, live, live_ends, live_stream
from kipspark.spark.types import struct_type
from kipwire.tools.terminal import OUT

_SECONDS_BETWEEN_LOOKS = 0.2
"""How often to check whether a stream still runs."""
_NO_LEADER = -1
_DOTS = 5000
"""The most dots of a chart over time; the last ones are shown."""


def offsets_report(spark: SparkSession, path: Path) -> Report:
    """Groups over time, from the log folders of brokers."""
    # The records of other topics are not read: the heads of their batches say where partitions end.
    heads = {"includeControl": "true", "level": "batches", "columns": ",".join(offsets.OF_BATCHES)}
    batches = spark.read.format("kafka_log").options(**heads).load(str(path))
    topic = spark.read.format("kafka_log").options(includeControl="true", topics=offsets.TOPIC)
    log = without_copies(topic.load(str(path))).persist()
    lagging = offsets.with_lag(offsets.commits(committed(log)), offsets.ends(batches)).persist()
    over_time = lagging.where(sf.col("lag").isNotNull()).select(
        sf.concat_ws(" ", "group", sf.concat("topic", sf.lit("-"), "partition")).alias("name"), "time", "lag"
    )
    return Report(
        f"Consumer groups in {path}",
        (
            Table(
                "groups",
                "Offsets and lag of groups",
                offsets.latest(lagging),
                (sf.desc("lag"), "group", "topic", "partition"),
            ),
            _membership_table(offsets.membership(committed(log))),
            _commits_table(lagging),
        ),
        (Chart("Lag over time", over_time.orderBy(sf.desc("time")).limit(_DOTS), charts.lag_over_time),),
        ("Lag is the end of the partition at the time of the commit minus the committed offset.",),
    )


def live_offsets_report(spark: SparkSession, bootstrap_servers: str, options: Mapping[str, str]) -> Report:
    """Groups at present, from the live `__consumer_offsets`.

    Raises:
        SourceError: as `live`.
    """
    # Persisted, since reading adds records to this topic: the groups that Spark reads with have members, too.
    log = live(spark, bootstrap_servers, [offsets.TOPIC], {**options, **COMMITTED_ONLY}).persist()
    commits = offsets.commits(log).persist()
    topics = [row["topic"] for row in commits.select("topic").distinct().collect()]
    groups = offsets.latest_with_ends(commits, live_ends(spark, bootstrap_servers, topics, options))
    came_and_went = offsets.membership(log).where(~sf.col("group").startswith(READER_GROUPS))
    return Report(
        f"Consumer groups at {bootstrap_servers}",
        (
            Table("groups", "Offsets and lag of groups", groups, (sf.desc("lag"), "group", "topic", "partition")),
            _membership_table(came_and_went),
            _commits_table(commits),
        ),
        notes=(
            "Lag is the present end of the partition minus the committed offset. Lag at the time of each commit is "
            "known only from log folders: kipspark offsets PATH.",
            "Commits of aborted transactions do not count. While a transaction is open, commits after its own are "
            "not visible.",
            f"The groups that Spark itself reads with, {READER_GROUPS}-..., are not listed under who came and went.",
        ),
    )


def _membership_table(events: DataFrame) -> Table:
    position = ("log_partition", "log_offset")
    return Table("membership", "Who came and went", events, ("time", *position, "event"), hidden=position)


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
    """Commits as a stream, from the live `__consumer_offsets`, without those of aborted transactions.

    Raises:
        SourceError: as `live`.
    """
    return offsets.commits(live_stream(spark, bootstrap_servers, [offsets.TOPIC], {**options, **COMMITTED_ONLY}))


def write_stream(commits: DataFrame, out: Path, checkpoint: Path, seconds: int | None) -> None:
    """Write a stream to Parquet files as it arrives, from where the checkpoint ends.

    Args:
        commits: the stream.
        out: where the files go.
        checkpoint: what was read so far.
        seconds: between two reads; None: write what there is, then end.
    """
    writer = commits.writeStream.format("parquet").option("checkpointLocation", str(checkpoint)).outputMode("append")
    triggered = (
        writer.trigger(availableNow=True) if seconds is None else writer.trigger(processingTime=f"{seconds} seconds")
    )
    with ctrl_c() as pressed:
        query = triggered.start(str(out))
        while query.isActive and not pressed.wait(_SECONDS_BETWEEN_LOOKS):
            pass
        if pressed.is_set():
            query.stop()
            OUT.print(f"\nStopped. A run with the same --checkpoint continues where this one ended: {checkpoint}")
        else:
            query.awaitTermination()  # raises the error that ended it, if any


def traffic_report(spark: SparkSession, path: Path, ports: str = "") -> Report:
    """Who uses which APIs, from captures; of packets, only connections to the given ports, if any."""
    found = traffic.inspected(_frames(spark, path, ports)).persist()
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


def metadata_report(spark: SparkSession, path: Path, at: datetime | None) -> Report:
    """The history of a cluster, from the folder of its metadata log or a folder above it.

    Raises:
        JobError: there are no records of it, or none up to that time.
    """
    log_format = spark.read.format("kafka_log").options(topics=metadata.TOPIC, includeControl="true")
    log = without_copies(log_format.load(str(path))).persist()
    snapshot_format = spark.read.format("kafka_snapshot").options(topics=metadata.TOPIC)
    snapshot = metadata.until(snapshot_format.load(str(path)), at).persist()
    origin = _origin(path, at, log, snapshot)
    records = metadata.records(metadata.until(log, at)).persist()
    counting = metadata.with_snapshot(records, snapshot).persist()
    history = metadata.partition_history(counting).persist()
    changes = metadata.changes(records)
    has_no_leader = sf.coalesce("leader", sf.lit(_NO_LEADER)) == _NO_LEADER
    lacks_replicas = sf.size("isr") < sf.size("replicas")
    return Report(
        f"Cluster metadata in {path}" + (f" as of {_utc(at)}" if at else ""),
        (
            Table("topics", "Topics", metadata.topics(counting), ("created", "topic")),
            Table(
                "partitions",
                "Partitions",
                metadata.partitions(history),
                (has_no_leader.desc(), lacks_replicas.desc(), "topic", "partition"),
            ),
            Table(
                "configs",
                "Configuration that is set",
                metadata.configs(counting),
                ("resource_type", "resource", "name"),
            ),
            Table("brokers", "Brokers", metadata.brokers(counting), (sf.desc("is_fenced"), "broker_id")),
            Table("partition_history", "The last changes of partitions", history, (sf.desc("offset"),), shown=10),
            Table("changes", "The last records", changes, (sf.desc("offset"),), shown=10),
        ),
        (
            Chart(
                "What changed when",
                changes.select(sf.col("type").alias("name"), "time").orderBy(sf.desc("offset")).limit(_DOTS),
                charts.events,
            ),
        ),
        (origin,),
    )


def _origin(path: Path, at: datetime | None, log: DataFrame, snapshot: DataFrame) -> str:
    """A note that says what the state of a cluster was computed from."""
    span = (sf.min("offset").alias("first"), sf.max("offset").alias("last"), sf.min("timestamp").alias("since"))
    (whole,) = log.agg(*span).toArrow().to_pylist()
    if whole["first"] is None:
        raise nothing_of(path)
    (used,) = metadata.until(log, at).agg(*span).toArrow().to_pylist()
    if at is not None and used["last"] is None:
        raise JobError(f"{path}: nothing is known as of {_utc(at)}: the log begins at {_utc(whole['since'])}")
    taken = snapshot.select("snapshot", "end_offset", "timestamp").distinct().toArrow().to_pylist()
    if taken:
        (first,) = taken
        return (
            f"The state comes from the snapshot {Path(first['snapshot']).name}, which covers what was before "
            f"offset {first['end_offset']} ({_utc(first['timestamp'])}), and from the log after it to offset "
            f"{used['last']}. Times that the snapshot does not have are blank."
        )
    if whole["first"] == 0:
        return f"The state comes from the log alone, from its first record to offset {used['last']}."
    return (
        f"The state comes from the log alone, from offset {whole['first']} to {used['last']}. Earlier changes are "
        f"missing: the log does not begin at 0, and there is no snapshot{'' if at is None else ' of that time'}."
    )


def nothing_of(path: Path) -> JobError:
    """The error of a path without the metadata log."""
    where = f"the folder {metadata.TOPIC}-0 is in the log folder of a controller, or in its metadata.log.dir"
    return JobError(f"{path}: no records of {metadata.TOPIC}; {where}")


def _utc(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def encodings_report(spark: SparkSession, path: Path, ports: str = "") -> Report:
    """What KIP-625's encodings would save on the traffic of captures; `ports` as for `traffic_report`."""
    counted = encodings.counts(_frames(spark, path, ports)).persist()
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
        ("saved: bytes saved compared with the fixed encoding of the type. For changes to specs: kipgen advise.",),
    )


def conform_report(spark: SparkSession, packages: list[str], count: int, seed: int, golden: Path | None) -> Report:
    """Random messages of every version through all ways of reading and writing, and golden messages if given."""
    known = conform.cases(packages, count, seed)
    rows = [tuple(case[name] for name in conform.CASES_SCHEMA.names) for case in known]
    # A partition for every few classes: reading them takes longer than checking their messages.
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


_NO_GOLDEN = "no golden messages; expected lines of the kind message in *.jsonl or *.jsonl.gz"


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
    """Golden messages: JSON lines of the kind `message`, as tests/golden has them; files may be compressed with gzip.

    Lines that cannot be read are rows too, with nulls, so that a damaged file does not pass as a smaller one.

    Raises:
        JobError: as `check_golden`.
    """
    check_golden(path)
    text = sf.col("value")
    schema = "kind string, message string, version smallint, hex string"
    return (
        spark.read.option("pathGlobFilter", "*.jsonl*")
        .text(str(path))
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


def _frames(spark: SparkSession, path: Path, ports: str) -> DataFrame:
    return spark.read.format("kafka_frames").option("ports", ports).load(str(path))
