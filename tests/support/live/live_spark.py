"""The Spark that its Kafka connector is tested with, in a virtual environment of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from kipspark.spark import java
from kipspark.spark.connector import TESTED_VERSION
from tests.support.places import ROOT


class Spark(NamedTuple):
    """A virtual environment with the tried Spark, kipwire and the connector."""

    folder: Path

    def run(self, *command: str) -> str:
        """Run a command, which must succeed; return its output."""
        done = subprocess.run(self._line(command), capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    def fails(self, *command: str) -> str:
        """Run a command, which must end with an error of its own; return the message."""
        done = subprocess.run(self._line(command), capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 2  # it cannot run
        return done.stderr[done.stderr.rindex("kipspark: ") :]

    @contextmanager
    def running(self, *command: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a command; kill it at the end without a warning, with all processes that it has started."""
        quiet = subprocess.DEVNULL
        with subprocess.Popen(self._line(command), stdout=quiet, stderr=quiet, start_new_session=True) as process:
            try:
                yield process
            finally:
                os.killpg(process.pid, signal.SIGKILL)

    def _line(self, command: tuple[str, ...]) -> list[str]:
        return [str(self.folder / "bin" / command[0]), *command[1:]]


def made() -> Spark:
    """Made once, and kept in build/."""
    java.use_java()
    spark = Spark(ROOT / "build" / f"spark-{TESTED_VERSION}")
    ready = spark.folder / ".ready"
    packages = [f"pyspark[connect]=={TESTED_VERSION}", "--editable", f"{ROOT}[spark]"]
    if not ready.exists() or ready.read_text() != "\n".join(packages):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(spark.folder)], check=True, timeout=120)
        pip = [str(spark.folder / "bin" / "pip"), "install", "--quiet", *packages]
        subprocess.run(pip, check=True, timeout=600)
        spark.run("kipspark", "connector")
        ready.write_text("\n".join(packages))
    return spark
