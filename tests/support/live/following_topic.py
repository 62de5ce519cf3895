"""A stream of `kafka_topic` into Parquet files: `following_topic.py follow|finish BROKERS TOPIC OUT CHECKPOINT BYTES`.

`follow` reads what comes, about BYTES bytes at once, until it is ended. `finish` reads what there is, and prints
partition, offset and value of all records that were ever written, as JSON. Both read committed records alone.
"""

from __future__ import annotations

import json
import sys

import kipspark
from kipspark.spark.session import FOR_FEW_ROWS, open_session


def main(what: str, brokers: str, topic: str, out: str, checkpoint: str, limit: str) -> None:
    """Do the one or the other."""
    settings = FOR_FEW_ROWS | {"spark.sql.streaming.minBatchesToRetain": "5"}
    spark = open_session("local[1]", settings=settings)
    kipspark.register(spark)
    options = {"brokers": brokers, "topics": topic, "isolationLevel": "read_committed", "maxBytesPerTrigger": limit}
    stream = spark.readStream.format("kafka_topic").options(**options, maxRecordsPerPartition="500").load()
    rows = stream.selectExpr("partition", "offset", "cast(value as string) as value")
    writer = rows.writeStream.format("parquet").option("checkpointLocation", checkpoint)
    if what == "follow":
        query = writer.trigger(processingTime="0 seconds").start(out)
        print("started", flush=True)
        query.awaitTermination()
    else:
        writer.trigger(availableNow=True).start(out).awaitTermination()
        found = spark.read.parquet(out).select("partition", "offset", "value").toArrow()
        print(json.dumps([list(row.values()) for row in found.to_pylist()]))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
