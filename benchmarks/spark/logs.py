"""Cost of reading log folders with `kafka_log`."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.reporting.report import Table
from benchmarks.spark.clock import Cost, peak_memory
from benchmarks.spark.kept import kept
from benchmarks.spark.log_data import MIB, PARTITIONS, commits_size, log_size, write_commits, write_log
from benchmarks.spark.ready_batches import ready_frame
from benchmarks.spark.section import Findings, Run, WrongRowsError, interleaved, ratio, share_of
from benchmarks.targets import Verdict
from kipspark import from_coordinator, from_message
from kipwire.tables.sources.batch_heads import RowFilter
from kipwire.tables.sources.log_columns import ALL_LOG_COLUMNS, LOG_SCHEMA
from kipwire.tables.sources.log_rows import read_rows
from kipwire.tables.sources.segments import find_segments
from kipwire.tables.sources.splits import cut_segment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kipwire.records.compression import Compression

WHOLE = 1024 * MIB
"""Bytes of the whole log without compression."""
SIZES: dict[Compression, int] = {"none": 256 * MIB, "lz4": 64 * MIB, "zstd": 32 * MIB}
"""Bytes on disk of the logs whose records are read, by codec: about two million records each."""
COMMITS = 256 * MIB
"""Bytes of the log of commits that are decoded."""
COMMIT_FIELDS = ("offset", "metadata", "commit_timestamp")
FEW = 2_000
"""Records of a partition whose values are compared."""
BYTES = "bytes: offset, key and value"
ALL = "kafka_log: all columns"
WHOLE_ROWS = {"columns": ",".join(LOG_SCHEMA.names)}
PARQUET = "Parquet of equal content, Spark's own scan"
FLOOR = "all columns ready in memory, from a Python data source"


def log_folder(run: Run, compression: Compression, size: int) -> Path:
    """Return the folder of a log of about this many bytes."""
    size = share_of(run, size)
    run.progress.say(f"a log of {size // MIB:,} MiB, {compression}")
    plan = log_size(compression, size // PARTITIONS)
    return kept(run.data, f"log-{compression}-{size // MIB}", lambda folder: write_log(folder, plan))


def measure_records(run: Run) -> Findings:
    """Read logs of each codec, all columns.

    Raises:
        WrongRowsError: `kafka_log` does not give the records that were written.
    """
    frames, counts, sizes = {}, {}, {}
    for compression, size in SIZES.items():
        folder = log_folder(run, compression, size)
        frames[compression] = run.spark.read.format("kafka_log").options(**WHOLE_ROWS).load(str(folder))
        counts[compression] = PARTITIONS * log_size(compression, share_of(run, size) // PARTITIONS).records
        sizes[compression] = _mib(folder)
        if (found := frames[compression].count()) != counts[compression]:
            raise WrongRowsError(f"{folder} has {counts[compression]:,} records, and kafka_log gives {found:,}")
    costs = interleaved(run, {str(name): frame for name, frame in frames.items()})
    rows = []
    for compression in SIZES:
        wall, cpu = _fastest(costs[compression])
        read, count = sizes[compression], counts[compression]
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
    return Findings((Table("kafka_log: all columns of records of 110 bytes, 500 to a batch", header, tuple(rows)),))


def measure_choices(run: Run) -> Findings:
    """Read a log without compression: all of it, some columns of it, and Spark's own scan of equal Parquet.

    Beside them runs a Python data source with ready rows: its cost is the least that any such source can have.

    Raises:
        WrongRowsError: the ways do not have equally many rows.
    """
    reader = run.spark.read.format("kafka_log")
    source = str(log_folder(run, "none", SIZES["none"]))
    everything = run.spark.read.format("kafka_log").options(**WHOLE_ROWS).load(source)
    name = f"log-parquet-{share_of(run, SIZES['none']) // MIB}"
    parquet = kept(run.data, name, lambda folder: everything.write.mode("overwrite").parquet(str(folder)))
    count, tasks = everything.count(), everything.rdd.getNumPartitions()
    first = next(read_rows(cut_segment(find_segments(source)[0])[0], RowFilter()))
    ready = ready_frame(run.spark, first, run.scratch / "ready.arrow", count, tasks)
    frames = {PARQUET: run.spark.read.parquet(str(parquet)), FLOOR: ready, ALL: everything}
    frames["kafka_log: default columns"] = reader.load(source)
    for columns in ("offset,timestamp,key,value", "offset,timestamp"):
        frames[f"kafka_log: {columns}"] = reader.option("columns", columns).load(source)
    for name in (PARQUET, FLOOR):
        if (found := frames[name].count()) != count:
            raise WrongRowsError(f"{name}: {found:,} records, and kafka_log has {count:,}")
    costs = interleaved(run, frames)
    rows = []
    for name, taken in costs.items():
        wall, cpu = _fastest(taken)
        rows.append((name, f"{count / wall:,.0f}", f"{cpu / count * 1e6:.2f}", f"{ratio(costs, name, PARQUET):.2f}"))
    header = ("what", "records a second", "CPU µs a record", "CPU / Parquet")
    table = Table("kafka_log: chosen columns, and equal Parquet", header, tuple(rows))
    verdict = Verdict("kafka_log: CPU / Parquet", "all columns", ratio(costs, ALL, PARQUET), 2.0, True)
    return Findings((table,), (verdict,))


def measure_columns(run: Run) -> Findings:
    """Measure the cost of each column beyond `offset`, and of `count()`, which makes all columns that are planned."""
    source = str(log_folder(run, "none", SIZES["none"]))

    def log(*columns: str) -> DataFrame:
        return run.spark.read.format("kafka_log").options(**_chosen(columns)).load(source)

    count = log("offset").count()
    others = [name for name in ALL_LOG_COLUMNS.names if name != "offset"]
    frames = {"offset": log("offset"), **{name: log("offset", name) for name in others}}
    counted = {"default columns": log(), "all columns": log(*LOG_SCHEMA.names), "columns=offset": log("offset")}
    frames |= {f"count(), {name}": frame.groupBy().count() for name, frame in counted.items()}
    costs = interleaved(run, frames)
    alone = median(one.cpu for one in costs["offset"])
    rows = []
    for name, taken in costs.items():
        cpu = median(one.cpu for one in taken)
        more = f"{(cpu - alone) / count * 1e6:.2f}" if name in others else ""
        rows.append((name, f"{cpu / count * 1e6:.2f}", more))
    header = ("read", "CPU µs a record", "more than offset")
    return Findings((Table("kafka_log: the cost of each column, read with offset", header, tuple(rows)),))


def measure_decoded(run: Run) -> Findings:
    """Read commits as typed columns: decoded in the source, and from its bytes after it.

    Raises:
        WrongRowsError: both ways do not give equal values; raised before anything is timed.
    """
    size = share_of(run, COMMITS)
    run.progress.say(f"commits of {size // MIB:,} MiB")
    plan = commits_size(size // PARTITIONS)
    source = str(kept(run.data, f"commits-{size // MIB}", lambda folder: write_commits(folder, plan)))

    record = from_coordinator("key", "value", types=["OffsetCommit"]).alias("record")
    message = from_message("value", "OffsetCommitValue", fields=COMMIT_FIELDS).alias("message")
    chosen = {"message": "OffsetCommitValue", "fields": ",".join(COMMIT_FIELDS), "columns": "offset,message"}

    def ways(**bounds: str) -> dict[str, DataFrame]:
        def log(**options: str) -> DataFrame:
            return run.spark.read.format("kafka_log").options(**options, **bounds).load(source)

        return {
            BYTES: log(columns="offset,key,value"),
            "from_coordinator": log(columns="offset,key,value").select("offset", record),
            "decode=coordinator": log(decode="coordinator", types="OffsetCommit", columns="offset,record"),
            "from_message": log(columns="offset,value").select("offset", message),
            "message=OffsetCommitValue": log(**chosen),
        }

    pairs = (("decode=coordinator", "from_coordinator"), ("message=OffsetCommitValue", "from_message"))
    few, frames = ways(endingOffset=str(FEW)), ways()
    for inside, after in pairs:
        if sorted(few[inside].toJSON().collect()) != sorted(few[after].toJSON().collect()):
            raise WrongRowsError(f"{inside} and {after} do not give equal values")
    costs, count = interleaved(run, frames), PARTITIONS * plan.records
    ratios = {inside: ratio(costs, inside, after) for inside, after in pairs}
    rows = [
        (
            name,
            f"{count / min(one.wall for one in taken):,.0f}",
            f"{median(one.cpu for one in taken) / count * 1e6:.2f}",
            f"{ratios[name]:.2f}" if name in ratios else "",
            f"{ratio(costs, name, BYTES):.2f}",
        )
        for name, taken in costs.items()
    ]
    header = ("read", "records a second", "CPU µs a record", "CPU / after the source", "CPU / key and value")
    verdicts = [
        Verdict(f"{inside}: CPU / {after}", f"{count:,} commits", ratios[inside], 0.55, True) for inside, after in pairs
    ]
    below = ratio(costs, "message=OffsetCommitValue", BYTES)
    verdicts.append(Verdict("message=OffsetCommitValue: CPU / key and value", f"{count:,} commits", below, 1.0, True))
    title = "kafka_log: commits as typed columns, decoded in the source and after it"
    return Findings((Table(title, header, tuple(rows)),), tuple(verdicts))


def _chosen(columns: tuple[str, ...]) -> dict[str, str]:
    return {"columns": ",".join(columns)} if columns else {}


def measure_batches(run: Run) -> Findings:
    """Read the heads of all batches of a gigabyte.

    Raises:
        WrongRowsError: `kafka_log` does not give a row for each batch that was written.
    """
    folder = log_folder(run, "none", WHOLE)
    plan = log_size("none", share_of(run, WHOLE) // PARTITIONS)
    batches = run.spark.read.format("kafka_log").option("level", "batches").load(str(folder))
    count = PARTITIONS * plan.segments * plan.batches
    if (found := batches.count()) != count:
        raise WrongRowsError(f"{folder} has {count:,} batches, and kafka_log gives {found:,}")
    taken = interleaved(run, {"batches": batches})["batches"]
    wall, cpu = _fastest(taken)
    size = _mib(folder)
    row = (f"{size:,.0f}", f"{count:,}", f"{wall:.2f}", f"{size / wall:,.0f}", f"{cpu:.2f}")
    header = ("MiB on disk", "batches", "seconds", "MiB a second", "CPU seconds")
    table = Table("kafka_log with level=batches: heads alone", header, (row,))
    return Findings((table,), (Verdict("level=batches: seconds", f"{size:,.0f} MiB", wall, 2.0, True),))


def measure_memory(run: Run) -> Findings:
    """Measure the peak of the largest Python worker that reads one partition of a gigabyte, and all of it."""
    whole = str(log_folder(run, "none", WHOLE))
    reader = run.spark.read.format("kafka_log")
    rows = []
    for partitions in ("0", ""):
        size = share_of(run, WHOLE) // MIB // (PARTITIONS if partitions else 1)
        run.progress.say(f"{size:,} MiB")
        frame = (reader.option("partitions", partitions) if partitions else reader).load(whole)
        rows.append((f"{size:,} MiB", f"{peak_memory(frame) / MIB:,.0f} MiB"))
    return Findings((Table("kafka_log: memory", ("read", "largest Python worker"), tuple(rows)),))


def _mib(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*.log")) / MIB


def _fastest(taken: list[Cost]) -> tuple[float, float]:
    """Return the lowest wall-clock time, and the lowest processor time."""
    return min(one.wall for one in taken), min(one.cpu for one in taken)
