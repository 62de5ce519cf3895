"""Functions and sources of kipspark in SQL."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

import kipspark
from kafka_messages.enums import ErrorCode
from kipspark.spark.sql import FUNCTIONS
from kipwire.tables.errors import JobError
from tests.support.subjects.spark_tables import CAPTURE, SEGMENTS, rows

# All of them in one process, where they share a session.
pytestmark = [
    pytest.mark.xdist_group("spark"),
    # py4j and Spark leave sockets and files to be collected.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def sql(spark: SparkSession) -> Iterator[SparkSession]:
    """A session with the functions, and with the samples as views."""
    kipspark.register(spark)
    spark.sql(f"create temporary view log using kafka_log options (path '{SEGMENTS}', includeControl 'true')")
    spark.sql(f"create temporary view frames using kafka_frames options (path '{CAPTURE}')")
    spark.sql("create temporary view group_log as select * from log where topic = '__consumer_offsets'")
    yield spark
    for view in ("group_log", "log", "frames"):
        spark.catalog.dropTempView(view)


def same(sql: SparkSession, query: str, table: str, column: object) -> None:
    """Check that a query gives what a column function gives on a table, types included."""
    found = sql.sql(query)
    expected = sql.table(table).select(column.alias("it"))  # type: ignore[attr-defined]
    assert found.schema == expected.schema
    assert rows(found) == rows(expected)


@pytest.mark.every_spark
def test_the_functions_give_what_those_of_python_give(sql: SparkSession) -> None:
    types = {"types": ["OffsetCommit"], "mode": "PERMISSIVE"}
    same(
        sql,
        "select from_coordinator(key, value, map('types', 'OffsetCommit', 'mode', 'PERMISSIVE')) it from group_log",
        "group_log",
        kipspark.from_coordinator("key", "value", **types),  # type: ignore[arg-type]
    )
    fields = "map('fields', 'client_software_name', 'mode', 'PERMISSIVE')"
    same(
        sql,
        f"select from_message(frame, 'ApiVersionsRequest', null, {fields}) it from frames",
        "frames",
        kipspark.from_message("frame", "ApiVersionsRequest", fields=["client_software_name"], mode="PERMISSIVE"),
    )
    same(
        sql,
        "select error_of_message(frame, 'ApiVersionsRequest').reason it from frames",
        "frames",
        kipspark.error_of_message("frame", "ApiVersionsRequest").getField("reason"),
    )


def test_lists_may_have_spaces_after_their_commas(sql: SparkSession) -> None:
    same(
        sql,
        "select from_coordinator(key, value, map('types', 'OffsetCommit, GroupMetadata')) it from group_log",
        "group_log",
        kipspark.from_coordinator("key", "value", types=["OffsetCommit", "GroupMetadata"]),
    )


@pytest.mark.every_spark
def test_what_was_read_can_be_written(sql: SparkSession) -> None:
    query = """
        select m, to_message(m, 'OffsetCommitValue') stored, to_message(m, 'OffsetCommitValue', 3) body
        from (select from_message(X'00030000000000000007FFFFFFFF00000000000000000009', 'OffsetCommitValue') m)
    """
    (row,) = rows(sql.sql(query))
    assert (row["m"]["offset"], row["m"]["_version"]) == (7, 3)
    assert row["stored"] == b"\0\3" + row["body"]


def test_error_codes_have_names(sql: SparkSession) -> None:
    codes = [*map(int, ErrorCode), 32000]
    found = rows(
        sql.sql(f"select error_name(code) name from values {', '.join(f'({code})' for code in codes)} as t(code)")
    )
    assert [row["name"] for row in found] == [*(one.name for one in ErrorCode), None]
    assert rows(sql.sql("select error_name(cast(16 as smallint)) name")) == [{"name": "NOT_COORDINATOR"}]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.name)
def test_help_says_how_a_function_is_called(function: object, sql: SparkSession) -> None:
    name = function.name  # type: ignore[attr-defined]
    text = "\n".join(row["function_desc"] for row in rows(sql.sql(f"describe function extended {name}")))
    assert f"Usage: {name}(" in text
    assert re.search(rf"Arguments:\n      \* \w+.*Examples:\n      > SELECT {name}\(", text, re.DOTALL)
    assert "_FUNC_" not in text


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        ("from_message(value, 'Nope')", "from_message: kafka_messages has no message named 'Nope'"),
        (
            "from_message(value, topic)",
            "log.topic is not a constant; only the columns of bytes and of structs may vary",
        ),
        (
            "from_message(value, 'OffsetCommitValue', 99)",
            "from_message: unknown version 99 of OffsetCommitValue in kafka_messages",
        ),
        (
            "from_message(value, 'OffsetCommitValue', 3, map('made', 'x'))",
            "unknown option 'made'; the options are f",
        ),
        (
            "from_message(value, 'OffsetCommitValue', 3, map('mode', 'x'))",
            "mode must be FAILFAST or PERMISSIVE, not 'x'",
        ),
        ("from_coordinator(key)", r"wrong number of arguments; it is from_coordinator\(key, value\[, options"),
        ("error_name(1, 2)", r"wrong number of arguments; it is error_name\(code\)"),
    ],
)
def test_wrong_arguments_are_one_error_without_java(call: str, wrong: str, sql: SparkSession) -> None:
    with pytest.raises(PySparkException) as raised:
        sql.sql(f"select {call} from log").collect()
    assert re.search(wrong, str(raised.value))
    assert "\tat " not in str(raised.value)


@pytest.mark.parametrize(
    "broken",
    [
        AttributeError("no _jvm"),
        TypeError("'JavaPackage' object is not callable"),
        RuntimeError("createOrReplaceTempFunction\nat line 2"),
    ],
)
def test_where_spark_refuses_functions_the_sources_are_registered(
    broken: Exception, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise broken

    monkeypatch.setattr("pyspark.java_gateway.ensure_callback_server_started", refuse)
    with pytest.warns(UserWarning, match=r"no SQL functions here: Spark 4\.\S+ refuses them .*; classic") as warned:
        kipspark.register(spark)
    assert "\n" not in str(warned[0].message)
    assert spark.read.format("kafka_log").load(str(SEGMENTS)).columns


def test_workers_of_local_mode_run_this_python_if_theirs_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    """A session whose workers run what is not there, or what the caller has sent something to."""
    registered: list[object] = []
    monkeypatch.setattr("kipspark.spark.sql.register_sources", registered.append)

    def session(master: str, sent: str = "") -> Any:
        settings = {"spark.submit.pyFiles": sent}
        context = SimpleNamespace(master=master, pythonExec="/no/python3", getConf=lambda: settings)
        return SimpleNamespace(_jsparkSession=None, sparkContext=context, version="4.3.0")

    def register(master: str, sent: str = "") -> str:
        one = session(master, sent)
        with pytest.warns(UserWarning, match="no SQL functions here"):
            kipspark.register(one)
        return str(one.sparkContext.pythonExec)

    assert register("local[2]") == register("local") == register("local[*]") == sys.executable
    assert register("local[2]", "kipwire.zip") == register("spark://elsewhere:7077") == "/no/python3"
    assert len(registered) == 5
    with pytest.raises(JobError, match=r"workers run /no/python3: there is no such program; .* PYSPARK_PYTHON="):
        kipspark.register(session("local-cluster[2,1,1024]"))
    assert len(registered) == 5


def test_over_spark_connect_only_the_sources_are_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    class OverConnect:
        """A session as `register` sees it."""

    registered: list[object] = []
    monkeypatch.setattr("kipspark.spark.sql.register_sources", registered.append)
    session = OverConnect()
    with pytest.warns(UserWarning, match="no SQL functions here: Spark Connect has no way to register them; classic"):
        kipspark.register(session)  # type: ignore[arg-type]
    assert registered == [session]


def test_a_table_of_a_source_takes_its_options_with_each_query(sql: SparkSession) -> None:
    sql.sql("create table logs_of_kafka using kafka_log")
    try:
        counted = sql.sql(f"select count(*) n from logs_of_kafka with (path = '{SEGMENTS}', topics = 'orders')")
        expected = sql.sql("select count(*) n from log where topic = 'orders' and not is_control")
        assert rows(counted) == rows(expected)
        with pytest.raises(AnalysisException, match="needs a path"):
            sql.sql("select count(*) from logs_of_kafka").collect()
    finally:
        sql.sql("drop table logs_of_kafka")
