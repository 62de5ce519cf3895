"""kipwire dump beside Kafka's own kafka-dump-log, on the same segments: time, processor time, records a second, memory.

    python -m benchmarks.dumped [--mib 1024] [--rounds 1]

The segments repeat the batches of real ones, each at its own offset. Both write to /dev/null, and check the
checksum of each batch. The table goes to the terminal and to benchmarks/RESULTS-dump.md. It needs Java and Maven, which
fetches Kafka's jars once.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.options import parsed, parser_of
from benchmarks.peers import OURS, WrongBytesError
from benchmarks.reporting.report import Table, machine, write_results
from kipwire.logs import read_segment
from kipwire.records import with_offsets

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "RESULTS-dump.md"
SOURCES = ROOT / "tests" / "data" / "segments"
NAME = "00000000000000000000.log"
MIB = 1 << 20
SMALL = 2 * MIB
"""Bytes of the segments on which the outputs are compared before anything is timed."""
# The options of kafka-run-class.sh.
JVM = ("-Xmx256M", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35")
TARGET = 1.0
"""Lowest ratio of the time of Kafka's tool to the time of kipwire dump."""


@dataclass(frozen=True)
class Subject:
    """A segment to dump, and the options of both programs."""

    name: str
    partitions: tuple[str, ...]
    """The folders whose batches the segment repeats; its own folder has the name of the first."""
    share: float
    """Size of the segment, as a share of `--mib`."""
    ours: tuple[str, ...]
    kafkas: tuple[str, ...]


ORDERS = ("orders-0", "orders-1", "orders-2")
SUBJECTS = (
    Subject("batches", ORDERS, 1, (), ()),
    Subject("batches and records", ORDERS, 1, ("--records",), ("--print-data-log",)),
    Subject("coordinator records", ("__consumer_offsets-1",), 0.1, ("-r",), ("--offsets-decoder",)),
)


class Segment(NamedTuple):
    """A file that was made."""

    path: Path
    size: int
    batches: int
    records: int


class Run(NamedTuple):
    """One run of a program."""

    seconds: float
    processor: float
    """Seconds of processor time, in all threads."""
    peak: int
    """Bytes of memory at most."""


def make_segment(folder: Path, partitions: tuple[str, ...], size: int) -> Segment:
    """Write a segment of about `size` bytes."""
    source = []
    for partition in partitions:
        data = (SOURCES / partition / NAME).read_bytes()
        source += [(data[one.position :][: one.size], one) for one in read_segment(SOURCES / partition / NAME)]
    path = folder / partitions[0] / NAME
    path.parent.mkdir(parents=True)
    offset = written = batches = records = 0
    with path.open("wb") as file:
        while written < size:
            for content, batch in source:
                written += file.write(with_offsets(content, offset))
                offset += batch.last_offset_delta + 1
                batches += 1
                records += batch.records_count or 0
    return Segment(path, written, batches, records)


def our_command(path: Path, subject: Subject) -> list[str]:
    return [str(Path(sys.executable).parent / "kipwire"), "dump", str(path), *subject.ours]


def kafka_jars() -> str:
    """Return the folder of Kafka's jars, which are fetched once."""
    broker = ["bash", str(ROOT / "scripts" / "broker" / "broker.sh"), "jars"]
    return subprocess.run(broker, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def kafka_command(path: Path, options: tuple[str, ...], jars: str) -> list[str]:
    java = f"{os.environ['JAVA_HOME']}/bin/java" if os.environ.get("JAVA_HOME") else "java"
    tool = ["-cp", f"{jars}/*", "org.apache.kafka.tools.DumpLogSegments", "--files", str(path), *options]
    return [java, *JVM, *tool]


def run(command: list[str]) -> Run:
    """Run a program to its end, without its output.

    Raises:
        WrongBytesError: the program fails.
    """
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise WrongBytesError(f"{command[0]} ended with {process.returncode}")
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def check(folder: Path, subject: Subject, jars: str) -> None:
    """Check that both programs show all batches, and all records if their options request that.

    Raises:
        WrongBytesError: one of them does not.
    """
    segment = make_segment(folder, subject.partitions, SMALL)
    marks: dict[str, tuple[Callable[[Path, Subject], list[str]], bytes, bytes]] = {
        "kipwire": (our_command, b"offset=", b"  offset="),
        "kafka-dump-log": (
            lambda path, subject: kafka_command(path, subject.kafkas, jars),
            b"baseOffset: ",
            b"| offset: ",
        ),
    }
    for name, (command, of_batch, of_record) in marks.items():
        lines = subprocess.run(command(segment.path, subject), stdout=subprocess.PIPE, check=True).stdout.splitlines()
        batches, records = (sum(line.startswith(mark) for line in lines) for mark in (of_batch, of_record))
        if (batches, records) != (segment.batches, segment.records if subject.ours else 0):
            raise WrongBytesError(f"{name} shows {batches} batches and {records} records of {segment}")


def runs_in_turn(what: str, ours: list[str], theirs: list[str], rounds: int) -> list[tuple[Run, Run]]:
    """Run two commands in each round, one after the other."""
    found = []
    for number in range(rounds):
        print(f"{what}, round {number + 1} ...", file=sys.stderr)
        found.append((run(ours), run(theirs)))
    return found


def medians(rounds: Sequence[tuple[Run, Run]]) -> tuple[Run, Run]:
    """Return the medians of both commands."""
    us, them = (Run(*map(median, zip(*runs, strict=True))) for runs in zip(*rounds, strict=True))
    return us, them


def measure(subject: Subject, segment: Segment, jars: str, rounds: int) -> tuple[str, ...]:
    """Measure a subject in interleaved rounds, and return its row, with medians."""
    commands = our_command(segment.path, subject), kafka_command(segment.path, subject.kafkas, jars)
    us, them = medians(runs_in_turn(subject.name, *commands, rounds))
    ratio = them.seconds / us.seconds
    shown = segment.records if subject.ours else segment.batches
    return (
        subject.name,
        f"{segment.size / MIB:,.0f}",
        f"{segment.batches:,}",
        f"{segment.records:,}",
        *(
            text
            for one in (us, them)
            for text in (
                f"{one.seconds:.1f}",
                f"{one.processor:.1f}",
                f"{shown / one.seconds:,.0f}",
                f"{one.peak / MIB:,.0f}",
            )
        ),
        f"{ratio:.2f}",
        f"{them.processor / us.processor:.2f}",
        "reached" if ratio >= TARGET else "MISSED",
    )


def main() -> int:
    """Run the command line; return the exit status."""
    parser = parser_of(__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="size of the segment in MiB (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="runs of each program (default: %(default)s)")
    options = parsed(parser, mib=1)
    jars = kafka_jars()
    rows = []
    try:
        with tempfile.TemporaryDirectory() as made:
            for number, subject in enumerate(SUBJECTS):
                check(Path(made) / f"small{number}", subject, jars)
            for number, subject in enumerate(SUBJECTS):
                folder = Path(made) / f"whole{number}"
                segment = make_segment(folder, subject.partitions, int(options.mib * subject.share * MIB))
                rows.append(measure(subject, segment, jars, options.rounds))
                segment.path.unlink()
    except WrongBytesError as error:
        print(error, file=sys.stderr)
        return 1
    each = ("s", "CPU s", "lines/s", "peak MiB")
    header = (
        "what",
        "MiB",
        "batches",
        "records",
        *(f"{name} {what}" for name in ("kipwire", "Kafka") for what in each),
        "ratio",
        "ratio of CPU",
        f"target {TARGET:g}",
    )
    table = Table("kipwire dump beside kafka-dump-log: Kafka's time / ours", header, tuple(rows))
    release = next(Path(jars).glob("kafka-tools-[0-9]*.jar")).stem.removeprefix("kafka-tools-")
    versions = {**{name: version(name) for name in ("kipwire", "cramjam")}, "Kafka": release, "Java": _java()}
    where = replace(machine((OURS,)), versions=versions)
    how = (
        f"Medians of {options.rounds} run(s), interleaved, each in a process of its own with its start included, "
        "output to /dev/null. The segments repeat the batches of real ones (uncompressed, gzip, snappy, lz4 and zstd). "
        "Lines are batches, or records where they are shown; a ratio is Kafka's time divided by ours. Kafka's tool has "
        "the options of the JVM that kafka-run-class.sh gives it. CPU is the processor time of all threads: where "
        "others use the machine, its ratio is the fairer one."
    )
    file = None if options.smoke else RESULTS
    write_results(file, [table], where, how, title="Results: dumps of logs", command="make bench-dump")
    return 0


def _java() -> str:
    java = f"{os.environ['JAVA_HOME']}/bin/java" if os.environ.get("JAVA_HOME") else "java"
    said = subprocess.run([java, "-version"], check=True, stderr=subprocess.PIPE, text=True).stderr
    return said.split('"')[1]


if __name__ == "__main__":
    sys.exit(main())
