"""Live topics read by the Spark that its connector is for: `live_job.py read|follow ADDRESS TOPICS OUT [CHECKPOINT]`.

`read` writes what the topics have now, and their ends, as Parquet files. `follow` writes what comes, in small steps,
until it is ended.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from kipspark import connector_jars, live, live_ends, live_stream
from kipspark.spark.session import open_session


def read(spark: SparkSession, address: str, topics: list[str], out: Path) -> None:
    """Write the records and the ends of topics."""
    spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    live(spark, address, topics).write.parquet(str(out / "records"))
    live_ends(spark, address, topics).write.parquet(str(out / "ends"))


def follow(spark: SparkSession, address: str, topics: list[str], out: Path, checkpoint: Path) -> None:
    """Write the records of topics as they come."""
    stream = live_stream(spark, address, topics, {"maxOffsetsPerTrigger": "300"})
    writer = stream.writeStream.format("parquet").option("checkpointLocation", str(checkpoint))
    writer.trigger(processingTime="0 seconds").start(str(out)).awaitTermination()


def main(what: str, address: str, topics: str, *places: str) -> None:
    """Do the one or the other."""
    spark = open_session("local[2]", None, connector_jars())
    out, *checkpoint = map(Path, places)
    if what == "read":
        read(spark, address, topics.split(","), out)
    else:
        follow(spark, address, topics.split(","), out, *checkpoint)
    spark.stop()


main(*sys.argv[1:])
