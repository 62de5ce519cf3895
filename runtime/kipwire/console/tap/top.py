"""The table of `kipwire tap --top`: what each client does with each API, in the last seconds or in a whole capture.

Live traffic is counted in slices of a second, of which the latest make the window. Memory is bounded: a slice has as
many rows as a summary (`kipwire.traffic.summary`), and the others are counted together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from kipwire.cli.text_tables import column_lines, fit
from kipwire.tools.text import count_of, printable_line
from kipwire.traffic.exchanges import Exchange
from kipwire.traffic.summary import REST, Counts, TrafficSummary

SLICES = 10
"""Slices of a window."""
_NS_OF_S = 10**9
_NS_OF_MS = 10**6
_HEADER = ("client", "API", "req/s", "p50 ms", "p99 ms", "errors", "bytes")
_IS_TEXT = tuple(name in ("client", "API") for name in _HEADER)
_THOUSAND = 1000


class Order(StrEnum):
    """Order of the rows, by the key that chooses it."""

    CLIENT = "c"
    API = "a"
    RATE = "r"
    LATENCY = "l"
    ERRORS = "e"


class Scope(StrEnum):
    """Traffic that a table is about."""

    WINDOW = "the last seconds"
    SO_FAR = "everything that was read so far"
    ALL = "everything"


class Line(NamedTuple):
    """Use of a version of an API by a client."""

    client_id: str | None
    api: str
    """Name of the API."""
    version: int
    requests: int
    rate: float | None
    """Requests per second; None if the time is not known."""
    p50: int | None
    """Median of the latencies in nanoseconds; None if there are none."""
    p99: int | None
    bytes: int
    """Bytes of requests and responses."""
    errors: int
    """Exchanges with an error code, or of which something is missing or cannot be decoded."""


class Table(NamedTuple):
    """All that is shown of the traffic of some time."""

    lines: tuple[Line, ...]
    seconds: float
    """Length of its time; 0 if it is not known."""
    scope: Scope
    requests: int
    """Requests of all time, which a window does not forget."""


class Slice(NamedTuple):
    """Counts of a second."""

    seconds: float
    """Length, which is more than a second if there was much to do."""
    summary: TrafficSummary


class TopCounts:
    """Counts of the exchanges so far, and of the last seconds."""

    def __init__(self) -> None:
        self.is_live = False
        """True while traffic is counted as it comes: the table has a window, by the time of its arrival."""
        self.is_ended = False
        """True after the last capture."""
        self._all = TrafficSummary()
        self._requests = 0
        self._now = TrafficSummary()
        self._slices: deque[Slice] = deque(maxlen=SLICES)

    def begin_capture(self, *, is_live: bool) -> None:
        """Start another capture, whose connections are numbered anew."""
        self.is_live = is_live
        self._all.begin_capture()

    def add(self, exchange: Exchange) -> None:
        """Count an exchange, or an error."""
        self._all.add(exchange)
        self._requests += exchange.request is not None
        if self.is_live:
            self._now.add(exchange)

    def end_slice(self, seconds: float) -> None:
        """End the slice, which took some seconds, and start another."""
        self._slices.append(Slice(seconds, self._now))
        self._now = TrafficSummary()

    def table(self) -> Table:
        """Make the table of the last seconds while traffic comes, else of everything."""
        if self.is_live and not self.is_ended:
            seconds = sum(one.seconds for one in self._slices)
            lines = lines_of((one.summary for one in self._slices), seconds)
            return Table(lines, seconds, Scope.WINDOW, self._requests)
        first, last = self._all.first, self._all.last
        seconds = 0.0 if first is None or last is None else (last - first) / _NS_OF_S
        scope = Scope.ALL if self.is_ended else Scope.SO_FAR
        return Table(lines_of([self._all], seconds), seconds, scope, self._requests)


def lines_of(summaries: Iterable[TrafficSummary], seconds: float) -> tuple[Line, ...]:
    """Merge summaries into lines, one for each client, API and version.

    Args:
        summaries: of the traffic.
        seconds: length of the time of all of them; 0 if it is not known.
    """
    found: dict[tuple[str | None, int, str, int], Counts] = {}
    for summary in summaries:
        for use, counts in summary.uses.items():
            found.setdefault((use.client_id, *use[2:]), Counts()).merge(counts)
    return tuple(
        Line(
            client_id,
            api,
            version,
            counts.requests,
            counts.requests / seconds if seconds else None,
            counts.latencies.quantile(0.5),
            counts.latencies.quantile(0.99),
            counts.request_bytes + counts.response_bytes,
            counts.with_errors + counts.broken,
        )
        for (client_id, _, api, version), counts in found.items()
    )


_SORTS: dict[Order, Callable[[Line], Any]] = {
    Order.CLIENT: lambda line: (line.client_id or "", -line.requests),
    Order.API: lambda line: (line.api, line.version, -line.requests),
    Order.RATE: lambda line: -line.requests,
    Order.LATENCY: lambda line: (-1 if line.p99 is None else -line.p99, -line.requests),
    Order.ERRORS: lambda line: (-line.errors, -line.requests),
}


def sort_lines(lines: Iterable[Line], order: Order) -> list[Line]:
    """Sort lines: texts from A to Z, numbers from the highest; equal ones by requests, client, API and version."""
    rest = sorted(lines, key=lambda line: (line.client_id or "", line.api, line.version))
    return sorted(rest, key=_SORTS[order])


def screen_of(table: Table, order: Order, state: str, width: int, height: int) -> list[str]:
    """Format the table as the lines of a screen, the keys in the second.

    Args:
        table: the table.
        order: order of its rows.
        state: a line about the input, such as an error; may be empty.
        width: characters of a line.
        height: lines of the screen.
    """
    keys = "  ".join(f"{'*' if one is order else ''}{one} {one.name.lower()}" for one in Order)
    above = [_title(table), f"sort: {keys}  q quit", printable_line(state)]
    lines = sort_lines(table.lines, order)
    fitted = fit(_HEADER, [_cells(line) for line in lines[:height]], _IS_TEXT, width)
    columns = [line.rstrip("\n") for line in column_lines(fitted, _IS_TEXT, coloured=False)]
    room = height - len(above) - max(map(len, fitted.heads))
    below = []
    if len(lines) > room or fitted.left_out:
        room -= 1
        below += [f"and {count_of(len(lines) - room, 'more row')}"] if len(lines) > room else []
        below += [f"no room for {', '.join(fitted.left_out)}"] if fitted.left_out else []
    every = [*above, *columns[: height - len(above) - bool(below)], *(["; ".join(below)] if below else [])]
    return [line[:width] for line in every[:height]]


def _title(table: Table) -> str:
    clients = count_of(len({line.client_id for line in table.lines} - {REST}), "client")
    requests = count_of(table.requests, "request")
    if table.scope is not Scope.WINDOW:
        start = "end" if table.scope is Scope.ALL else "so far"
        return f"{start}: {requests} of {clients} in {table.seconds:,.1f} s"
    rate = sum(line.rate or 0 for line in table.lines)
    return f"last {table.seconds:.0f} s: {rate:,.1f} requests/s of {clients}; {requests} since the start"


def _cells(line: Line) -> Sequence[str]:
    client = "none" if line.client_id is None else line.client_id
    return (
        printable_line(client),
        f"{line.api} v{line.version}" if line.version >= 0 else line.api,
        "" if line.rate is None else f"{line.rate:.{2 if line.rate < 10 else 1}f}",
        *("" if one is None else f"{one / _NS_OF_MS:.2f}" for one in (line.p50, line.p99)),
        str(line.errors),
        _amount(line.bytes),
    )


def _amount(size: int) -> str:
    """Format a number of bytes with three to four digits: `1234`, `12.3k`, `4.5M`."""
    if size < 10 * _THOUSAND:
        return str(size)
    amount, power = size / _THOUSAND, 0
    while amount >= _THOUSAND - 0.5:
        amount /= _THOUSAND
        power += 1
    return f"{amount:.{1 if amount < 100 else 0}f}{'kMGTPE'[power]}"
