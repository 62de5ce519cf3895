"""Which offsets are read for the lag in seconds of live groups, and what follows from what is found; no broker."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from kipjobs.errors import SourceError
from kipjobs.jobs.offsets import lag
from kipspark.spark import live_times
from kipspark.spark.live_times import (
    MOST_OFFSETS,
    NEAR,
    WIDTHS,
    First,
    Search,
    Stretch,
    from_starts,
    live_firsts,
    next_stretches,
    scans,
    settled,
)
from tests.support.subjects.offset_logs import at
from tests.support.subjects.spark_tables import rows

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

GROUPS = "group string, topic string, partition int, offset bigint, end_offset bigint, lag bigint"


def searches(partition: int, end: int, *offsets: int) -> list[Search]:
    """Searches that begin at committed offsets."""
    return [Search("t", partition, offset, end, (offset,)) for offset in offsets]


def read(log: Mapping[int, Sequence[int]], stretches: Sequence[Stretch]) -> dict[Stretch, int | None]:
    """What reading finds, by the offsets that partitions have records at; the time of a record is its offset."""
    found: dict[Stretch, int | None] = {}
    for one in stretches:
        here = [offset for offset in log[one.partition] if one.start <= offset < one.until]
        found |= {one: min(here)} if here else {}
    return found


# What is read.


def test_each_offset_is_read_once_and_not_beyond_the_end() -> None:
    looked = next_stretches([*searches(0, 1000, 5, 50, 800, 990), *searches(1, 1000, 990)], NEAR)
    assert looked == [
        Stretch("t", 0, 5, 50),
        Stretch("t", 0, 50, 50 + NEAR),
        Stretch("t", 0, 800, 800 + NEAR),
        Stretch("t", 0, 990, 1000),
        Stretch("t", 1, 990, 1000),
    ]


def test_a_scan_has_one_range_of_each_partition_and_adjoining_ones_are_one() -> None:
    stretches = [
        Stretch("a.b", 0, 5, 50),
        Stretch("a.b", 0, 50, 150),
        Stretch("a.b", 0, 800, 900),
        Stretch("a.b", 1, 3, 3),
        Stretch("a.b", 12, 7, 8),
        Stretch("c", 0, 1, 2),
    ]
    options = [{name: json.loads(text) for name, text in one.items()} for one in scans(stretches)]
    assert options == [
        {
            "assign": {"a.b": [0, 12], "c": [0]},
            "startingoffsets": {"a.b": {"0": 5, "12": 7}, "c": {"0": 1}},
            "endingoffsets": {"a.b": {"0": 150, "12": 8}, "c": {"0": 2}},
        },
        {"assign": {"a.b": [0]}, "startingoffsets": {"a.b": {"0": 800}}, "endingoffsets": {"a.b": {"0": 900}}},
    ]
    assert scans([Stretch("a.b", 1, 3, 3)]) == []


def test_scans_are_as_many_as_one_partition_has_offsets_at_most() -> None:
    far = [one for partition in range(100) for one in searches(partition, 10**9, *range(0, 20 * 10**6, 10**6))]
    planned = scans(next_stretches(far, NEAR))
    assert len(planned) == 20
    assert {len(json.loads(one["assign"])["t"]) for one in planned} == {100}


def test_what_is_before_the_start_of_a_partition_is_not_read() -> None:
    here = [*searches(0, 1000, 5, 50, 800), *searches(1, 700, 10, 20)]
    assert from_starts(here, {("t", 0): 300, ("t", 1): 5000}) == [
        Search("t", 0, 300, 1000, (5, 50)),
        Search("t", 0, 800, 1000, (800,)),
        Search("t", 1, 700, 700, (10, 20)),
    ]
    assert from_starts(here, {("t", 1): 0}) == here


@given(
    log=st.dictionaries(st.integers(0, 2), st.sets(st.integers(0, 400)), min_size=3, max_size=3),
    committed=st.dictionaries(st.integers(0, 2), st.sets(st.integers(0, 399), max_size=8), min_size=1),
    start=st.integers(0, 450),
)
def test_the_first_record_from_each_offset_on_is_found(
    log: dict[int, set[int]], committed: dict[int, set[int]], start: int
) -> None:
    kept = {partition: sorted(one for one in offsets if one >= start) for partition, offsets in log.items()}
    left = [one for partition in sorted(committed) for one in searches(partition, 400, *sorted(committed[partition]))]
    known: list[First] = []
    for number in count():
        if number == 1:
            left = from_starts(left, {("t", partition): start for partition in kept})
        looked = next_stretches(left, 7 * 3**number)
        more, left = settled(left, looked, read(kept, looked))
        known += more
        if not left:
            break
    expected = {}
    for partition, offsets in committed.items():
        for offset in offsets:
            unread = [one for one in kept[partition] if offset <= one < 400]
            expected["t", partition, offset] = (bool(unread), min(unread, default=None))
    assert {one[:3]: (one.has_record, one.micros) for one in known} == expected
    assert len(known) == len(expected)


# What is reported.


class Broker:
    """Stands in for reading: records at some offsets, and topics that may not be read."""

    def __init__(self, log: Mapping[int, Sequence[int]], start: int = 0, closed: Sequence[str] = ()) -> None:
        self.log, self.start, self.closed = log, start, closed
        self.reads: list[int] = []
        self.starts: list[Sequence[Search]] = []

    def read(self, spark: object, common: object, stretches: Sequence[Stretch]) -> dict[Stretch, int | None]:
        self.reads.append(len(stretches))
        for one in stretches:
            if one.topic in self.closed:
                java = "org.apache.kafka.common.errors.TopicAuthorizationException"
                raise PySparkException(f"Lost task 0.0: {java}: Not authorized to access topics: [{one.topic}]\n")
        return read(self.log, stretches)

    def find_starts(self, spark: object, common: object, searches: Sequence[Search]) -> dict[tuple[str, int], int]:
        self.starts.append(searches)
        return {(one.topic, one.partition): self.start for one in searches}


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    broker = Broker({0: range(500, 1000), 1: [0], 2: [3 * WIDTHS[-1]]}, 500)
    monkeypatch.setattr(live_times, "read_stretches", broker.read)
    monkeypatch.setattr(live_times, "find_starts", broker.find_starts)
    return broker


def found_by(
    spark: SparkSession, groups: Sequence[tuple[str, str, int, int, int | None, int | None]]
) -> tuple[dict[tuple[str, int, int], bool], tuple[str, ...]]:
    found = live_firsts(spark, "b:1", spark.createDataFrame(groups, GROUPS))
    return {
        (row["topic"], row["partition"], row["offset"]): row["has_record"] for row in rows(found.frame)
    }, found.refused


def test_groups_at_one_offset_are_looked_for_once_and_those_at_the_end_not(spark: SparkSession, broker: Broker) -> None:
    groups = [
        *[(f"g{number}", "t", 0, 600, 1000, 400) for number in range(5)],
        ("at the end", "t", 0, 1000, 1000, 0),
        ("gone", "gone", 0, 5, None, None),
    ]
    assert found_by(spark, groups) == ({("t", 0, 600): True}, ())
    assert broker.reads[0] == 1
    assert broker.starts == [[]]


def test_what_takes_too_many_offsets_without_a_record_is_not_known(spark: SparkSession, broker: Broker) -> None:
    groups = [("deleted", "t", 0, 5, 1000, 995), ("far", "t", 2, 0, 4 * WIDTHS[-1], 4 * WIDTHS[-1])]
    assert found_by(spark, groups) == ({("t", 0, 5): True}, ())
    many = [(f"g{offset}", "t", 0, offset, 1000, 1000 - offset) for offset in range(500, 500 + MOST_OFFSETS + 3)]
    found, _ = found_by(spark, many)
    assert sorted(offset for _, _, offset in found) == list(range(500, 500 + MOST_OFFSETS))


def test_topics_that_may_not_be_read_are_left_out_and_named(spark: SparkSession, broker: Broker) -> None:
    broker.closed = ["closed", "secret"]
    groups = [(topic, topic, 0, 600, 1000, 400) for topic in ("closed", "t", "secret", "u")]
    found = {("t", 0, 600): True, ("u", 0, 600): True}
    assert found_by(spark, groups) == (found, ("closed", "secret"))
    # After many refusals none of the topics is known, instead of one more job for each.
    broker.closed = [f"closed-{number}" for number in range(50)]
    broker.reads.clear()
    none, refused = found_by(spark, [*groups, *[(topic, topic, 0, 600, 1000, 400) for topic in broker.closed]])
    assert (none, len(refused)) == ({}, 54)
    assert len([one for one in broker.reads if one]) < 50


def test_another_error_of_the_brokers_is_reported(
    spark: SparkSession, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object) -> None:
        raise PySparkException("Lost task: org.apache.kafka.common.errors.TimeoutException: no answer\n")

    monkeypatch.setattr(live_times, "read_stretches", fails)
    with pytest.raises(SourceError, match=r"^b:1: TimeoutException: no answer$"):
        found_by(spark, [("g", "t", 0, 600, 1000, 400)])


def test_lag_in_seconds_follows_from_the_first_unread_records(spark: SparkSession) -> None:
    groups = [
        ("read", "t", 0, 9, 9, 0),
        ("behind", "t", 0, 5, 9, 4),
        ("behind too", "t", 0, 5, 9, 4),
        ("markers", "t", 0, 8, 9, 1),
        ("future", "t", 1, 5, 9, 4),
        ("no time", "t", 2, 5, 9, 4),
        ("not known", "t", 3, 5, 9, 4),
        ("gone", "gone", 0, 5, None, None),
    ]
    firsts = [
        ("t", 0, 5, True, at(40)),
        ("t", 0, 8, False, None),
        ("t", 1, 5, True, at(101)),
        ("t", 2, 5, True, None),
    ]
    columns = "topic string, partition int, offset bigint, has_record boolean, time timestamp"
    as_of = spark.createDataFrame([(at(100),)], "as_of timestamp")
    table = lag.with_seconds_since(spark.createDataFrame(groups, GROUPS), spark.createDataFrame(firsts, columns), as_of)
    assert table.columns == ["group", "topic", "partition", "offset", "end_offset", "lag", "lag_seconds"]
    assert {row["group"]: row["lag_seconds"] for row in rows(table)} == {
        "read": 0.0,
        "behind": 60.0,
        "behind too": 60.0,
        "markers": 0.0,
        "future": None,
        "no time": None,
        "not known": None,
        "gone": None,
    }
