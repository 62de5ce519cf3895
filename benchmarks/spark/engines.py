"""Jobs as users start them, in the process (`kipwire`) and on Spark (`kipspark`), in turn; the samples, and packets."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds

from benchmarks.reporting.report import Table
from benchmarks.spark.clock import ProgramCost, cost_of_program
from benchmarks.spark.kept import kept
from benchmarks.spark.log_data import MIB
from benchmarks.spark.section import Findings, Run, WrongRowsError
from benchmarks.tapped import make_packets
from benchmarks.targets import Verdict

IN_PROCESS, ON_SPARK = "kipwire", "kipspark"
"""The programs."""
DRIVER_MEMORY = "1g"
"""Spark's default memory of the driver."""
SAMPLES = Path(__file__).parents[2] / "tests" / "data" / "segments"
_PACKETS = "packets.pcap"
_SAMPLES_SECONDS = 2
_SHARE_OF_SPARK = 0.5


class Compared(NamedTuple):
    """Costs of the two programs for the same job."""

    read: str
    costs: Mapping[str, Sequence[ProgramCost]]
    """Costs of each round, by program."""

    @property
    def ratio(self) -> float:
        """Ratio of Spark's processor time to the processor time of the process, median over the rounds."""
        pairs = zip(self.costs[ON_SPARK], self.costs[IN_PROCESS], strict=True)
        return median(spark.cpu / here.cpu for spark, here in pairs)


def in_turn(run: Run, what: str, rounds: int, cost: Callable[[str], ProgramCost]) -> dict[str, list[ProgramCost]]:
    """Measure both programs in each round; every other round has the reverse order."""
    costs: dict[str, list[ProgramCost]] = {IN_PROCESS: [], ON_SPARK: []}
    for number in range(rounds):
        for program in reversed(costs) if number % 2 else costs:
            run.progress.say(f"{program} {what}, round {number + 1} of {rounds}")
            costs[program].append(cost(program))
    return costs


def cost_of_job(program: str, job: str, path: Path, out: Path) -> ProgramCost:
    """Measure the cost of a job that writes its tables."""
    more = ["--master", "local[2]"] if program == ON_SPARK else []
    command = [str(Path(sys.executable).parent / program), job, str(path), "--out", str(out), *more]
    return cost_of_program(command, {**os.environ, "SPARK_DRIVER_MEMORY": DRIVER_MEMORY})


def comparison(title: str, rows: Sequence[Compared]) -> Table:
    """Make a table with a row for each size and program: medians, and peaks of memory."""
    header = ("read", "program", "CPU seconds", "seconds", "MiB of all processes", "rounds", "CPU of Spark / ours")
    return Table(
        f"{title}, with their start",
        header,
        tuple(
            (
                one.read,
                program,
                f"{median(cost.cpu for cost in costs):.1f}",
                f"{median(cost.wall for cost in costs):.1f}",
                f"{max(cost.together for cost in costs) / MIB:,.0f}",
                str(len(costs)),
                f"{one.ratio:.1f}" if program == ON_SPARK else "",
            )
            for one in rows
            for program, costs in one.costs.items()
        ),
    )


def measure_samples(run: Run) -> Findings:
    """Run jobs on the samples of tests, 142 kB, to measure mostly the start of the programs.

    Raises:
        WrongRowsError: the programs write different tables.
    """
    compared = {job: _compared(run, job, SAMPLES, "samples", run.rounds) for job in ("offsets", "transactions")}
    rows = [one._replace(read=f"{job}, {one.read}") for job, one in compared.items()]
    cpu = median(cost.cpu for cost in compared["offsets"].costs[IN_PROCESS])
    verdict = Verdict("kipwire offsets: CPU seconds", "samples", cpu, _SAMPLES_SECONDS, at_most=True)
    return Findings((comparison("Jobs on samples", rows),), (verdict,))


def measure_traffic(run: Run) -> Findings:
    """Run `traffic` on packets of many clusters that talk at once.

    Raises:
        WrongRowsError: the programs write different tables.
    """
    size = round(run.traffic_gib * 1024 * MIB)
    run.progress.say(f"{run.traffic_gib:g} GiB of packets")
    folder = kept(run.data, f"packets-{run.traffic_gib:g}", lambda made: make_packets(made / _PACKETS, size))
    packets = folder / _PACKETS
    read = f"{packets.stat().st_size / 1024 / MIB:.2f} GiB of packets"
    one = _compared(run, "traffic", packets, read, rounds=min(run.rounds, 2))
    verdict = Verdict("kipwire traffic: CPU / kipspark traffic", read, 1 / one.ratio, _SHARE_OF_SPARK, at_most=True)
    return Findings((comparison("kipwire traffic beside kipspark traffic", [one]),), (verdict,))


def _compared(run: Run, job: str, path: Path, read: str, rounds: int) -> Compared:
    """Measure a job, after a check that both programs write the same tables."""
    outs = {program: run.scratch / f"{job}-{program}" for program in (IN_PROCESS, ON_SPARK)}

    def cost(program: str) -> ProgramCost:
        shutil.rmtree(outs[program], ignore_errors=True)
        return cost_of_job(program, job, path, outs[program])

    costs = in_turn(run, f"{job}, {read}", rounds, cost)
    _check_equal(job, *outs.values())
    for out in outs.values():
        shutil.rmtree(out)
    return Compared(read, costs)


_TIME = pa.timestamp("us", "UTC")
_MOST_COMPARED = 100_000
"""Highest number of rows of a table that are compared one by one; of larger tables, only the number is compared."""


def _check_equal(job: str, here: Path, there: Path) -> None:
    names = sorted(path.name for path in here.iterdir())
    if names != sorted(path.name for path in there.iterdir()) or not names:
        raise WrongRowsError(f"{job}: the programs write other tables: {names}")
    for name in names:
        tables = [ds.dataset(folder / name, format="parquet", exclude_invalid_files=True) for folder in (here, there)]
        counts = [table.count_rows() for table in tables]
        if counts[0] != counts[1]:
            raise WrongRowsError(f"{job}: {name} has {counts[0]:,} rows in the process and {counts[1]:,} on Spark")
        if counts[0] <= _MOST_COMPARED:
            rows = [sorted(map(repr, _with_plain_times(table.to_table()).to_pylist())) for table in tables]
            if rows[0] != rows[1]:
                raise WrongRowsError(f"{job}: {name} has other rows in the process than on Spark")


def _with_plain_times(table: pa.Table) -> pa.Table:
    """Convert the times of a table to one type: Spark writes Parquet's older one, without a zone."""
    are_times = [pa.types.is_timestamp(field.type) for field in table.schema]
    types = [_TIME if is_time else field.type for is_time, field in zip(are_times, table.schema, strict=True)]
    return table.cast(pa.schema(list(zip(table.schema.names, types, strict=True))))
