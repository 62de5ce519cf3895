"""Live topics read by the Spark that its connector is for: `live_job.py read|follow ADDRESS TOPICS OUT [PLACE]`.

PLACE of `read` is the address of a Spark Connect server, if it is one that reads; of `follow` it is the checkpoint.
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
    out, *more = places
    remote = more[0] if what == "read" and more else None
    spark = open_session("local[2]", remote, connector_jars())
    if what == "read":
        read(spark, address, topics.split(","), Path(out))
    else:
        follow(spark, address, topics.split(","), Path(out), *map(Path, more))
    spark.stop()


main(*sys.argv[1:])
