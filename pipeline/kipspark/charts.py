"""The charts of the jobs' pages: each draws rows on matplotlib's axes."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from kipspark.report import Row

MOST_LINES = 12
"""Lines that can still be told apart."""


def lag_over_time(axes: Any, rows: list[Row]) -> None:
    """A line for each group and topic: records behind, at each commit; columns name, time, lag."""
    lines: dict[str, list[tuple[Any, int]]] = defaultdict(list)
    for row in rows:
        lines[row["name"]].append((row["time"], row["lag"]))
    highest = sorted(lines, key=lambda name: -max(lag for _, lag in lines[name]))[:MOST_LINES]
    for name in highest:
        points = sorted(lines[name])
        axes.step(*zip(*points, strict=True), where="post", label=name, marker="o", markersize=3)
    axes.set_ylabel("records behind")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))


def latencies(axes: Any, rows: list[Row]) -> None:
    """Two bars for each API: median and 99th percentile; columns name, median, high."""
    names = [row["name"] for row in rows][::-1]
    axes.barh(names, [row["high"] or 0 for row in rows][::-1], color="#c9d6e6", label="99th percentile")
    axes.barh(names, [row["median"] or 0 for row in rows][::-1], color="#2f6db3", label="median", height=0.45)
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlim(left=0)
    axes.set_xlabel("milliseconds from request to response, as the capture saw them")
    axes.legend(fontsize=8, frameon=False)


def events(axes: Any, rows: list[Row]) -> None:
    """A dot for each event on the line of its kind; columns name, time."""
    axes.scatter([row["time"] for row in rows], [row["name"] for row in rows], s=14, alpha=0.6, color="#2f6db3")


def savings(axes: Any, rows: list[Row]) -> None:
    """A bar for each message: bytes that better encodings would save; columns name, saved."""
    axes.barh([row["name"] for row in rows][::-1], [row["saved"] for row in rows][::-1], color="#2f6db3")
    axes.set_xlabel("bytes saved")
