"""What a query costs: processor time of the whole session, and wall-clock time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from threading import Event, Thread

import psutil
from pyspark.sql import DataFrame

_BETWEEN_LOOKS = 0.1
"""Seconds."""


@dataclass(frozen=True)
class Cost:
    """The cost of one query."""

    cpu: float
    """Seconds of processor time, of the JVM and of all Python workers."""
    wall: float
    """Seconds until all columns were made."""


def cost_of(frame: DataFrame) -> Cost:
    """Run a query and throw its rows away."""
    before, start = _processor_time(), time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return Cost(_processor_time() - before, time.perf_counter() - start)


def _processor_time() -> float:
    """Seconds that all processes below this one have taken so far, those that have ended too."""
    taken = 0.0
    for process in psutil.Process().children(recursive=True):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        taken += times.user + times.system + times.children_user + times.children_system
    return taken


def peak_memory(frame: DataFrame) -> int:
    """Run a query and throw its rows away; the most bytes that one of its Python workers had on the way."""
    peak, ended = 0, Event()

    def watch() -> None:
        nonlocal peak
        while not ended.wait(_BETWEEN_LOOKS):
            peak = max(peak, _largest_worker())

    watcher = Thread(target=watch)
    watcher.start()
    try:
        cost_of(frame)
    finally:
        ended.set()
        watcher.join()
    return peak


def _largest_worker() -> int:
    sizes = [0]
    for process in psutil.Process().children(recursive=True):
        try:
            if "python" in process.name():
                sizes.append(process.memory_info().rss)
        except psutil.NoSuchProcess:
            continue
    return max(sizes)
