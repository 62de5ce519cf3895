"""Ctrl-C as something to wait for, not as an exception in the middle of whatever runs."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event


@contextmanager
def ctrl_c() -> Iterator[Event]:
    """An event that Ctrl-C sets, in the main thread; a second one interrupts as always.

    Spark's own handler raises KeyboardInterrupt while a call to Java is under way, which leaves that call broken.
    """
    pressed = Event()

    def press(*_: object) -> None:
        pressed.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
