"""The first records that groups of live topics have not read: whether there is one, and its time.

Spark's connector reads ranges of offsets, each in a task of its own. So this reads the offsets right after each
committed one, for all groups in one job. Where they have no record, since retention or compaction has removed them, it
goes on from the start of the partition or from there, in ranges that are ten times as long each time.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import groupby, pairwise
from operator import attrgetter
from time import sleep
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from kipjobs.errors import SourceError
from kipspark.spark.live import CONNECTOR_ERRORS, cause_of, for_client, newer_way

NEAR = 100
"""How many offsets are looked at first: more than markers of transactions take, and no more than one fetch has."""

WIDTHS = (NEAR, 10 * NEAR, 100 * NEAR, 1000 * NEAR, 10_000 * NEAR)
"""How many offsets are looked at each time, while there is no record."""

MOST_OFFSETS = 50
"""The most committed offsets of one partition that are looked at: Spark has at most that many scans in one job."""

_MOST_REFUSALS = 20
"""How often to leave out a topic that the client may not read, and try again, before leaving out all."""

_FETCHED = {"kafka.max.partition.fetch.bytes": "65536"}
"""Unless given: one batch is enough, and a larger one comes whole."""
_REFUSED = re.compile(r"TopicAuthorizationException: Not authorized to access topics: \[([^\]]*)\]")
_SECONDS_BETWEEN_LOOKS = 0.1
"""How often to check whether a stream has begun."""
_STRETCHES = pa.schema([("of_topic", "string"), ("of_partition", "int32"), ("start", "int64"), ("until", "int64")])
_FIRSTS = pa.schema(
    [("topic", "string"), ("partition", "int32"), ("offset", "int64"), ("has_record", "bool"), ("micros", "int64")]
)


class Search(NamedTuple):
    """Where the first record of a partition is looked for that some groups have not read."""

    topic: str
    partition: int
    start: int
    """There is no such record before this offset."""
    end: int
    """The end of the partition."""
    offsets: tuple[int, ...]
    """What those groups have committed."""


class Stretch(NamedTuple):
    """Offsets of a partition that are read together."""

    topic: str
    partition: int
    start: int
    until: int


class First(NamedTuple):
    """The first record that is there from a committed offset on."""

    topic: str
    partition: int
    offset: int
    """The committed one."""
    has_record: bool
    micros: int | None
    """Its time, in microseconds since 1970; None if it has none."""


class Firsts(NamedTuple):
    """What `live_firsts` has found."""

    frame: DataFrame
    """Columns: topic, partition, offset, which is a committed one, has_record and time."""
    refused: tuple[str, ...]
    """The topics that the client may not read; they have no rows."""


Found = Mapping[Stretch, int | None]
"""The times of the first records of those stretches that have records."""


def live_firsts(
    spark: SparkSession, bootstrap_servers: str, groups: DataFrame, options: Mapping[str, str] | None = None
) -> Firsts:
    """The first records that groups with a lag have not read, by partition and committed offset.

    `has_record` is false if no record is left up to the end that `groups` has: what takes the offsets is deleted, or a
    marker of a transaction. `time` is null if the record has no time. There is no row if none of `WIDTHS` has reached
    a record, nor for the highest offsets of a partition that has more than `MOST_OFFSETS` committed ones.

    Args:
        spark: as for `live`.
        bootstrap_servers: as for `live`.
        groups: topic, partition, offset, end_offset and lag.
        options: as for `live`; only those of the client (`kafka.`) are used.

    Raises:
        SourceError: the brokers do not give the records, for another reason than that the client may not read a topic.
    """
    common = _FETCHED | for_client(bootstrap_servers, options or {}) | {"failondataloss": "false"}
    searches = _searches(groups)
    refused: set[str] = set()
    known: list[First] = []
    try:
        for number, width in enumerate(WIDTHS):
            if number == 1:  # what is left may be before the starts of partitions
                searches = from_starts(searches, find_starts(spark, common, searches))
            looked = next_stretches(searches, width)
            found = _allowed(spark, common, looked, refused)
            more, searches = settled(searches, looked, found)
            known += more
            searches = [one for one in searches if one.topic not in refused]
    except CONNECTOR_ERRORS as error:
        raise SourceError(f"{bootstrap_servers}: {cause_of(error, common)}") from None
    frame = _table(spark, [one for one in known if one.topic not in refused], _FIRSTS)
    return Firsts(frame.withColumn("time", sf.timestamp_micros("micros")).drop("micros"), tuple(sorted(refused)))


def next_stretches(searches: Sequence[Search], width: int) -> list[Stretch]:
    """What to read of each search: `width` offsets, or those before the next search or before the end.

    Args:
        searches: in order.
        width: the most offsets.
    """
    found = []
    for one, after in pairwise([*searches, None]):
        assert one is not None
        until = min(one.start + width, one.end)
        if after is not None and (after.topic, after.partition) == (one.topic, one.partition):
            until = min(until, after.start)
        found.append(Stretch(one.topic, one.partition, one.start, until))
    return found


def settled(searches: Sequence[Search], looked: Sequence[Stretch], found: Found) -> tuple[list[First], list[Search]]:
    """What is known of the searches after reading, and those that go on.

    Args:
        searches: in order.
        looked: their `next_stretches`.
        found: what reading those has found.
    """
    known: list[First] = []
    rest: list[Search] = []
    outcome: tuple[bool, int | None] | None = None  # None: the search goes on as the last one of `rest`
    after: Search | None = None
    for one, stretch in zip(reversed(searches), reversed(looked), strict=True):
        reached = (stretch.topic, stretch.partition, stretch.until)
        if stretch in found or stretch.until == one.end:
            outcome = (stretch in found, found.get(stretch))
        elif after is not None and reached == after[:3]:  # nothing is between the two
            if outcome is None:
                rest[-1] = rest[-1]._replace(offsets=(*one.offsets, *rest[-1].offsets))
        else:
            outcome = None
            rest.append(one._replace(start=stretch.until))
        if outcome is not None:
            known += [First(one.topic, one.partition, offset, *outcome) for offset in one.offsets]
        after = one
    return known, rest[::-1]


def from_starts(searches: Iterable[Search], starts: Mapping[tuple[str, int], int]) -> list[Search]:
    """The searches without what is before the first offset of each partition, those with the same start as one.

    Args:
        searches: in order.
        starts: the first offsets by topic and partition.
    """
    moved = (
        one._replace(start=min(max(one.start, starts.get((one.topic, one.partition), 0)), one.end)) for one in searches
    )
    return [
        ones[0]._replace(offsets=tuple(offset for one in ones for offset in one.offsets))
        for _, same in groupby(moved, lambda one: one[:3])
        if (ones := list(same))
    ]


def scans(stretches: Iterable[Stretch]) -> list[dict[str, str]]:
    """The connector's options of the scans that read stretches: in each scan a partition has one range of offsets.

    Stretches that adjoin are one range.

    Args:
        stretches: in order.
    """
    ranges: list[list[Stretch]] = []
    of_partition = Counter[tuple[str, int]]()
    for one in _joined(stretches):
        number = of_partition[one.topic, one.partition]
        of_partition[one.topic, one.partition] += 1
        if number == len(ranges):
            ranges.append([])
        ranges[number].append(one)
    return [_options(of_scan) for of_scan in ranges]


def _joined(stretches: Iterable[Stretch]) -> Iterator[Stretch]:
    """The stretches that are not empty, as one where the next begins with the end of the one before."""
    last: Stretch | None = None
    for one in stretches:
        if one.start == one.until:
            continue
        if last is not None and one[:3] == (last.topic, last.partition, last.until):
            last = last._replace(until=one.until)
            continue
        if last is not None:
            yield last
        last = one
    if last is not None:
        yield last


def _options(stretches: Sequence[Stretch]) -> dict[str, str]:
    """The connector's options for stretches of different partitions."""
    by_topic = [(topic, list(of_topic)) for topic, of_topic in groupby(stretches, attrgetter("topic"))]
    return {
        "assign": json.dumps({topic: [one.partition for one in ones] for topic, ones in by_topic}),
        "startingoffsets": json.dumps({topic: {one.partition: one.start for one in ones} for topic, ones in by_topic}),
        "endingoffsets": json.dumps({topic: {one.partition: one.until for one in ones} for topic, ones in by_topic}),
    }


def _searches(groups: DataFrame) -> list[Search]:
    """The searches for groups that have a lag, in order: one for each committed offset."""
    behind = groups.where((sf.col("lag") > 0) & (sf.col("offset") >= 0)).groupBy("topic", "partition")
    offsets = sf.slice(sf.array_sort(sf.collect_set("offset")), 1, MOST_OFFSETS)
    rows = behind.agg(offsets.alias("offsets"), sf.max("end_offset").alias("end")).toArrow().to_pylist()
    return sorted(
        Search(row["topic"], row["partition"], offset, row["end"], (offset,))
        for row in rows
        for offset in row["offsets"]
    )


def _allowed(spark: SparkSession, common: Mapping[str, str], stretches: Sequence[Stretch], refused: set[str]) -> Found:
    """What reading finds in topics that the client may read; adds the others to `refused`."""
    for _ in range(_MOST_REFUSALS):
        try:
            return read_stretches(spark, common, [one for one in stretches if one.topic not in refused])
        except CONNECTOR_ERRORS as error:
            named = {name.strip() for names in _REFUSED.findall(str(error)) for name in names.split(",")}
            if not named - refused:
                raise
            refused |= named
    refused |= {one.topic for one in stretches}
    return {}


def read_stretches(
    spark: SparkSession, common: Mapping[str, str], stretches: Sequence[Stretch]
) -> dict[Stretch, int | None]:
    """The times of the first records of stretches."""
    planned = scans(stretches)
    if not planned:
        return {}
    time = sf.when(sf.unix_millis("timestamp") != -1, sf.unix_micros("timestamp")).alias("micros")
    is_in = (
        (sf.col("topic") == sf.col("of_topic"))
        & (sf.col("partition") == sf.col("of_partition"))
        & sf.col("offset").between(sf.col("start"), sf.col("until") - 1)
    )
    with newer_way(spark):
        read = [spark.read.format("kafka").options(**common, **of_scan).load() for of_scan in planned]
        records = reduce(DataFrame.unionAll, [one.select("topic", "partition", "offset", time) for one in read])
        firsts = records.join(sf.broadcast(_table(spark, stretches, _STRETCHES)), is_in).groupBy(*_STRETCHES.names)
        rows = firsts.agg(sf.min_by("micros", "offset").alias("micros")).toArrow()
    *places, times = (column.to_pylist() for column in rows.columns)
    return dict(zip(map(Stretch, *places), times, strict=True))


def find_starts(
    spark: SparkSession, common: Mapping[str, str], searches: Sequence[Search]
) -> dict[tuple[str, int], int]:
    """The first offsets of partitions; of an empty one the offset before."""
    by_topic = groupby(searches, attrgetter("topic"))
    parts = {topic: sorted({one.partition for one in of_topic}) for topic, of_topic in by_topic}
    if not parts:
        return {}
    # The connector reports offsets only in a stream's progress, and of its first step only the end: that is one offset
    # after the start of each partition.
    one_each = {"assign": json.dumps(parts), "startingoffsets": "earliest", "maxoffsetspertrigger": "1"}
    stream = spark.readStream.format("kafka").options(**common, **one_each).load().writeStream.format("noop")
    with newer_way(spark):
        query = stream.trigger(processingTime="1 day").start()
        try:
            while query.isActive and not query.recentProgress:
                sleep(_SECONDS_BETWEEN_LOOKS)
            if not query.isActive:
                query.awaitTermination()  # raises the error that ended it
            reached = json.loads(query.recentProgress[0].sources[0].endOffset or "{}")
        finally:
            query.stop()
    return {(topic, int(number)): offset - 1 for topic, ends in reached.items() for number, offset in ends.items()}


def _table(spark: SparkSession, rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> DataFrame:
    arrays = [pa.array([row[at] for row in rows], field.type) for at, field in enumerate(schema)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=schema))
