"""What checkpoints of streams keep: every version that was ever written is read, and later ones are refused."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from kipspark.errors import SourceError
from kipspark.sources.changing_logs.checkpoints import VERSION, Reached, document, reached_by
from kipwire.records import Record, write_batch
from tests.support.places import DATA
from tests.support.subjects.spark_tables import rows

pytestmark = pytest.mark.same_without_kernel("it is about offsets; codecs are tested with records")

KEPT = sorted((DATA / "stream_offsets").glob("*.json"))
NEXT = {"{logs}/orders-0": 3, "{logs}/orders-1": 1003}
FIRST = {"{logs}/orders-0": 0, "{logs}/orders-1": 1000}


def kept(name: str) -> Any:
    return json.loads((DATA / "stream_offsets" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_offsets_of_every_version_are_read(path: Path) -> None:
    begun = FIRST if path.stem.endswith("-begun") else {}
    assert reached_by(kept(path.stem)) == Reached(NEXT, begun)


def test_offsets_of_every_version_are_kept() -> None:
    versions = {found[1] for path in KEPT if (found := re.match(r"version-(\d+)", path.stem))}
    assert versions == {str(version) for version in range(1, VERSION + 1)}
    assert (DATA / "stream_offsets" / "unversioned.json") in KEPT


def test_the_present_version_is_written_as_it_is_kept() -> None:
    assert json.dumps(document(Reached(NEXT))) == json.dumps(kept(f"version-{VERSION}"))
    assert json.dumps(document(Reached(NEXT, FIRST))) == json.dumps(kept(f"version-{VERSION}-begun"))


def test_a_stream_that_has_read_nothing_has_an_offset() -> None:
    assert reached_by(document(Reached())) == reached_by({}) == Reached()


def test_offsets_of_a_later_version_are_refused() -> None:
    expected = (
        f"kafka_log: the stream's checkpoint has offsets of version {VERSION + 1}, but this release reads versions "
        f"up to {VERSION}; continue with the release that wrote it, or with a later one"
    )
    with pytest.raises(SourceError, match=re.escape(expected)):
        reached_by({"version": VERSION + 1, "other": []})


@pytest.mark.parametrize(
    "found",
    [
        [],
        None,
        {"/logs/t-0": "3"},
        {"/logs/t-0": -1},
        {"/logs/t-0": True},
        {"version": 0, "next_offsets": {}},
        {"version": "1", "next_offsets": {}},
        {"version": 1},
        {"version": 1, "next_offsets": {"/logs/t-0": 1.5}},
        {"version": 1, "next_offsets": {}, "first_offsets": 3},
        {"partition-1": {"index": 3}, "padding": "x" * 1000},
    ],
)
def test_what_kafka_log_does_not_write_is_refused(found: Any) -> None:
    with pytest.raises(SourceError, match="has offsets that kafka_log does not write: ") as caught:
        reached_by(found)
    assert len(str(caught.value)) < 300


# As in test_spark.py.
@pytest.mark.xdist_group("spark")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
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
        # Put what was kept in the place of what has just been written.
        file = checkpoint / "offsets" / str(last())
        reached = path.read_text(encoding="utf-8").replace("{logs}", str(logs))
        reached = reached.replace("1003", str(1003 + 10 * number)).replace(": 3", f": {3 + 10 * number}")
        file.write_text("\n".join([*file.read_text().splitlines()[:-1], reached.strip()]))
        (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
        expected += [(0, 3 + 10 * number + at) for at in range(10)] + [(1, 1003 + 10 * number + at) for at in range(10)]
        assert run() == sorted(expected)
        batches.append(last())
    assert all(after - before >= 2 for before, after in pairwise(batches))
