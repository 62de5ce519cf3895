"""A stream of `kafka_log` into Parquet files: `following_job.py follow|finish LOGS OUT CHECKPOINT BYTES`.

`follow` reads what comes, at most BYTES bytes at once, until it is ended. `finish` reads what there is, and prints
all records that were ever written, as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kipspark.spark.session import FOR_FEW_ROWS, open_session


def main(what: str, logs: str, out: str, checkpoint: str, limit: str) -> None:
    """Do the one or the other."""
    # Few batches are kept, so that some kills come when old ones are removed.
    settings = FOR_FEW_ROWS | {"spark.sql.streaming.minBatchesToRetain": "5"}
    spark = open_session("local[1]", settings=settings)
    log = spark.readStream.format("kafka_log").options(maxBytesPerTrigger=limit, splitBytes="20000").load(logs)
    rows = log.selectExpr("concat(topic, '-', partition) as name", "offset", "cast(value as string) as value")
    writer = rows.writeStream.format("parquet").option("checkpointLocation", checkpoint)
    if what == "follow":
        query = writer.trigger(processingTime="0 seconds").start(out)
        print("started", flush=True)
        query.awaitTermination()
    else:
        writer.trigger(availableNow=True).start(out).awaitTermination()
        found = spark.read.parquet(str(Path(out))).select("name", "offset", "value").toArrow()
        print(json.dumps([list(row.values()) for row in found.to_pylist()]))
    spark.stop()


main(*sys.argv[1:])
