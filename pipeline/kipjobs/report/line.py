"""A line of progress on a terminal, which is removed at the end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from threading import Event, Thread
from typing import TextIO

_ERASE = "\r\x1b[K"
_SECONDS_BETWEEN_LOOKS = 0.3


@contextmanager
def line_saying(text: str, terminal: TextIO | None = None) -> Iterator[None]:
    """Show a text until the end of the block, if standard error is a terminal; then remove it."""
    line = Line(terminal or sys.stderr)
    with line:
        if line.is_shown:
            line.say(text)
        yield


@contextmanager
def repeat_line(text: Callable[[], str], terminal: TextIO | None = None) -> Iterator[None]:
    """Show the text of a function, updated regularly, until the end of the block, as `line_saying` does."""
    line = Line(terminal or sys.stderr)
    if not line.is_shown:
        yield
        return
    ended = Event()

    def say() -> None:
        while not ended.wait(_SECONDS_BETWEEN_LOOKS):
            line.say(text())

    saying = Thread(target=say, name="kipjobs-progress", daemon=True)
    with line:
        saying.start()
        try:
            yield
        finally:
            ended.set()
            saying.join()


class Line:
    """The line of a terminal that is rewritten."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self.is_shown = terminal.isatty() and os.environ.get("TERM") != "dumb"
        self._is_there = False

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self.say("")

    def say(self, text: str) -> None:
        if text or self._is_there:
            # A line as wide as the terminal would begin another one, which could not be taken back.
            self._terminal.write(_ERASE + text[: get_terminal_size().columns - 1])
            self._terminal.flush()
            self._is_there = bool(text)
