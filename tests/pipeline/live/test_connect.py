"""Every function, source and job over Spark Connect has the rows that it has in this process. `make test-cluster`.

The session is one of Spark Connect, whose server is on this machine; its workers have no kipwire except the wheel that
the session sends them.
"""

from __future__ import annotations

import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as sf

import kipspark
from kafka_messages.enums import ErrorCode
from kipjobs.engines.embedded.session import EmbeddedSession
from kipjobs.jobs.compaction.command import compaction_report
from kipspark.arrow import struct_type
from kipspark.spark.java import use_java
from kipspark.spark.sql import FUNCTIONS
from kipwire.tables.messages.decoding import decode
from kipwire.tables.messages.encoding import encode
from kipwire.tables.messages.records import Records, decode_coordinator, decode_metadata
from kipwire.tables.messages.row_errors import RowError, error_array
from kipwire.tables.messages.selection import Selection, all_versions_type
from kipwire.tables.sources.partition_files import KINDS
from kipwire.testing import FakeBroker
from tests.support.places import DATA
from tests.support.subjects.both_engines import JOBS, different, found, of_both, outcomes
from tests.support.subjects.spark_tables import CAPTURE, SEGMENTS

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.xdist_group("cluster"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    # Settings of the server, which a session hands on to the one that it starts, and then cannot set itself.
    pytest.mark.filterwarnings("ignore:Failed to set spark:UserWarning"),
]

PACKETS = DATA / "clients"
FILES = DATA / "partition_files"
GROUPS, TRANSACTIONS, SHARES = "__consumer_offsets", "__transaction_state", "__share_group_state"
COORDINATORS = {"group": GROUPS, "transaction": TRANSACTIONS, "share": SHARES}


@pytest.fixture(scope="module")
def spark(wheel: Path) -> Iterator[SparkSession]:
    use_java()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        # Outside of the virtual environment, with its libraries: a folder on this path brings no editable installation.
        environment.setenv("PYSPARK_PYTHON", getattr(sys, "_base_executable", sys.executable))
        environment.setenv("PYTHONPATH", sysconfig.get_path("purelib"))
        builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
        session = builder.config("spark.sql.session.timeZone", "UTC").config("spark.log.level", "OFF").getOrCreate()
        session.conf.set("spark.sql.shuffle.partitions", "2")
        session.addArtifacts(str(wheel), pyfile=True)
        with pytest.warns(UserWarning, match="no SQL functions here: Spark Connect"):
            kipspark.register(session)
        yield session
        session.stop()


def test_the_session_is_one_of_spark_connect_and_its_workers_have_the_wheel(spark: SparkSession) -> None:
    def where(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import kipwire

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"file": [kipwire.__file__]})

    assert type(spark).__module__ == "pyspark.sql.connect.session"
    (file,) = {row["file"] for row in rows(spark.range(4).mapInArrow(where, "file string"))}
    assert "kipwire.zip" in file


# Sources.

SOURCES: tuple[tuple[str, Path, dict[str, str]], ...] = (
    ("kafka_log", SEGMENTS, {"includeControl": "true", "splitBytes": "20000"}),
    ("kafka_log", SEGMENTS, {"level": "batches", "includeControl": "true"}),
    ("kafka_log", SEGMENTS, {"topics": "orders", "partitions": "1,2", "columns": "offset,value"}),
    ("kafka_snapshot", DATA / "snapshots", {}),
    ("kafka_frames", CAPTURE, {}),
    ("kafka_frames", CAPTURE, {"apiKeys": "3,9", "directions": "response"}),
    ("kafka_frames", PACKETS, {}),
    *(("kafka_partition_files", FILES, {"kind": kind}) for kind in KINDS),
)
"""All formats: name, path and options."""


@pytest.mark.parametrize(
    ("name", "path", "options"),
    [pytest.param(*one, id=" ".join((one[0], one[1].name, *one[2].values()))) for one in SOURCES],
)
def test_a_source_has_the_same_rows(spark: SparkSession, name: str, path: Path, options: dict[str, str]) -> None:
    with EmbeddedSession() as here:
        expected = here.read.format(name).options(**options).load(str(path)).toArrow().to_pylist()
    assert expected
    assert sorted_rows(rows(spark.read.format(name).options(**options).load(str(path)))) == sorted_rows(expected)


def test_a_stream_of_logs_has_all_rows_once(spark: SparkSession, tmp_path: Path) -> None:
    chosen = ("topic", "partition", "offset", "key", "value")
    stream = spark.readStream.format("kafka_log").option("includeControl", "true").load(str(SEGMENTS)).select(*chosen)
    writer = stream.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(tmp_path / "out"))
    assert query.awaitTermination(120)
    streamed = rows(spark.read.parquet(str(tmp_path / "out")))
    at_once = spark.read.format("kafka_log").option("includeControl", "true").load(str(SEGMENTS)).select(*chosen)
    assert sorted_rows(streamed) == sorted_rows(rows(at_once))
    assert len(streamed) > 1000


def test_topics_of_brokers_are_rows_and_streams(spark: SparkSession, tmp_path: Path) -> None:
    with FakeBroker(topics={"orders": 2}) as broker:
        for at in range(100):
            broker.append("orders", b"%d" % at, partition=at % 2, headers=[("h", None)])
        options = {"brokers": broker.bootstrap_servers, "topics": "orders"}
        with EmbeddedSession() as here:
            expected = here.read.format("kafka_topic").options(**options).load().toArrow().to_pylist()
        found = rows(spark.read.format("kafka_topic").options(**options).load())
        assert len(found) == 100 and sorted_rows(found) == sorted_rows(expected)
        stream = spark.readStream.format("kafka_topic").options(**options, maxBytesPerTrigger="2000").load()
        writer = stream.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        assert writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination(120)
        assert sorted_rows(rows(spark.read.parquet(str(tmp_path / "out")))) == sorted_rows(expected)


# Functions.


def records(spark: SparkSession, topic: str) -> DataFrame:
    """Return the records of a topic of brokers, the last of which are cut short."""
    log = spark.read.format("kafka_log").option("topics", topic).load(str(SEGMENTS)).select("key", "value")
    cut = log.limit(3).select("key", sf.expr("substring(value, 1, length(value) - 1)").alias("value"))
    return log.unionByName(cut)


def arrays(frame: DataFrame) -> tuple[DataFrame, pa.Table]:
    """Fetch the rows of a frame; return a frame of them, and the rows as an Arrow table."""
    table = frame.toArrow()
    return frame.sparkSession.createDataFrame(table), table


def values_of_commits(spark: SparkSession, *, are_cut: bool = False) -> tuple[DataFrame, pa.Table]:
    """Return values of OffsetCommit, with the version that leads each."""
    logs = spark.read.format("kafka_log").option("topics", GROUPS).load(str(SEGMENTS))
    commits = logs.where("substring(key, 1, 2) = X'0001' and value is not null").select("value")
    cut = commits.limit(2).select(sf.expr("substring(value, 1, length(value) - 3)").alias("value"))
    return arrays(commits.unionByName(cut) if are_cut else commits)


def column_of(frame: DataFrame, column: Column) -> list[Any]:
    return [row["it"] for row in rows(frame.select(column.alias("it")))]


def errors_of(errors: dict[int, RowError], count: int) -> list[Any]:
    return error_array(errors, count).to_pylist()  # type: ignore[no-any-return]


def test_from_message_and_with_message_have_the_same_rows(spark: SparkSession) -> None:
    frame, table = values_of_commits(spark)
    selection = Selection("kafka_messages", "OffsetCommitValue", None)
    decoded, errors = decode(selection, table["value"].combine_chunks())
    assert not errors
    expected = sorted_rows(decoded.to_pylist())
    name = "OffsetCommitValue"
    assert sorted_rows(column_of(frame, kipspark.from_message("value", name))) == expected
    strict = kipspark.with_message(frame, "it", "value", name)
    assert sorted_rows([row["it"] for row in rows(strict)]) == expected
    assert struct_type(all_versions_type(selection)) == kipspark.schema_of_message(name) == strict.schema["it"].dataType
    some = column_of(frame, kipspark.from_message("value", name, fields=["offset"])["offset"])
    assert sorted(some) == sorted(row["offset"] for row in decoded.to_pylist())


def test_broken_messages_are_the_same_errors(spark: SparkSession) -> None:
    frame, table = values_of_commits(spark, are_cut=True)
    decoded, errors = decode(Selection("kafka_messages", "OffsetCommitValue", None), table["value"].combine_chunks())
    assert len(errors) == 2
    pairs = zip(decoded.to_pylist(), errors_of(errors, len(table)), strict=True)
    expected = sorted_rows([{"message": message, "error": error} for message, error in pairs])
    both = frame.select(
        kipspark.from_message("value", "OffsetCommitValue", mode="PERMISSIVE").alias("message"),
        kipspark.error_of_message("value", "OffsetCommitValue").alias("error"),
    )
    assert sorted_rows(rows(both)) == expected
    observation = Observation("broken")
    of_table = kipspark.with_message(
        frame, "message", "value", "OffsetCommitValue", mode="PERMISSIVE", error="error"
    ).drop("value")
    assert sorted_rows(rows(kipspark.counted(of_table, "error", observation))) == expected
    assert observation.get == {"rows": len(table), "broken": 2}


def test_to_message_has_the_same_bytes(spark: SparkSession) -> None:
    frame, table = values_of_commits(spark)
    selection = Selection("kafka_messages", "OffsetCommitValue", None)
    here = encode(selection, decode(selection, table["value"].combine_chunks())[0])
    assert here.data.to_pylist() == table["value"].to_pylist()
    there = frame.select(kipspark.from_message("value", "OffsetCommitValue").alias("commit"))
    for mode in ("FAILFAST", "PERMISSIVE"):
        encoded = column_of(there, kipspark.to_message("commit", "OffsetCommitValue", mode=mode))
        assert sorted(encoded) == sorted(here.data.to_pylist())


@pytest.mark.parametrize("coordinator", COORDINATORS)
def test_records_of_coordinators_are_the_same(spark: SparkSession, coordinator: str) -> None:
    frame, table = arrays(records(spark, COORDINATORS[coordinator]))
    columns = table["key"].combine_chunks(), table["value"].combine_chunks()
    decoded, errors = decode_coordinator(Records(coordinator, ()), *columns)
    assert errors
    pairs = zip(decoded.to_pylist(), errors_of(errors, len(table)), strict=True)
    expected = [{"record": record, "error": error} for record, error in pairs]
    both = frame.select(
        kipspark.from_coordinator("key", "value", coordinator=coordinator, mode="PERMISSIVE").alias("record"),
        kipspark.error_of_coordinator("key", "value", coordinator=coordinator).alias("error"),
    )
    assert sorted_rows(rows(both)) == sorted_rows(expected)
    logs = spark.read.format("kafka_log").option("topics", COORDINATORS[coordinator]).load(str(SEGMENTS))
    strict = column_of(logs, kipspark.from_coordinator("key", "value", coordinator=coordinator))
    whole = rows(logs.select("key", "value"))
    both_columns = pa.array([row["key"] for row in whole]), pa.array([row["value"] for row in whole], pa.binary())
    assert sorted_rows(strict) == sorted_rows(
        decode_coordinator(Records(coordinator, ()), *both_columns)[0].to_pylist()
    )


def test_records_of_metadata_are_the_same(spark: SparkSession) -> None:
    frame, table = arrays(records(spark, "__cluster_metadata"))
    decoded, errors = decode_metadata(Records("metadata", ()), table["value"].combine_chunks())
    assert errors
    pairs = zip(decoded.to_pylist(), errors_of(errors, len(table)), strict=True)
    expected = [{"record": record, "error": error} for record, error in pairs]
    both = frame.select(
        kipspark.from_metadata("value", mode="PERMISSIVE").alias("record"),
        kipspark.error_of_metadata("value").alias("error"),
    )
    assert sorted_rows(rows(both)) == sorted_rows(expected)
    of_topics = spark.read.format("kafka_log").option("topics", "__cluster_metadata").load(str(SEGMENTS))
    named = column_of(of_topics, kipspark.from_metadata("value", types=["TopicRecord"])["topic_record"]["name"])
    expected_names = {
        row["topic_record"]["name"]
        for row in decode_metadata(Records("metadata", ("TopicRecord",)), table["value"].combine_chunks())[
            0
        ].to_pylist()
        if row is not None and row["topic_record"] is not None
    }
    assert {name for name in named if name is not None} == expected_names != set()


def test_errors_have_the_names_of_kafka(spark: SparkSession) -> None:
    codes = spark.range(-1, 130).select(kipspark.error_name("id").alias("it"))
    names = {int(code): code.name for code in ErrorCode}
    assert [row["it"] for row in rows(codes)] == [names.get(code) for code in range(-1, 130)]


def test_every_column_function_is_tested_here() -> None:
    text = Path(__file__).read_text()
    functions = {one.name for one in FUNCTIONS} | {"with_message", "schema_of_message", "counted"}
    assert {name for name in functions if f"kipspark.{name}(" not in text} == set()


# Jobs.


@pytest.mark.parametrize("job", JOBS)
def test_a_job_has_the_same_rows(spark: SparkSession, job: str) -> None:
    path = CAPTURE if job == "traffic" else SEGMENTS
    here, there = of_both(job, spark, str(path))
    assert different(here, there) == {}
    assert job == "tiered" or any(rows_of for _, rows_of in here.values())


def test_captured_packets_have_the_same_rows(spark: SparkSession) -> None:
    assert different(*of_both("traffic", spark, str(PACKETS))) == {}


def test_the_state_of_a_cluster_from_a_snapshot_has_the_same_rows(spark: SparkSession) -> None:
    assert different(*of_both("metadata", spark, str(DATA / "snapshots"))) == {}


def test_compaction_of_named_topics_has_the_same_rows(spark: SparkSession) -> None:
    with EmbeddedSession() as session:
        here = found(compaction_report(session, SEGMENTS, ["compacted", "orders"]))
    assert different(here, found(compaction_report(spark, SEGMENTS, ["compacted", "orders"]))) == {}


def test_a_broken_log_is_the_same_error(spark: SparkSession, tmp_path: Path) -> None:
    shutil.copytree(SEGMENTS, tmp_path / "logs")
    (log,) = (tmp_path / "logs" / f"{GROUPS}-1").glob("*.log")
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 1
    log.write_bytes(data)
    here, there = outcomes("offsets", spark, str(tmp_path / "logs"))
    assert isinstance(here, str) and here == there
    assert log.name in here


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    return frame.toArrow().to_pylist()  # type: ignore[no-any-return]


def sorted_rows(some: list[Any]) -> list[Any]:
    return sorted(some, key=repr)
