"""Workers without a kipwire of their own: on a cluster, and of a Spark Connect server. `make test-cluster`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from kafka_messages.offset_commit_key.v0 import OffsetCommitKey
from kafka_messages.offset_commit_value.v4 import OffsetCommitValue
from kipspark.spark import java
from kipwire.records import read_segment
from tests.support.places import DATA, SUPPORT

pytestmark = [pytest.mark.cluster, pytest.mark.xdist_group("cluster")]

SEGMENTS = DATA / "segments"
BASE_PYTHON = getattr(sys, "_base_executable", sys.executable)
"""Outside of the virtual environment, where kipwire is not installed."""


def run(master: str, wheel: Path) -> dict[str, Any]:
    """Run `cluster_job.py` with Spark and its dependencies, but without kipwire; return the JSON that it printed."""
    java.use_java()
    environment = os.environ | {
        "PYSPARK_PYTHON": BASE_PYTHON,
        "PYTHONPATH": sysconfig.get_path("purelib"),  # Python reads no .pth files there: no editable installation
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    command = [BASE_PYTHON, str(SUPPORT / "live" / "cluster_job.py"), master, str(wheel), str(SEGMENTS)]
    done = subprocess.run(
        command, env=environment, cwd=wheel.parent, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def expected_records() -> int:
    """Return the number of records in the logs, without control records."""
    batches = (batch for path in SEGMENTS.glob("*/*.log") for batch in read_segment(path))
    return sum(len(batch.records) for batch in batches if not batch.is_control)


def expected_commits() -> list[tuple[Any, ...]]:
    """Return the commits in the logs, read without Spark."""
    found = []
    for path in SEGMENTS.glob("__consumer_offsets-*/*.log"):
        for batch in read_segment(path):
            for record in batch.records if not batch.is_control else ():
                if record.key is not None and record.key[:2] == b"\0\1":
                    key = OffsetCommitKey.decode(record.key[2:])
                    value = OffsetCommitValue.decode(record.value[2:]) if record.value is not None else None
                    committed = (value.offset, value.metadata) if value is not None else (None, None)
                    found.append((key.group, key.topic, key.partition, *committed))
    return sorted(found, key=repr)


@pytest.mark.parametrize(
    ("master", "session", "executors"),
    [
        pytest.param("local-cluster[2,1,1024]", "pyspark.sql.session", 2, marks=pytest.mark.smoke),
        ("connect", "pyspark.sql.connect.session", 1),
    ],
)
def test_workers_that_are_given_the_wheel_read_and_decode_logs(
    wheel: Path, master: str, session: str, executors: int
) -> None:
    found = run(master, wheel)
    assert found["session"] == session
    assert found["records"] == found["streamed"] == expected_records() > 1000
    assert sorted((tuple(row.values()) for row in found["commits"]), key=repr) == expected_commits()
    assert found["processes"] == executors
    assert all("kipwire.zip" in file for file in found["files"])
