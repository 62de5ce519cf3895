"""The start of a session of the command line, and of its Python workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from kipspark.spark.worker_python import settings, without_zips
from tests.support.subjects.spark_tables import SEGMENTS

# Not beside the sessions of other tests, since it takes a processor and memory of its own.
pytestmark = pytest.mark.xdist_group("spark")

_SITE = "/venv/lib/python3.11/site-packages"
_ZIPS = [f"{_SITE}/pyspark/python/lib/pyspark.zip", f"{_SITE}/pyspark/python/lib/py4j-0.10.9.9-src.zip"]

_SCRIPT = """
import json, sys
import pyarrow as pa
from pyspark.sql.datasource import DataSource
from kipspark.spark.session import FOR_FEW_ROWS, open_session

class Where(DataSource):
    @classmethod
    def name(cls):
        return "where"
    def schema(self):
        import pyspark
        return f"`{pyspark.__file__}` string"
    def reader(self, schema):
        raise NotImplementedError

def where(batches):
    import pyspark
    for _ in batches:
        yield pa.RecordBatch.from_pydict({"file": [pyspark.__file__]})

spark = open_session("local[1]", settings=FOR_FEW_ROWS)
spark.dataSource.register(Where)
planned = spark.read.format("where").load().columns
ran = [row.file for row in spark.range(1).mapInArrow(where, "file string").collect()]
print(json.dumps({"planned": planned, "ran": ran}))
"""

_KILLED = """
import logging
import time
from py4j.protocol import Py4JError
from kipspark.spark.session import FOR_FEW_ROWS, open_session

logging.disable()  # as commands do: py4j logs some of the ways in which a connection ends
spark = open_session("local[1]", settings=FOR_FEW_ROWS)
spark.range(1).mapInArrow(lambda batches: batches, "id long").collect()  # its counters go through a connection
java = spark.sparkContext._gateway.proc
java.kill()
java.wait()
time.sleep(2)
try:
    spark.range(1).collect()
except (Py4JError, ConnectionError) as error:
    print("error")
"""

_REGISTERED = f"""
import os
import sys
import kipspark
from pyspark.sql import SparkSession
from kipspark.spark.java import use_java
use_java()
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
for _ in range(2):
    kipspark.register(spark)
log = spark.read.format("kafka_log").option("topics", ["orders", "clicks"]).option("failOnMissingTopics", "false")
print(log.load({str(SEGMENTS)!r}).count())
print(spark.sql("select error_name(16) e").collect()[0].e)
"""


def test_zips_of_an_installed_pyspark_are_left_out() -> None:
    assert without_zips([*_ZIPS, "/other", _SITE]) == ["/other", _SITE]
    assert without_zips([*_ZIPS, "/other"]) == [*_ZIPS, "/other"]  # PySpark is not installed there
    others = ["/opt/spark/python/lib/pyspark.zip", "/mine.zip", ""]
    assert without_zips([*others, _SITE]) == [*others, _SITE]


def test_the_python_of_workers_runs_what_spark_runs() -> None:
    environment = {**os.environ, **settings()}
    command = [environment["PYSPARK_PYTHON"], "-m", "json.tool", "--compact"]
    done = subprocess.run(command, input="[1, 2]", capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == "[1,2]\n"
    command = [environment["PYSPARK_PYTHON"], "-c", "import sys; print(sys.argv, sys.executable)", "one"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == f"['-c', 'one'] {sys.executable}\n"


@pytest.mark.night
def test_the_installed_pyspark_plans_and_runs() -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYSPARK_PYTHON", "SPARK_HOME")}
    command = [sys.executable, "-c", _SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"planned": [pyspark.__file__], "ran": [pyspark.__file__]}


@pytest.mark.night
def test_a_jvm_that_is_killed_leaves_no_trace_but_an_error() -> None:
    done = subprocess.run([sys.executable, "-c", _KILLED], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("error\n", "")


@pytest.mark.night
def test_a_session_with_another_python_reads_and_registers_without_a_warning(tmp_path: Path) -> None:
    other = tmp_path / "python3"
    other.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')  # without installed packages
    other.chmod(0o755)
    environment = {**os.environ, "PYSPARK_PYTHON": str(other), "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-c", _REGISTERED]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    count, name = done.stdout.splitlines()
    assert (int(count) > 0, name) == (True, "NOT_COORDINATOR")
    assert "replaced a previously registered function" not in done.stderr
