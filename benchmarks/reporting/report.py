"""Tables on the terminal and as Markdown, with the machine on which they were measured."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable

from benchmarks.peers import Peer


@dataclass(frozen=True)
class Table:
    """A table of texts; the first column is aligned left, the others right."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Machine:
    """The machine of a measurement, and the versions of the software."""

    processor: str
    cores: int | None
    load: tuple[float, ...]
    """Load averages of the last 1, 5 and 15 minutes, at the end of the measurement."""
    python: str
    versions: dict[str, str]

    def __str__(self) -> str:
        packages = ", ".join(f"{name} {number}" for name, number in self.versions.items())
        load = ", ".join(f"{one:.2f}" for one in self.load) or "unknown"
        return f"{self.processor}, {self.cores} cores, load {load}; {self.python}; {packages}"


def machine(codecs: Sequence[Peer]) -> Machine:
    """Describe this machine, and the installed versions of the codecs."""
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


def write_results(
    file: Path | None, tables: Sequence[Table], where: Machine, how: str, *, title: str, command: str
) -> None:
    """Show tables and their machine, and write both into a file, if one is given; arguments as for `markdown`."""
    show(tables)
    print(where)
    if file is not None:
        file.write_text(markdown(tables, where, how, title=title, command=command), encoding="utf-8")


def markdown(
    tables: Sequence[Table],
    where: Machine | None,
    how: str,
    *,
    title: str = "Results",
    command: str = "make bench",
    picture: str = "",
) -> str:
    """Return the text of a results file.

    Args:
        tables: the results.
        where: the machine; None if results are equal on all.
        how: Markdown on how they were measured. Where there is a picture, it comes last.
        title: the first heading.
        command: the command that writes the file.
        picture: Markdown of one, which comes first.
    """
    method = [how]
    if where is not None:
        method.append(f"Measured on: {where}.")
    parts = [f"# {title}", f"Written by `{command}`; do not edit.", *([picture] if picture else method)]
    for table in tables:
        alignment = [":--", *("--:" for _ in table.header[1:])]
        lines = [table.header, alignment, *table.rows]
        parts.append(f"## {table.title}")
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    if picture:
        parts += ["## How this was measured", *method]
    return "\n\n".join(parts) + "\n"
