"""The folders of a real broker have the same rows on both engines, by every job, whole and damaged. `make test-broker`.

The broker has had groups of all kinds, records of all codecs, transactions of all ends, and a compacted topic.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kipjobs.engines.embedded.session import EmbeddedSession
from kipjobs.jobs.compaction.command import compaction_report
from kipspark.spark.session import FOR_FEW_ROWS, open_session
from kipwire.records import read_segment
from tests.support.live import every_kind
from tests.support.live.broker_traffic import captured
from tests.support.live.real_broker import ADDRESS, LOGS, PORT
from tests.support.subjects.both_engines import JOBS, different, found, of_both, outcomes
from tests.support.subjects.broker_logs import table

pytestmark = [
    pytest.mark.broker,
    pytest.mark.xdist_group("broker"),
    # py4j, Spark and the clients leave sockets and files to be collected; pandas has deprecated what Spark still uses.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

OF_LOGS = tuple(job for job in JOBS if job != "traffic")
CLEANED = LOGS / "cleaner-offset-checkpoint"


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = open_session("local[2]", settings=FOR_FEW_ROWS)
    yield session
    session.stop()


@pytest.fixture(scope="module")
def packets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of captured packets; it stays empty where capturing is not allowed."""
    return tmp_path_factory.mktemp("packets")


@pytest.fixture(scope="module")
def folders(packets: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the broker's folders, while one transaction is open and the cleaner has been at work."""
    with captured(PORT, packets / "dump.pcap"):
        every_kind.do_everything(ADDRESS)
    until = monotonic() + 30
    while f"\n{every_kind.TIDY} 0 " not in CLEANED.read_text() and monotonic() < until:
        sleep(0.1)
    copy = tmp_path_factory.mktemp("broker") / "logs"
    with every_kind.open_transaction(ADDRESS):
        shutil.copytree(LOGS, copy, ignore=shutil.ignore_patterns(".lock", "*.deleted", "*.cleaned", "*-delete"))
    return copy


def test_the_folders_have_every_kind_of_group_codec_and_transaction(folders: Path) -> None:
    with EmbeddedSession() as session:
        here: Any = session
        members = table(JOBS["offsets"](here, str(folders)), "membership")
        opened = table(JOBS["transactions"](here, str(folders)), "open")
        ended = table(JOBS["transactions"](here, str(folders)), "transactions")
        shared = table(JOBS["share"](here, str(folders)), "partitions")
    kinds = {row["group"]: row["kind"] for row in members}
    assert kinds[every_kind.CLASSIC] == "classic"
    assert kinds[every_kind.CONSUMER] == "consumer"
    assert kinds[every_kind.SHARE] == "share"
    assert kinds[every_kind.STREAMS] == "streams"
    assert every_kind.SHARE in {row["group"] for row in shared}
    assert "every-undecided" in {row["transactional_id"] for row in opened}
    states = {row["transactional_id"]: row["state"] for row in ended}
    assert {states[name] for name in ("every-payer", "every-refunder")} <= {"CompleteCommit", "CompleteAbort"}
    logs = folders.glob(f"{every_kind.READ}-*/*.log")
    codecs = {batch.compression for log in logs for batch in read_segment(log)}
    assert codecs == {"none", "gzip", "snappy", "lz4", "zstd"}
    assert f"\n{every_kind.TIDY} 0 " in (folders / CLEANED.name).read_text()


@pytest.mark.parametrize("job", OF_LOGS)
def test_a_job_on_logs_has_the_same_rows_on_both_engines(job: str, spark: SparkSession, folders: Path) -> None:
    here, there = of_both(job, spark, str(folders))
    assert different(here, there) == {}
    assert job == "tiered" or any(rows for _, rows in here.values())


def test_compaction_of_every_topic_has_the_same_rows_on_both_engines(spark: SparkSession, folders: Path) -> None:
    topics = [every_kind.READ, every_kind.PAID, every_kind.TIDY, every_kind.SHARED]
    with EmbeddedSession() as session:
        here: Any = session
        ours = found(compaction_report(here, str(folders), topics))
    assert different(ours, found(compaction_report(spark, str(folders), topics))) == {}


def test_traffic_of_packets_has_the_same_rows_on_both_engines(
    spark: SparkSession, folders: Path, packets: Path
) -> None:
    if not list(packets.iterdir()):
        pytest.skip("needs tcpdump, and the right to capture on loopback")
    here, there = of_both("traffic", spark, str(packets))
    assert different(here, there) == {}
    assert any(rows for _, rows in here.values())


# Damage.


def flip(data: bytearray) -> None:
    data[len(data) // 2] ^= 4


def cut(data: bytearray) -> None:
    del data[-len(data) // 3 :]


def lie_about_length(data: bytearray) -> None:
    data[8:12] = (2**31 - 1).to_bytes(4, "big")


def zero_the_end(data: bytearray) -> None:
    half = len(data) // 2
    data[half:] = bytes(len(data) - half)


@pytest.mark.parametrize("damage", [flip, cut, lie_about_length, zero_the_end])
@pytest.mark.parametrize(
    "topic",
    ["__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata", every_kind.PAID],
)
def test_a_damaged_log_is_the_same_error_or_the_same_rows_on_both_engines(
    damage: Callable[[bytearray], None], topic: str, spark: SparkSession, folders: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "logs"
    shutil.copytree(folders, copy)
    log = max(copy.glob(f"{topic}-*/*.log"), key=lambda path: path.stat().st_size)
    data = bytearray(log.read_bytes())
    damage(data)
    log.write_bytes(data)
    for job in OF_LOGS:
        here, there = outcomes(job, spark, str(copy))
        if isinstance(here, str) or isinstance(there, str):
            assert here == there, job
        else:
            assert different(here, there) == {}, job
