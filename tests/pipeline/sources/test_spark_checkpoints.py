"""Spark goes on from what checkpoints of streams keep, in batches of a limited size."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kipwire.records import Record, write_batch
from tests.support.places import DATA
from tests.support.subjects.spark_tables import rows

# As in test_spark.py.
pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

KEPT = sorted((DATA / "stream_offsets").glob("*.json"))


def test_spark_goes_on_from_kept_checkpoints_in_limited_batches(spark: SparkSession, tmp_path: Path) -> None:
    logs, checkpoint = tmp_path / "logs", tmp_path / "checkpoint"

    def write(name: str, base: int, first: int, end: int) -> None:
        path = logs / name / f"{base:020}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            for at in range(first, end):
                file.write(write_batch([Record(offset=at, value=b"v")]))

    def run() -> list[tuple[int, int]]:
        # The two logs have 20 batches of 69 bytes.
        log = spark.readStream.format("kafka_log").option("maxBytesPerTrigger", "800").load(str(logs))
        writer = log.writeStream.format("parquet").option("checkpointLocation", str(checkpoint))
        writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()
        found = rows(spark.read.parquet(str(tmp_path / "out")).select("partition", "offset"))
        return sorted((row["partition"], row["offset"]) for row in found)

    def last() -> int:
        return max(int(file.name) for file in (checkpoint / "commits").glob("*") if file.name.isdigit())

    write("orders-0", 0, 0, 3)
    write("orders-1", 1000, 1000, 1003)
    expected = [(0, 0), (0, 1), (0, 2), (1, 1000), (1, 1001), (1, 1002)]
    assert run() == expected
    batches = [last()]
    for number, path in enumerate(KEPT):
        write("orders-0", 0, 3 + 10 * number, 13 + 10 * number)
        write("orders-1", 1000, 1003 + 10 * number, 1013 + 10 * number)
        # Put the kept checkpoint in the place of the one that has just been written.
        file = checkpoint / "offsets" / str(last())
        reached = path.read_text(encoding="utf-8")
        reached = reached.replace("1003", str(1003 + 10 * number)).replace(": 3", f": {3 + 10 * number}")
        reached = reached.replace("{logs}", str(logs))  # after the numbers, one of which may be in the path
        file.write_text("\n".join([*file.read_text().splitlines()[:-1], reached.strip()]))
        (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
        expected += [(0, 3 + 10 * number + at) for at in range(10)] + [(1, 1003 + 10 * number + at) for at in range(10)]
        assert run() == sorted(expected)
        batches.append(last())
    assert all(after - before >= 2 for before, after in pairwise(batches))
