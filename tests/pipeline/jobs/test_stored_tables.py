"""Columns of messages stored with the specs of one release of Kafka, and read with the specs of another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from shutil import make_archive
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from kipspark import from_message, schema_of_message, to_message
from kipwire.message.registry import registry_of
from kipwire.tables.messages.decoding import decode_strictly
from kipwire.tables.messages.framing import write_envelope
from kipwire.tables.messages.selection import KAFKA, Selection, all_versions_type
from tests.support.spec_package import importable
from tests.support.subjects.random_messages import random_message
from tests.support.subjects.releases_of_kafka import write_release
from tests.support.subjects.spark_tables import rows

# All of them in one process, where they share a session.
pytestmark = [
    pytest.mark.xdist_group("spark"),
    # py4j and Spark leave sockets and files to be collected.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

EARLIER = "kafka_as_of_4_0"
GROWN = {
    "OffsetCommitValue": {"topic_id"},
    "RegisterBrokerRecord": {"cordoned_log_dirs"},
    "TransactionLogValue": {"next_producer_epoch"},
}
"""Messages that are stored with their version, and the columns that came after Kafka 4.0."""
NAMES = sorted(GROWN)


KEYS = ("OffsetCommitKey", "TransactionLogKey")
"""Messages that a package with these values needs, too."""


@pytest.fixture(scope="module", autouse=True)
def earlier_package(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The package of these messages as Kafka 4.0 had them; Spark's workers find it, too."""
    folder = tmp_path_factory.mktemp("packages")
    write_release("4.0", [*NAMES, *KEYS], folder / EARLIER)
    spark.sparkContext.addPyFile(make_archive(str(folder / "earlier"), "zip", folder, EARLIER))
    with importable(folder):
        yield


def stored_bytes(package: str, name: str) -> list[bytes]:
    """Return messages of every version with their envelopes, as brokers store them."""
    random, known = Random(f"{package} {name}"), registry_of(package)
    classes = [known.message(name, version) for version in known.versions(name)]
    return [
        write_envelope(cls) + random_message(cls, random, unknown=False).encode() for cls in classes for _ in range(8)
    ]


def table(spark: SparkSession, package: str, name: str) -> DataFrame:
    """Return a table with the bytes of messages, and with the messages."""
    frame = spark.createDataFrame([(data,) for data in stored_bytes(package, name)], "data binary")
    return frame.select("data", from_message("data", name, package=package).alias("message"))


@pytest.mark.parametrize("name", NAMES)
def test_a_later_package_only_adds_columns_that_may_be_null_at_the_end(name: str) -> None:
    before, after = all_versions_type(Selection(EARLIER, name)), all_versions_type(Selection(KAFKA, name))
    assert list(after)[: before.num_fields] == list(before)
    assert {field.name for field in list(after)[before.num_fields :]} == GROWN[name]
    assert all(field.nullable for field in after)


def test_columns_of_one_version_get_its_new_tagged_fields_at_the_end() -> None:
    before = all_versions_type(Selection(EARLIER, "OffsetCommitValue", 4))
    after = all_versions_type(Selection(KAFKA, "OffsetCommitValue", 4))
    assert [field.name for field in after] == [*(field.name for field in before), "topic_id"]


@pytest.mark.parametrize("name", NAMES)
def test_spark_reads_old_and_new_tables_together(name: str, spark: SparkSession, tmp_path: Path) -> None:
    expected = []
    for package, folder in ((EARLIER, "old"), (KAFKA, "new")):
        table(spark, package, name).write.parquet(str(tmp_path / folder))
        expected += stored_bytes(package, name)
    both = spark.read.option("mergeSchema", "true").parquet(str(tmp_path / "old"), str(tmp_path / "new"))
    assert both.schema["message"].dataType == schema_of_message(name)
    again = both.select("data", to_message("message", name).alias("again"))
    found = rows(again)
    assert sorted(row["data"] for row in found) == sorted(expected)
    assert all(row["again"] == row["data"] for row in found)
    added = both.where(sf.col("message").isNotNull()).select(*[f"message.{column}" for column in GROWN[name]])
    assert added.dropna(how="all").count() > 0


@pytest.mark.parametrize("name", NAMES)
def test_each_package_reads_what_the_other_has_stored(name: str, spark: SparkSession, tmp_path: Path) -> None:
    for writer, reader in ((EARLIER, KAFKA), (KAFKA, EARLIER)):
        folder = str(tmp_path / writer)
        table(spark, writer, name).write.parquet(folder)
        wanted = schema_of_message(name, package=reader)
        found = spark.read.schema(StructType().add("data", "binary").add("message", wanted)).parquet(folder)
        there = {row["data"]: row["message"] for row in rows(found)}
        kept = wanted.fieldNames()
        for row in rows(table(spark, writer, name)):
            assert there[row["data"]] == {column: row["message"].get(column) for column in kept}


@pytest.mark.parametrize("name", NAMES)
def test_pyarrow_reads_old_and_new_tables_together(name: str, tmp_path: Path) -> None:
    schemas, expected = [], []
    for package in (EARLIER, KAFKA):
        messages = decode_strictly(Selection(package, name), pa.array(stored_bytes(package, name)))
        ds.write_dataset(pa.table({"message": messages}), tmp_path / package, format="parquet")
        schemas.append(pa.schema([("message", messages.type)]))
        expected += messages.to_pylist()
    whole = pa.unify_schemas(schemas, promote_options="permissive")
    assert whole == schemas[1]
    found: list[dict[str, Any]] = []
    for package in (EARLIER, KAFKA):
        part = ds.dataset(tmp_path / package, schema=whole).to_table()
        assert part.schema.field("message").type == whole.field("message").type
        found += part.column("message").to_pylist()
    empty = dict.fromkeys(GROWN[name])
    assert found == [empty | row for row in expected]
