"""Fixtures of the tests in this folder."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from kipwire.tables.sources.log_columns import LOG_SCHEMA
from tests.support.subjects.spark_tables import CAPTURE, SEGMENTS


@pytest.fixture(scope="session")
def log(spark: SparkSession) -> DataFrame:
    options = {"includeControl": "true", "columns": ",".join(LOG_SCHEMA.names)}
    return spark.read.format("kafka_log").options(**options).load(str(SEGMENTS)).persist()


@pytest.fixture(scope="session")
def batches(spark: SparkSession) -> DataFrame:
    return spark.read.format("kafka_log").options(level="batches", includeControl="true").load(str(SEGMENTS))


@pytest.fixture(scope="session")
def frames(spark: SparkSession) -> DataFrame:
    return spark.read.format("kafka_frames").load(str(CAPTURE)).persist()
