"""Shows Spark's progress in one line of a terminal, rewritten while it works."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any, NamedTuple, TextIO

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kipjobs.report.line import Line
from kipspark.reasons import SPARK_ERRORS

SECONDS_BETWEEN_LOOKS = 0.5
"""Interval of updates; work that takes less time has no line at all."""
_MIB = 2**20


class Stage(NamedTuple):
    """A step of a job."""

    number: int
    tasks: int
    tasks_done: int
    bytes_read: int = 0
    """0 if it is not known."""


def progress_text(stages: Iterable[Stage], running: int) -> str:
    """Describe the stages at work, such as `stage 4: 12 of 64 tasks done, 2 running`; empty if there are none."""
    known = sorted(stages)
    if not known:
        return ""
    names = ("stage " if len(known) == 1 else "stages ") + ", ".join(str(stage.number) for stage in known)
    tasks = f"{sum(stage.tasks_done for stage in known):,} of {sum(stage.tasks for stage in known):,} tasks done"
    size = sum(stage.bytes_read for stage in known)
    read = f", {size / _MIB:,.0f} MiB read" if size >= _MIB else ""
    return f"{names}: {tasks}, {running:,} running{read}"


@contextmanager
def progress_line(spark: SparkSession, terminal: TextIO | None = None) -> Iterator[None]:
    """Show Spark's progress until the end of the block, if standard error is a terminal; then remove the line."""
    line = Line(terminal or sys.stderr)
    if not line.is_shown:
        yield
        return
    with line, _follow_server(spark, line) if _is_remote(spark) else _follow(spark, line):
        yield


def _is_remote(spark: SparkSession) -> bool:
    return type(spark).__module__.startswith("pyspark.sql.connect")


@contextmanager
def _follow(spark: SparkSession, line: Line) -> Iterator[None]:
    """Poll the progress of Spark in this process."""
    tracker = spark.sparkContext.statusTracker()
    ended = Event()

    def look() -> None:
        # The code that waits for a result of the JVM reports that the JVM has ended.
        with suppress(*SPARK_ERRORS, OSError):
            while not ended.wait(SECONDS_BETWEEN_LOOKS):
                infos = [info for number in tracker.getActiveStageIds() if (info := tracker.getStageInfo(number))]
                stages = [Stage(info.stageId, info.numTasks, info.numCompletedTasks) for info in infos]
                if not ended.is_set():
                    line.say(progress_text(stages, sum(info.numActiveTasks for info in infos)))

    looking = Thread(target=look, name="kipspark-progress", daemon=True)
    looking.start()
    try:
        yield
    finally:
        ended.set()
        looking.join(2 * SECONDS_BETWEEN_LOOKS)


@contextmanager
def _follow_server(spark: SparkSession, line: Line) -> Iterator[None]:
    """Show the progress that a Spark Connect server reports while a client waits."""

    def said(stages: Iterable[Any] | None, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        known = (
            Stage(one.stage_id, one.num_tasks, one.num_completed_tasks, one.num_bytes_read)
            for one in stages or ()
            if not one.done
        )
        line.say("" if done else progress_text(known, inflight_tasks))

    client: Any = spark  # its type requires a class, but a function works
    try:
        client.registerProgressHandler(said)
    except (PySparkException, AttributeError):  # an older client cannot
        yield
        return
    try:
        yield
    finally:
        client.removeProgressHandler(said)
