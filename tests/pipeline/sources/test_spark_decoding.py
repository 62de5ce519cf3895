"""Spark gets the same columns from `kafka_log` that decodes as from functions on its bytes, in batches and streams."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

import kipspark
from kipwire.tables.errors import Mode
from tests.support.subjects.broken_records import MESSAGE, MESSAGES, TOPICS, write_broken_records
from tests.support.subjects.spark_tables import SEGMENTS, rows

# As in test_spark.py.
pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

FIELDS = ("offset", "metadata", "topic_id")
PLACE = ("topic", "partition", "offset")


def of_coordinator(family: str) -> tuple[Callable[[Mode], Column], Column]:
    """Return the functions on bytes: of the records, by mode, and of their errors."""
    return (
        lambda mode: kipspark.from_coordinator("key", "value", coordinator=family, mode=mode),
        kipspark.error_of_coordinator("key", "value", coordinator=family),
    )


def ways(name: str) -> tuple[dict[str, str], Callable[[Mode], Column], Column]:
    """Return the options of the source, and the functions on bytes that do the same."""
    if name in TOPICS:
        return {"decode": "coordinator", "topics": TOPICS[name]}, *of_coordinator(name)
    if name == "metadata":
        return (
            {"decode": "metadata", "topics": "__cluster_metadata"},
            lambda mode: kipspark.from_metadata("value", mode=mode),
            kipspark.error_of_metadata("value"),
        )
    fields = FIELDS if name == "fields" else None
    return (
        {"message": MESSAGE, "topics": MESSAGES} | ({} if fields is None else {"fields": ",".join(fields)}),
        lambda mode: kipspark.from_message("value", MESSAGE, fields=fields, mode=mode),
        kipspark.error_of_message("value", MESSAGE, fields=fields),
    )


def text_of(error: Column) -> Column:
    """Return the text of an error, as sources have it."""
    version = sf.when(error["version"].isNull(), "").otherwise(sf.concat(sf.lit(" v"), error["version"]))
    path = sf.when(error["path"] == "", "message").otherwise(error["path"])
    return sf.concat(
        error["message"],
        version,
        sf.lit(": "),
        path,
        sf.lit(" at byte "),
        error["offset"],
        sf.lit(": "),
        error["reason"],
    )


def in_order(frame: DataFrame) -> list[dict[str, Any]]:
    return rows(frame.orderBy(*PLACE, "error"))


@pytest.mark.every_spark
@pytest.mark.parametrize("name", [*TOPICS, "metadata", "message", "fields"])
def test_columns_are_those_of_functions_on_the_bytes(spark: SparkSession, tmp_path: Path, name: str) -> None:
    write_broken_records(tmp_path, 6)
    options, function, error = ways(name)
    column = "message" if "message" in options else "record"
    log = spark.read.format("kafka_log").option("mode", "PERMISSIVE")
    inside = log.options(**options).load(str(tmp_path))
    raw = spark.read.format("kafka_log").option("mode", "PERMISSIVE").option("topics", options["topics"])
    after = raw.load(str(tmp_path)).select(
        *PLACE, "timestamp", function("PERMISSIVE").alias(column), sf.coalesce("error", text_of(error)).alias("error")
    )
    assert inside.schema == after.schema
    found = in_order(inside)
    assert found == in_order(after)
    assert any(row["error"] and row["offset"] is not None for row in found) and any(row[column] for row in found)
    # Both ways stop at the first broken record, or batch.
    for frame in (
        spark.read.format("kafka_log").options(**options).load(str(tmp_path)),
        spark.read.format("kafka_log")
        .option("topics", options["topics"])
        .load(str(tmp_path))
        .select(function("FAILFAST")),
    ):
        with pytest.raises((PythonException, PySparkException)):
            frame.collect()


def test_records_of_a_real_cluster_are_equal_without_errors(spark: SparkSession) -> None:
    for family, topic in TOPICS.items():
        reader = spark.read.format("kafka_log")
        inside = reader.options(decode="coordinator", topics=topic, columns="topic,partition,offset,record")
        after = spark.read.format("kafka_log").option("topics", topic).load(str(SEGMENTS))
        function, _ = of_coordinator(family)
        expected = after.select(*PLACE, function("FAILFAST").alias("record"))
        found = rows(inside.load(str(SEGMENTS)).orderBy(*PLACE))
        assert found and found == rows(expected.orderBy(*PLACE))


@pytest.mark.parametrize("name", ["group", "fields"])
def test_a_stream_has_the_rows_of_a_batch(spark: SparkSession, tmp_path: Path, name: str) -> None:
    write_broken_records(tmp_path / "logs", 6)
    options, *_ = ways(name)
    chosen = {**options, "mode": "PERMISSIVE", "maxBytesPerTrigger": "300"}
    stream = spark.readStream.format("kafka_log").options(**chosen).load(str(tmp_path / "logs"))
    writer = stream.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
    writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()
    batch = spark.read.format("kafka_log").options(**chosen).load(str(tmp_path / "logs"))
    found = in_order(spark.read.parquet(str(tmp_path / "out")))
    assert found and found == in_order(batch)


def test_a_schema_of_the_user_chooses_columns(spark: SparkSession) -> None:
    reader = spark.read.format("kafka_log").options(message=MESSAGE, fields="offset", topics="__consumer_offsets")
    lenient = reader.option("mode", "PERMISSIVE")
    chosen = lenient.schema("message struct<_version smallint, offset bigint>, offset bigint").load(str(SEGMENTS))
    assert rows(chosen.orderBy("offset")) == rows(
        lenient.load(str(SEGMENTS)).select("message", "offset").orderBy("offset")
    )
    with pytest.raises(PySparkException, match=r"column 'message' cannot be bigint"):
        lenient.schema("message bigint").load(str(SEGMENTS)).collect()
