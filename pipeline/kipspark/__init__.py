"""kipwire on Spark: columns of bytes as columns of messages, log segments and captures as tables, jobs over them.

    import kipspark

    kipspark.register(spark)
    log = spark.read.format("kafka_log").option("topics", "__consumer_offsets").load("/var/lib/kafka")
    log.select(kipspark.from_coordinator("key", "value").alias("record")).select("record.key.offset_commit.*")

`pip install kipwire[spark]` installs what it needs, except Java 17 or newer. See docs/spark.md.
"""

from __future__ import annotations

from kipspark.errors import BrokenMessageError, JobError, SourceError
from kipspark.sources import register
from kipspark.spark.connector import connector_jars
from kipspark.spark.functions import (
    counted,
    error_of_coordinator,
    error_of_message,
    error_of_metadata,
    from_coordinator,
    from_message,
    from_metadata,
    schema_of_message,
    to_message,
)
from kipspark.spark.live import live, live_ends, live_stream
from kipspark.spark.tables import with_message

__all__ = [
    "BrokenMessageError",
    "JobError",
    "SourceError",
    "connector_jars",
    "counted",
    "error_of_coordinator",
    "error_of_message",
    "error_of_metadata",
    "from_coordinator",
    "from_message",
    "from_metadata",
    "live",
    "live_ends",
    "live_stream",
    "register",
    "schema_of_message",
    "to_message",
    "with_message",
]
