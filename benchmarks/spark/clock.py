"""Cost of a query: processor time of the whole session, and wall-clock time."""

from __future__ import annotations

import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

import psutil
from pyspark.sql import DataFrame

_BETWEEN_LOOKS = 0.1
"""Seconds between two looks at the processes."""


@dataclass(frozen=True)
class Cost:
    """The cost of one query."""

    cpu: float
    """Seconds of processor time, of the JVM and of all Python workers."""
    wall: float
    """Seconds until all columns were made."""

    def of_each(self, rows: int) -> Cost:
        """Return the cost of a row."""
        return Cost(self.cpu / rows, self.wall / rows)


def cost_of(frame: DataFrame) -> Cost:
    """Run a query, throw its rows away, and return its cost."""
    before, start = _processor_times(), time.perf_counter()
    after, ended = dict(before), Event()

    def watch() -> None:  # Spark ends workers and their parents at any time, and their processor times are gone then
        while not ended.wait(_BETWEEN_LOOKS):
            after.update(_processor_times())

    watcher = Thread(target=watch)
    watcher.start()
    try:
        frame.write.format("noop").mode("overwrite").save()
        wall = time.perf_counter() - start
    finally:
        ended.set()
        watcher.join()
    after.update(_processor_times())
    return Cost(sum(after.values()) - sum(before.values()), wall)


def _processor_times() -> dict[tuple[int, float], float]:
    """Return the processor seconds of each process below this one, without its children, by its number and start."""
    taken = {}
    for process in psutil.Process().children(recursive=True):
        try:
            times = process.cpu_times()
            taken[process.pid, process.create_time()] = times.user + times.system
        except psutil.NoSuchProcess:
            continue
    return taken


def peak_memory(frame: DataFrame) -> int:
    """Run a query, throw its rows away, and return the peak of the bytes of one of its Python workers."""
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


@dataclass(frozen=True)
class ProgramCost:
    """Cost of a program, which may start a JVM that starts Python workers."""

    cpu: float
    """Seconds of processor time, in user mode and in the system, of all of its processes."""
    wall: float
    """Seconds from start to end."""
    jvm: int
    """Peak of the bytes of the JVM."""
    largest_worker: int
    """Peak of the bytes of one Python worker."""
    workers: int
    """Peak of the bytes of all Python workers together; shared memory is counted for each."""
    itself: int
    """Peak of the bytes of the program itself."""
    together: int
    """Peak of the bytes of all its processes together; shared memory is counted for each."""


def cost_of_program(command: Sequence[str], environment: Mapping[str, str]) -> ProgramCost:
    """Run a program to its end, without its output.

    Raises:
        CalledProcessError: the program fails.
    """
    taken: dict[int, float] = {}
    jvm = largest = all_workers = itself = together = 0
    before, start = _of_children(), time.perf_counter()
    process = psutil.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    while process.poll() is None:
        workers, sizes = [0], [0]
        for one in [process, *_children(process)]:
            try:
                with one.oneshot():
                    name, size, times = one.name(), one.memory_info().rss, one.cpu_times()
            except psutil.NoSuchProcess:
                continue
            sizes.append(size)
            if one.pid == process.pid:
                itself = max(itself, size, _peak(one.pid))
            # The workers' own children have been counted themselves.
            taken[one.pid] = times.user + times.system
            if name == "java":
                jvm = max(jvm, size)
            elif "python" in name and one.pid != process.pid:  # a process that the JVM starts begins as its copy
                workers.append(size)
        largest, all_workers = max(largest, *workers), max(all_workers, sum(workers))
        together = max(together, itself, sum(sizes))
        time.sleep(_BETWEEN_LOOKS)
    wall = time.perf_counter() - start
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    # The system counts to the end, but only processes whose parents have waited for them.
    cpu = max(sum(taken.values()), _of_children() - before)
    return ProgramCost(cpu, wall, jvm, largest, all_workers, itself, together)


def _of_children() -> float:
    """Return the processor seconds of all ended children, and of the children that they have waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _peak(pid: int) -> int:
    """Return the peak of the bytes of a process, also between looks; 0 if the system does not report it."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    peak = next((line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")), "0")
    return int(peak) * 1024


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []
