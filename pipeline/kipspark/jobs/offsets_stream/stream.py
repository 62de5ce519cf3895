"""Commits as a stream, from the log folders of one broker.

A stream ends in no report, so records that it is without are counted batch by batch.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.streaming.query import StreamingQuery

from kipjobs.jobs import offsets
from kipspark.spark.functions import error_of_coordinator
from kipwire.tables.files.roots import Roots
from kipwire.tables.sources.options import path_options
from kipwire.tools.text import count_of, print_err, printable_line

_NAME = "left_out"
_WORDS = ("record of an unknown type or version", "records of unknown types or versions")


def commits_of_folders(spark: SparkSession, roots: Roots) -> DataFrame:
    """Return commits as a stream; topics of brokers that appear later are read, too."""
    chosen = {"failOnMissingTopics": "false", "topics": offsets.TOPIC, **path_options(roots)}
    return offsets.commits(_observed(spark.readStream.format("kafka_log").options(**chosen).load()))


def _observed(log: DataFrame) -> DataFrame:
    """Return rows of a stream of `__consumer_offsets`: a damaged record is an error, and unknown ones are counted."""
    of_data = sf.when(~sf.col("is_control"), sf.col("key"))
    wrong = error_of_coordinator(of_data, "value", types=(offsets.COMMIT,))
    place = sf.concat(sf.col("topic"), sf.lit("-"), "partition", sf.lit(" offset "), "offset", sf.lit(": "))
    text = sf.concat(
        *(place, wrong["message"], sf.lit(": "), wrong["path"], sf.lit(" at byte "), wrong["offset"]),
        *(sf.lit(": "), wrong["reason"]),
    )
    has_no_key = ~sf.col("is_control") & sf.col("key").isNull()
    unknown = sf.when(has_no_key, sf.concat(place, sf.lit("record: key is null"))).when(wrong["is_unknown"], text)
    checked = log.withColumn("_unknown", unknown).withColumn(
        "_damage", sf.when(wrong.isNotNull() & ~wrong["is_unknown"], sf.raise_error(text))
    )
    counted = checked.where(sf.col("_damage").isNull()).observe(
        _NAME, sf.count("_unknown").alias("number"), sf.min("_unknown").alias("first")
    )
    return counted.drop("_unknown", "_damage")


class LeftOutOfStream:
    """Prints what each batch of a stream is without, as it becomes known."""

    def __init__(self) -> None:
        self._seen = -1

    def look(self, query: StreamingQuery, *, at_end: bool = False) -> None:
        """Print a line for each new batch that is without a record."""
        some: list[Any] = list(query.recentProgress) if at_end else [query.lastProgress]
        for progress in some:
            if progress is None or progress["batchId"] <= self._seen:
                continue
            self._seen = progress["batchId"]
            found = (progress["observedMetrics"] or {}).get(_NAME)
            if found is not None and found["number"]:
                what = count_of(found["number"], *_WORDS)
                print_err(printable_line(f"left out of batch {self._seen}: {what}; one of them: {found['first']}"))
