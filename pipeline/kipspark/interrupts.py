"""Ctrl-C as an event to wait for, instead of an exception in the middle of a call."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event


@contextmanager
def ctrl_c() -> Iterator[Event]:
    """An event that Ctrl-C sets, in the main thread; a second one interrupts as usual.

    Spark's own handler raises KeyboardInterrupt during a call to Java, which breaks that call.
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
