"""Messages are decoded once, whatever a query does with their fields; and only bytes are taken for messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import pyspark
import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

import kipspark
from kafka_messages.offset_commit_value.v4 import OffsetCommitValue
from kipjobs.jobs.compaction.command import compaction_report
from kipjobs.jobs.metadata.report import metadata_report
from kipjobs.jobs.offsets.report import offsets_report
from kipjobs.jobs.share.command import share_report
from kipjobs.jobs.tiered.command import tiered_report
from kipjobs.jobs.transactions.command import transactions_report
from kipjobs.report.report import Report
from tests.support.subjects.spark_tables import SEGMENTS, rows

# All of them in one process, where they share a session.
pytestmark = [
    pytest.mark.xdist_group("spark"),
    # py4j and Spark leave sockets and files to be collected, and pandas has deprecated what Spark still uses.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

MESSAGE = "OffsetCommitValue"
COUNT = 40
TAKES_EXPRESSIONS_ANYWHERE = tuple(int(part) for part in pyspark.__version__.split(".")[:2]) >= (4, 2)
"""Before, Spark refuses the functions in the condition of a join and in an aggregate: see docs/spark.md."""


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """Commits with the offsets 0 to 39 in Parquet, so that Spark's rules for columnar scans apply."""
    folder = str(tmp_path_factory.mktemp("commits") / "table")
    data = [(b"\0\x04" + OffsetCommitValue(offset=at, metadata="m").encode(), at) for at in range(COUNT)]
    spark.createDataFrame(data, "data binary, n bigint").coalesce(1).write.parquet(folder)
    return spark.read.parquet(folder)


def paths(node: Any) -> Iterator[list[str]]:
    """Yield the nodes of a plan that Spark runs, from the result down to each scan."""
    below = node.relation().cachedPlan() if node.nodeName().startswith("InMemoryTableScan") else None
    children = [node.children().apply(at) for at in range(node.children().size())] if below is None else [below]
    for child in children:
        yield from ([node.nodeName(), *path] for path in paths(child))
    if not children:
        yield [node.nodeName()]


def decodings(frame: DataFrame) -> int:
    """Return the most steps in Python that a row goes through from a scan to the result."""
    java: Any = frame._jdf
    plan = java.queryExecution().executedPlan()
    return max(sum(name.endswith("EvalPython") for name in path) for path in paths(plan))


def offsets_from(field: str, decoded: DataFrame) -> list[int]:
    return sorted(row["it"] for row in rows(decoded.select(sf.col(field).alias("it"))))


Query = Callable[[DataFrame, Column], DataFrame]

QUERIES: dict[str, Query] = {
    "where": lambda table, m: table.select(m.alias("m")).where("m.offset > 5"),
    "where on one of its fields": lambda table, m: table.select(m["offset"].alias("o")).where("o > 5"),
    "two filters": lambda table, m: table.select(m.alias("m"), "n").where("m.offset > 5").where("m.metadata = 'm'"),
    "columns of columns": lambda table, m: (
        table.withColumn("m", m).withColumn("o", sf.col("m.offset")).withColumn("p", sf.expr("o + o")).where("p > 10")
    ),
    "columns that are not null": lambda table, m: table.select(m.alias("m")).select("m.*").dropna(subset=["offset"]),
    "a join": lambda table, m: table.select(m.alias("m")).join(table.select("n"), sf.col("m.offset") == sf.col("n")),
    "a join that only filters": lambda table, m: (
        table.select(m.alias("m")).join(table.select("n"), sf.col("m.offset") == sf.col("n"), "left_semi")
    ),
    "an array of its fields": lambda table, m: (
        table.select(m.alias("m")).select(sf.explode(sf.array("m.offset")).alias("o")).where("o > 3")
    ),
    "groups": lambda table, m: (
        table.select("n", m["offset"].alias("o")).groupBy("o").agg(sf.max("n").alias("n")).where("o > 3")
    ),
    "a window": lambda table, m: (
        table.select(m.alias("m"))
        .select("m", sf.row_number().over(Window.partitionBy(sf.expr("m.offset % 2")).orderBy("m.offset")).alias("r"))
        .where("r = 1 and m.offset < 2")
    ),
    "only some rows": lambda table, m: table.select(sf.when(sf.col("n") > 3, m).alias("m")).where("m.offset > 5"),
    "bytes that are never null": lambda table, m: (
        table.select(sf.coalesce("data", sf.lit(b"")).alias("data")).select(m.alias("m")).where("m.offset > 5")
    ),
    "the order": lambda table, m: table.orderBy(m["offset"].desc()).limit(3),
}
"""Common queries on the fields of messages."""


@pytest.mark.night
@pytest.mark.every_spark
def test_a_message_is_decoded_once_whatever_a_query_does_with_its_fields(table: DataFrame) -> None:
    mode: Any
    for mode in ("FAILFAST", "PERMISSIVE"):
        message = kipspark.from_message("data", MESSAGE, mode=mode)
        for name, query in QUERIES.items():
            assert decodings(query(table, message)) == 1, (name, mode)
        filtered = QUERIES["where"](table, message)
        assert offsets_from("m.offset", filtered) == list(range(6, COUNT))
        kept = filtered.persist()
        assert kept.where("m.offset > 10").count() == COUNT - 11
        kept.unpersist()


@pytest.mark.night
@pytest.mark.every_spark
def test_every_function_is_called_once_below_a_filter(table: DataFrame, log: DataFrame) -> None:
    kipspark.register(table.sparkSession)
    records = log.where("topic = '__consumer_offsets'")
    message = table.select(kipspark.from_message("data", MESSAGE).alias("m")).persist()
    lenient: dict[str, Any] = {"mode": "PERMISSIVE"}
    both = kipspark.from_message("data", MESSAGE, **lenient).alias("m"), kipspark.error_of_message("data", MESSAGE)
    found = {
        "from_coordinator": records.select(kipspark.from_coordinator("key", "value").alias("r")).where("r.type = 'x'"),
        "from_metadata": records.select(kipspark.from_metadata("value", **lenient).alias("r")).where("r.type = 'x'"),
        "error_of_message": table.select(kipspark.error_of_message("data", MESSAGE).alias("e")).where("e is null"),
        "error_of_coordinator": records.select(kipspark.error_of_coordinator("key", "value").alias("e")).where(
            "e.offset > 0"
        ),
        "error_of_metadata": records.select(kipspark.error_of_metadata("value").alias("e")).where("e.offset > 0"),
        "a message and its error": table.select(*both).where("m.offset > 5"),
        "in SQL": table.sparkSession.sql(
            "select m.offset from (select from_message(data, 'OffsetCommitValue') m from {table}) where m.offset > 5",
            table=table,
        ),
    }
    for name, frame in found.items():
        assert decodings(frame) == 1, name
    written = message.select(kipspark.to_message("m", MESSAGE).alias("b")).where("length(b) > 3")
    assert decodings(written) == 2  # one to read, which is kept, and one to write
    assert sorted(row["b"] for row in rows(written)) == sorted(row["data"] for row in rows(table.select("data")))
    message.unpersist()


@pytest.mark.night
@pytest.mark.every_spark
def test_where_spark_wants_what_is_deterministic_a_column_of_its_own_is_it(table: DataFrame) -> None:
    message = kipspark.from_message("data", MESSAGE)
    named = table.select(message["offset"].alias("o"))
    assert named.agg(sf.max("o")).first()[0] == COUNT - 1  # type: ignore[index]
    if TAKES_EXPRESSIONS_ANYWHERE:
        assert table.agg(sf.max(message["offset"])).first()[0] == COUNT - 1  # type: ignore[index]
        groups = table.groupBy(message["offset"].alias("o")).count().where("o > 5")
        assert (decodings(groups), groups.count()) == (1, COUNT - 6)
        assert table.join(table.select(sf.col("n").alias("o")), message["offset"] == sf.col("o")).count() == COUNT
    else:
        with pytest.raises(AnalysisException, match=r"(?i)non-deterministic"):
            table.agg(sf.max(message["offset"]))


REPORTS: dict[str, Callable[[SparkSession], Report]] = {
    "offsets": partial(offsets_report, roots=SEGMENTS),
    "transactions": partial(transactions_report, roots=SEGMENTS),
    "metadata": partial(metadata_report, roots=SEGMENTS, at=None),
    "share": partial(share_report, roots=SEGMENTS),
    "tiered": partial(tiered_report, roots=SEGMENTS),
    "compaction": partial(compaction_report, roots=SEGMENTS, wanted=()),
}
"""The jobs that read records of the brokers."""


@pytest.mark.parametrize("job", REPORTS)
def test_no_job_decodes_a_record_twice_on_its_way(job: str, spark: SparkSession) -> None:
    counts = {table.name: decodings(cast(DataFrame, table.frame)) for table in REPORTS[job](spark).tables}
    assert max(counts.values()) <= 1, counts


# Types and names.

WRONG = {
    "string": "string, the type of text: data of from_message must be binary; remove the cast, or convert it to bytes",
    "int": "int, the type of number: data of from_message must be binary",
    "array": r"array<string>, the type of many: data of from_message must be binary",
}


@pytest.mark.night
@pytest.mark.every_spark
def test_a_column_of_another_type_is_refused_before_the_query_runs(spark: SparkSession) -> None:
    frame = spark.sql("select 'abc' text, 1 number, array('a') many, struct(1 `odd.name`) st, X'00' data")
    kipspark.register(spark)
    frame.createOrReplaceTempView("of_many_types")
    for column, type_ in (("text", "string"), ("number", "int"), ("many", "array")):
        for mode in ("FAILFAST", "PERMISSIVE"):
            with pytest.raises(AnalysisException, match=WRONG[type_]):
                frame.select(kipspark.from_message(column, MESSAGE, mode=mode))
        in_sql = WRONG[type_].replace("type of ", r"type of (\w+/)*")
        with pytest.raises(AnalysisException, match=in_sql):
            spark.sql(f"select from_message({column}, '{MESSAGE}') from of_many_types")
    refused = {
        "data of error_of_message must be binary": kipspark.error_of_message("st.`odd.name`", MESSAGE),
        "string, the type of text: value of from_coordinator must be binary": kipspark.from_coordinator("data", "text"),
        "key of error_of_coordinator must be binary": kipspark.error_of_coordinator(sf.col("text"), "data"),
        "value of from_metadata must be binary": kipspark.from_metadata("text"),
        "binary, the type of data: rows of to_message must be struct": kipspark.to_message("data", MESSAGE),
    }
    for text, wrong in refused.items():
        with pytest.raises(AnalysisException, match=text):
            frame.select(wrong)
    assert rows(frame.select(kipspark.from_message(sf.lit(None), MESSAGE).alias("m"))) == [{"m": None}]


@pytest.mark.night
@pytest.mark.every_spark
def test_columns_are_named_after_the_call(table: DataFrame) -> None:
    kipspark.register(table.sparkSession)
    table.createOrReplaceTempView("of_names")
    named = table.select(
        kipspark.from_message("data", MESSAGE),
        kipspark.from_message(table.data, MESSAGE, mode="PERMISSIVE"),
        kipspark.error_of_message("data", MESSAGE),
        kipspark.from_coordinator("data", sf.col("data")),
    )
    assert named.columns == [
        *["from_message(data)"] * 2,
        "error_of_message(data)",
        "from_coordinator(data, data)",
    ]
    (name,) = table.sparkSession.sql(f"select from_message(data, '{MESSAGE}') from of_names").columns
    assert name.startswith("from_message(") and name.endswith("data)") and len(name) < 60


def test_modes_are_taken_in_any_case_and_fields_have_suggestions(table: DataFrame) -> None:
    broken = table.sparkSession.createDataFrame([(b"\0",)], "data binary")
    mode: Any
    for mode in ("permissive", "Permissive"):
        assert rows(broken.select(kipspark.from_message("data", MESSAGE, mode=mode).alias("m"))) == [{"m": None}]
        assert rows(broken.transform(kipspark.with_message, "m", "data", MESSAGE, mode=mode).select("m")) == [
            {"m": None}
        ]
    mode = "failfast"
    with pytest.raises(PythonException, match="OffsetCommitValue"):
        broken.select(kipspark.from_message("data", MESSAGE, mode=mode)).collect()
    for field, near in (
        ("ofset", "offset"),
        ("topics.partitons", "topics.partitions"),
        ("topics.partitions.fetchOffset", "topics.partitions.fetch_offset"),
    ):
        message = "FetchRequest" if "." in field else MESSAGE
        with pytest.raises(kipspark.JobError, match=rf"has no field '{field}' .*; did you mean {near}\?$"):
            kipspark.from_message("data", message, fields=[field])
    with pytest.raises(kipspark.JobError, match=r"has no field 'quux' in any version$"):
        kipspark.from_message("data", MESSAGE, fields=["quux"])


def test_a_stream_is_decoded_once(spark: SparkSession, table: DataFrame, tmp_path: Path) -> None:
    table.write.parquet(str(tmp_path / "in"))
    streamed = spark.readStream.schema(table.schema).parquet(str(tmp_path / "in"))
    decoded = streamed.select(kipspark.from_message("data", MESSAGE).alias("m")).where("m.offset > 5")
    query = decoded.select("m.offset").writeStream.format("parquet")
    query = query.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    running = query.start(str(tmp_path / "out"))
    running.awaitTermination()
    java: Any = running._jsq
    plan = java.streamingQuery().lastExecution().executedPlan()
    assert max(sum(name.endswith("EvalPython") for name in path) for path in paths(plan)) == 1
    assert offsets_from("offset", spark.read.parquet(str(tmp_path / "out"))) == list(range(6, COUNT))
