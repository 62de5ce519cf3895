"""A topic as a table beside Parquet files of the same rows: polars and DuckDB on each, and kipwire dump --out.

    python -m benchmarks.tables [--records 2000000] [--rounds 3]

Each run is a process of its own, with its start and imports included, of which the first row has the cost. Rows have
random content, so that Parquet cannot repeat it. The table goes to the terminal and to benchmarks/RESULTS-tables.md.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.dumped import Run, run
from benchmarks.options import parsed, parser_of
from benchmarks.peers import OURS
from benchmarks.reporting.report import Table, machine, write_results
from benchmarks.spark.kept import kept
from kipwire.records import Record, write_batch

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "RESULTS-tables.md"
DATA = ROOT / "build" / "bench-tables"
PARTITIONS = 4
IN_BATCH = 500
MIB = 1 << 20
KIPWIRE = str(Path(sys.executable).parent / "kipwire")
TIME = 1_700_000_000_000


class Subject(NamedTuple):
    """A query of an engine, on both kinds of files."""

    name: str
    imports: str
    ours: str
    """The expression of rows; `LOG` is the folder."""
    parquet: str
    query: str
    """On `rows`."""


_POLARS = ("import polars as pl\n", "scan_polars(LOG)", "pl.scan_parquet(PARQUET)")
_DUCKDB = ("import duckdb\n", "scan(LOG, columns=COLUMNS)", "PARQUET")
_GROUP = 'select partition, count(*), max("offset"), sum(octet_length(value)) from FROM group by 1'
_POLARS_GROUP = "rows.group_by('partition').agg(pl.len(), pl.col('offset').max(), pl.col('value').bin.size().sum())"
SUBJECTS = (
    Subject("polars: nothing, start alone", *_POLARS, ""),
    Subject("polars: group by", *_POLARS, f"{_POLARS_GROUP}.collect()"),
    Subject("polars: count", *_POLARS, "rows.select(pl.len()).collect()"),
    Subject("polars: the last 1 % of offsets", *_POLARS, "rows.filter(pl.col('offset') >= NEAR_END).collect()"),
    Subject("DuckDB: nothing, start alone", *_DUCKDB, ""),
    Subject("DuckDB: group by", *_DUCKDB, f"duckdb.sql('''{_GROUP}''').fetchall()"),
)


def write_log(records: int, folder: Path) -> None:
    """Write a log with random values."""
    chance, offset = Random(1), 0
    files = []
    for number in range(PARTITIONS):
        (folder / f"events-{number}").mkdir()
        files.append((folder / f"events-{number}" / f"{0:020}.log").open("wb"))
    for offset in range(0, records // PARTITIONS, IN_BATCH):
        for file in files:
            some = [
                Record(
                    offset=at,
                    timestamp=TIME + at,
                    key=b"%016x" % chance.getrandbits(64),
                    value=b'{"id": %d, "price": %d, "of": "%030x"}'
                    % (at, chance.getrandbits(20), chance.getrandbits(120)),
                )
                for at in range(offset, offset + IN_BATCH)
            ]
            file.write(write_batch(some, compression="lz4"))
    for file in files:
        file.close()


def code(subject: Subject, rows: str, log: Path, parquet: Path, records: int) -> list[str]:
    """Return the command that runs a query."""
    is_ours = rows == subject.ours
    lines = [
        "from kipwire.tables import scan, scan_polars" if is_ours else "",
        subject.imports,
        f"LOG, PARQUET, NEAR_END = {str(log)!r}, {str(parquet)!r}, {records * 99 // PARTITIONS // 100}",
        "COLUMNS = ['partition', 'offset', 'value']",
        f"rows = {rows}" if subject.query else "",
        subject.query.replace("FROM", "rows" if is_ours else f"read_parquet('{parquet}')"),
    ]
    return [sys.executable, "-c", "\n".join(lines)]


def measure(commands: list[list[str]], rounds: int) -> list[Run]:
    """Run commands in turn, and return the medians of each."""
    found = [[run(command) for command in commands] for _ in range(rounds)]
    return [Run(*map(median, zip(*runs, strict=True))) for runs in zip(*found, strict=True)]


def main() -> None:
    """Run the command line."""
    parser = parser_of(__doc__)
    parser.add_argument("--records", type=int, default=2_000_000, help="of the log (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (default: %(default)s)")
    options = parsed(parser, records=20_000, rounds=1)
    log = kept(DATA, f"log-{options.records}", lambda folder: write_log(options.records, folder))
    rows = []
    with TemporaryDirectory(dir=DATA) as folder:
        parquet, out = Path(folder) / "events.parquet", Path(folder) / "out.parquet"
        run([KIPWIRE, "dump", str(log), "--out", str(parquet)])
        for subject in SUBJECTS:
            print(f"{subject.name} ...", file=sys.stderr)
            commands = [code(subject, one, log, parquet, options.records) for one in (subject.ours, subject.parquet)]
            ours, theirs = measure(commands, options.rounds)
            ratio = f"{ours.processor / theirs.processor:.2f}"
            rows.append((subject.name, *_shown(ours, options.records), *_shown(theirs, options.records), ratio))
        dump = ("dump", str(log), "--out", str(out), "--state", f"{out}.json")
        for name in ("kipwire dump --out --state", "... again, with nothing new"):
            print(f"{name} ...", file=sys.stderr)
            (one,) = measure([[KIPWIRE, *dump]], 1)
            rows.append((name, *_shown(one, options.records), "", "", "", ""))
        sizes = [sum(file.stat().st_size for file in log.rglob("*.log")), parquet.stat().st_size]
    each = ("CPU s", "CPU µs a record", "peak MiB")
    header = ("what", *(f"{of} {what}" for of in ("log", "Parquet") for what in each), "ratio of CPU")
    how = (
        f"Medians of {options.rounds} run(s), interleaved, each in a process of its own with its start included. "
        f"{options.records:,} records of about 100 random bytes in {PARTITIONS} partitions, lz4, "
        f"{sizes[0] / MIB:,.0f} MiB; the same rows with all columns in a Parquet file, zstd, "
        f"{sizes[1] / MIB:,.0f} MiB. "
        "A ratio is our processor time, of all threads, divided by that of the same query on Parquet."
    )
    versions = {name: version(name) for name in ("kipwire", "pyarrow", "polars", "duckdb")}
    write_results(
        None if options.smoke else RESULTS,
        (Table("A topic as a table beside Parquet", header, tuple(rows)),),
        replace(machine((OURS,)), versions=versions),
        how,
        title="Results: a topic as a table",
        command="make bench-tables",
    )


def _shown(one: Run, records: int) -> tuple[str, ...]:
    return f"{one.processor:.2f}", f"{one.processor / records * 1e6:.2f}", f"{one.peak / MIB:,.0f}"


if __name__ == "__main__":
    main()
