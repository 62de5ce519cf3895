"""Functions of columns on a Spark that has none by Arrow: they give what Arrow's give."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import kafka_messages
import kipspark
from kipspark.spark import functions
from kipspark.spark.pandas_functions import arrow_type
from kipwire.tables.errors import JobError
from kipwire.tables.messages.decoding import decode_strictly
from kipwire.tables.messages.records import Records, decode_coordinator
from kipwire.tables.messages.selection import Selection
from tests.support.places import DATA
from tests.support.subjects.random_messages import random_message

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SEGMENTS = DATA / "segments"
MESSAGES = (
    ("MetadataResponse", 12),
    ("DescribeClientQuotasResponse", 1),
    ("FetchRequest", 17),
    ("OffsetCommitValue", 4),
)
"""Messages with structs in lists in lists, uuids, floats, tagged fields and nulls."""


def forget_functions() -> None:
    """Make the column functions again."""
    made = (functions.strict_decoder, functions.lenient_decoder, functions.encoder)
    for cached in (*made, functions.strict_record_decoder, functions.lenient_record_decoder):
        cached.cache_clear()


@pytest.fixture
def without_arrow_udf(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Functions as Spark 4.0 has them."""
    monkeypatch.delattr(sf, "arrow_udf", raising=False)
    forget_functions()
    yield
    forget_functions()


def test_messages_of_all_kinds_come_back_by_pandas(spark: SparkSession, without_arrow_udf: None) -> None:
    random = Random(4)
    for name, version in MESSAGES:
        cls = kafka_messages.message(name, version)
        messages = [random_message(cls, random, unknown=True) for _ in range(60)]
        assert any(message._unknown_tagged_fields for message in messages)
        data = [message.encode() for message in messages]
        frame = spark.createDataFrame([(one,) for one in [*data, None]], "data binary")
        rows = frame.select("data", kipspark.from_message("data", name, version).alias("m"))
        whole = rows.select("data", "m", kipspark.to_message("m", name, version).alias("again")).toArrow()
        assert whole["again"].to_pylist() == whole["data"].to_pylist() == [*data, None]
        expected = decode_strictly(Selection("kafka_messages", name, version), pa.array([*data, None], pa.binary()))
        assert whole["m"].to_pylist() == expected.to_pylist()


def test_broken_messages_and_records_of_two_columns_go_by_pandas_too(
    spark: SparkSession, without_arrow_udf: None
) -> None:
    log = spark.read.format("kafka_log").option("topics", "__consumer_offsets").load(str(SEGMENTS))
    by_pandas = log.select(kipspark.from_coordinator("key", "value").alias("r")).toArrow()["r"].to_pylist()
    records = Records("group", ())
    keys, values = (log.select(name).toArrow()[name].combine_chunks() for name in ("key", "value"))
    assert by_pandas == decode_coordinator(records, keys, values)[0].to_pylist()

    frame = spark.createDataFrame([(b"\0\4\0\0",), (None,)], "data binary")
    error = kipspark.error_of_message("data", "OffsetCommitValue").alias("error")
    message = kipspark.from_message("data", "OffsetCommitValue", mode="PERMISSIVE").alias("m")
    found = frame.select(message, error).toArrow().to_pylist()
    assert [row["m"] for row in found] == [None, None]
    assert [row["error"] and row["error"]["offset"] for row in found] == [2, None]
    with pytest.raises(PythonException, match=r"OffsetCommitValue v4: offset at byte 2"):
        frame.select(kipspark.from_message("data", "OffsetCommitValue")).collect()


def test_a_column_that_no_message_has_is_refused_by_name(spark: SparkSession, without_arrow_udf: None) -> None:
    frame = spark.sql("select struct(1L as offset, date'2026-11-21' as day) as m")
    with pytest.raises(PythonException, match="a column of type date cannot be a field of a message"):
        frame.select(kipspark.to_message("m", "OffsetCommitValue", 4)).collect()


def test_types_are_read_as_spark_writes_them() -> None:
    text = "struct<a:bigint,b:array<struct<c:int,d:map<int,binary>>>,e:struct<>,f:array<string>>"
    inner = pa.struct([("c", pa.int32()), ("d", pa.map_(pa.int32(), pa.binary()))])
    fields = [("a", pa.int64()), ("b", pa.list_(inner)), ("e", pa.struct([])), ("f", pa.list_(pa.string()))]
    assert arrow_type(text) == pa.struct(fields)
    with pytest.raises(JobError, match="type decimal"):
        arrow_type("struct<a:decimal(10,2)>")
