"""The Spark session of the command line, whose Java prints nothing to the terminal when it starts.

A session may be one of this machine, one that spark-submit has begun, or one of a Connect server. Only the first is
ours to set up: Java, Python workers, and settings for data on one machine, each with its reason beside it. The order
matters: variables of the environment must be set before the JVM starts. What Java prints at its start goes to a file,
from which the reason of a failure is taken.
"""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from kipjobs.report.line import line_saying
from kipspark.reasons import SPARK_ERRORS, reason
from kipspark.sources import register
from kipspark.spark import worker_python
from kipspark.spark.java import use_java
from kipwire.tables.errors import JobError

_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""Set if spark-submit has started this program; then it has chosen the master, and everything else."""

_CONNECT_PORT = 15002
"""The default port of a Spark Connect server."""
_SECONDS_TO_ANSWER = 10
_BYTES_OF_BATCH = 16 * 1024 * 1024
"""Highest number of bytes that are sent to a Python worker at once, as in batches of the sources."""
_MASTER = re.compile(
    r"local(\[(\*|\d+)(, *\d+)?\])?|local-cluster\[ *\d+ *, *\d+ *, *\d+ *\]|spark://[^:,]+:\d+(,[^:,]+:\d+)*|k8s://.+|yarn"
)
"""The addresses of Spark masters."""

_NO_TIMEOUT = "-1"
_ERR = 2
_OF_VM = "Error occurred during initialization of VM"
"""Line in the output of a JVM after which the reason of its failure follows."""
_STARTS = ("Error", "Exception", "Caused by", "Could not", "Unrecognized", "Invalid")


def _is_submitted() -> bool:
    """Return True if spark-submit has started this program."""
    return _SUBMITTED in os.environ


_ALL_CORES = "local[*]"
_MASTER_CORES = re.compile(r"local(?:\[(?P<cores>\*|\d+).*\])?")
_CORES_OF_CLUSTER = 8
"""Assumed number of parallel tasks of a cluster, which does not report it."""


def is_local(master: str) -> bool:
    """True if a master is local mode: its workers are started by the JVM of this program."""
    return _MASTER_CORES.fullmatch(master) is not None


def tasks_at_once(spark: SparkSession) -> int:
    """Return about how many tasks a session runs at the same time."""
    local = _MASTER_CORES.fullmatch(spark.conf.get("spark.master", None) or "")
    if local is None:
        return _CORES_OF_CLUSTER
    cores = local["cores"] or "1"
    return (os.cpu_count() or 1) if cores == "*" else int(cores)


_OF_LAUNCHER = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options of the JVM that only makes the command line of the next one."""

FOR_FEW_ROWS = {
    # A session of some seconds ends before the optimizing compilers of Java and Spark have paid off.
    # The space for classes starts at 20 MiB and is soon 140; without this, each growth would start a collection.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=256m",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Plans for few rows need neither inferred filters nor checks of the optimizer after each of its rules.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.shuffle.partitions": "1",
}
"""Settings by which a job on small data ends sooner."""


def open_session(
    master: str | None = None,
    remote: str | None = None,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> SparkSession:
    """Open a session with the data sources of kipspark.

    Args:
        master: such as `local[4]`; None for all cores of this machine, or for what spark-submit has chosen.
        remote: address of a Spark Connect server, such as `sc://localhost`; kipwire has to be installed there too.
        settings: of Spark, which replace the default ones of every session on this machine.

    Raises:
        JobError: there is no Java that Spark could run on, nothing answers at that address, or it is not a master's.
    """
    with line_saying("starting Spark ..."):
        return _open(master, remote, settings)


def _open(master: str | None, remote: str | None, settings: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder.appName("kipspark").config("spark.sql.session.timeZone", "UTC")
    # A table to broadcast may need all input first: 2 GB of packets take longer than Spark's five minutes.
    builder = builder.config("spark.sql.broadcastTimeout", _NO_TIMEOUT)
    if remote is not None:
        _check_answers(remote)
        spark = builder.remote(remote).getOrCreate()
    elif _is_submitted():
        spark = builder.getOrCreate()
    else:
        if master is not None and not _MASTER.fullmatch(master):
            what = "is not a Spark master; write one such as local[2] or spark://HOST:7077"
            raise JobError(f"--master: {master!r} {what}")
        use_java()
        if "PYSPARK_PYTHON" not in os.environ:  # then workers would take the first python3 on PATH
            is_here = is_local(master or _ALL_CORES)
            os.environ.update(worker_python.settings() if is_here else {"PYSPARK_PYTHON": sys.executable})
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        # With this Python Spark looks for packages that register sources; a second is saved if it does not find one.
        os.environ.setdefault("PYSPARK_DRIVER_PYTHON", "no-python")
        os.environ.setdefault("SPARK_LAUNCHER_OPTS", _OF_LAUNCHER)
        configured = (
            builder.master(master or _ALL_CORES)
            .config("spark.ui.enabled", "false")
            # Spark's default of 200 is for clusters: here starting tasks would take most of the time.
            .config("spark.sql.shuffle.partitions", str(2 * (os.cpu_count() or 1)))
            # Replanning after each step takes more than half of the time of a job on one machine's data.
            .config("spark.sql.adaptive.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            # Spark counts rows: ten thousand frames may be a gigabyte.
            .config("spark.sql.execution.arrow.maxBytesPerBatch", str(_BYTES_OF_BATCH))
            # Spark keeps rows in pieces of ten thousand: some such pieces of wide records do not fit a heap of 1 GB.
            .config("spark.sql.inMemoryColumnarStorage.batchSize", "1000")
            .config("spark.log.level", "OFF")  # the command prints errors itself
            .config(map=dict(settings))
        )
        spark = _start(configured)
    register(spark)
    return spark


def _start(builder: Any) -> SparkSession:
    """Start the session in a new JVM, without its lines on the terminal before the result."""
    with quiet_start() as printed:
        try:
            spark: SparkSession = builder.getOrCreate()
        except SPARK_ERRORS as error:
            why = reason_in(printed.read_text(errors="replace")) or reason(error)
            raise JobError(f"Spark cannot start: {why}") from None
    # Without this, Python prints the trace of a thread if the JVM ends early; the command itself prints one line.
    accumulators: Any = spark.sparkContext._accumulatorServer
    accumulators.handle_error = lambda *_: None
    return spark


def _check_answers(remote: str) -> None:
    """Check that something answers at the address of a server; Spark itself would try for ten minutes."""
    try:
        address = urlsplit(remote)
        host, port = address.hostname, address.port or _CONNECT_PORT
    except ValueError as error:
        raise JobError(f"--remote: {remote!r} is not a valid address: {error}") from None
    if address.scheme != "sc" or host is None:
        raise JobError(
            f"--remote: {remote!r} is not the address of a Spark Connect server, such as sc://localhost:15002"
        )
    try:
        socket.create_connection((host, port), _SECONDS_TO_ANSWER).close()
    except OSError as error:
        raise JobError(f"--remote: cannot connect to {host}, port {port}: {error.strerror or error}") from None


@contextmanager
def quiet_start() -> Iterator[Path]:
    """Redirect the standard error of processes that are started in the block to a file, for as long as they run.

    The file is removed at the end of the block; processes that have it open continue to write into it unseen.
    """
    sys.stderr.flush()
    saved = os.dup(_ERR)
    with NamedTemporaryFile(prefix="kipspark-", suffix=".err") as file:
        os.dup2(file.fileno(), _ERR)
        try:
            yield Path(file.name)
        finally:
            sys.stderr.flush()
            os.dup2(saved, _ERR)
            os.close(saved)


def reason_in(said: str) -> str:
    """Find the reason why a JVM did not start, in one line; empty if it gives none."""
    lines = [line.strip() for line in said.splitlines()]
    for number, line in enumerate(lines):
        if line.startswith(_STARTS):
            more = lines[number + 1 : number + 2] if line == _OF_VM else []
            return ": ".join([line, *more])
    return ""
