"""Jobs as far as they are Spark's alone, and messages as columns of Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from kipjobs.jobs import offsets
from kipjobs.jobs.metadata.report import metadata_report
from kipjobs.jobs.offsets.report import offsets_report
from kipjobs.jobs.shared import options, running
from kipjobs.jobs.shared.reading import committed
from kipjobs.jobs.traffic.command import traffic_report
from kipjobs.report.outputs import write_tables
from kipjobs.report.report import Table
from kipspark import from_message, to_message
from tests.support import golden_data
from tests.support.places import DATA
from tests.support.subjects.spark_tables import rows

# All of them in one process, where they share a session.
pytestmark = [
    pytest.mark.xdist_group("spark"),
    # py4j and Spark leave sockets and files to be collected, and pandas has deprecated what Spark still uses.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SNAPSHOTS = DATA / "snapshots"


@pytest.mark.every_spark
def test_lag_is_the_end_of_the_partition_at_the_time_of_the_commit(log: DataFrame, batches: DataFrame) -> None:
    latest = {
        (row["group"], row["partition"]): (row["offset"], row["end_offset"], row["lag"])
        for row in rows(offsets.latest(offsets.with_lag(offsets.commits(committed(log)), offsets.ends(batches))))
    }
    assert latest["java-new", 1] == (511, 511, 0)
    assert latest["kp-group", 0] == (323, 323, 0)
    group, partition = "kp-txn-group", 0
    offset, end, lag = latest[group, partition]
    assert lag == end - offset > 0


def test_golden_messages_come_back_from_columns_of_spark(spark: SparkSession) -> None:
    newest = {name: version for name, version in sorted(golden_data.messages()) if name.endswith("Record")}
    assert len(newest) > 20
    for name, version in newest.items():
        data = [(bytes.fromhex(line["hex"]),) for line in golden_data.messages()[name, version]]
        frame = spark.createDataFrame(data, "data binary").coalesce(1)
        again = frame.select("data", to_message(from_message("data", name, version), name, version).alias("again"))
        assert [(row["data"], row["again"]) for row in rows(again)] == [row * 2 for row in data], name


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
        "offsets": lambda: offsets_report(spark, options.sample_segments()),
        "traffic": lambda: traffic_report(spark, options.sample_capture()),
        "metadata": lambda: metadata_report(spark, options.sample_segments(), None),
    }[job]()
    running.deliver(report, options.Outputs(tmp_path / "out", html=tmp_path / "page.html"))
    text = (tmp_path / "page.html").read_text()
    assert "<svg" in text
    assert report.title in capsys.readouterr().out
    for table in report.tables:
        assert spark.read.parquet(str(tmp_path / "out" / table.name)).columns == table.frame.columns
