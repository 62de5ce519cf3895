"""Tables as CSV, JSON lines and Parquet, and numbers for Prometheus: every value comes through as it is."""

from __future__ import annotations

import base64
import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from kipjobs.jobs.offsets.report import offsets_report
from kipjobs.jobs.shared import running
from kipjobs.jobs.shared.options import Outputs
from kipjobs.report.metrics import Gauge, Metrics, exposition
from kipjobs.report.outputs import TableFormat, write_tables
from kipjobs.report.report import Report, Table
from kipwire.cli.jobs import ReportFormat
from kipwire.tables.errors import JobError
from tests.support.subjects.exposition import samples
from tests.support.subjects.spark_tables import SEGMENTS, rows

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
NAMES = [
    "%s{}$HOME",
    "<script>alert('x')</script>",
    'a "quoted" name',
    '"',
    "two\nlines",
    "two\r\nlines\r",
    "\n",
    "=1+1",
    "+1",
    "@SUM(A1)",
    "#comment",
    "a,b;c\td",
    " spaces ",
    "back\\slash\\n",
    "\\",
    "",
    "null",
    "\\N",
    "größe 漢字 \U0001f600",
    "\x00\x01\x1b[31m\x7f\u2028\ufeff",
    "a='{b}'",
]
TIME = datetime(2026, 11, 21, 8, 0, 50, 123456, tzinfo=UTC)
SCHEMA = (
    "n int, name string, time timestamp, big bigint, part double, yes boolean, data binary, "
    "many array<string>, nested struct<name:string,at:timestamp,none:int>, tags map<int,binary>"
)


@pytest.fixture
def frame(spark: SparkSession) -> DataFrame:
    """A row for each name, and one of nulls."""
    given = [
        (n, name, TIME, 2**60 + n, 0.5, True, b"\0\xff", [name, None], (name, TIME, None), {7: b"\xff"})
        for n, name in enumerate(NAMES)
    ]
    return spark.createDataFrame([*given, (len(NAMES), *[None] * 9)], SCHEMA).repartition(3)


def written(frame: DataFrame, folder: Path, table_format: TableFormat) -> bytes:
    """Return the content of a table's file."""
    write_tables(folder, [Table("t", "T", frame, (sf.desc("n"),))], table_format)
    assert [path.name for path in folder.iterdir()] == [f"t.{table_format}"]
    return (folder / f"t.{table_format}").read_bytes()


def test_csv_is_that_of_rfc_4180(frame: DataFrame, tmp_path: Path) -> None:
    text = written(frame, tmp_path / "out", TableFormat.CSV).decode()
    head, *found = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert head == frame.columns
    assert text.startswith(",".join(head) + "\r\n" + f"{len(NAMES)}{',' * 9}\r\n")
    assert text.endswith("\r\n")
    data, time = base64.b64encode(b"\0\xff").decode(), "2026-11-21T08:00:50.123456Z"
    for n, row in zip(reversed(range(len(NAMES))), found[1:], strict=True):
        number, name, at, big, part, yes, of_data, many, nested, tags = row
        assert (number, name, at, big, part, yes) == (str(n), NAMES[n], time, str(2**60 + n), "0.5", "true")
        assert of_data == data
        assert json.loads(many) == [NAMES[n], None]
        assert json.loads(nested) == {"name": NAMES[n], "at": time, "none": None}
        assert json.loads(tags) == {"7": "/w=="}
    assert ',"",' in text  # an empty name is not null


def test_json_lines_have_an_object_for_each_row(frame: DataFrame, tmp_path: Path) -> None:
    text = written(frame, tmp_path / "out", TableFormat.JSONL).decode()
    assert text.endswith("\n")
    found = [json.loads(line) for line in text[:-1].split("\n")]
    assert found[0] == dict.fromkeys(frame.columns) | {"n": len(NAMES)}
    time = "2026-11-21T08:00:50.123456Z"
    assert found[1:] == [
        {
            "n": n,
            "name": NAMES[n],
            "time": time,
            "big": 2**60 + n,
            "part": 0.5,
            "yes": True,
            "data": base64.b64encode(b"\0\xff").decode(),
            "many": [NAMES[n], None],
            "nested": {"name": NAMES[n], "at": time, "none": None},
            "tags": {"7": "/w=="},
        }
        for n in reversed(range(len(NAMES)))
    ]


def test_times_are_in_utc_whatever_the_session_has(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(1, TIME)], "n int, time timestamp")
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        texts = [written(frame, tmp_path / one, one).decode() for one in (TableFormat.CSV, TableFormat.JSONL)]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    assert texts == [
        "n,time\r\n1,2026-11-21T08:00:50.123456Z\r\n",
        '{"n":1,"time":"2026-11-21T08:00:50.123456Z"}\n',
    ]


def test_bytes_that_are_not_text_become_valid_utf_8(spark: SparkSession, tmp_path: Path) -> None:
    odd = sf.lit(b'a\xff"').cast("string").alias("name")
    frame = spark.range(1).select(sf.col("id").alias("n"), odd)
    assert written(frame, tmp_path / "csv", TableFormat.CSV).decode() == 'n,name\r\n0,"a\ufffd"""\r\n'
    assert json.loads(written(frame, tmp_path / "jsonl", TableFormat.JSONL)) == {"n": 0, "name": 'a\ufffd"'}
    text = exposition([Metrics(frame, (Gauge("g", "G.", "n", {"name": "name"}),))])
    assert text.splitlines()[-1] == 'g{name="a\ufffd\\""} 0'


@pytest.mark.parametrize("table_format", [TableFormat.CSV, TableFormat.JSONL])
def test_a_table_without_rows_is_a_file_too(spark: SparkSession, tmp_path: Path, table_format: TableFormat) -> None:
    frame = spark.range(0).select(sf.col("id").alias("n"), sf.lit("").alias("name"))
    assert (
        written(frame, tmp_path / "out", table_format)
        == {TableFormat.CSV: b"n,name\r\n", TableFormat.JSONL: b""}[table_format]
    )


def test_every_format_has_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    report = offsets_report(spark, SEGMENTS)
    running.deliver(report, Outputs(tmp_path / "csv", TableFormat.CSV))
    for one in (TableFormat.PARQUET, TableFormat.JSONL):
        write_tables(tmp_path / one, report.tables, one)
    names = {table.name for table in report.tables}
    assert {path.stem for one in TableFormat for path in (tmp_path / one).iterdir()} == names
    for table in report.tables:
        stored = spark.read.parquet(str(tmp_path / "parquet" / table.name)).orderBy(
            *cast(tuple[Column, ...], table.order)
        )
        plain = rows(stored)
        with (tmp_path / "csv" / f"{table.name}.csv").open(newline="") as file:
            head, *others = csv.reader(file, strict=True)
        assert (head, len(others)) == (stored.columns, len(plain))
        lines = (tmp_path / "jsonl" / f"{table.name}.jsonl").read_text().splitlines()
        as_text = [{name: text_of(value) for name, value in row.items()} for row in plain]
        assert sorted(str(json.loads(line)) for line in lines) == sorted(map(str, as_text))


def text_of(value: Any) -> Any:
    """Return a value as text files have it."""
    return f"{value:%Y-%m-%dT%H:%M:%S.%fZ}" if isinstance(value, datetime) else value


def test_a_text_file_replaces_none_that_another_run_wrote(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(1)

    def meanwhile(*_: Any) -> DataFrame:
        write_tables(tmp_path / "out", [Table("b", "", spark.range(2), ("id",))], TableFormat.CSV)
        return frame

    late: Any = SimpleNamespace(orderBy=meanwhile, schema=frame.schema, sparkSession=spark)
    first, second = Table("a", "", frame, ("id",)), Table("b", "", late, ("id",))
    with pytest.raises(JobError, match=r"out/b.csv: another run has written it meanwhile, and nothing is overwritten"):
        write_tables(tmp_path / "out", [first, second], TableFormat.CSV)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == {"b.csv": b"id\r\n0\r\n1\r\n"}


@pytest.mark.parametrize(
    "name", ["%s{}$HOME", "x[1]", "a{b", "st*r", "what?", "back\\slash", "=1+1", "a:b", "<script>"]
)
def test_a_folder_may_have_any_name(name: str, spark: SparkSession, tmp_path: Path) -> None:
    write_tables(tmp_path / name, [Table("numbers", "", spark.range(2), ("id",))], TableFormat.JSONL)
    assert (tmp_path / name / "numbers.jsonl").read_text() == '{"id":0}\n{"id":1}\n'


def test_text_is_not_written_where_spark_has_other_files(spark: SparkSession, tmp_path: Path) -> None:
    reader = SimpleNamespace(text=lambda _: SimpleNamespace(collect=list))
    elsewhere: Any = SimpleNamespace(sparkSession=SimpleNamespace(read=reader), schema=spark.range(1).schema)
    table = Table("t", "", elsewhere, ())
    with pytest.raises(
        JobError,
        match=r"out: Spark runs elsewhere without access to this folder.*; leave out --out-format csv, or choose",
    ):
        write_tables(tmp_path / "out", [table], TableFormat.CSV)
    assert not (tmp_path / "out").exists()


# Metrics.


def test_every_name_is_a_label_as_it_is(frame: DataFrame) -> None:
    named = frame.where("name is not null").withColumn("size", sf.when(sf.col("n") > 0, sf.col("n") / 4))
    gauges = (
        Gauge("size", 'What\nis "it" \\ here', "size", {"name": "name", "n": "n"}),
        Gauge("n", "N.", "n", {"n": "n"}),
    )
    text = exposition(
        [Metrics(named, gauges), Metrics(named.agg(sf.count("*").alias("rows")), (Gauge("r", "R.", "rows"),))]
    )
    assert text.startswith('# HELP size What\\nis "it" \\\\ here\n# TYPE size gauge\nsize{')
    assert samples(text) == {
        **{("size", frozenset([("name", name), ("n", str(n))])): n / 4 for n, name in enumerate(NAMES) if n},
        **{("n", frozenset([("n", str(n))])): n for n in range(len(NAMES))},
        ("r", frozenset()): len(NAMES),
    }


def test_metrics_on_standard_output_are_alone_there(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gauge = Gauge("rows", "Rows.", "id")
    report = Report("r", (Table("t", "T", spark.range(1), ("id",)),), metrics=(Metrics(spark.range(1), (gauge,)),))
    running.deliver(report, Outputs(tmp_path / "out", html=tmp_path / "page.html", shown=ReportFormat.PROMETHEUS))
    printed = capsys.readouterr()
    assert printed.out == "# HELP rows Rows.\n# TYPE rows gauge\nrows 0\n"
    assert "Tables: " in printed.err and "Page: " in printed.err
    assert (tmp_path / "page.html").exists() and (tmp_path / "out" / "t").exists()
    running.deliver(report, Outputs(metrics=tmp_path / "kafka.prom"))
    assert (tmp_path / "kafka.prom").read_text() == printed.out
    assert "Metrics: " in capsys.readouterr().out
