"""Each job gives the same rows, of the same types, on both engines: DuckDB in this process, and Spark."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.support.places import DATA
from tests.support.subjects.both_engines import JOBS, different, of_both, outcomes
from tests.support.subjects.random_logs import write_random_logs, write_random_metadata
from tests.support.subjects.spark_tables import CAPTURE, SEGMENTS

# All of them in one process, where they share a session.
pytestmark = [
    pytest.mark.xdist_group("spark"),
    # py4j and Spark leave sockets and files to be collected, and pandas has deprecated what Spark still uses.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


# One job for every run of the tests, and all at night.
@pytest.mark.parametrize(
    "job", [pytest.param(job, marks=pytest.mark.every_spark if job == "offsets" else ()) for job in JOBS]
)
def test_a_job_has_the_same_rows_on_both_engines(job: str, spark: SparkSession) -> None:
    path = CAPTURE if job == "traffic" else SEGMENTS
    assert different(*of_both(job, spark, str(path))) == {}


def test_the_state_of_a_cluster_from_a_snapshot_is_the_same_on_both_engines(spark: SparkSession) -> None:
    assert different(*of_both("metadata", spark, str(DATA / "snapshots"))) == {}


LOGS_OF_RUN = 20


@pytest.fixture
def random_logs(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """Folders of brokers, whose partitions of brokers' topics have different numbers."""
    for number in range(LOGS_OF_RUN):
        write_random_logs(tmp_path / str(number), request.param * LOGS_OF_RUN + number, number)
    return [str(tmp_path / str(number)) for number in range(LOGS_OF_RUN)]


@pytest.mark.night
@pytest.mark.parametrize("random_logs", range(10), indirect=True)
def test_200_random_logs_have_the_same_rows_on_both_engines(random_logs: list[str], spark: SparkSession) -> None:
    for job in ("offsets", "transactions", "compaction", "share", "tiered"):
        here, on_spark = of_both(job, spark, random_logs)
        assert different(here, on_spark) == {}, job
        assert job == "tiered" or any(rows for _, rows in here.values())


@pytest.mark.night
@pytest.mark.parametrize("seed", range(10))
def test_random_metadata_has_the_same_rows_on_both_engines(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    write_random_metadata(tmp_path, seed)
    assert different(*of_both("metadata", spark, str(tmp_path))) == {}


@pytest.mark.night
@pytest.mark.parametrize("seed", range(12))
def test_damage_is_the_same_error_or_the_same_rows_on_both_engines(
    seed: int, spark: SparkSession, tmp_path: Path
) -> None:
    random = Random(seed)
    write_random_logs(tmp_path, seed, 0)
    log = random.choice(sorted(tmp_path.rglob("*.log")))
    data = bytearray(log.read_bytes())
    data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    log.write_bytes(data)
    for job in ("offsets", "transactions", "compaction", "share", "tiered"):
        here, on_spark = outcomes(job, spark, str(tmp_path))
        assert (
            here == on_spark if isinstance(here, str) or isinstance(on_spark, str) else different(here, on_spark) == {}
        )
