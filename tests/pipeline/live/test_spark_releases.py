"""The tests marked `every_spark` on each series of Spark that is supported, in environments of its own.

`make test-spark-releases`. The series that requirements-dev.lock has is tested by all tests of the pipeline.
"""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from kipspark.spark import java
from tests.support.live.spark_environments import LOCK, environment
from tests.support.places import ROOT

pytestmark = pytest.mark.xdist_group("spark_releases")

RELEASES = ("4.0.5", "4.1.4", "4.2.1")
"""Last release of each series, except the series in the lock."""
TESTS = "tests/pipeline/jobs"
"""Folder of the tests that run on every Spark."""


def chosen_tests() -> dict[str, int]:
    """Return the number of marked tests by file. Other files may need packages that these environments lack."""
    mark = re.compile(r"^@pytest\.mark\.every_spark$", re.MULTILINE)
    found = {str(path): len(mark.findall(path.read_text())) for path in sorted((ROOT / TESTS).glob("test_*.py"))}
    return {path: count for path, count in found.items() if count}


@pytest.mark.spark_releases
@pytest.mark.parametrize("release", RELEASES)
def test_sources_functions_sql_and_a_job_work_on_every_supported_spark(release: str) -> None:
    java.use_java()
    python = environment(release) / "bin" / "python"
    found = subprocess.run(
        [python, "-c", "import pyspark; print(pyspark.__version__)"], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == release
    chosen = chosen_tests()
    command = [str(python), "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-m", "every_spark", *chosen]
    # A Python worker has ten seconds to start, in which it cannot compile all that it imports.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, cwd=ROOT, env=kept, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    summary = done.stdout.strip().splitlines()[-1]
    assert re.search(rf"\b{sum(chosen.values())} passed\b", summary), summary
    assert "skipped" not in summary


def test_every_supported_series_of_spark_is_tested() -> None:
    locked = re.search(r"^pyspark==(\d+)\.(\d+)", LOCK.read_text(), re.MULTILINE)
    assert locked is not None
    oldest = re.search(r'"pyspark>=(\d+)\.(\d+),', (ROOT / "pyproject.toml").read_text())
    assert oldest is not None and oldest[1] == locked[1]
    series = [f"{locked[1]}.{minor}" for minor in range(int(oldest[2]), int(locked[2]))]
    assert [release.rpartition(".")[0] for release in RELEASES] == series
