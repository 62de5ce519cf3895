"""Transactions in logs: which records count."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sf

_COMMIT = "0001"
"""The type of a control record that commits, in hexadecimal; it follows the version, in the key."""


def committed(log: DataFrame) -> DataFrame:
    """The records that count: without control records and those of transactions that were aborted or have no end yet.

    Args:
        log: rows of `kafka_log`, read with `includeControl`, with each record once.
    """
    ending = sf.when(sf.col("is_control"), sf.hex(sf.substring("key", 3, 2)))
    # From the end of the log: Spark goes through a window that begins at the current row once for each row.
    later = (
        Window.partitionBy("topic", "partition", "producer_id")
        .orderBy(sf.desc("offset"))
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    in_transactions = (
        log.where(sf.col("is_transactional"))
        .withColumn("ending", sf.last(ending, ignorenulls=True).over(later))
        .where(sf.col("ending") == _COMMIT)
        .drop("ending")
    )
    return log.where(~sf.col("is_transactional")).unionByName(in_transactions).where(~sf.col("is_control"))
