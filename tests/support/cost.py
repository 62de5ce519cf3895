"""The cost of an action in figures that are the same on every machine: steps of Python code, and memory."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

from kipwire import DecodeError, Message, native
from tests.support.cases import THOROUGH

MUCH = 10_000 if THOROUGH else 2_500
"""Bytes of input whose cost is compared with its size; to count the steps of each takes seconds."""


class Cost(NamedTuple):
    steps: int
    """Lines of Python code that ran, and calls of functions in C; the kernel's work takes no steps."""
    memory: int
    """Bytes at the peak."""


class TooManySteps(BaseException):
    """End of an action that takes more steps than it may; as a BaseException it passes code that catches errors."""


def cost_of(action: Callable[[], object]) -> Cost:
    """Measure an action, once all that it needs has been imported and prepared. It must not raise."""
    action()
    memory = min(_peak(action) for _ in range(3))  # the least, since memory of other threads is counted, too
    return Cost(steps_of(action), memory)


def steps_of(action: Callable[[], object], most: int = sys.maxsize) -> int:
    """Count the steps of an action without a run before, such as the first use of a class. It must not raise.

    Raises:
        TooManySteps: it takes more than `most`.
    """
    steps = 0

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal steps
        steps += event == "line"
        if steps > most:
            raise TooManySteps
        return line

    def call(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal steps
        steps += event == "c_call"

    tracer, profiler = sys.gettrace(), sys.getprofile()
    sys.settrace(line)
    sys.setprofile(call)
    try:
        action()
    finally:
        sys.settrace(tracer)
        sys.setprofile(profiler)
    return steps


def _peak(action: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def cost_of_refusing(cls: type[Message], data: bytes) -> Cost:
    """Return the highest cost of refusing the data, by the kernel where it is in use and by Python."""

    def refuse(decode: Callable[..., object]) -> Callable[[], object]:
        def refused() -> None:
            try:
                decode()
            except DecodeError:
                return
            raise AssertionError(f"{cls.NAME} v{cls.VERSION} accepts the data")

        return refused

    costs = [
        cost_of(refuse(decode)) for decode in (lambda: cls.decode(data), lambda: native.PYTHON["decode"](cls, data))
    ]
    return Cost(max(cost.steps for cost in costs), max(cost.memory for cost in costs))
