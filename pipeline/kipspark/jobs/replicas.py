"""Logs that were copied from several brokers."""

from __future__ import annotations

from pyspark.sql import DataFrame


def without_copies(log: DataFrame) -> DataFrame:
    """The rows of `kafka_log` with each record once, if the folders of several replicas were read."""
    return log.dropDuplicates(["topic", "partition", "offset"])
