"""Pictures of the results; they need the extra `plot`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.bodies import SIX
from benchmarks.growth import PARTITIONS
from benchmarks.peers import FLOOR, INTERPRETED, NATIVE
from benchmarks.reporting.results import Results

COLOURS = {
    INTERPRETED.name: "#7fb8cf",
    NATIVE.name: "#16607a",
    FLOOR: "#c8d4d9",
    "kio": "#e0a030",
    "kafka-python": "#c9664a",
    "msgspec": "#9aa5b1",
    "Java": "#8a6fb0",
    "Rust": "#6b4f3a",
    "Go": "#4f9a6b",
}


def draw_times(results: Results, file: Path) -> None:
    """Draw the time of every codec on the six messages, decoded and encoded, on a logarithmic axis.

    Raises:
        OSError: the file cannot be written.
    """
    titles = [sample.title for sample in SIX]
    with _panels(file, ("decode", "encode"), height=7) as panels:
        for operation, axes in panels.items():
            by_title = {one.sample.title: one for one in results.comparisons if one.operation == operation}
            names = list(by_title[titles[0]].seconds)
            width = 0.8 / len(names)
            for number, name in enumerate(names):
                left = [place + (number - len(names) / 2 + 0.5) * width for place in range(len(titles))]
                times = [median(by_title[title].seconds[name]) * 1e6 for title in titles]
                axes.bar(left, times, width, color=COLOURS[name], label=name)
            axes.set_yscale("log")
            axes.set_xticks(range(len(titles)), [title.replace(" v", "\nv") for title in titles], fontsize=8)
            axes.set_ylabel("µs per message")
            axes.set_title(f"{operation.capitalize()}: shorter is faster", loc="left", fontsize=11)
        panels["decode"].legend(frameon=False, ncols=4, fontsize=8)


def draw_growth(results: Results, file: Path) -> None:
    """Draw the time over the number of partitions: a straight line is linear.

    Raises:
        OSError: the file cannot be written.
    """
    with _panels(file, ("decode", "encode"), height=7) as panels:
        for operation, axes in panels.items():
            for line in results.growth:
                if line.operation == operation:
                    times = [taken * 1e6 for taken in line.seconds]
                    axes.plot(PARTITIONS, times, "o-", color=COLOURS[line.codec], label=line.codec, markersize=4)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_ylabel("µs per message")
            axes.set_title(f"{operation.capitalize()}: MetadataResponse v12 by its partitions", loc="left", fontsize=11)
        panels["encode"].set_xlabel("partitions")
        panels["decode"].legend(frameon=False, fontsize=8)


@contextmanager
def _panels(file: Path, names: tuple[str, ...], height: float) -> Iterator[dict[str, Any]]:
    """Give axes one below the other to draw on; write the picture at the end of the block."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # The same data make the same file, so that it changes only if the figures do.
    with rc_context({"svg.hashsalt": "kipwire", "svg.fonttype": "none"}):
        figure = Figure(figsize=(9, height), layout="constrained")
        panels: dict[str, Any] = {}
        for number, name in enumerate(names, 1):
            axes = panels[name] = figure.add_subplot(len(names), 1, number)
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(axis="y", color="#dddddd", linewidth=0.8)
            axes.set_axisbelow(True)
        yield panels
        figure.savefig(file, metadata={"Date": None})
