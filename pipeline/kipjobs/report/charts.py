"""The charts of the jobs' pages: each draws rows on matplotlib's axes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from kipjobs.report.report import Row
from kipwire.tools.text import printable_line

MOST_LINES = 10
"""Highest number of lines that can still be distinguished."""
MOST_BARS = 30
"""Highest number of names beside a chart that can still be read."""
DOTS = 5000
"""Highest number of dots of a chart over time; the last ones are shown."""

_LONGEST_NAME = 40
"""Highest number of characters of a name that leaves room for the chart."""
_BLUE, _PALE, _AMBER, _RED = "#2f6db3", "#c9d6e6", "#d98200", "#c0392b"
_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes"))
_COUNTS = "{x:,.0f}"
_EPOCH = datetime(1970, 1, 1)


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
    """Draw two dots for each API, the slowest at the top: median and 99th percentile; columns name, median, high.

    Dots, since the length of a bar says nothing on a logarithmic axis.
    """
    ordered = sorted(rows, key=lambda row: (row["high"] or 0, row["median"] or 0))
    names, highs, medians = _names(ordered), *([row[name] or 0 for row in ordered] for name in ("high", "median"))
    axes.hlines(names, medians, highs, color=_PALE, linewidth=2, zorder=1)
    high = axes.scatter(highs, names, s=36, color=_AMBER, zorder=2)
    median = axes.scatter(medians, names, s=36, color=_BLUE, zorder=2)
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


def transactions(axes: Any, rows: list[Row]) -> None:
    """Draw a line for each transaction, open ones at the top: columns name, time, end (null if open), is_hanging.

    The line of an open one goes on to the latest time of all, with an arrow.
    """
    ordered = sorted(rows, key=lambda row: (row["end"] is not None, row["time"]))
    latest = max(time for row in rows for time in (row["time"], row["end"]) if isinstance(time, datetime))
    places = range(len(ordered))
    shown: dict[str, Any] = {}
    for place, row in zip(places, ordered, strict=True):
        is_open = row["end"] is None
        word, colour = ("hanging", _RED) if row["is_hanging"] else ("open", _AMBER) if is_open else ("ended", _BLUE)
        end = row["end"] if isinstance(row["end"], datetime) else latest
        axes.hlines(place, row["time"], end, color=colour, linewidth=3)
        shown[word] = axes.scatter([row["time"]], [place], s=22, color=colour)
        if is_open:
            axes.scatter([end], [place], s=40, marker=">", color=colour)
    axes.set_yticks(places, [_short(str(row["name"])) for row in ordered])
    _fit(axes, len(ordered))
    axes.invert_yaxis()
    _time_axis(axes, [row["time"] for row in rows] + [latest])
    _legend(axes, list(shown.values()), list(shown))


def dead_bytes(axes: Any, rows: list[Row]) -> None:
    """Draw a bar for each replica, the largest dead part at the top: columns name, dead_bytes, live_bytes."""
    ordered = sorted(rows, key=lambda row: (row["dead_bytes"], row["live_bytes"]))
    places = range(len(ordered))
    unit, word = next((one for one in _UNITS if _most(ordered) >= one[0]), _UNITS[-1])
    dead, live = ([row[name] / unit for row in ordered] for name in ("dead_bytes", "live_bytes"))
    of_dead = axes.barh(places, dead, color=_AMBER)
    of_live = axes.barh(places, live, left=dead, color=_PALE)
    axes.set_yticks(places, [_short(str(row["name"])) for row in ordered])
    _fit(axes, len(ordered))
    axes.set_xlim(left=0)
    axes.set_xlabel(f"{word} of keys and values, not compressed")
    _legend(axes, [of_dead, of_live], ["dead", "live"])


def _fit(axes: Any, count: int) -> None:
    """Make the chart as high as so many names need."""
    axes.figure.set_figheight(1.1 + 0.26 * count)
    axes.set_ylim(-0.6, count - 0.4)


def _most(rows: list[Row]) -> int:
    return max(int(row["dead_bytes"] + row["live_bytes"]) for row in rows)


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
    formats = axes.xaxis.get_major_formatter().scaled
    formats[min(formats)] = _with_parts_of_seconds
    first, last = f"{min(times):%Y-%m-%d}", f"{max(times):%Y-%m-%d}"
    axes.set_xlabel(f"time in UTC, {first}" + (f" to {last}" if last != first else ""))


def _with_parts_of_seconds(days: float, _: object = None) -> str:
    """Format a tick, in days since 1970: on an axis of seconds matplotlib shows no hour, and six digits."""
    return f"{_EPOCH + timedelta(days=days):%H:%M:%S.%f}".rstrip("0").rstrip(".")


def _short(name: str) -> str:
    """Leave out the middle of a long name: its start and its topic, at the end, distinguish it."""
    name = printable_line(name)
    half = (_LONGEST_NAME - 1) // 2
    return name if len(name) <= _LONGEST_NAME else f"{name[:half]}…{name[-half:]}"
