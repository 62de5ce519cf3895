"""What was measured, as tables: on the terminal, as Markdown, as JSON."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

from benchmarks.cold_start import BARE, TARGET_SECONDS, ColdStart
from benchmarks.peers import KAFKA_PYTHON, KIO, OURS, Peer, Sample
from benchmarks.timing import median_ratio

TARGETS = {("encode", KIO.name): 3.0, ("encode", KAFKA_PYTHON.name): 3.0, ("decode", KAFKA_PYTHON.name): 1.5}
"""By operation and peer: how many times as long the peer should take."""


@dataclass(frozen=True)
class Comparison:
    """One operation on one message, by all codecs."""

    sample: Sample
    operation: str
    """`decode` or `encode`."""
    seconds: dict[str, list[float]]
    """By codec: seconds per call, one figure per round."""

    def ratio(self, peer: str) -> float:
        """How many times as long as ours the peer took, median over the rounds."""
        return median_ratio(self.seconds[peer], self.seconds[OURS.name])


@dataclass(frozen=True)
class Table:
    """A table of texts; the first column is aligned left, the others right."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Machine:
    """Where it was measured, and with which versions."""

    processor: str
    cores: int | None
    load: tuple[float, ...]
    """Processes that wanted to run, over the last 1, 5 and 15 minutes, at the end of the measurement."""
    python: str
    versions: dict[str, str]

    def __str__(self) -> str:
        packages = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        load = ", ".join(f"{one:.2f}" for one in self.load) or "unknown"
        return f"{self.processor}, {self.cores} cores, load {load}; {self.python}; {packages}"


def machine(codecs: Sequence[Peer]) -> Machine:
    """This machine, and the installed versions of the codecs."""
    return Machine(
        processor=_processor(),
        cores=os.cpu_count(),
        load=os.getloadavg() if hasattr(os, "getloadavg") else (),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        versions={codec.distribution: version(codec.distribution) for codec in codecs},
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def comparison_table(operation: str, comparisons: Sequence[Comparison], peers: Sequence[Peer]) -> Table:
    """All messages of one operation: our time, the peers' times, and how many times as long they took."""
    header = ["message", "bytes", f"{OURS.name} µs"]
    for peer in peers:
        header += [f"{peer.name} µs", "ratio"]
        if (operation, peer.name) in TARGETS:
            header.append("target")
    rows = []
    for one in comparisons:
        if one.operation == operation:
            row = [one.sample.title, f"{len(one.sample.golden):,}"]
            row.append(_microseconds(one.seconds[OURS.name]))
            for peer in peers:
                ratio = one.ratio(peer.name)
                row += [_microseconds(one.seconds[peer.name]), f"{ratio:.2f}"]
                if target := TARGETS.get((operation, peer.name)):
                    row.append(f"{target:g} {'reached' if ratio >= target else 'MISSED'}")
            rows.append(tuple(row))
    return Table(f"{operation.capitalize()}: peer's time / ours", tuple(header), tuple(rows))


def _microseconds(seconds: list[float]) -> str:
    return f"{median(seconds) * 1e6:,.2f}"


def cold_start_table(results: Sequence[ColdStart]) -> Table:
    """What each program took from the start of the interpreter on."""
    rows = []
    for one in results:
        target = ""
        if one.name == OURS.name:
            target = f"{TARGET_SECONDS * 1e3:.0f} ms {'reached' if one.over_bare <= TARGET_SECONDS else 'MISSED'}"
        over = "" if one.name == BARE else f"{one.over_bare * 1e3:.1f}"
        rows.append((one.name, f"{one.seconds * 1e3:.1f}", over, target))
    title = "Cold start: import, decode and encode one MetadataResponse v12"
    return Table(title, ("program", "ms", "over bare, ms", "at most"), tuple(rows))


def show(tables: Sequence[Table]) -> None:
    """Print tables on the terminal."""
    console = Console() if sys.stdout.isatty() else Console(width=120)
    for table in tables:
        rich = RichTable(title=table.title, title_justify="left", min_width=len(table.title))
        for number, name in enumerate(table.header):
            rich.add_column(name, justify="right" if number else "left")
        for row in table.rows:
            rich.add_row(*(_coloured(cell) for cell in row))
        console.print(rich)


def _coloured(cell: str) -> str:
    if cell.endswith("reached"):
        return f"[green]{cell}[/]"
    return f"[red]{cell}[/]" if cell.endswith("MISSED") else cell


def markdown(
    tables: Sequence[Table], where: Machine, how: str, *, title: str = "Results", command: str = "make bench"
) -> str:
    """The text of a results file, which the command writes."""
    parts = [f"# {title}", f"Written by `{command}`; do not edit.", how, f"Measured on: {where}."]
    for table in tables:
        alignment = [":--", *("--:" for _ in table.header[1:])]
        lines = [table.header, alignment, *table.rows]
        parts.append(f"## {table.title}")
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    return "\n\n".join(parts) + "\n"


def as_json(comparisons: Sequence[Comparison], cold_starts: Sequence[ColdStart], where: Machine) -> dict[str, Any]:
    """Everything that was measured, in seconds, as plain data for `json.dumps`."""
    return {
        "machine": asdict(where),
        "comparisons": [
            {
                "message": one.sample.file,
                "operation": one.operation,
                "seconds": one.seconds,
                "ratios": {peer: one.ratio(peer) for peer in one.seconds if peer != OURS.name},
            }
            for one in comparisons
        ],
        "cold_starts": [asdict(one) for one in cold_starts],
    }
