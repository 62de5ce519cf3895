"""Sources of Spark over an object store: workers read the same rows as from the same files on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kipspark.reasons import reason
from tests.support.live.stores import SECRET, Bucket, store
from tests.support.places import DATA
from tests.support.subjects.spark_tables import CAPTURE, SEGMENTS, rows

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    with store() as one:
        yield one


@pytest.mark.parametrize(
    ("source", "folder", "options", "file"),
    [
        (
            "kafka_log",
            SEGMENTS,
            {"splitBytes": "20000", "topics": "orders", "mode": "PERMISSIVE"},
            "segment",
        ),
        ("kafka_log", SEGMENTS, {"level": "batches", "startingOffset": "20"}, "segment"),
        ("kafka_snapshot", DATA / "snapshots", {}, "snapshot"),
        ("kafka_frames", CAPTURE, {"directions": "request"}, "capture"),
    ],
)
def test_a_source_reads_from_a_store_what_it_reads_from_a_folder(
    spark: SparkSession, bucket: Bucket, source: str, folder: Path, options: dict[str, str], file: str
) -> None:
    url = bucket.put_folder(f"{source}/{len(options)}", folder)
    here = spark.read.format(source).options(**options).load(str(folder))
    there = spark.read.format(source).options(**options).options(**bucket.options).load(url)
    expected = rows(here)
    assert rows(there) == [{**row, file: row[file].replace(str(folder), url)} for row in expected]
    assert len(expected) > 20


def test_a_stream_over_a_store_is_refused_in_one_sentence(spark: SparkSession, bucket: Bucket, tmp_path: Path) -> None:
    stream = spark.readStream.format("kafka_log").options(**bucket.options).load("s3://logs/any")
    with pytest.raises(PySparkException) as error:
        query = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
        query.start().awaitTermination()
    assert reason(error.value) == (
        "s3://logs/any: kafka_log follows files that grow, which objects of a store do not; read them without a stream"
    )


def test_the_error_of_a_worker_shows_no_secret(spark: SparkSession, bucket: Bucket) -> None:
    options = {**bucket.options, "storage.client_kwargs": f'{{"odd": "{SECRET}"}}'}
    with pytest.raises(PySparkException, match="s3://logs/any: cannot be listed: ") as error:
        rows(spark.read.format("kafka_log").options(**options).load("s3://logs/any"))
    assert SECRET not in str(error.value)
