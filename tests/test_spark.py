"""The pipeline on Spark: sources, column functions and jobs, on the log and the capture of a real cluster."""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.errors import PySparkException, PythonException, StreamingQueryException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as sf

import kafka_messages
import kipspark
import packet_dumps
from kafka_messages.offset_commit_value.v4 import OffsetCommitValue
from kafka_messages.topic_record.v0 import TopicRecord
from kipspark import JobError, cli, job_reports, samples
from kipspark.jobs import conform, encodings, metadata, offsets, traffic
from kipspark.jobs.transactions import committed
from kipspark.outputs import write_tables
from kipspark.report import Report, Table
from kipspark.types import struct_type
from kipwire.encodings import count_all
from kipwire.records import Record, read_segment, write_batch

# All of them in one process, where they share a session.
pytestmark = [
    pytest.mark.same_without_kernel("what tasks do with codecs is tested without Spark, in test_spark_sources"),
    pytest.mark.xdist_group("spark"),
    # py4j and Spark leave sockets and files to be collected, and pandas has deprecated what Spark still uses.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SEGMENTS = Path(__file__).parent / "data" / "segments"
SNAPSHOTS = Path(__file__).parent / "data" / "snapshots"
CAPTURE = Path(__file__).parent.parent / "examples" / "capture"
GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="session")
def log(spark: SparkSession) -> DataFrame:
    return spark.read.format("kafka_log").option("includeControl", "true").load(str(SEGMENTS)).persist()


@pytest.fixture(scope="session")
def frames(spark: SparkSession) -> DataFrame:
    return spark.read.format("kafka_frames").load(str(CAPTURE)).persist()


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    return frame.toArrow().to_pylist()  # type: ignore[no-any-return]


def tables(report: Report) -> dict[str, list[dict[str, Any]]]:
    return {table.name: rows(table.frame) for table in report.tables}


# Sources.


def test_every_record_of_a_log_folder_is_a_row(log: DataFrame) -> None:
    expected = {
        (path.parent.name, record.offset): (record.key, record.value, record.headers, batch.compression)
        for path in SEGMENTS.glob("*/*.log")
        for batch in read_segment(path)
        for record in batch.records
    }
    found = {
        (f"{row['topic']}-{row['partition']}", row["offset"]): (
            row["key"],
            row["value"],
            [(header["key"], header["value"]) for header in row["headers"]],
            row["compression"],
        )
        for row in rows(log)
    }
    assert found == expected
    assert {compression for *_, compression in found.values()} == {"none", "gzip", "snappy", "lz4", "zstd"}


def test_options_of_a_log_leave_out_what_is_not_asked_for(spark: SparkSession, log: DataFrame) -> None:
    some = (
        spark.read.format("kafka_log")
        .options(topics="orders", partitions="1,2", startingOffset="100", endingOffset="110", splitBytes="5000")
        .load(str(SEGMENTS))
    )
    expected = log.where("topic = 'orders' and partition in (1, 2) and offset between 100 and 109 and not is_control")
    key = ["partition", "offset", "key", "value"]
    assert rows(some.select(key).orderBy(key)) == rows(expected.select(key).orderBy(key))
    assert spark.read.format("kafka_log").option("topics", "none").load(str(SEGMENTS)).count() == 0


def test_a_broken_batch_stops_reading_or_is_told_of(spark: SparkSession, tmp_path: Path) -> None:
    batches = [write_batch([Record(offset=at, key=b"k", value=b"value")]) for at in range(3)]
    damaged = bytearray(b"".join(batches))
    damaged[len(batches[0]) + 63] ^= 0xFF
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{0:020}.log").write_bytes(damaged)
    reader = spark.read.format("kafka_log")
    with pytest.raises(PythonException, match=rf"batches\[1\].crc at byte {len(batches[0]) + 17}.*\.log"):
        reader.load(str(tmp_path)).collect()
    found = rows(reader.option("mode", "permissive").load(str(tmp_path)).select("offset", "batch_position", "error"))
    assert [row["offset"] for row in found] == [0, None, 2]
    assert found[1]["batch_position"] == len(batches[0])
    assert "crc" in found[1]["error"]


def test_a_stream_goes_on_where_it_stopped_and_survives_compaction(spark: SparkSession, tmp_path: Path) -> None:
    place, out = tmp_path / "logs" / "t-0", tmp_path / "out"
    place.mkdir(parents=True)
    segment = place / f"{0:020}.log"
    batches = [write_batch([Record(offset=at, value=b"%d" % at)]) for at in range(9)]

    def run() -> list[int]:
        query = (
            spark.readStream.format("kafka_log")
            .load(str(tmp_path / "logs"))
            .writeStream.format("parquet")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(out))
        )
        query.awaitTermination()
        return sorted(row["offset"] for row in rows(spark.read.parquet(str(out)).select("offset")))

    segment.write_bytes(b"".join(batches[:4]) + batches[4][:20])
    assert run() == [0, 1, 2, 3]
    segment.write_bytes(b"".join([batches[1], *batches[3:7]]))  # rewritten: two records are gone, others have moved
    (place / f"{7:020}.log").write_bytes(batches[7])
    assert run() == list(range(8))


def test_a_stream_that_fails_in_the_middle_of_a_batch_loses_and_repeats_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    place, out = tmp_path / "logs" / "t-0", tmp_path / "out"
    place.mkdir(parents=True)
    segment = place / f"{0:020}.log"
    data = [write_batch([Record(offset=at + one, value=b"%d" % one) for one in (0, 1)]) for at in range(0, 12, 2)]

    def run(fails: bool) -> None:
        def write(frame: DataFrame, number: int) -> None:
            frame.select("offset").write.mode("overwrite").parquet(str(out / f"batch={number}"))
            if fails:
                raise OSError("the disk is full")

        log = spark.readStream.format("kafka_log").load(str(tmp_path / "logs"))
        query = log.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "checkpoint"))
        query.trigger(availableNow=True).start().awaitTermination()

    def written() -> dict[int, list[int]]:
        found = rows(spark.read.parquet(str(out)).orderBy("offset"))
        return {number: [row["offset"] for row in found if row["batch"] == number] for number in range(3)}

    segment.write_bytes(data[0])
    run(fails=False)
    segment.write_bytes(b"".join(data[:3]) + data[3][:30])
    with pytest.raises(StreamingQueryException, match="the disk is full"):
        run(fails=True)
    # What came since must not get into the batch that is done again.
    segment.write_bytes(b"".join(data))
    run(fails=False)

    assert written() == {0: [0, 1], 1: [2, 3, 4, 5], 2: [6, 7, 8, 9, 10, 11]}


def test_frames_of_a_capture_are_rows(frames: DataFrame, spark: SparkSession) -> None:
    assert frames.count() == 2186
    one = rows(frames.where("number = 197").drop("capture"))[0]
    header, body = kafka_messages.decode_request(one["frame"])
    assert (one["api_key"], one["api_version"], one["direction"]) == (body.API_KEY, body.VERSION, "request")
    assert (one["correlation_id"], one["client_id"]) == (header.correlation_id, header.client_id)  # type: ignore[attr-defined]
    chosen = spark.read.format("kafka_frames").options(apiKeys="3,8", directions="request").load(str(CAPTURE))
    assert chosen.count() == frames.where("api_key in (3, 8) and direction = 'request'").count() > 0


def test_captured_packets_are_the_same_traffic(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    segments = list(
        packet_dumps.segments(packet_dumps.shipped_frames(), Random(1), packet_dumps.Disorder(shuffled=True))
    )
    half = len(segments) // 2
    for number, some in enumerate((segments[:half], segments[half:])):
        (tmp_path / f"dump.pcap{number}").write_bytes(packet_dumps.dump(some))
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "tls.pcap").write_bytes(
        packet_dumps.dump([packet_dumps.Tcp(1, 50000, 9093, True, 1, b"\x16\x03\x01 and more")])
    )
    same = ("clients", "apis", "errors", "unknown_tags")
    reports = [
        job_reports.traffic_report(spark, place, ports)
        for place, ports in ((CAPTURE, ""), (tmp_path, "9092,9093,9094"))
    ]
    shipped, packets = ({table.name: sorted(map(repr, rows(table.frame))) for table in one.tables} for one in reports)
    assert {name: packets[name] for name in same} == {name: shipped[name] for name in same}
    assert len(packets["exchanges"]) == 1094
    (fault,) = rows(next(table.frame for table in reports[1].tables if table.name == "faults"))
    assert (fault["number"], fault["connection"]) == (None, 0)
    assert fault["fault"].startswith("TLS, which cannot be read")
    cli.deliver(reports[1], None, None)
    assert "What cannot be decoded" in capsys.readouterr().out
    shipped_advice, advice = (
        sorted(map(repr, rows(job_reports.encodings_report(spark, place).tables[0].frame)))
        for place in (CAPTURE, tmp_path)
    )
    assert advice == shipped_advice


# Column functions.


def test_from_message_reads_versions_from_the_bytes_and_to_message_writes_them(
    spark: SparkSession, log: DataFrame
) -> None:
    values = log.where("topic = '__consumer_offsets' and not is_control").where(sf.hex("key").startswith("0001"))
    decoded = values.select("value", kipspark.from_message("value", "OffsetCommitValue").alias("m"))
    assert decoded.schema["m"].dataType == kipspark.schema_of_message("OffsetCommitValue")
    for row in rows(decoded):
        message = OffsetCommitValue.decode(row["value"][2:])
        assert row["m"]["_version"] == 4
        assert (row["m"]["offset"], row["m"]["metadata"]) == (message.offset, message.metadata)
        assert row["m"]["expire_timestamp"] is None  # only version 1 has it
    again = decoded.select(sf.col("value") == kipspark.to_message("m", "OffsetCommitValue"))
    assert [row for (row,) in again.collect()] == [True] * decoded.count()
    assert decoded.count() == 51


def test_fields_choose_what_is_built(spark: SparkSession, frames: DataFrame) -> None:
    requests = frames.where("api_key = 8 and direction = 'request'")
    fields = ["group_id", "topics.partitions.committed_offset"]
    chosen = requests.select("frame", kipspark.from_message("frame", "OffsetCommitRequest", fields=fields).alias("m"))
    for row in rows(chosen):
        body: Any = kafka_messages.decode_request(row["frame"])[1]
        assert row["m"] == {
            "_version": body.VERSION,
            "group_id": body.group_id,
            "topics": [
                {"partitions": [{"committed_offset": one.committed_offset} for one in topic.partitions]}
                for topic in body.topics
            ],
        }


def test_permissive_keeps_all_good_messages_and_explains_each_broken_one(spark: SparkSession) -> None:
    random = Random(1)
    count, step = 20_000, 100
    good = [b"\0\x04" + OffsetCommitValue(offset=at, metadata="m" * (at % 5)).encode() for at in range(count)]
    data = [message[: random.randrange(2, 20)] if at % step == 7 else message for at, message in enumerate(good)]
    frame = spark.createDataFrame(list(enumerate(data)), "at int, data binary")
    observation = Observation()
    decoded = frame.select(
        "at",
        kipspark.from_message("data", "OffsetCommitValue", mode="PERMISSIVE").alias("m"),
        kipspark.error_of_message("data", "OffsetCommitValue").alias("error"),
    )
    found = rows(kipspark.counted(decoded, "error", observation))
    assert observation.get == {"rows": count, "broken": count // step}
    for row in found:
        assert (row["m"] is None) == (row["at"] % step == 7) == (row["error"] is not None)
        if row["error"]:
            assert 2 <= row["error"]["offset"] <= len(data[row["at"]])
            assert row["error"]["version"] == 4
            assert row["error"]["reason"]
        else:
            assert row["m"]["offset"] == row["at"]
    with pytest.raises(PythonException, match=r"OffsetCommitValue v4: .* at byte \d+: .*\(of \d+ bytes: 0004"):
        frame.select(kipspark.from_message("data", "OffsetCommitValue")).collect()


def test_with_message_gives_what_the_column_functions_give(spark: SparkSession, log: DataFrame) -> None:
    some = log.where("topic = '__consumer_offsets' and not is_control").select("timestamp", "offset", "key", "value")
    arguments: dict[str, Any] = {"mode": "PERMISSIVE", "fields": ["offset", "metadata"]}  # most are not commits
    expected = some.select(
        "timestamp",
        "offset",
        "key",
        kipspark.from_message("value", "OffsetCommitValue", **arguments).alias("value"),
        kipspark.error_of_message("value", "OffsetCommitValue", fields=["offset", "metadata"]).alias("why"),
    )
    found = some.transform(kipspark.with_message, "value", "value", "OffsetCommitValue", **arguments, error="why")
    assert found.schema == expected.schema
    assert rows(found) == rows(expected)
    assert {row["why"] is None for row in rows(found)} == {True, False}
    silent = some.transform(kipspark.with_message, "m", "value", "OffsetCommitValue", **arguments)
    assert [row["m"] for row in rows(silent)] == [row["value"] for row in rows(found)]
    with pytest.raises(PythonException, match=r"OffsetCommitValue.* at byte \d+: .*\(of \d+ bytes: "):
        some.transform(kipspark.with_message, "m", "value", "OffsetCommitValue").collect()


def test_with_message_refuses_what_cannot_be_before_anything_runs(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(b"", "text", 1)], "value binary, name string, n int")

    def refused(text: str, *arguments: Any, of: DataFrame = frame, **more: Any) -> None:
        with pytest.raises(kipspark.JobError, match=text):
            of.transform(kipspark.with_message, *arguments, **more)

    refused("no binary column 'name'; the columns are value, name, n", "m", "name", "OffsetCommitValue")
    refused("no binary column 'data'", "m", "data", "OffsetCommitValue")
    refused("several columns 'n'", "m", "value", "OffsetCommitValue", of=frame.select("value", "n", "n"))
    refused("'why' would be empty", "m", "value", "OffsetCommitValue", error="why")
    refused("name and error are both 'm'", "m", "value", "OffsetCommitValue", mode="PERMISSIVE", error="m")
    refused("has no field 'none'", "m", "value", "OffsetCommitValue", fields=["none"])
    refused("mode must be FAILFAST or PERMISSIVE", "m", "value", "OffsetCommitValue", mode="DROPMALFORMED")


def test_coordinator_records_of_all_types_have_their_columns(log: DataFrame) -> None:
    records = log.where("topic = '__consumer_offsets' and not is_control").select(
        kipspark.from_coordinator("key", "value").alias("r")
    )
    found = rows(records)
    assert {row["r"]["type"] for row in found} >= {"OffsetCommit", "GroupMetadata", "ConsumerGroupMetadata"}
    for row in found:
        set_columns = [name for name, value in row["r"]["key"].items() if value is not None]
        assert len(set_columns) == 1
        assert {name for name, value in row["r"]["value"].items() if value is not None} <= set(set_columns)


@pytest.mark.parametrize(
    ("coordinator", "topic"), [("transaction", "__transaction_state"), ("share", "__share_group_state")]
)
def test_other_coordinators_records_are_read(log: DataFrame, coordinator: str, topic: str) -> None:
    some = log.where((sf.col("topic") == topic) & ~sf.col("is_control"))
    records = rows(some.select(kipspark.from_coordinator("key", "value", coordinator=coordinator).alias("r")))
    assert records
    assert all(any(row["r"]["key"].values()) for row in records)


# Jobs.


def test_lag_is_the_end_of_the_partition_at_the_time_of_the_commit(log: DataFrame) -> None:
    latest = {
        (row["group"], row["partition"]): (row["offset"], row["end_offset"], row["lag"])
        for row in rows(offsets.latest(offsets.with_lag(offsets.commits(committed(log)), offsets.ends(log))))
    }
    assert latest["java-new", 1] == (511, 511, 0)
    assert latest["kp-group", 0] == (323, 323, 0)
    group, partition = "kp-txn-group", 0
    offset, end, lag = latest[group, partition]
    assert lag == end - offset > 0


def test_commits_of_aborted_and_unfinished_transactions_do_not_count(spark: SparkSession) -> None:
    def row(offset: int, producer: int, control: int | None = None) -> tuple[Any, ...]:
        key = None if control is None else b"\0\0\0" + bytes([control])
        return ("t", 0, offset, key, producer, True, control is not None)

    schema = "topic string, partition int, offset long, key binary, producer_id long"
    schema += ", is_transactional boolean, is_control boolean"
    given = [row(0, 1), row(1, 2), row(2, 1, 1), row(3, 2, 0), row(4, 1), row(5, 1, 0), row(6, 2)]
    given.append(("t", 0, 7, None, -1, False, False))
    found = committed(spark.createDataFrame(given, schema))
    assert sorted(one["offset"] for one in rows(found)) == [0, 7]


def test_members_come_and_go(log: DataFrame) -> None:
    events = rows(offsets.membership(committed(log)).orderBy("time"))
    seen = {(row["group"], row["kind"], row["event"], row["client_id"]) for row in events}
    assert ("kp-group", "classic", "joined", "kp-cons-1") in seen
    assert ("kp-group", "classic", "left", "kp-cons-1") in seen
    assert ("java-new", "consumer", "joined", "java-kip848") in seen
    assert ("java-share", "share", "joined", "console-share-consumer") in seen
    epochs = [row["epoch"] for row in events if row["event"] == "epoch" and row["group"] == "kp-group"]
    assert epochs == [0, 1, 2, 3]


def test_traffic_pairs_every_response_with_its_request(frames: DataFrame) -> None:
    found = traffic.inspected(frames).persist()
    paired = traffic.exchanges(found).persist()
    totals = paired.agg(
        sf.count("*").alias("requests"),
        sf.count("response_bytes").alias("responses"),
        (sf.sum("request_bytes") + sf.sum("response_bytes")).alias("bytes"),
        sf.min("latency_ms").alias("fastest"),
    )
    (total,) = rows(totals)
    assert (total["requests"], total["responses"]) == (1094, 1092)
    assert total["bytes"] == rows(frames.agg(sf.sum(sf.length("frame")).alias("bytes")))[0]["bytes"]
    assert total["fastest"] > 0
    assert rows(traffic.faults(found)) == []
    clients = {(row["client_id"], row["software"]) for row in rows(traffic.by_client(paired))}
    assert ("kp-cons-1", "kafka-python 3.0.12") in clients
    aborted = [row for row in rows(traffic.errors(paired)) if row["code"] == 51 and row["api"] == "AddOffsetsToTxn"]
    assert [row["responses"] for row in aborted] == [6]


def test_metadata_is_that_of_a_time(log: DataFrame) -> None:
    counting = metadata.records(log).persist()
    before = metadata.records(metadata.until(log, datetime(2026, 11, 21, 8, 1, 40, tzinfo=UTC)))
    gone = {row["topic"]: row["removed"] for row in rows(metadata.topics(counting))}
    assert gone["gone"] == datetime(2026, 11, 21, 8, 1, 40, 561000, tzinfo=UTC)
    assert gone["orders"] is None
    leaders = {
        (row["topic"], row["partition"]): (row["leader"], row["isr"])
        for row in rows(metadata.partitions(metadata.partition_history(before)))
    }
    assert leaders["orders", 1] == (2, [2, 1])
    assert ("gone", 0) in leaders
    later = {row["topic"] for row in rows(metadata.partitions(metadata.partition_history(counting)))}
    assert "gone" not in later
    values = {(row["resource"], row["name"]): row["value"] for row in rows(metadata.configs(counting))}
    assert values["orders", "retention.ms"] == "86400000"
    assert [row["is_fenced"] for row in rows(metadata.brokers(before))] == [False, False]


def test_metadata_before_the_log_is_that_of_its_snapshot(spark: SparkSession, tmp_path: Path) -> None:
    folder = SNAPSHOTS / "__cluster_metadata-0"
    early = tables(job_reports.metadata_report(spark, SNAPSHOTS, None))
    created = {row["topic"]: (row["created"] is None, row["removed"] is None) for row in early["topics"]}
    assert created == {
        "orders": (True, True),
        "again": (True, True),
        "later-gone": (True, False),
        "new": (False, True),
    }
    places = {
        (row["topic"], row["partition"]): (row["leader"], row["isr"], row["changes"]) for row in early["partitions"]
    }
    assert places == {
        **{("orders", number): (1, [1], 0) for number in range(3)},
        ("orders", 3): (1, [1], 1),
        ("again", 0): (1, [1], 0),
        **{("new", number): (1, [1], 1) for number in range(2)},
    }
    values = {(row["resource"], row["name"]): (row["value"], row["time"] is None) for row in early["configs"]}
    assert values == {
        ("", "min.insync.replicas"): ("1", True),
        ("1", "log.cleaner.threads"): ("2", True),
        ("again", "flush.ms"): ("50000", True),
        ("orders", "flush.ms"): ("60000", False),
        ("orders", "max.message.bytes"): ("2000000", True),
        ("orders", "retention.ms"): ("7200000", False),
    }
    # The broker's own last snapshot, alone, says the same of the end.
    (tmp_path / folder.name).mkdir()
    for file in (max(folder.glob("*.log")), max(folder.glob("*.checkpoint"))):
        shutil.copy(file, tmp_path / folder.name)
    late = tables(job_reports.metadata_report(spark, tmp_path, None))
    known = {
        "topics": ("topic", "topic_id", "partitions"),
        "partitions": ("topic", "topic_id", "partition", "leader", "replicas", "isr"),
        "configs": ("resource_type", "resource", "name", "value"),
        "brokers": ("broker_id", "rack", "endpoints", "is_fenced"),
    }
    for table, names in known.items():
        alike = [
            sorted((tuple(row[name] for name in names) for row in rows if row.get("removed") is None), key=repr)
            for rows in (early[table], late[table])
        ]
        assert alike[0] == alike[1] != []


@pytest.mark.parametrize(
    ("at", "origin"),
    [
        (None, r"snapshot 0+146-0+1\.checkpoint, .* before offset 146 .*, and from the log after it to offset 254"),
        ("2026-11-21T16:05:40Z", r"snapshot 0+146-.* \(2026-11-21 16:05:32 UTC\), .* to offset 160"),
        (
            "2026-11-21T16:05:32Z",
            r"from the log alone, from offset 142 to 144\. Earlier changes are missing: .* of that time",
        ),
    ],
)
def test_a_report_tells_where_the_metadata_is_from(spark: SparkSession, at: str | None, origin: str) -> None:
    time = None if at is None else datetime.fromisoformat(at)
    assert re.search(origin, job_reports.metadata_report(spark, SNAPSHOTS, time).notes[0])


@pytest.mark.parametrize(
    ("topic", "at", "wrong"),
    [
        (
            "__cluster_metadata",
            "2026-11-21T16:00:00Z",
            "nothing is known as of .*: the log begins at 2026-11-21 16:05:30",
        ),
        ("orders", None, "no records of __cluster_metadata; the folder __cluster_metadata-0 is"),
    ],
)
def test_where_no_metadata_is_the_report_says_so(
    spark: SparkSession, tmp_path: Path, topic: str, at: str | None, wrong: str
) -> None:
    shutil.copytree(SNAPSHOTS / "__cluster_metadata-0", tmp_path / f"{topic}-0")
    with pytest.raises(JobError, match=wrong):
        job_reports.metadata_report(spark, tmp_path, None if at is None else datetime.fromisoformat(at))


def test_metadata_of_a_transaction_that_was_aborted_does_not_count(spark: SparkSession) -> None:
    begin, end, abort = (b"\1\x17\0\0", b"\1\x18\0\0", b"\1\x19\0\0")
    topic = b"\1\2\0" + TopicRecord(name="t").encode()
    given = [topic, abort, topic, begin, topic, end, topic, begin, topic]  # the first one began before the log
    schema = "topic string, offset long, timestamp timestamp, value binary, is_control boolean"
    log = [(metadata.TOPIC, at, datetime.now(UTC), value, False) for at, value in enumerate(given)]
    found = rows(metadata.records(spark.createDataFrame(log, schema)))
    assert sorted(row["offset"] for row in found if row["record"]["type"] == "TopicRecord") == [2, 4, 6]


def test_encodings_are_counted_as_in_one_process(frames: DataFrame) -> None:
    counted = {row["message"]: row for row in rows(encodings.counts(frames.repartition(4)))}
    bodies = [
        kafka_messages.decode_response(row["frame"], row["api_key"], row["api_version"])[1]
        for row in rows(frames.where("api_key = 3 and direction = 'response'"))
    ]
    assert json.loads(counted["MetadataResponse"]["counts"]) == json.loads(json.dumps(count_all(bodies).to_plain()))
    advice = {(row["message"], row["path"]): row for row in rows(encodings.advice(encodings.counts(frames)))}
    port = advice["MetadataResponse", "Brokers.Port"]
    assert port["saved"] == port["bytes_fixed"] - min(port["bytes_packed"], port["bytes_upacked"]) > 0


def test_all_ways_of_reading_and_writing_agree_on_executors(spark: SparkSession) -> None:
    cases = conform.cases(["proposals"], count=20, seed=7)
    given = [tuple(case[name] for name in conform.CASES_SCHEMA.names) for case in cases]
    frame = spark.createDataFrame(given, struct_type(conform.CASES_SCHEMA)).repartition(2)
    assert rows(conform.differences(frame)) == []


def test_golden_messages_differ_where_a_byte_does(spark: SparkSession) -> None:
    corpus = job_reports.golden_corpus(spark, GOLDEN / "metadata.jsonl.gz").persist()
    assert corpus.count() > 100
    assert rows(conform.golden_differences(corpus)) == []
    wrong = corpus.where("message = 'TopicRecord'").limit(1).withColumn("json", sf.lit("{}"))
    assert [row["check"] for row in rows(conform.golden_differences(wrong))] == ["json"]


def test_damaged_lines_of_golden_files_are_differences(spark: SparkSession, tmp_path: Path) -> None:
    good = {"kind": "message", "message": "TopicRecord", "version": 0, "hex": "", "json": {}}
    lines = [json.dumps(good | {"hex": "0x"}), json.dumps(good | {"message": None, "hex": "00"}), "not JSON", ""]
    (tmp_path / "some.jsonl").write_text("\n".join(lines))
    (tmp_path / "empty").mkdir()
    found = rows(conform.golden_differences(job_reports.golden_corpus(spark, tmp_path)))
    assert [(row["check"], row["difference"].rpartition("its ")[2]) for row in found] == [
        ("line", "bytes"),
        ("line", "message"),
        ("line", "message, version, bytes, json"),
    ]
    with pytest.raises(JobError, match="no golden messages; expected lines of the kind message"):
        job_reports.conform_report(spark, ["proposals"], 1, 0, tmp_path / "empty")


def test_tables_of_which_one_cannot_be_written_leave_nothing(spark: SparkSession, tmp_path: Path) -> None:
    good, bad = (spark.range(2).select(column) for column in (sf.col("id"), sf.raise_error(sf.lit("no")).alias("id")))
    with pytest.raises(PySparkException, match="no"):
        write_tables(tmp_path, [Table("good", "", good, ()), Table("bad", "", bad, ())])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("job", ["offsets", "traffic", "metadata"])
def test_a_report_has_tables_and_a_page_with_a_chart(
    spark: SparkSession, job: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = {
        "offsets": lambda: job_reports.offsets_report(spark, samples.segments()),
        "traffic": lambda: job_reports.traffic_report(spark, samples.capture()),
        "metadata": lambda: job_reports.metadata_report(spark, samples.segments(), None),
    }[job]()
    cli.deliver(report, tmp_path / "out", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "<svg" in text
    assert report.title in capsys.readouterr().out
    for table in report.tables:
        assert spark.read.parquet(str(tmp_path / "out" / table.name)).columns == table.frame.columns
