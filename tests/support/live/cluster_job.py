"""A job on a cluster whose workers have no kipwire of their own: `cluster_job.py MASTER WHEEL LOGS`; prints JSON.

MASTER is for a classic session, or is `connect` for a Spark Connect server in this process. WHEEL is given to the
workers as docs/spark.md describes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import SparkSession


def main(master: str, wheel: Path, logs: Path) -> None:
    """Run the job."""
    sys.path.insert(0, str(wheel))  # this process may not have kipwire either
    builder = SparkSession.builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "4")
    if master == "connect":
        spark = builder.remote("local[2]").getOrCreate()
        spark.addArtifacts(str(wheel), pyfile=True)
    else:
        spark = builder.master(master).getOrCreate()
        spark.sparkContext.addPyFile(str(wheel))
    import kipspark
    from kipjobs.jobs import offsets

    kipspark.register(spark)

    def where(batches: Iterator[Any]) -> Iterator[Any]:
        import os
        import time

        import pyarrow as pa

        import kipwire

        for _ in batches:
            time.sleep(0.5)  # long enough for another executor to take the next one
            yield pa.RecordBatch.from_pydict({"file": [kipwire.__file__], "process": [os.getppid()]})

    places = spark.range(12).repartition(12).mapInArrow(where, "file string, process long").toArrow().to_pylist()
    log = spark.read.format("kafka_log").option("splitBytes", "20000").load(str(logs))
    commits = offsets.commits(log).select("group", "topic", "partition", "offset", "metadata").toArrow().to_pylist()
    with TemporaryDirectory() as folder:
        writer = spark.readStream.format("kafka_log").load(str(logs)).select("topic", "offset").writeStream
        writer = writer.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
        writer.trigger(availableNow=True).start(f"{folder}/out").awaitTermination()
        streamed = spark.read.parquet(f"{folder}/out").count()
    print(
        json.dumps(
            {
                "session": type(spark).__module__,
                "files": sorted({place["file"] for place in places}),
                "processes": len({place["process"] for place in places}),
                "records": log.count(),
                "streamed": streamed,
                "commits": commits,
            }
        )
    )
    spark.stop()


main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
