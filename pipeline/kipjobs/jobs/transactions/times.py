"""The segments whose batches have times that are not plausible, and their producers.

The input is batch headers, from `kafka_log` with the level `batches`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from kipjobs.engines import Frame, functions_of
from kipjobs.jobs.shared.totals import rows
from kipwire.tools.times import DAY, NONE, moment_text

_TIMES = ("base_timestamp_ms", "max_timestamp_ms")
OF_TIMES = ("topic", "partition", "segment", "producer_id", "base_offset", *_TIMES)
"""Columns of batches that `implausible_times` needs."""


def implausible_times(batches: Frame, at: int) -> Frame:
    """Return the segments with batches whose times are not plausible, by producer.

    Columns: topic, partition, producer_id (null if the producer has none), batches, first_offset, lowest and highest
    (of these times, as text), segment, lowest_ms and highest_ms (in milliseconds since 1970).

    Args:
        batches: rows of `kafka_log` with the level `batches`.
        at: the present time, in milliseconds since 1970.
    """
    sf = functions_of(batches)
    base, highest = (
        sf.when((sf.col(name) != NONE) & ~sf.col(name).between(0, at + DAY), sf.col(name)) for name in _TIMES
    )
    found = (
        batches.withColumn("low", sf.least(base, highest))
        .withColumn("high", sf.greatest(base, highest))
        .where(sf.col("low").isNotNull())
        .withColumn("producer_id", sf.when(sf.col("producer_id") != NONE, sf.col("producer_id")))
        .groupBy("topic", "partition", "segment", "producer_id")
        .agg(
            rows(sf, "batches"),
            sf.min("base_offset").alias("first_offset"),
            sf.min("low").alias("lowest_ms"),
            sf.max("high").alias("highest_ms"),
        )
    )
    return sf.map_batches(found.select(*_FOUND.names), _with_texts, _TABLE)


_FOUND = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("producer_id", pa.int64()),
        ("batches", pa.int64()),
        ("first_offset", pa.int64()),
        ("segment", pa.string()),
        ("lowest_ms", pa.int64()),
        ("highest_ms", pa.int64()),
    ]
)
_TABLE = pa.schema([*list(_FOUND)[:5], ("lowest", pa.string()), ("highest", pa.string()), *list(_FOUND)[5:]])


def _with_texts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        lowest, highest = (
            pa.array([moment_text(time) for time in batch.column(name).to_pylist()], pa.string())
            for name in ("lowest_ms", "highest_ms")
        )
        columns = batch.columns
        yield pa.RecordBatch.from_arrays([*columns[:5], lowest, highest, *columns[5:]], schema=_TABLE)
