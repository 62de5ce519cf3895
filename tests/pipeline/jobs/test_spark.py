"""The pipeline on Spark: sources, column functions and jobs, on the log and the capture of a real cluster."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.errors import PySparkException, PythonException, StreamingQueryException
from pyspark.sql import DataFrame, Observation, SparkSession, Window
from pyspark.sql import functions as sf

import kafka_messages
import kipspark
from kafka_messages.offset_commit_value.v4 import OffsetCommitValue
from kipjobs.jobs.shared import running
from kipjobs.jobs.shared.options import Outputs
from kipjobs.jobs.traffic.command import traffic_report
from kipwire.records import Record, read_segment, write_batch
from tests.support import packet_dumps
from tests.support.subjects.spark_tables import CAPTURE, SEGMENTS, rows

# All of them in one process, where they share a session.
pytestmark = [
    pytest.mark.xdist_group("spark"),
    # py4j and Spark leave sockets and files to be collected, and pandas has deprecated what Spark still uses.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
# Sources.


@pytest.mark.every_spark
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
    none = spark.read.format("kafka_log").option("topics", "order")
    assert none.option("failOnMissingTopics", "false").load(str(SEGMENTS)).count() == 0
    with pytest.raises(
        PySparkException, match=r"no folder of topic 'order'; did you mean orders\? There are __cluster_"
    ):
        none.option("failOnMissingTopics", "true").load(str(SEGMENTS)).count()


@pytest.mark.every_spark
def test_several_paths_and_patterns_are_read_together(spark: SparkSession, log: DataFrame, tmp_path: Path) -> None:
    folders = [str(SEGMENTS / f"orders-{number}") for number in (0, 1)]
    key = ["partition", "offset", "value"]
    expected = rows(log.where("topic = 'orders' and partition < 2 and not is_control").select(key).orderBy(key))
    for given in (folders, str(SEGMENTS / "orders-[01]"), [*folders, *folders]):
        found = spark.read.format("kafka_log").load(given).select(key)
        assert rows(found.orderBy(key)) == expected
    for options in ({"paths": json.dumps(folders)}, {"path": str(SEGMENTS / "orders-[01]")}):
        stream = spark.readStream.format("kafka_log").options(**options).load().select(key)
        place = tmp_path / next(iter(options))
        writer = stream.writeStream.format("parquet").option("checkpointLocation", str(place / "seen"))
        writer.trigger(availableNow=True).start(str(place / "rows")).awaitTermination()
        assert rows(spark.read.parquet(str(place / "rows")).orderBy(key)) == expected


def test_batches_are_rows_with_the_counts_of_their_records(log: DataFrame, batches: DataFrame) -> None:
    key = ["topic", "partition", "segment", "batch_position", "is_control", "compression", "producer_id"]
    of_records = log.groupBy(key).agg(sf.count("*").alias("records_count"))
    found = batches.where("records_count > 0").select(*key, sf.col("records_count").cast("bigint"))
    assert found.count() == of_records.count() > 0
    assert found.exceptAll(of_records).isEmpty()


def test_chosen_columns_are_those_of_all(spark: SparkSession, log: DataFrame) -> None:
    for options in ({"columns": "timestamp,offset,value"}, {}):
        reader = spark.read.format("kafka_log").options(includeControl="true", topics="orders", **options)
        if not options:
            reader = reader.schema("timestamp timestamp, offset bigint, value binary")
        found = reader.load(str(SEGMENTS))
        assert found.columns == ["timestamp", "offset", "value"]
        expected = log.where("topic = 'orders'").select(*found.columns)
        assert rows(found.orderBy("offset", "value")) == rows(expected.orderBy("offset", "value"))


def test_filters_on_one_table_do_not_meet(spark: SparkSession, log: DataFrame) -> None:
    """Spark 4.3 keeps one scan for all uses of a table, so a filter that it hands over narrows all of them."""
    setting = "spark.sql.python.filterPushdown.enabled"
    spark.conf.set(setting, "true")
    try:
        table = spark.read.format("kafka_log").option("includeControl", "true").load(str(SEGMENTS))
        orders, others = table.where("topic = 'orders'"), table.where("topic = '__consumer_offsets'")
        assert orders.count() == log.where("topic = 'orders'").count()
        assert orders.union(others).count() == log.where("topic in ('orders', '__consumer_offsets')").count()
        assert table.count() == log.count()
    finally:
        spark.conf.unset(setting)


def test_a_stream_of_batches_follows_a_log(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "logs" / "t-0"
    folder.mkdir(parents=True)
    path = folder / f"{0:020}.log"
    options = {"level": "batches", "columns": "base_offset,last_offset"}
    batches = spark.readStream.format("kafka_log").options(**options).load(str(tmp_path / "logs"))
    out, checkpoint = str(tmp_path / "out"), str(tmp_path / "checkpoint")
    for first in (0, 6):
        with path.open("ab") as file:
            for offset in range(first, first + 6, 3):
                file.write(write_batch([Record(offset=offset + at, value=b"v") for at in range(3)]))
        query = batches.writeStream.format("parquet").option("checkpointLocation", checkpoint)
        query.trigger(availableNow=True).start(out).awaitTermination()
    found = rows(spark.read.parquet(out).orderBy("base_offset"))
    assert [tuple(row.values()) for row in found] == [(0, 2), (3, 5), (6, 8), (9, 11)]


def test_a_broken_batch_stops_reading_or_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    batches = [write_batch([Record(offset=at, key=b"k", value=b"value")]) for at in range(3)]
    damaged = bytearray(b"".join(batches))
    damaged[len(batches[0]) + 63] ^= 0xFF
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / f"{0:020}.log").write_bytes(damaged)
    reader = spark.read.format("kafka_log")
    with pytest.raises(PythonException, match=rf"v2: crc at byte {len(batches[0]) + 17}.*\.log"):
        reader.load(str(tmp_path)).collect()
    found = rows(reader.option("mode", "permissive").load(str(tmp_path)).select("offset", "batch_position", "error"))
    assert [row["offset"] for row in found] == [0, None, 2]
    assert found[1]["batch_position"] == len(batches[0])
    assert "crc" in found[1]["error"]


@pytest.mark.every_spark
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
    # Later records must not get into the batch that is done again.
    segment.write_bytes(b"".join(data))
    run(fails=False)

    assert written() == {0: [0, 1], 1: [2, 3, 4, 5], 2: [6, 7, 8, 9, 10, 11]}


def test_frames_of_a_capture_are_rows(frames: DataFrame, spark: SparkSession) -> None:
    assert frames.count() == 2186
    one = rows(frames.where("number = 197").drop("capture"))[0]
    header, body = kafka_messages.decode_request(one["frame"])
    assert (one["api_key"], one["api_version"], one["direction"]) == (body.API_KEY, body.VERSION, "request")
    assert (one["correlation_id"], one["client_id"]) == (header.correlation_id, header.client_id)
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
    same = ("clients", "apis", "error_codes", "unknown_tags")
    reports = [traffic_report(spark, place, ports) for place, ports in ((CAPTURE, ""), (tmp_path, "9092,9093,9094"))]
    shipped, packets = ({table.name: sorted(map(repr, rows(table.frame))) for table in one.tables} for one in reports)
    assert {name: packets[name] for name in same} == {name: shipped[name] for name in same}
    assert len(packets["exchanges"]) == 1094
    (error,) = rows(next(table.frame for table in reports[1].tables if table.name == "errors"))
    assert (error["number"], error["connection"]) == (None, 0)
    assert error["error"].startswith("TLS, which cannot be read")
    running.deliver(reports[1], Outputs())
    assert "What cannot be decoded" in capsys.readouterr().out


# Column functions.


@pytest.mark.every_spark
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


def plan_of(frame: DataFrame) -> str:
    """Return the plan that Spark runs."""
    java: Any = frame._jdf
    return str(java.queryExecution().executedPlan())


def test_messages_of_a_columnar_scan_are_decoded_from_rows(spark: SparkSession, tmp_path: Path) -> None:
    """Spark 4.3 copies the results of functions twice after a columnar scan, such as one of Parquet."""
    data = [b"\0\x04" + OffsetCommitValue(offset=at).encode() for at in range(100)]
    spark.createDataFrame([(one,) for one in [*data, None]], "data binary").write.parquet(str(tmp_path / "table"))
    table = spark.read.parquet(str(tmp_path / "table"))
    message = kipspark.from_message("data", "OffsetCommitValue")
    decoded = table.select(message.alias("m"))
    plan = plan_of(decoded).splitlines()
    (at,) = [at for at, line in enumerate(plan) if "ArrowEvalPython" in line]
    assert "FileScan" in plan[-1] and "FileScan" not in plan[at + 1]
    offsets = [*range(100), None]
    assert sorted((row["m"] or {"offset": -1})["offset"] for row in rows(decoded)) == [-1, *range(100)]
    # Wherever Spark takes an expression.
    assert table.where(message["offset"] > 97).count() == 2
    assert len(table.groupBy(message["offset"].alias("offset")).count().collect()) == len(offsets)
    assert [row["data"] for row in rows(table.orderBy(message["offset"].desc()).limit(2))] == [data[99], data[98]]
    exploded = table.select(sf.explode_outer(sf.array(message["offset"])).alias("offset"))
    assert exploded.agg(sf.sum("offset")).first()[0] == sum(range(100))  # type: ignore[index]
    window = Window.partitionBy(message["offset"] % 2).orderBy(message["offset"].desc())
    assert table.select(sf.row_number().over(window).alias("n")).where("n = 1").count() == 3
    other = table.select(sf.col("data").alias("other"))
    both = table.join(other, message["offset"] == kipspark.from_message("other", "OffsetCommitValue")["offset"])
    assert both.count() == 100


def test_a_message_and_its_error_are_decoded_once(spark: SparkSession) -> None:
    table = spark.createDataFrame([(b"\0\x04",)], "data binary")
    both = table.select(
        kipspark.from_message("data", "OffsetCommitValue", mode="PERMISSIVE").alias("m"),
        kipspark.error_of_message("data", "OffsetCommitValue").alias("error"),
    )
    plan = plan_of(both)
    assert "[pythonUDF0" in plan and "pythonUDF1" not in plan


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


@pytest.mark.every_spark
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


@pytest.mark.every_spark
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
