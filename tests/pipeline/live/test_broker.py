"""The pipeline against a real broker: what real clients did to it is what its tables say. For `make test-broker`."""

from __future__ import annotations

import base64
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any, NamedTuple

import pytest
from kafka import KafkaProducer
from kafka.admin import (
    ConfigResource,
    ConfigResourceType,
    NewTopic,
    OffsetSpec,  # pyright: ignore[reportAttributeAccessIssue]
)
from kafka.structs import TopicPartition
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery

import kafka_messages
from kipjobs.jobs.metadata.report import metadata_report
from kipjobs.jobs.offsets.report import offsets_report
from kipjobs.jobs.shared.reading import committed
from kipjobs.jobs.traffic.command import traffic_report
from kipjobs.report.metrics import exposition
from kipspark.spark.session import open_session
from kipwire.records import partitions, read_batches
from kipwire.tables.sources.log_columns import LOG_SCHEMA
from tests.support.live import broker_traffic as traffic
from tests.support.live.broker_traffic import Sent
from tests.support.live.kafka_tools import lag_by_kafka, offsets_by_kafka, tool
from tests.support.live.real_broker import ADDRESS, LOGS
from tests.support.subjects.both_engines import Both
from tests.support.subjects.exposition import by_labels, samples

pytestmark = [
    pytest.mark.broker,
    pytest.mark.new_broker,
    pytest.mark.xdist_group("broker"),
    # py4j, Spark and the clients leave sockets and files to be collected; pandas has deprecated what Spark still uses.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

STREAMED, LAGGING, EMPTY = "streamed", "lagging", "empty"


class Done(NamedTuple):
    """Traffic of the clients before the tests begin."""

    sent: list[Sent]
    aborted: list[Sent]
    consumed: dict[str, int]


@pytest.fixture(scope="session")
def packets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder for what tcpdump captures while the clients work; it stays empty where that is not allowed."""
    return tmp_path_factory.mktemp("packets")


@pytest.fixture(scope="session")
def done(packets: Path) -> Done:
    with traffic.captured(int(ADDRESS.rpartition(":")[2]), packets / "dump.pcap"):
        return work()


def work() -> Done:
    """Let all clients do what they do."""
    traffic.change_topics(ADDRESS)
    sent = traffic.send_with_kafka_python(ADDRESS, ["orders", traffic.COMPACTED, traffic.AGAIN], 200)
    sent += traffic.send_with_aiokafka(ADDRESS, "orders", 100)
    sent += traffic.fill_segments(ADDRESS)
    paid, aborted = traffic.send_in_transactions(ADDRESS, "payers")
    consumed = {
        "readers": traffic.consume(ADDRESS, "readers", ["orders", traffic.COMPACTED], 100),
        "others": traffic.consume(ADDRESS, "others", ["orders", traffic.TRANSACTIONAL], 333),
        "leavers": traffic.consume(ADDRESS, "leavers", [traffic.AGAIN], 50),
    }
    with traffic.admin_client(ADDRESS) as admin:
        admin.delete_groups(["leavers"])
    java_consumer("java-classic", "classic")
    java_consumer("java-new", "consumer")
    return Done(sent + paid, aborted, consumed)


def java_consumer(group: str, protocol: str) -> None:
    """Read `orders` with Kafka's own consumer, by the old group protocol or by KIP-848's, and commit."""
    tool(
        *("org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", ADDRESS, "--topic", "orders"),
        *("--group", group, "--from-beginning", "--timeout-ms", "4000"),
        *("--command-property", f"group.protocol={protocol}"),
    )


def configs_of_all_brokers() -> list[tuple[str, str]]:
    """Return the configs set for all brokers of the cluster, which kafka-python cannot request."""
    named = ("--entity-type", "brokers", "--entity-default")
    text = tool("org.apache.kafka.tools.ConfigCommand", "--bootstrap-server", ADDRESS, "--describe", *named)
    return re.findall(r"^  (\S+?)=(\S*) sensitive=", text, re.MULTILINE)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = open_session("local[2]")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def both(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Both engines, which must give the same reports; tests compare the one in the process with Kafka."""
    engines = Both(spark, tmp_path_factory.mktemp("both"))
    yield engines
    engines.close()


@pytest.fixture(scope="session")
def log(spark: SparkSession, done: Done) -> DataFrame:
    options = {"includeControl": "true", "columns": ",".join(LOG_SCHEMA.names)}
    return spark.read.format("kafka_log").options(**options).load(str(LOGS)).persist()


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    return frame.toArrow().to_pylist()  # type: ignore[no-any-return]


def as_sent(row: dict[str, Any]) -> Sent:
    headers = tuple((header["key"], header["value"]) for header in row["headers"])
    return Sent(row["topic"], row["partition"], row["offset"], row["key"], row["value"], headers, row["compression"])


def test_every_record_that_clients_sent_is_a_row(log: DataFrame, done: Done) -> None:
    topics = sorted({one.topic for one in done.sent})
    found = [as_sent(row) for row in rows(log.where(sf.col("topic").isin(topics) & ~sf.col("is_control")))]
    assert sorted(found, key=repr) == sorted(done.sent + done.aborted, key=repr)
    assert {one.compression for one in found} == {"none", "gzip", "snappy", "lz4", "zstd"}
    assert log.where(sf.col("topic") == traffic.ROLLED).select("segment").distinct().count() > 2


def test_records_of_aborted_transactions_do_not_count(log: DataFrame, done: Done) -> None:
    found = [as_sent(row) for row in rows(committed(log).where(sf.col("topic") == traffic.TRANSACTIONAL))]
    assert sorted(found) == sorted(one for one in done.sent if one.topic == traffic.TRANSACTIONAL)
    assert done.aborted


def test_every_topic_has_the_offsets_that_the_broker_reports(log: DataFrame) -> None:
    with traffic.admin_client(ADDRESS) as admin:
        parts = [
            TopicPartition(topic["name"], part["partition_index"])
            for topic in admin.describe_topics()
            for part in topic["partitions"]
        ]
        reported = admin.list_partition_offsets(dict.fromkeys(parts, OffsetSpec.LATEST))
    expected = {(part.topic, part.partition): end.offset for part, end in reported.items() if end.offset}
    counts = log.where("topic <> '__cluster_metadata'").groupBy("topic", "partition")
    found = rows(counts.agg(sf.count("*").alias("rows"), (sf.max("offset") + 1).alias("end")))
    assert {(row["topic"], row["partition"]): row["end"] for row in found} == expected
    assert [row for row in found if row["rows"] != row["end"]] == []
    assert {"__consumer_offsets", "__transaction_state"} <= {topic for topic, _ in expected}


def test_a_consumer_is_given_the_same_records(log: DataFrame) -> None:
    topics = ["orders", traffic.TRANSACTIONAL, "__consumer_offsets"]
    found = {
        (row["topic"], row["partition"], row["offset"]): (row["key"], row["value"], row["ms"], row["timestamp_type"])
        for row in rows(
            log.where(sf.col("topic").isin(topics) & ~sf.col("is_control")).withColumn(
                "ms", sf.unix_millis("timestamp")
            )
        )
    }
    given = {
        (one.topic, one.partition, one.offset): (
            one.key,
            one.value,
            one.timestamp,
            ["CreateTime", "LogAppendTime"][one.timestamp_type],
        )
        for one in traffic.read_all(ADDRESS, topics)
    }
    assert found == given


def test_groups_are_where_the_broker_says(both: Both, done: Done) -> None:
    report = both.report(offsets_report, LOGS)
    found = {
        (row["group"], row["topic"], row["partition"]): (row["offset"], row["end_offset"], row["lag"])
        for row in rows(table(report, "groups"))
    }
    with traffic.admin_client(ADDRESS) as admin:
        groups = [group["group_id"] for group in admin.list_groups()]
        committed_offsets = admin.list_group_offsets(groups)
        ends = {
            part: end.offset
            for part, end in admin.list_partition_offsets(
                {part: OffsetSpec.LATEST for offsets in committed_offsets.values() for part in offsets}
            ).items()
        }
    expected = {
        (group, part.topic, part.partition): (one.offset, ends[part], max(ends[part] - one.offset, 0))
        for group, offsets in committed_offsets.items()
        for part, one in offsets.items()
    }
    assert {place: offset for place, (offset, *_) in found.items()} == {
        place: offset for place, (offset, *_) in expected.items()
    }
    assert found == expected
    assert set(groups) == {"readers", "others", "payers", "java-classic", "java-new"}
    assert done.consumed["readers"] == len([one for one in done.sent if one.topic in ("orders", traffic.COMPACTED)])


def test_membership_shows_both_group_protocols(both: Both, done: Done) -> None:
    events = rows(table(both.report(offsets_report, LOGS), "membership"))
    seen = {(row["group"], row["kind"], row["event"]) for row in events}
    for group, kind in (("readers", "classic"), ("java-classic", "classic"), ("java-new", "consumer")):
        assert {(group, kind, "joined"), (group, kind, "left"), (group, kind, "epoch")} <= seen
    assert {row["client_id"] for row in events if row["group"] == "readers"} == {"client of readers", None}


def after_last_snapshot(folder: Path) -> Path:
    """Copy the metadata log as a broker with little retention keeps it: the last snapshot, and later segments."""
    log = LOGS / "__cluster_metadata-0"
    until = monotonic() + 30
    while len(snapshots := sorted(log.glob("*.checkpoint"))) < 2 and monotonic() < until:
        sleep(0.2)
    snapshot = snapshots[-1]
    segments = sorted(log.glob("*.log"))
    before = [segment for segment in segments if segment.stem <= snapshot.name.partition("-")[0]]
    assert len(before) > 1, "all segments are needed still"
    (folder / log.name).mkdir()
    for file in (snapshot, *segments[len(before) - 1 :]):
        shutil.copy(file, folder / log.name)
    return folder


@pytest.mark.parametrize("is_cut", [False, True], ids=["whole log", "snapshot and the rest"])
def test_metadata_is_what_the_broker_describes(both: Both, done: Done, tmp_path: Path, is_cut: bool) -> None:
    report = both.report(metadata_report, after_last_snapshot(tmp_path) if is_cut else LOGS, None)
    first_snapshot = f"{'0' * 20}-{'0' * 10}.checkpoint"  # which Kafka makes when it formats the folder
    assert (first_snapshot in report.notes[0]) != is_cut
    with traffic.admin_client(ADDRESS) as admin:
        described = admin.describe_topics()
        cluster = admin.describe_cluster()
        resources = [ConfigResource(ConfigResourceType.TOPIC, topic["name"]) for topic in described]
        configs = admin.describe_configs([*resources, ConfigResource(ConfigResourceType.BROKER, "1")])
    expected = {
        (topic["name"], uuid_text(topic["topic_id"]), part["partition_index"]): (
            part["leader_id"],
            part["replica_nodes"],
            part["isr_nodes"],
        )
        for topic in described
        for part in topic["partitions"]
    }
    found = {
        (row["topic"], row["topic_id"], row["partition"]): (row["leader"], row["replicas"], row["isr"])
        for row in rows(table(report, "partitions"))
    }
    assert found == expected
    topics = Counter((row["topic"], row["removed"] is None) for row in rows(table(report, "topics")))
    removed = () if is_cut else (traffic.GONE, traffic.AGAIN)  # a snapshot has no removed topics
    assert topics == {(topic["name"], True): 1 for topic in described} | {(name, False): 1 for name in removed}
    dynamic = {
        (kind, resource, name, one["value"])
        for kind, of_kind in configs.items()
        for resource, values in of_kind.items()
        for name, one in values.items()
        if one["config_source"] in ("DYNAMIC_TOPIC_CONFIG", "DYNAMIC_BROKER_CONFIG")
    }
    assert {
        (row["resource_type"], row["resource"], row["name"], row["value"]) for row in rows(table(report, "configs"))
    } == dynamic | {("broker", "", name, value) for name, value in configs_of_all_brokers()}
    assert [(row["broker_id"], row["is_fenced"]) for row in rows(table(report, "brokers"))] == [
        (broker["broker_id"], broker["is_fenced"]) for broker in cluster["brokers"]
    ]


def test_a_stream_over_a_log_that_grows_is_stopped_and_loses_and_repeats_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    count = 4000

    def send() -> None:
        producer = KafkaProducer(bootstrap_servers=ADDRESS, linger_ms=5, compression_type="lz4")
        for at in range(count):
            producer.send(STREAMED, b"%d" % at)
            sleep(0.002)
        producer.close()

    def start(**trigger: Any) -> StreamingQuery:
        writer = spark.readStream.format("kafka_log").option("topics", STREAMED).load(str(LOGS)).writeStream
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).format("parquet")
        return writer.trigger(**trigger).start(str(tmp_path / "out"))

    with traffic.admin_client(ADDRESS) as admin:
        admin.create_topics([NewTopic(STREAMED, 2, 1)], wait_for_metadata=True)
    sender = Thread(target=send)
    sender.start()
    seen = []
    for _ in range(3):
        query = start(processingTime="0 seconds")
        until = monotonic() + 20
        while not any(progress.numInputRows for progress in query.recentProgress) and monotonic() < until:
            sleep(0.05)
        query.stop()
        seen.append(spark.read.parquet(str(tmp_path / "out")).count())
    sender.join()
    start(availableNow=True).awaitTermination()
    values = [int(row["value"]) for row in rows(spark.read.parquet(str(tmp_path / "out")).select("value"))]
    assert sorted(values) == list(range(count))
    assert 0 < seen[0] < count


def test_captured_packets_say_what_the_clients_did(spark: SparkSession, both: Both, done: Done, packets: Path) -> None:
    files = list(packets.iterdir())
    if not files:
        pytest.skip("needs tcpdump, and the right to capture on loopback")
    assert len(files) > 3
    report = both.report(traffic_report, packets)
    assert rows(table(report, "errors")) == []
    exchanges = rows(table(report, "exchanges").select("api", "api_version", "client_id", "software", "listener"))
    assert {one["listener"] for one in exchanges} == {ADDRESS}
    software = {(one["client_id"], one["software"]) for one in exchanges}
    assert {("sender", f"kafka-python {version('kafka-python')}")} <= software
    assert any(name == "console-consumer" and str(of).startswith("apache-kafka-java 4.") for name, of in software)
    commits = Counter(one["client_id"] for one in exchanges if one["api"] == "OffsetCommit")
    for group, every in (("readers", 100), ("others", 333), ("leavers", 50)):
        assert commits[f"client of {group}"] == done.consumed[group] // every + 1
    produced: Counter[bytes | None] = Counter()
    for row in rows(spark.read.format("kafka_frames").option("apiKeys", "0").load(str(packets))):
        if row["direction"] == "request":
            _, body = kafka_messages.decode_request(row["frame"])
            produced.update(values_of(body))
            assert (row["api_version"], row["error"]) == (body.VERSION, None)
    assert produced == Counter(one.value for one in done.sent + done.aborted)


def test_lag_is_what_kafkas_own_tools_print(spark: SparkSession, both: Both, done: Done) -> None:
    group = "lag-%s{}$HOME"
    with traffic.admin_client(ADDRESS) as admin:
        admin.create_topics([NewTopic(LAGGING, 1, 1), NewTopic(EMPTY, 1, 1)], wait_for_metadata=True)
    traffic.send_with_kafka_python(ADDRESS, [LAGGING], 20)
    traffic.consume(ADDRESS, group, [LAGGING], 30)
    sleep(1.5)  # the group stands still for more than a second, by the times of the commit and of later records
    unread = traffic.send_with_kafka_python(ADDRESS, [LAGGING], 20)
    report = both.report(offsets_report, LOGS, 1)
    found = samples(exposition(report.metrics))
    places = ("consumergroup", "topic", "partition")
    positions = by_labels(found, "kafka_consumergroup_current_offset", places)
    lags = by_labels(found, "kafka_consumergroup_lag", places)
    ends = by_labels(found, "kafka_topic_partition_current_offset", places[1:])
    expected = lag_by_kafka(ADDRESS)
    assert {place: (offset, ends[place[1:]], lags[place]) for place, offset in positions.items()} == expected
    assert expected[group, LAGGING, "0"] == (100, 200, 100)
    assert len([place for place in expected if place[0] in ("readers", "java-new")]) > 5
    assert ends == offsets_by_kafka(ADDRESS)
    assert ends[EMPTY, "0"] == 0  # from the name of its only segment
    (first,) = [row for row in traffic.read_all(ADDRESS, [LAGGING]) if row.offset == min(one.offset for one in unread)]
    as_of = found["kipwire_offsets_as_of_timestamp_seconds", frozenset()]
    age = by_labels(found, "kafka_consumergroup_group_lag_seconds", ("group", *places[1:]))[group, LAGGING, "0"]
    assert age == pytest.approx(as_of - first.timestamp / 1000, abs=0.001)
    assert (group, LAGGING, "0") in by_labels(found, "kipwire_consumergroup_stalled_seconds", places)


def values_of(produce: Any) -> Iterator[bytes | None]:
    """Yield the values of the records in a Produce request."""
    for part in partitions(produce):
        for batch in read_batches(part.records):
            yield from (record.value for record in batch.records)


def table(report: Any, name: str) -> DataFrame:
    """Return one of the tables of a report."""
    return next(one.frame for one in report.tables if one.name == name)  # type: ignore[no-any-return]


def uuid_text(uuid: str) -> str:
    """Return a topic id as Kafka's own tools write it."""
    return base64.urlsafe_b64encode(bytes.fromhex(uuid.replace("-", ""))).decode().rstrip("=")
