"""The states of connections, as tables and as a picture: what each call and each frame of the peer does in each state.

The head of `kipwire.connection` has the theory. `state` of a connection is one of these; it follows from the queue and
the flag of the connection, which looks up nothing here. tests/runtime/connection/test_states.py drives real connections
through every row, and `python -m docs.site.connection_states` draws docs/connection-states.svg.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Literal, NamedTuple

BROKEN: Literal["broken"] = "broken"
"""Bytes of the peer cannot be where they are: `RemoteProtocolError`, now and whenever events are asked for."""
REFUSED: Literal["refused"] = "refused"
"""The call is not allowed: `LocalProtocolError`, and the connection stays as it is."""


class Transition(NamedTuple):
    """A state, an event, and the states that may follow."""

    state: str
    event: str
    """A call, or what the peer's next frame is."""
    outcomes: tuple[str, ...]
    """The states that can follow, or `BROKEN`, or `REFUSED`. Of several, the first is for a queue with more in it, the
    last for a queue that the event empties."""


CLIENT_STATES = {
    "idle": "nothing is expected",
    "responses": "responses are expected",
    "tokens": "SASL tokens are expected",
    "tokens first": "tokens, then responses",
}

CLIENT = (
    Transition("idle", "send", ("responses",)),
    Transition("idle", "send, acks 0", ("idle",)),
    Transition("idle", "send_token", ("tokens",)),
    Transition("idle", "send_token, unanswered", ("idle",)),
    Transition("idle", "frame, as expected", (BROKEN,)),
    Transition("idle", "frame, other id", (BROKEN,)),
    Transition("responses", "send", ("responses",)),
    Transition("responses", "send, acks 0", ("responses",)),
    Transition("responses", "send_token", (REFUSED,)),
    Transition("responses", "send_token, unanswered", (REFUSED,)),
    Transition("responses", "frame, as expected", ("responses", "idle")),
    Transition("responses", "frame, other id", (BROKEN,)),
    Transition("tokens", "send", ("tokens first",)),
    Transition("tokens", "send, acks 0", ("tokens",)),
    Transition("tokens", "send_token", ("tokens",)),
    Transition("tokens", "send_token, unanswered", ("tokens",)),
    Transition("tokens", "frame, as expected", ("tokens", "idle")),
    Transition("tokens", "frame, other id", ("tokens", "idle")),  # a token has no id
    Transition("tokens first", "send", ("tokens first",)),
    Transition("tokens first", "send, acks 0", ("tokens first",)),
    Transition("tokens first", "send_token", (REFUSED,)),
    Transition("tokens first", "send_token, unanswered", (REFUSED,)),
    Transition("tokens first", "frame, as expected", ("tokens first", "responses")),
    Transition("tokens first", "frame, other id", ("tokens first", "responses")),
)
"""A `ClientConnection`."""

SERVER_STATES = {
    "idle": "takes requests, none is open",
    "open": "takes requests, some are open",
    "tokens": "takes tokens, no request is open",
    "tokens, open": "takes tokens, requests are open",
}

SERVER = (
    Transition("idle", "request", ("open",)),
    Transition("idle", "request, acks 0", ("idle",)),
    Transition("idle", "frame below 8 bytes", (BROKEN,)),
    Transition("idle", "respond", (REFUSED,)),
    Transition("idle", "respond out of turn", (REFUSED,)),
    Transition("idle", "leave_unanswered", (REFUSED,)),
    Transition("idle", "handshake accepted", (REFUSED,)),
    Transition("idle", "handshake refused", (REFUSED,)),
    Transition("idle", "send_token", (REFUSED,)),
    Transition("idle", "expect_tokens", ("tokens",)),
    Transition("idle", "expect_requests", ("idle",)),
    Transition("open", "request", ("open",)),
    Transition("open", "request, acks 0", ("open",)),
    Transition("open", "frame below 8 bytes", (BROKEN,)),
    Transition("open", "respond", ("open", "idle")),
    Transition("open", "respond out of turn", ("open",)),
    Transition("open", "leave_unanswered", ("open", "idle")),
    Transition("open", "handshake accepted", ("tokens, open", "tokens")),
    Transition("open", "handshake refused", ("open", "idle")),
    Transition("open", "send_token", (REFUSED,)),
    Transition("open", "expect_tokens", ("tokens, open",)),
    Transition("open", "expect_requests", ("open",)),
    Transition("tokens", "request", ("tokens",)),  # whatever a frame is, it is a token
    Transition("tokens", "request, acks 0", ("tokens",)),
    Transition("tokens", "frame below 8 bytes", ("tokens",)),
    Transition("tokens", "respond", (REFUSED,)),
    Transition("tokens", "respond out of turn", (REFUSED,)),
    Transition("tokens", "leave_unanswered", (REFUSED,)),
    Transition("tokens", "handshake accepted", (REFUSED,)),
    Transition("tokens", "handshake refused", (REFUSED,)),
    Transition("tokens", "send_token", ("tokens",)),
    Transition("tokens", "expect_tokens", ("tokens",)),
    Transition("tokens", "expect_requests", ("idle",)),
    Transition("tokens, open", "request", ("tokens, open",)),
    Transition("tokens, open", "request, acks 0", ("tokens, open",)),
    Transition("tokens, open", "frame below 8 bytes", ("tokens, open",)),
    Transition("tokens, open", "respond", ("tokens, open", "tokens")),
    Transition("tokens, open", "respond out of turn", ("tokens, open",)),
    Transition("tokens, open", "leave_unanswered", ("tokens, open", "tokens")),
    Transition("tokens, open", "handshake accepted", ("tokens, open", "tokens")),
    Transition("tokens, open", "handshake refused", ("open", "idle")),
    Transition("tokens, open", "send_token", (REFUSED,)),
    Transition("tokens, open", "expect_tokens", ("tokens, open",)),
    Transition("tokens, open", "expect_requests", ("open",)),
)
"""A `ServerConnection`. `handshake` is a response to SaslHandshake v0 in its turn, without an error or with one."""

INPUT_STATES = {
    "receiving": "more may come",
    "ended": "nothing more comes",
    BROKEN: "nothing more is read",
}

INPUT = (
    Transition("receiving", "receive_data", ("receiving",)),
    Transition("receiving", "receive_end", ("ended",)),
    Transition("receiving", "events, part of a frame", ("receiving",)),
    Transition("receiving", "events, wrong size", (BROKEN,)),
    Transition("ended", "receive_data", (REFUSED,)),
    Transition("ended", "receive_end", ("ended",)),
    Transition("ended", "events, part of a frame", (BROKEN,)),
    Transition("ended", "events, wrong size", (BROKEN,)),
    Transition(BROKEN, "receive_data", (BROKEN,)),
    Transition(BROKEN, "receive_end", (BROKEN,)),
    Transition(BROKEN, "events, part of a frame", (BROKEN,)),
    Transition(BROKEN, "events, wrong size", (BROKEN,)),
)
"""Transitions of the input of either side, whatever the frames are: bytes are kept until `events` takes them."""


# The picture.

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
