"""A Spark Connect server in a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from tests.support.live.live_spark import Spark
from tests.support.subjects.scripted_broker import unused_address

_SECONDS_TO_START = 120


@contextmanager
def connect_server(spark: Spark, log: Path) -> Iterator[str]:
    """Run a server with the connector for live topics; its Python workers use the virtual environment.

    Args:
        spark: what it runs.
        log: the file for all that it prints.

    Yields:
        Its address.
    """
    host, port = unused_address().rsplit(":", 1)
    settings = {
        "spark.connect.grpc.binding.address": host,
        "spark.connect.grpc.binding.port": port,
        "spark.jars": spark.run("python", "-c", "import kipspark; print(kipspark.connector_jars())").strip(),
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
    }
    python = str(spark.folder / "bin" / "python")
    submit = [str(spark.folder / "bin" / "spark-submit"), "--master", "local[2]"]
    submit += [part for name, text in settings.items() for part in ("--conf", f"{name}={text}")]
    command = [*submit, "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    environment = os.environ | {"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python, "SPARK_LOCAL_IP": host}
    with log.open("w") as printed:
        process = subprocess.Popen(
            command, stdout=printed, stderr=printed, env=environment, cwd=log.parent, start_new_session=True
        )
    try:
        until = monotonic() + _SECONDS_TO_START
        while not _answers(host, int(port)):
            assert process.poll() is None and monotonic() < until, log.read_text()[-3000:]
            sleep(0.1)
        yield f"sc://{host}:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), 1).close()
    except OSError:
        return False
    return True
