"""A stream of `kafka_log` that is killed again and again while its logs change. For `make test-cluster`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

import pytest

from kipspark.spark import java
from tests.support.live.changing_folders import ChangingFolders
from tests.support.places import SUPPORT

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("cluster")]

KILLS = int(os.environ.get("STREAM_KILLS", "5"))
MANY = 50
LIMIT = "60000"
"""Bytes of a batch: some segments."""
_SECONDS_TO_START = 240
_LONGEST_WAIT = 8.0


def command(what: str, place: Path) -> list[str]:
    job = str(SUPPORT / "live" / "following_job.py")
    return [sys.executable, job, what, *(str(place / name) for name in ("logs", "out", "checkpoint")), LIMIT]


@contextmanager
def following(place: Path, errors: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a process that follows the logs; kill it at the end, with its JVM."""
    with errors.open("w") as file:
        process = subprocess.Popen(
            command("follow", place), stdout=subprocess.PIPE, stderr=file, text=True, start_new_session=True
        )
    assert process.stdout is not None
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


def commits(place: Path) -> int:
    """Return the number of the last batch that was committed."""
    found = [int(file.name) for file in (place / "checkpoint" / "commits").glob("*") if file.name.isdigit()]
    return max(found, default=-1)


def wait(process: subprocess.Popen[str], errors: Path, is_done: Callable[[], bool]) -> None:
    """Wait until something is done, and check that the process goes on meanwhile."""
    until = monotonic() + _SECONDS_TO_START
    while not is_done():
        assert process.poll() is None, errors.read_text()[-3000:]
        assert monotonic() < until
        sleep(0.02)


def after(seconds: float) -> Callable[[], bool]:
    """Return a condition that is true after some seconds."""
    until = monotonic() + seconds
    return lambda: monotonic() >= until


def test_a_stream_that_is_killed_at_random_writes_each_record_once(tmp_path: Path) -> None:
    java.use_java()
    random = Random(KILLS)
    folders = ChangingFolders(tmp_path / "logs", tmp_path / "checkpoint", Random(1))
    errors = tmp_path / "errors"
    is_over = Event()
    failures: list[BaseException] = []

    def change() -> None:
        try:
            while not is_over.wait(0.03):
                folders.change()
        except BaseException as error:
            failures.append(error)
            raise

    changing = Thread(target=change)
    changing.start()
    reached = [-1]
    to_start = to_commit = 0.0
    try:
        for number in range(KILLS):
            began = monotonic()
            with following(tmp_path, errors) as process:
                when = random.choice(("starting", "started", "committed", "committed")) if number else "committed"
                if when == "starting":
                    wait(process, errors, after(random.uniform(0, to_start)))
                else:
                    assert process.stdout is not None
                    assert process.stdout.readline() == "started\n", errors.read_text()[-3000:]
                    started = monotonic()
                    if when == "committed":
                        wait(process, errors, lambda: commits(tmp_path) > reached[-1])
                    if not number:
                        to_start, to_commit = started - began, monotonic() - started
                    wait(process, errors, after(random.uniform(0, min(to_commit, _LONGEST_WAIT))))
            reached.append(commits(tmp_path))
            print(f"kill {number + 1}, {when}, after {monotonic() - began:.1f} s: {reached[-1]}", flush=True)
    finally:
        is_over.set()
        changing.join()
    assert not failures
    folders.settle()
    done = subprocess.run(
        command("finish", tmp_path), capture_output=True, text=True, timeout=_SECONDS_TO_START, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: Counter[Any] = Counter(map(tuple, json.loads(done.stdout.splitlines()[-1])))
    print(f"kills {KILLS}, records {sum(found.values())}, commits {reached}, changes {dict(folders.done)}")
    assert {row: count for row, count in found.items() if count > 1} == {}
    assert sorted(found) == sorted(map(tuple, folders.records()))
    # Otherwise the test would be void: the stream got on between kills, and the logs changed in each way.
    assert len(set(reached)) > KILLS // 4
    # Changes that follow a commit, such as a deletion, may be missing after few kills.
    assert set(folders.done) >= {"append", "replace", "add"} | ({"delete", "leave"} if KILLS >= MANY else set())
