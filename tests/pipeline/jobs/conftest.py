"""Fixtures of the tests in this folder."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.subjects.spark_tables import CAPTURE, SEGMENTS


@pytest.fixture(scope="session")
def log(spark: SparkSession) -> DataFrame:
    return spark.read.format("kafka_log").option("includeControl", "true").load(str(SEGMENTS)).persist()


@pytest.fixture(scope="session")
def batches(spark: SparkSession) -> DataFrame:
    return spark.read.format("kafka_log").options(level="batches", includeControl="true").load(str(SEGMENTS))


@pytest.fixture(scope="session")
def frames(spark: SparkSession) -> DataFrame:
    return spark.read.format("kafka_frames").load(str(CAPTURE)).persist()
