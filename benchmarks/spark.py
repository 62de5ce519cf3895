"""Rows a second of the pipeline, and what a million messages with 10,000 broken ones come to.

    python -m benchmarks.spark

Times are those of `noop` writes: the columns are made and thrown away. The best of a few runs counts.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PythonException
from pyspark.sql import Column, DataFrame, Observation
from rich.console import Console
from rich.table import Table

import kipspark
from kafka_messages.metadata_response.v12 import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_messages.offset_commit_value.v4 import OffsetCommitValue
from kipspark.cli import reason
from kipspark.session import open_session
from kipwire import Message
from kipwire.records import Record, write_batch

COMMITS = 1_000_000
EVERY = 100
"""One message in so many is broken."""
METADATA = 100_000
RECORDS = 1_000_000
BATCH = 500
"""Records of a batch."""
ROUNDS = 3


def main() -> None:
    """Run all of it and print a table."""
    warnings.simplefilter("ignore")
    spark = open_session()
    table = Table(title="Rows a second, local[*]", title_justify="left")
    for name in ("what", "rows", "rows a second"):
        table.add_column(name, justify="left" if name == "what" else "right")

    def measure(what: str, rows: int, frame: Callable[[], DataFrame]) -> None:
        best = min(_seconds(frame) for _ in range(ROUNDS))
        table.add_row(what, f"{rows:,}", f"{rows / best:,.0f}")

    with tempfile.TemporaryDirectory() as folder:
        good = spark.read.parquet(_write(Path(folder, "good"), [_commit(at) for at in range(COMMITS)]))
        broken = spark.read.parquet(_write(Path(folder, "broken"), [_maybe_broken(at) for at in range(COMMITS)]))
        responses = spark.read.parquet(_write(Path(folder, "metadata"), [_metadata(at) for at in range(METADATA)]))
        _write_log(Path(folder, "logs", "t-0"))

        decoded: Column = kipspark.from_message("data", "OffsetCommitValue")
        measure("read Parquet only", COMMITS, lambda: good)
        measure("OffsetCommitValue, from_message", COMMITS, lambda: good.select(decoded))
        one = kipspark.from_message("data", "OffsetCommitValue", fields=["offset"])
        measure("OffsetCommitValue, one field", COMMITS, lambda: good.select(one))
        whole = kipspark.from_message("data", "MetadataResponse", 12)
        measure("MetadataResponse v12, 10 partitions", METADATA, lambda: responses.select(whole))
        leaders = kipspark.from_message("data", "MetadataResponse", 12, fields=["topics.partitions.leader_id"])
        measure("MetadataResponse v12, one field", METADATA, lambda: responses.select(leaders))
        measure("kafka_log", RECORDS, lambda: spark.read.format("kafka_log").load(str(Path(folder, "logs"))))
        Console().print(table)

        observation = Observation()
        permissive = broken.select(
            kipspark.from_message("data", "OffsetCommitValue", mode="PERMISSIVE").alias("message"),
            kipspark.error_of_message("data", "OffsetCommitValue").alias("error"),
        )
        start = time.perf_counter()
        kipspark.counted(permissive, "error", observation).write.format("noop").mode("overwrite").save()
        print(f"PERMISSIVE: {observation.get} in {time.perf_counter() - start:.1f} s")
        expected = {"rows": COMMITS, "broken": COMMITS // EVERY}
        if observation.get != expected:
            sys.exit(f"expected {expected}")
        try:
            broken.select(decoded).write.format("noop").mode("overwrite").save()
        except PythonException as error:
            print(f"FAILFAST: {reason(error)}")
        else:
            sys.exit("FAILFAST did not stop")
    spark.stop()


def _seconds(frame: Callable[[], DataFrame]) -> float:
    start = time.perf_counter()
    frame().write.format("noop").mode("overwrite").save()
    return time.perf_counter() - start


def _write(place: Path, data: list[bytes]) -> str:
    place.mkdir()
    half = len(data) // 2
    for number, part in enumerate((data[:half], data[half:])):
        pq.write_table(pa.table({"data": pa.array(part, pa.binary())}), place / f"{number}.parquet")
    return str(place)


def _commit(at: int) -> bytes:
    return (
        b"\0\4" + OffsetCommitValue(offset=at, leader_epoch=3, metadata="", commit_timestamp=1_700_000_000_000).encode()
    )


def _maybe_broken(at: int) -> bytes:
    data = _commit(at)
    return data[: 2 + at // EVERY % (len(data) - 2)] if at % EVERY == EVERY // 2 else data


def _metadata(at: int) -> bytes:
    partitions = [
        MetadataResponsePartition(
            partition_index=one, leader_id=at % 5, replica_nodes=[1, 2, 3], isr_nodes=[1, 2, 3], offline_replicas=[]
        )
        for one in range(10)
    ]
    brokers = [MetadataResponseBroker(node_id=one, host=f"broker-{one}.example", port=9092) for one in range(3)]
    message: Message = MetadataResponse(
        brokers=brokers, topics=[MetadataResponseTopic(name=f"topic-{at}", partitions=partitions)]
    )
    return message.encode()


def _write_log(place: Path) -> None:
    place.mkdir(parents=True)
    with (place / f"{0:020}.log").open("wb") as file:
        for first in range(0, RECORDS, BATCH):
            records = [
                Record(offset=at, timestamp=1_700_000_000_000 + at, key=b"%d" % at, value=b"v" * 80)
                for at in range(first, first + BATCH)
            ]
            file.write(write_batch(records))


if __name__ == "__main__":
    main()
