"""The picture of the states of connections, from their tables: `python -m docs.site.connection_states` writes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from kipwire.connection.states import (
    BROKEN,
    CLIENT,
    CLIENT_STATES,
    INPUT,
    INPUT_STATES,
    REFUSED,
    SERVER,
    SERVER_STATES,
    Transition,
)

FILE = "docs/connection-states.svg"
"""Path of the picture, below the root of the repository."""

_BOX_WIDTH, _BOX_HEIGHT = 230, 44
_LINE = 15
_COLUMNS, _ROWS = (20, 640), (110, 310)
_MIDDLE = (_COLUMNS[0] + _COLUMNS[1]) // 2
_WIDTH = 980
_BROKEN_TEXT = "close the connection"

_STYLE = (
    "text{font:12px sans-serif;fill:#222}.t{font-weight:bold;font-size:14px}.n{font-weight:bold}"
    ".l{fill:#444;font-size:11px}"
    ".e{paint-order:stroke;stroke:#fff;stroke-width:4px}"
    "rect.s{fill:#eef2ff;stroke:#3f51b5}rect.b{fill:#fdecea;stroke:#b71c1c}path{fill:none;stroke:#555}"
)


class Arrow(NamedTuple):
    """The events that lead from one state to another."""

    start: str
    end: str
    events: tuple[str, ...]


def arrows(rows: Sequence[Transition]) -> list[Arrow]:
    """Return the arrows of a table, which are changes of state; events with the same two states share one."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for number, state in enumerate(row.outcomes):
            if state in (row.state, REFUSED):
                continue
            only = " (the last)" if number else ""
            found.setdefault((row.state, state), []).append(row.event + only)
    return [Arrow(start, end, tuple(events)) for (start, end), events in found.items()]


def drawing() -> str:
    """Draw the picture, as SVG."""
    lines: list[str] = []
    top = 20
    for title, states, rows in (
        ("ClientConnection", CLIENT_STATES, CLIENT),
        ("ServerConnection", SERVER_STATES, SERVER),
        ("What either side receives", INPUT_STATES, INPUT),
    ):
        shown = {**states, BROKEN: states.get(BROKEN, _BROKEN_TEXT)}
        lines.append(f'<text class="t" x="{_COLUMNS[0]}" y="{top}">{title}</text>')
        places = _places(list(shown), top + 20)
        lines += _arrows(arrows(rows), places)
        lines += (line for state, about in shown.items() for line in _box(state, about, *places[state]))
        top = max(y for _, y in places.values()) + _BOX_HEIGHT + 80
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {top - 40}" width="{_WIDTH}">'
    marker = (
        '<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z" style="fill:#555;stroke:none"/></marker></defs>'
    )
    page = '<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join([head, f"<style>{_STYLE}</style>{marker}{page}", *lines, "</svg>", ""])


def _places(states: list[str], top: int) -> dict[str, tuple[int, int]]:
    """Return the upper left corner of each state: two columns, and the broken states between and above them."""
    places = {state: (_COLUMNS[number % 2], top + _ROWS[number // 2]) for number, state in enumerate(states[:-1])}
    return {**places, states[-1]: (_MIDDLE, top)}


def _box(state: str, about: str, x: int, y: int) -> Iterator[str]:
    kind = "b" if state == BROKEN else "s"
    yield f'<rect class="{kind}" x="{x}" y="{y}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="6"/>'
    yield f'<text class="n" x="{x + 10}" y="{y + 18}">{escape(state)}</text>'
    yield f'<text class="l" x="{x + 10}" y="{y + 35}">{escape(about)}</text>'


def _arrows(found: list[Arrow], places: dict[str, tuple[int, int]]) -> Iterator[str]:
    for arrow in found:
        (x1, y1), (x2, y2) = places[arrow.start], places[arrow.end]
        more = _LINE * (len(arrow.events) - 1)
        is_left, is_up = x2 < x1, y2 < y1
        start, end = (x1, x2 + _BOX_WIDTH) if is_left else (x1 + _BOX_WIDTH, x2)
        begin, stop = (y1, y2 + _BOX_HEIGHT) if is_up else (y1 + _BOX_HEIGHT, y2)
        if y1 == y2:  # side by side: to the right above, to the left below
            y = y1 + (32 if is_left else 12)
            yield _path(start, y, end, y)
            yield from _label(arrow.events, (start + end) // 2, y + _LINE if is_left else y - 5 - more, "middle")
        elif x1 == x2:  # one above the other: down at the left, up at the right
            x = x1 + (150 if is_up else 40)
            yield _path(x, begin, x, stop)
            yield from _label(arrow.events, x + 6, begin - 12 - more if is_up else begin + 20, "start")
        elif arrow.end == BROKEN:
            yield _path(start, begin, end, stop)
            x = (start + end) // 2
            yield from _label(
                arrow.events, x + (8 if is_left else -8), (begin + stop) // 2, "start" if is_left else "end"
            )
        else:
            yield _path(start, begin, end, stop)
            yield from _label(arrow.events, (start * 2 + end) // 3, (begin * 2 + stop) // 3, "middle")


def _path(x1: int, y1: int, x2: int, y2: int) -> str:
    return f'<path d="M{x1} {y1}L{x2} {y2}" marker-end="url(#a)"/>'


def _label(events: Sequence[str], x: int, y: int, anchor: str) -> Iterator[str]:
    """Lines of text with a white edge, so that arrows do not cross them."""
    for number, event in enumerate(events):
        yield f'<text class="l e" x="{x}" y="{y + number * _LINE}" text-anchor="{anchor}">{escape(event)}</text>'


if __name__ == "__main__":
    (Path(__file__).resolve().parent.parent.parent / FILE).write_text(drawing(), encoding="utf-8")
