"""The first records that groups of live topics have not read: whether there is one, and its time.

The driver itself queries the brokers, with the code of `kipwire offsets --brokers`: by Fetches at committed offsets.
Spark's connector would read ranges of offsets, each in a task of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from kipspark.spark.client_config import without_secrets
from kipspark.spark.engine import ENGINE
from kipwire.aio import parse_address
from kipwire.cluster.cluster import Cluster
from kipwire.cluster.ends import find_ends
from kipwire.cluster.model import Place
from kipwire.cluster.properties import Properties
from kipwire.cluster.settings import Settings
from kipwire.cluster.unread import Search, find_firsts

_SECONDS_TO_ANSWER = 15.0
_MOST_NOTES = 5
_FIRSTS = pa.schema(
    [
        ("topic", "string"),
        ("partition", "int32"),
        ("offset", "int64"),
        ("has_record", "bool"),
        ("milliseconds", "int64"),
    ]
)


class Behind(NamedTuple):
    """A committed offset that is not at the end of its partition."""

    topic: str
    partition: int
    offset: int
    end: int


Row = tuple[str, int, int, bool, int | None]
"""A row of `_FIRSTS`; a time is in milliseconds since 1970, None if the record has none."""


class Firsts(NamedTuple):
    """First unread records, as far as brokers give them."""

    frame: DataFrame
    """Columns: topic, partition, offset, which is a committed one, has_record and time."""
    notes: tuple[str, ...]
    """The parts that could not be read, and why."""


def live_firsts(
    spark: SparkSession, bootstrap_servers: str, groups: DataFrame, options: Mapping[str, str] | None = None
) -> Firsts:
    """Find the first records that groups with a lag have not read, by partition and committed offset.

    `has_record` is false if no record is left up to the end in `groups`: these offsets are of deleted records, or of
    markers of transactions. `time` is null if the record has no time. There is no row if the brokers do not give the
    records to this machine, such as to a client that may not read a topic, or whose certificates are not in PEM.

    Args:
        spark: the session.
        bootstrap_servers: as for `live`.
        groups: topic, partition, offset, end_offset and lag.
        options: as for `live`; only options of the client (`kafka.`) are used.
    """
    behind = groups.where((sf.col("lag") > 0) & (sf.col("offset") >= 0))
    rows = behind.select("topic", "partition", "offset", "end_offset").distinct().toArrow().to_pylist()
    with ThreadPoolExecutor(1) as thread:  # since a notebook has an event loop already
        found, notes = thread.submit(
            find, bootstrap_servers, options or {}, [Behind(*row.values()) for row in rows]
        ).result()
    arrays = [pa.array([row[at] for row in found], field.type) for at, field in enumerate(_FIRSTS)]
    frame = spark.createDataFrame(pa.Table.from_arrays(arrays, schema=_FIRSTS))
    return Firsts(frame.withColumn("time", ENGINE.functions.kafka_time("milliseconds")).drop("milliseconds"), notes)


def find(
    bootstrap_servers: str, options: Mapping[str, str], behind: Sequence[Behind]
) -> tuple[list[Row], tuple[str, ...]]:
    """Find the first records from committed offsets on; return them, and notes on the ones that cannot be read.

    Args:
        bootstrap_servers: separated by commas.
        options: of the connector.
        behind: the offsets, each once.
    """
    if not behind:
        return [], ()
    try:
        return asyncio.run(_found(bootstrap_servers, options, behind))
    except (ValueError, OSError) as error:  # also errors of kipwire
        return [], (without_secrets(str(error), options),)


async def _found(
    bootstrap_servers: str, options: Mapping[str, str], behind: Sequence[Behind]
) -> tuple[list[Row], tuple[str, ...]]:
    own = {name[6:]: text for name, text in options.items() if name.lower().startswith("kafka.")}
    settings = Settings(properties=Properties(Path("--command-config"), own), timeout=_SECONDS_TO_ANSWER)
    cluster = Cluster(settings, [parse_address(one.strip()) for one in bootstrap_servers.split(",")])
    try:
        nodes = await cluster.brokers()
        offsets: dict[Place, list[int]] = {}
        lasts = {Place(*one[:2]): one.end for one in behind}
        for one in sorted(behind):
            offsets.setdefault(Place(*one[:2]), []).append(one.offset)
        ends = await find_ends(cluster, nodes, offsets, committed=False)
        searches = [
            Search(place, offsets[place], ends.starts.get(place, 0), lasts[place], leader)
            for place, leader in ends.leaders.items()
        ]
        firsts, problems = await find_firsts(cluster, searches)
        notes = [str(one) for one in (*cluster.problems, *ends.problems, *problems)]
    finally:
        await cluster.close()
    found: list[Row] = [
        (place.topic, place.partition, offset, first.is_there, first.time if first.time >= 0 else None)
        for place, by_offset in firsts.items()
        for offset, first in by_offset.items()
    ]
    more = [f"and {len(notes) - _MOST_NOTES} more"] if len(notes) > _MOST_NOTES else []
    return found, (*notes[:_MOST_NOTES], *more)
