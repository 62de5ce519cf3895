"""The screen of `kipwire tap --top`: a table that is drawn anew each second and obeys keys.

The capture is read, and the screen drawn, by one thread: it looks at the clock and at the keys between two frames, and
waits for packets and keys together. So nothing is shared, and the end needs no other thread to notice it.
"""

from __future__ import annotations

import curses
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from select import select
from time import monotonic
from typing import TypeVar

from kipwire.console.reading import unread_text
from kipwire.console.tap.top import Order, TopCounts, screen_of
from kipwire.traffic.unread import Reading

T = TypeVar("T")

_SECOND = 1.0
"""Seconds from one table to the next."""
_MOMENT = 0.05
"""Seconds for which keys may wait while a capture is read."""
_KEYS = 0
"""Descriptor of the terminal, which curses reads as standard input."""


class NoScreenError(Exception):
    """There is no terminal that can show a table; with the reason."""


class QuitError(Exception):
    """The key `q`, or the end of the terminal."""


@contextmanager
def opened_screen() -> Iterator[curses.window]:
    """Take the terminal, and give it back as it was, however the block ends.

    Standard input becomes the terminal, for its keys; `sys.stdin` goes on with what it was.

    Raises:
        NoScreenError: there is no terminal, or it cannot place text.
    """
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:
        raise NoScreenError(f"/dev/tty: {error.strerror}") from None
    input_, before = os.dup(_KEYS), sys.stdin
    try:
        os.dup2(terminal, _KEYS)
        sys.stdin = os.fdopen(input_, encoding="utf-8", closefd=False)
        with _drawn_on() as screen:
            yield screen
    finally:
        os.dup2(input_, _KEYS)
        sys.stdin = before
        os.close(input_)
        os.close(terminal)


@contextmanager
def _drawn_on() -> Iterator[curses.window]:
    try:
        curses.setupterm(fd=sys.stdout.fileno())
        if not curses.tigetstr("cup"):
            raise curses.error("it cannot place text")
        screen = curses.initscr()
    except curses.error as error:
        raise NoScreenError(f"TERM={os.environ.get('TERM', '')}: {error}") from None
    try:
        curses.noecho()
        curses.cbreak()
        screen.nodelay(True)
        with suppress(curses.error):  # some terminals always show the cursor
            curses.curs_set(0)
        yield screen
    finally:
        with suppress(curses.error):
            curses.curs_set(1)
        curses.endwin()


class View:
    """A screen with the counts so far."""

    def __init__(self, screen: curses.window, counts: TopCounts, reading: Reading) -> None:
        self._screen, self._counts, self._reading = screen, counts, reading
        self._order = Order.RATE
        self._table = counts.table()
        self._drawn = monotonic()
        self._looked = self._drawn
        self.error = ""
        """An error of the input, which is shown."""
        self._draw()

    def beside(self, frames: Iterable[T]) -> Iterator[T]:
        """Yield what is read, and keep the screen alive meanwhile.

        Raises:
            QuitError: the key `q`.
        """
        for one in frames:
            now = monotonic()
            if now >= self._looked + _MOMENT:
                self._looked = now
                self._obey(self._read_keys())
                self._refresh(now)
            yield one

    def wait(self, input_: int | None) -> None:
        """Keep the screen alive until a descriptor has bytes, or for ever if there is none.

        Raises:
            QuitError: the key `q`.
        """
        inputs = [_KEYS] if input_ is None else [_KEYS, input_]
        while True:
            self._refresh(monotonic())
            ready, _, _ = select(inputs, [], [], max(self._drawn + _SECOND - monotonic(), 0))
            keys = self._read_keys()
            if _KEYS in ready and not keys:
                raise QuitError("the terminal is closed")
            self._obey(keys)
            if input_ in ready:
                return

    def stay(self) -> None:
        """Show everything until the key `q`.

        Raises:
            QuitError: the key `q`.
        """
        self._counts.is_ended = True
        self._table = self._counts.table()
        self._draw()
        self.wait(None)

    def _refresh(self, now: float) -> None:
        """Make another table if it is time."""
        if now < self._drawn + _SECOND:
            return
        if self._counts.is_live and not self._counts.is_ended:
            self._counts.end_slice(now - self._drawn)
        self._table = self._counts.table()
        self._drawn = now
        self._draw()

    def _read_keys(self) -> list[int]:
        keys = []
        while (key := self._screen.getch()) != curses.ERR:
            keys.append(key)
        return keys

    def _obey(self, keys: Iterable[int]) -> None:
        for key in keys:
            letter = chr(key).lower() if 0 <= key < 128 else ""
            if letter == "q":
                raise QuitError
            if letter in set(Order):
                self._order = Order(letter)
                self._draw()
            elif key == curses.KEY_RESIZE:
                self._draw()

    def _draw(self) -> None:
        height, width = self._screen.getmaxyx()
        state = self.error or unread_text(self._reading).rstrip("\n")
        self._screen.erase()
        for at, line in enumerate(screen_of(self._table, self._order, state, width - 1, height)):
            with suppress(curses.error):  # the terminal may have shrunk
                self._screen.move(at, 0)
                self._screen.clrtoeol()  # where a wide character may have flowed over from the line above
                self._screen.addstr(line)
        self._screen.redrawwin()  # also over what others, such as tcpdump, print
        self._screen.refresh()
