"""The line on a terminal that says how far Spark is: only there, and gone before anything else is printed."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest
from py4j.protocol import Py4JNetworkError
from pyspark.sql import DataFrame, SparkSession

from kipjobs.jobs.shared.options import Outputs
from kipjobs.jobs.shared.running import deliver
from kipjobs.report.line import line_saying
from kipjobs.report.report import Report, Table
from kipspark.spark import progress
from kipspark.spark.progress import Stage, progress_line, progress_text
from kipspark.spark.session import tasks_at_once


class Screen(io.StringIO):
    """A terminal, or with `is_there` False a file."""

    def __init__(self, is_there: bool = True) -> None:
        super().__init__()
        self.is_there = is_there

    def isatty(self) -> bool:
        return self.is_there


class Tracker:
    """Spark's tracker of stages; `fails` is the error of a JVM that has ended."""

    def __init__(self, fails: Exception | None = None) -> None:
        self.looks = 0
        self.fails = fails

    def getActiveStageIds(self) -> list[int]:  # noqa: N802  Spark's own name
        self.looks += 1
        if self.fails is not None:
            raise self.fails
        return [4, 9]

    def getStageInfo(self, number: int) -> Any:  # noqa: N802  Spark's own name
        if number == 9:  # it has just ended
            return None
        return SimpleNamespace(stageId=number, numTasks=1200, numCompletedTasks=12, numActiveTasks=2)


def session_with(tracker: Tracker) -> SparkSession:
    context = SimpleNamespace(statusTracker=lambda: tracker)
    return cast(SparkSession, SimpleNamespace(sparkContext=context))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LOOKS", 0.01)
    monkeypatch.setenv("TERM", "xterm")


def wait_until(is_so: Callable[[], bool]) -> None:
    for _ in range(3000):
        if is_so():
            return
        time.sleep(0.01)
    raise AssertionError("it does not happen")


def test_the_line_says_stages_and_tasks() -> None:
    assert progress_text([], 0) == ""
    assert progress_text([Stage(4, 1200, 12)], 2) == "stage 4: 12 of 1,200 tasks done, 2 running"
    two = [Stage(7, 10, 1, 3 * 2**20), Stage(4, 20, 5, 2**20)]
    assert progress_text(two, 3) == "stages 4, 7: 6 of 30 tasks done, 3 running, 4 MiB read"


def test_the_line_is_rewritten_and_nothing_of_it_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    tracker, screen = Tracker(), Screen()
    with progress_line(session_with(tracker), screen):
        wait_until(lambda: tracker.looks > 2)
    written = screen.getvalue()
    shown = "\r\x1b[K" + "stage 4: 12 of 1,200 tasks done, 2 running"[:19]
    assert written.startswith(2 * shown)
    assert written.endswith("\r\x1b[K")
    assert "\n" not in written


@pytest.mark.parametrize(("is_terminal", "kind"), [(False, "xterm"), (True, "dumb")])
def test_without_a_terminal_spark_is_not_even_asked(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, kind: str
) -> None:
    monkeypatch.setenv("TERM", kind)
    screen = Screen(is_terminal)
    with progress_line(cast(SparkSession, None), screen):
        pass
    assert screen.getvalue() == ""


def test_a_jvm_that_has_ended_does_not_disturb_its_own_error() -> None:
    tracker, screen = Tracker(Py4JNetworkError("gone")), Screen()
    with pytest.raises(ValueError, match="the job's"), progress_line(session_with(tracker), screen):
        wait_until(lambda: tracker.looks > 0)
        raise ValueError("the job's")
    assert screen.getvalue() == ""


def test_a_server_says_how_far_it_is() -> None:
    handlers: list[Any] = []
    remote = type("SparkSession", (SimpleNamespace,), {"__module__": "pyspark.sql.connect.session"})
    spark = remote(registerProgressHandler=handlers.append, removeProgressHandler=handlers.remove)
    screen = Screen()
    stage = SimpleNamespace(stage_id=3, num_tasks=8, num_completed_tasks=1, num_bytes_read=5 * 2**20, done=False)
    with progress_line(cast(SparkSession, spark), screen):
        handlers[0](stages=[stage], inflight_tasks=2, operation_id="a", done=False)
        assert screen.getvalue() == "\r\x1b[Kstage 3: 1 of 8 tasks done, 2 running, 5 MiB read"
        handlers[0](stages=[stage], inflight_tasks=0, operation_id="a", done=True)
    assert screen.getvalue().endswith("\r\x1b[K")
    assert handlers == []


def test_the_line_is_gone_whenever_something_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    waits: list[str] = []
    frame = SimpleNamespace(columns=["a"])

    @contextmanager
    def waiting() -> Iterator[None]:
        waits.append(capsys.readouterr().out)
        yield
        assert capsys.readouterr().out == ""

    frame.orderBy = lambda *_: frame
    frame.limit = lambda _: frame
    frame.toArrow = lambda: pa.table({"a": [1]})
    tables = tuple(Table(name, name, cast(DataFrame, frame), ("a",)) for name in ("one", "two"))
    deliver(Report("Title", tables), Outputs(), waiting)
    assert waits[0] == ""
    assert "one" in waits[1]


@pytest.mark.parametrize(
    ("master", "count"),
    [("local", 1), ("local[3]", 3), ("local[4, 2]", 4), ("local-cluster[2,1,1024]", 8), ("yarn", 8)],
)
def test_tasks_at_once_follow_from_the_master(master: str, count: int) -> None:
    conf = SimpleNamespace(get=lambda name, default: master if name == "spark.master" else default)
    assert tasks_at_once(cast(SparkSession, SimpleNamespace(conf=conf))) == count


def test_a_line_stands_while_spark_starts_and_only_on_a_terminal() -> None:
    terminal, file = Screen(), Screen(is_there=False)
    with line_saying("starting Spark ...", terminal), line_saying("starting Spark ...", file):
        assert terminal.getvalue().endswith("starting Spark ...")
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert file.getvalue() == ""
