"""The charts of the jobs' pages: each draws rows on matplotlib's axes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from kipjobs.report.report import Row
from kipwire.tools.text import printable_line

MOST_LINES = 10
"""Highest number of lines that can still be distinguished."""
DOTS = 5000
"""Highest number of dots of a chart over time; the last ones are shown."""

_LONGEST_NAME = 40
"""Highest number of characters of a name that leaves room for the chart."""
_BLUE, _PALE = "#2f6db3", "#c9d6e6"
_COUNTS = "{x:,.0f}"


def lag_over_time(axes: Any, rows: list[Row]) -> None:
    """Draw a line for each group and topic: its lag at each commit; columns name, time, lag."""
    lines: dict[str, list[tuple[Any, int]]] = defaultdict(list)
    for row in rows:
        lines[row["name"]].append((row["time"], row["lag"]))
    highest = sorted(lines, key=lambda name: (-max(lag for _, lag in lines[name]), name))[:MOST_LINES]
    for name in highest:
        points = sorted(lines[name])
        axes.step(*zip(*points, strict=True), where="post", marker="o", markersize=3)
    axes.set_ylabel("lag in records")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(_COUNTS)
    _time_axis(axes, [row["time"] for row in rows])
    title = f"the {MOST_LINES} of {len(lines)} with the highest lag" if len(lines) > MOST_LINES else None
    _legend(
        axes,
        axes.get_lines(),
        [_short(name) for name in highest],
        title=title,
        title_fontsize=8,
        alignment="left",
    )


def latencies(axes: Any, rows: list[Row]) -> None:
    """Draw two bars for each API: median and 99th percentile; columns name, median, high."""
    names = _names(rows[::-1])
    high = axes.barh(names, [row["high"] or 0 for row in rows][::-1], color=_PALE)
    median = axes.barh(names, [row["median"] or 0 for row in rows][::-1], color=_BLUE, height=0.45)
    axes.set_xscale("symlog", linthresh=1)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(_COUNTS)
    axes.set_xlabel("milliseconds from request to response, as the capture saw them (logarithmic)")
    _legend(axes, [high, median], ["99th percentile", "median"])


def events(axes: Any, rows: list[Row]) -> None:
    """Draw a dot for each event on the line of its kind, the earliest kind at the top; columns name, time."""
    ordered = sorted(rows, key=lambda row: row["time"])
    axes.scatter([row["time"] for row in ordered], _names(ordered), s=14, alpha=0.6, color=_BLUE)
    axes.invert_yaxis()
    _time_axis(axes, [row["time"] for row in rows])


def _names(rows: list[Row]) -> list[str]:
    return [printable_line(str(row["name"])) for row in rows]


def _legend(axes: Any, lines: Sequence[Any], names: Sequence[str], **more: Any) -> None:
    """Draw a legend next to the chart, since lines and bars may reach every corner of it."""
    numbers = [str(number) for number in range(len(names))]
    legend = axes.legend(lines, numbers, fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1, 1), **more)
    # Set afterwards, since matplotlib leaves out names that begin with an underscore.
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set_text(name)


def _time_axis(axes: Any, times: list[datetime]) -> None:
    """Label the axis with the days, since its ticks have only hours if all times are of one day."""
    first, last = f"{min(times):%Y-%m-%d}", f"{max(times):%Y-%m-%d}"
    axes.set_xlabel(f"time in UTC, {first}" + (f" to {last}" if last != first else ""))


def _short(name: str) -> str:
    """Leave out the middle of a long name: its start and its topic, at the end, distinguish it."""
    name = printable_line(name)
    half = (_LONGEST_NAME - 1) // 2
    return name if len(name) <= _LONGEST_NAME else f"{name[:half]}…{name[-half:]}"
