"""Log folders of any size, and the cost of reading them."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

from benchmarks.reporting.report import Table
from benchmarks.spark.clock import Cost, cost_of, peak_memory
from kipwire.records import Record, write_batch

if TYPE_CHECKING:
    from kipwire.records.compression import Compression

MIB = 1 << 20
SEGMENT_BYTES = 64 * MIB
PARTITIONS = 4
RECORDS_OF_A_BATCH = 500
SIZES: dict[Compression, int] = {"none": 1024 * MIB, "lz4": 256 * MIB, "zstd": 256 * MIB}
"""Bytes on disk, by codec."""
ROUNDS = 3
PARQUET = "Parquet of equal content, Spark's own scan"


def write_log(folder: Path, compression: Compression, size: int) -> int:
    """Write segments of about `size` bytes in total, in several partitions; the number of records."""
    batch = write_batch(_records(), compression=compression)
    segment_size = min(SEGMENT_BYTES, size // PARTITIONS)
    batches = segment_size // len(batch)
    segments = max(1, size // (batches * len(batch)) // PARTITIONS)
    for partition in range(PARTITIONS):
        place = folder / f"events-{partition}"
        place.mkdir(parents=True)
        offset = 0
        for _ in range(segments):
            with (place / f"{offset:020}.log").open("wb") as file:
                for _ in range(batches):
                    file.write(offset.to_bytes(8) + batch[8:])  # the checksum does not cover the offset
                    offset += RECORDS_OF_A_BATCH
    return PARTITIONS * segments * batches * RECORDS_OF_A_BATCH


def _records() -> list[Record]:
    """Records of about 110 bytes, a quarter of them with a header; values that a codec makes about half as long."""
    return [
        Record(
            offset=number,
            timestamp=1_700_000_000_000 + number,
            key=b"user-%08d" % (number * 7919 % 100_000),
            value=b'{"id":%d,"kind":"order","amount":%d,"currency":"EUR","note":"%s"}'
            % (number, number * 31337 % 99_999, b"abcdefgh"[number % 4 :] * 4),
            headers=[("trace", b"%016x" % (number * 2654435761))] if number % 4 == 0 else [],
        )
        for number in range(RECORDS_OF_A_BATCH)
    ]


def measure_logs(spark: SparkSession, folder: Path) -> Table:
    """Read logs of each codec, all columns, some rounds each, interleaved."""
    frames: dict[Compression, DataFrame] = {}
    counts: dict[Compression, int] = {}
    for compression, size in SIZES.items():
        counts[compression] = write_log(folder / compression, compression, size)
        frames[compression] = spark.read.format("kafka_log").load(str(folder / compression))
    for frame in frames.values():
        cost_of(frame)
    costs: dict[Compression, list[Cost]] = {compression: [] for compression in frames}
    for _ in range(ROUNDS):
        for compression, frame in frames.items():
            costs[compression].append(cost_of(frame))
    rows = []
    for compression, taken in costs.items():
        wall, cpu = min(one.wall for one in taken), min(one.cpu for one in taken)
        read = sum(path.stat().st_size for path in (folder / compression).rglob("*.log")) / MIB
        count = counts[compression]
        rows.append(
            (
                compression,
                f"{read:,.0f}",
                f"{count / wall:,.0f}",
                f"{read / wall:,.0f}",
                f"{read / cpu:,.0f}",
                f"{cpu / count * 1e6:.2f}",
            )
        )
    header = ("codec", "MiB on disk", "records a second", "MiB a second", "MiB a CPU second", "CPU µs a record")
    return Table("kafka_log: all columns of records of 110 bytes, 500 to a batch", header, tuple(rows))


def measure_choices(spark: SparkSession, folder: Path) -> Table:
    """Read a quarter of the log without compression: all of it, some of it, and Spark's own scan of equal Parquet."""
    reader = spark.read.format("kafka_log").option("partitions", "0")
    source, parquet = str(folder / "none"), str(folder / "parquet")
    everything = reader.load(source)
    everything.write.parquet(parquet)
    frames = {PARQUET: spark.read.parquet(parquet), "kafka_log: all columns": everything}
    for columns in ("offset,timestamp,key,value", "offset,timestamp"):
        frames[f"kafka_log: {columns}"] = reader.option("columns", columns).load(source)
    count = everything.count()
    costs: dict[str, list[Cost]] = {name: [] for name in frames}
    for frame in frames.values():
        cost_of(frame)
    for number in range(ROUNDS):
        for name in reversed(frames) if number % 2 else frames:
            costs[name].append(cost_of(frames[name]))
    rows = []
    for name, taken in costs.items():
        wall = min(one.wall for one in taken)
        ratio = median(one.cpu / other.cpu for one, other in zip(taken, costs[PARQUET], strict=True))
        rows.append((name, f"{count / wall:,.0f}", f"{_cpu(taken) / count * 1e6:.2f}", f"{ratio:.2f}"))
    header = ("what", "records a second", "CPU µs a record", "CPU / Parquet")
    return Table("kafka_log: what is asked for, and equal Parquet", header, tuple(rows))


def measure_batches(spark: SparkSession, folder: Path) -> Table:
    """Read the heads of all batches of each log."""
    rows = []
    for compression in SIZES:
        place = folder / compression
        batches = spark.read.format("kafka_log").option("level", "batches").load(str(place))
        cost_of(batches)
        taken = [cost_of(batches) for _ in range(ROUNDS)]
        size = sum(path.stat().st_size for path in place.rglob("*.log")) / MIB
        wall = min(one.wall for one in taken)
        figures = (f"{size:,.0f}", f"{batches.count():,}", f"{wall:.2f}", f"{size / wall:,.0f}", f"{_cpu(taken):.2f}")
        rows.append((compression, *figures))
    header = ("codec", "MiB on disk", "batches", "seconds", "MiB a second", "CPU seconds")
    return Table("kafka_log with level=batches: heads alone", header, tuple(rows))


def _cpu(taken: list[Cost]) -> float:
    return min(one.cpu for one in taken)


def measure_memory(spark: SparkSession, folder: Path) -> Table:
    """The peak of the largest Python worker, reading one partition of the log and all of it."""
    reader = spark.read.format("kafka_log")
    whole = str(folder / "none")
    rows = []
    for partitions in ("0", ""):
        frame = (reader.option("partitions", partitions) if partitions else reader).load(whole)
        peak = peak_memory(frame)
        size = SIZES["none"] // MIB // (PARTITIONS if partitions else 1)
        rows.append((f"{size:,} MiB", f"{peak / MIB:,.0f} MiB"))
    return Table("kafka_log: memory", ("read", "largest Python worker"), tuple(rows))
