"""kipwire tap --top: a table on the terminal, of a whole capture or of the last seconds of a stream."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import pytest

from kipwire.cli.apis import registry_named
from kipwire.console.tap.top import SLICES, Line, Order, Scope, Table, TopCounts, screen_of, sort_lines
from kipwire.traffic.any_capture import capture_at, frames_of
from kipwire.traffic.exchanges import Exchange, exchanges, rows_of
from tests.console.tap.conftest import Tap
from tests.console.tap.test_tap import exchanged
from tests.support import packet_dumps as made
from tests.support.places import ROOT

CAPTURE = ROOT / "examples" / "capture"


@pytest.fixture(scope="module")
def every() -> list[Exchange]:
    """All exchanges of the shipped capture."""
    registry = registry_named("kafka_messages")
    capture = capture_at(CAPTURE)
    assert capture is not None
    return list(exchanges(rows_of(frames_of(capture, (), registry), registry, with_topics=False, with_frames=False)))


def counted(found: Sequence[Exchange], *, is_live: bool = False) -> TopCounts:
    counts = TopCounts()
    counts.begin_capture(is_live=is_live)
    for one in found:
        counts.add(one)
    return counts


def test_a_whole_capture_has_a_line_for_each_client_api_and_version(every: list[Exchange]) -> None:
    counts = counted(every)
    assert counts.table().scope is Scope.SO_FAR
    counts.is_ended = True
    table = counts.table()
    assert (table.scope, table.requests) == (Scope.ALL, len(every))
    times = [row.found.time for one in every for row in one if row is not None]
    assert table.seconds == pytest.approx((max(times) - min(times)) / 1e9)
    uses = defaultdict[tuple[str | None, str | None, int], list[Exchange]](list)
    for one in every:
        request = one.first.found.request
        assert request is not None
        uses[request.client_id, one.first.api, request.api_version].append(one)
    assert len(table.lines) == len(uses)
    for line in table.lines:
        found = uses[line.client_id, line.api, line.version]
        assert line.requests == len(found)
        assert line.rate == pytest.approx(len(found) / table.seconds)
        assert line.bytes == sum(row.size or 0 for one in found for row in one if row is not None)
        assert line.errors == sum(bool(one.errors) for one in found)
        latencies = sorted(one.latency for one in found if one.latency is not None)
        if latencies:
            assert line.p50 == pytest.approx(latencies[-(-len(latencies) // 2) - 1], rel=0.026)
            assert line.p99 == pytest.approx(latencies[-(-len(latencies) * 99 // 100) - 1], rel=0.026)


def test_a_window_forgets_what_is_older_and_counts_the_seconds_as_they_were(every: list[Exchange]) -> None:
    counts = counted(every[:60], is_live=True)
    assert counts.table().lines == ()
    counts.end_slice(1.5)
    table = counts.table()
    assert (table.scope, table.seconds) == (Scope.WINDOW, 1.5)
    assert sum(line.rate or 0 for line in table.lines) == pytest.approx(60 / 1.5)
    for one in every[60:100]:
        counts.add(one)
    for _ in range(SLICES - 1):
        counts.end_slice(1.0)
    table = counts.table()
    assert sum(line.requests for line in table.lines) == 100
    counts.end_slice(1.0)
    table = counts.table()
    assert sum(line.requests for line in table.lines) == 40
    assert (table.seconds, table.requests) == (SLICES, 100)
    counts.is_ended = True
    assert sum(line.requests for line in counts.table().lines) == 100


def test_rows_are_sorted_by_the_key(every: list[Exchange]) -> None:
    lines = counted(every).table().lines
    keys: dict[Order, Callable[[Line], tuple[float | str, ...]]] = {
        Order.CLIENT: lambda line: (line.client_id or "",),
        Order.API: lambda line: (line.api, line.version),
        Order.RATE: lambda line: (-(line.rate or 0),),
        Order.LATENCY: lambda line: (line.p99 is None, -(line.p99 or 0)),
        Order.ERRORS: lambda line: (-line.errors, -line.requests),
    }
    for order in Order:
        got = sort_lines(lines, order)
        assert sorted(got) == sorted(lines) if None not in {line.p50 for line in lines} else len(got) == len(lines)
        assert all(keys[order](one) <= keys[order](other) for one, other in pairwise(got)), order


def test_a_screen_of_any_size_is_filled_and_says_how_many_rows_it_lacks(every: list[Exchange]) -> None:
    table = counted(every).table()
    for width, height in ((200, 400), (100, 30), (80, 24), (60, 12), (40, 8), (20, 5), (3, 2), (1, 1)):
        shown = screen_of(table, Order.ERRORS, "not read: 1 frame", width, height)
        assert len(shown) <= height and all(len(line) <= width for line in shown)
        if width >= 40:
            assert len(shown) == min(height, len(table.lines) + 4)
            heads = next(at for at, line in enumerate(shown) if line.startswith("client"))
            more = re.match(r"and (\d+) more rows", shown[-1])
            rows = len(shown) - heads - 1 - (more is not None)
            assert rows + int(more[1] if more else 0) == len(table.lines)
    assert screen_of(table, Order.ERRORS, "", 60, 12)[-1].endswith("; no room for bytes")


def test_names_and_states_are_one_line_and_amounts_are_short() -> None:
    amounts = {9999: "9999", 10_000: "10.0k", 99_960: "100.0k", 999_499: "999k", 999_500: "1.0M", 12 * 10**18: "12.0E"}
    lines = tuple(Line(f"evil\x1b[2J\n{size}", "Fetch", 4, 1, None, None, None, size, 0) for size in amounts)
    shown = screen_of(Table(lines, 0.0, Scope.ALL, 6), Order.CLIENT, "a\nb", 100, 20)
    assert shown[2] == r"a\x0ab"
    assert {line.split()[0]: line.split()[-1] for line in shown[4:]} == {
        rf"evil\x1b[2J\x0a{size}": text for size, text in amounts.items()
    }


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "--top needs a terminal; --summary writes its counts to files and pipes"),
        (("--bodies",), "--top cannot be used with --bodies"),
        (("--records",), "--top cannot be used with --records"),
        (("--summary",), "--top cannot be used with --summary"),
        (("--upgrade-to", "4.4"), "--top cannot be used with --upgrade-to"),
        (("--html", "page.html"), "--top cannot be used with --html"),
        (("-f", "json"), "--top cannot be used with --format json"),
    ],
)
def test_where_no_table_can_be_is_one_line(tap: Tap, options: tuple[str, ...], said: str) -> None:
    done = tap(CAPTURE, "--top", *options)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"kipwire: {said}\n")


_RUN = """
import fcntl, os, termios
os.setsid()
fcntl.ioctl(1, termios.TIOCSCTTY, 0)
from kipwire.console.cli import main
main()
"""
"""Calls the command in a session of its own, whose terminal is standard output."""
_PATIENCE = 60.0
"""Seconds until a text is missed."""


class Terminal(NamedTuple):
    """A terminal with a command on it."""

    process: subprocess.Popen[bytes]
    keyboard: int

    def shown_until(self, pattern: bytes) -> bytes:
        """Read what is shown until a pattern is found in it."""
        end, shown = monotonic() + _PATIENCE, b""
        while re.search(pattern, shown, re.DOTALL) is None:
            ready, _, _ = select.select([self.keyboard], [], [], max(end - monotonic(), 0))
            assert ready, shown[-5000:]
            shown += os.read(self.keyboard, 1 << 16)
        return shown

    def press(self, keys: bytes) -> None:
        os.write(self.keyboard, keys)


@contextmanager
def on_terminal(*arguments: str | Path) -> Iterator[Terminal]:
    """Start the command on a terminal, and check in the end that the terminal is as it was."""
    keyboard, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    before = termios.tcgetattr(terminal)
    command = [sys.executable, "-c", _RUN, "tap", "--top", *map(str, arguments)]
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=terminal, stderr=terminal, env=environment, cwd=ROOT
    ) as process:
        try:
            yield Terminal(process, keyboard)
            assert termios.tcgetattr(terminal) == before
        finally:
            if process.poll() is None:
                process.kill()
            os.close(keyboard)
            os.close(terminal)


def test_keys_sort_and_quit_and_the_terminal_is_as_before() -> None:
    with on_terminal(CAPTURE, "--client", "kp-*") as terminal:
        shown = terminal.shown_until(rb"end: \d+ requests of 8 clients.*bytes.*kp-.*more rows")
        assert b"*r rate" in shown
        terminal.press(b"e")
        terminal.shown_until(rb"\*e errors.*bytes[^v]*kp-txn[^v]*AddPartitionsToTxn v3")
        terminal.press(b"q")
        assert b"\x1b[?1049h" not in terminal.shown_until(rb"\x1b\[\?1049l")
        assert terminal.process.wait(_PATIENCE) == 0


@pytest.mark.parametrize(("key", "status"), [(b"q", 0), pytest.param(b"\x03", 130, marks=pytest.mark.night)])
def test_a_stream_that_goes_on_is_shown_by_the_second(key: bytes, status: int) -> None:
    with on_terminal("-", "--api", "ApiVersions") as terminal:
        stdin = terminal.process.stdin
        assert stdin is not None
        terminal.shown_until(rb"last \d+ s: 0.0 requests/s of 0 clients")
        stdin.write(made.dump(exchanged(*range(1, 40)).segments))
        stdin.flush()
        terminal.shown_until(
            rb"last \d+ s: \d+\.\d requests/s of 1 client; 39 requests since the start.*ApiVersions v0"
        )
        terminal.press(key)
        terminal.shown_until(rb"\x1b\[\?1049l")
        assert terminal.process.wait(_PATIENCE) == status
