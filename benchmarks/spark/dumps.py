"""`kafka_log` beside Kafka's own kafka-dump-log, on the same segment."""

from __future__ import annotations

import subprocess
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks import dumped
from benchmarks.reporting.report import Table
from benchmarks.spark.clock import Cost, cost_of
from benchmarks.spark.kept import kept
from benchmarks.spark.log_data import MIB, TOPIC, LogSize, log_size, write_log
from benchmarks.spark.section import Findings, Run, WrongRowsError, share_of

SIZE = 256 * MIB
"""Bytes of the segment."""
SMALL = 2 * MIB
"""Bytes of the segment on which the output of Kafka's tool is counted."""


class Subject(NamedTuple):
    """A kind of row that both programs show."""

    name: str
    options: dict[str, str]
    """Options of `kafka_log`."""
    kafkas: tuple[str, ...]
    mark: bytes
    """Text in each line of Kafka's tool that corresponds to a row of `kafka_log`."""


SUBJECTS = (
    Subject("batches", {"level": "batches"}, (), b"baseOffset: "),
    Subject("batches and records", {}, ("--print-data-log",), b"| offset: "),
)


def measure_dumps(run: Run) -> Findings:
    """Read one segment with both.

    Raises:
        WrongRowsError: Kafka's tool does not show the rows that were written.
    """
    jars = dumped.kafka_jars()
    small, segment = _segment(run, SMALL), _segment(run, share_of(run, SIZE))
    rows = []
    for subject in SUBJECTS:
        run.progress.say(f"{subject.name}, warm-up")
        _check(subject, small, jars)
        frame = run.spark.read.format("kafka_log").options(**subject.options).load(str(segment))
        cost_of(frame)
        ours, kafkas = [], []
        for number in range(run.rounds):
            run.progress.say(f"{subject.name}, round {number + 1} of {run.rounds}")
            ours.append(cost_of(frame))
            done = dumped.run(_command(subject, segment, jars))
            kafkas.append(Cost(done.processor, done.seconds))
        us, them = (
            Cost(median(one.cpu for one in taken), median(one.wall for one in taken)) for taken in (ours, kafkas)
        )
        figures = (f"{one:.1f}" for cost in (us, them) for one in (cost.wall, cost.cpu))
        size = f"{segment.stat().st_size / MIB:,.0f}"
        rows.append((subject.name, size, *figures, f"{them.wall / us.wall:.2f}", f"{them.cpu / us.cpu:.2f}"))
    header = ("what", "MiB", "kafka_log s", "kafka_log CPU s", "Kafka s", "Kafka CPU s", "ratio", "ratio of CPU")
    return Findings((Table("kafka_log beside kafka-dump-log: Kafka's time / ours", header, tuple(rows)),))


def _plan(size: int) -> LogSize:
    """Plan one segment of this size."""
    plan = log_size("none", SMALL)
    return plan._replace(batches=size // len(plan.batch), segments=1)


def _segment(run: Run, size: int) -> Path:
    run.progress.say(f"a segment of {size // MIB:,} MiB")
    made = kept(run.data, f"segment-{size // MIB}", lambda folder: write_log(folder, _plan(size), partitions=1))
    return made / f"{TOPIC}-0" / f"{0:020}.log"


def _command(subject: Subject, segment: Path, jars: str) -> list[str]:
    return dumped.kafka_command(segment, subject.kafkas, jars)


def _check(subject: Subject, segment: Path, jars: str) -> None:
    plan = _plan(segment.stat().st_size)
    expected = plan.records if subject.kafkas else plan.batches
    lines = subprocess.run(_command(subject, segment, jars), stdout=subprocess.PIPE, check=True).stdout.splitlines()
    if (found := sum(subject.mark in line for line in lines)) != expected:
        raise WrongRowsError(f"kafka-dump-log shows {found:,} of {expected:,} {subject.name}")
