"""Figures computed from looks: lag in records and seconds, totals, and consumers that stand still."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from kipwire.cluster.lag import (
    Count,
    Row,
    Stand,
    age,
    count_unread,
    find_stalled,
    largest_first,
    rows_of,
    stands_of,
    totals_of,
)
from kipwire.cluster.metrics import metrics_of
from kipwire.cluster.model import First, Group, Kind, Look, Member, Problem
from kipwire.console.offsets.report import Report, text_of
from kipwire.logs.names import Partition
from kipwire.tools.times import duration_text
from tests.support.subjects.exposition import samples

NOW = 1_700_000_100.0
A, B, C = Partition("orders", 0), Partition("orders", 1), Partition("paid", 0)
READER = Member("m-1", "billing-1", "10.0.0.7", frozenset((A,)))


def group(
    name: str,
    offsets: Mapping[Partition, int],
    *members: Member,
    kind: Kind = Kind.CLASSIC,
    lags: Mapping[Partition, int] = {},
) -> Group:
    return Group(name, kind, "Stable" if members else "Empty", members, offsets, lags)


def look(*groups: Group, time: float = NOW, **more: Any) -> Look:
    one = Look(
        time,
        tuple(one.name for one in groups),
        groups,
        {A: 0, B: 5, C: 0},
        {A: 10, B: 20, C: 30},
        frozenset(),
        {A: {4: First(True, round(NOW * 1000) - 2500)}, B: {3: First(True, -1)}, C: {7: First(False, -1)}},
        (),
    )
    return replace(one, **more)


def row(of: Look, partition: Partition = A, name: str = "billing") -> Row:
    (found,) = [one for one in rows_of(of) if (one.group, one.partition) == (name, partition)]
    return found


def test_lag_is_the_end_minus_the_offset_and_never_below_nothing() -> None:
    assert row(look(group("billing", {A: 4}))).lag == 6
    assert row(look(group("billing", {A: 10}))).lag == 0
    ahead = row(look(group("billing", {A: 12})))
    assert (ahead.lag, ahead.seconds, ahead.ahead) == (0, 0, 2)
    assert row(look(group("billing", {A: 4}), ends={})).lag is None


def test_lag_in_seconds_is_the_age_of_the_first_unread_record() -> None:
    assert row(look(group("billing", {A: 4}))).seconds == pytest.approx(2.5)
    assert age(6, None, NOW) is None
    assert age(6, First(True, -1), NOW) is None
    assert age(6, First(True, round(NOW * 1000) + 1), NOW) is None
    assert age(0, First(False, -1), NOW) == 0
    assert age(0, None, NOW) == 0


def test_unread_is_counted_from_the_first_record_that_a_consumer_may_still_get() -> None:
    assert count_unread(4, 10, First(True, 0, 4)) == 6
    assert count_unread(4, 10, First(True, 0, 7)) == 3
    assert count_unread(4, 10, First(True, 0, 12)) == 0  # it came after the end was asked for
    assert count_unread(4, 10, First(False, -1)) == 0
    assert count_unread(4, 10, None) is None
    assert row(look(group("billing", {C: 7})), C).unread == 0
    new = look(group("billing", {A: 4}), firsts={A: {4: First(True, round(NOW * 1000), 4)}})
    assert (row(new).seconds, row(new).is_unread) == (0, True)  # its age is 0, and it is unread


def test_members_without_offsets_have_rows_and_offsets_without_members_no_reader() -> None:
    of = look(group("billing", {B: 3}, READER))
    assert (row(of, A).offset, row(of, A).lag, row(of, A).readers) == (None, None, (READER,))
    assert not row(of, A).has_no_reader
    assert row(of, B).has_no_reader
    assert not row(look(replace(group("billing", {B: 3}), members=None)), B).has_no_reader
    assert not row(look(group("billing", {B: 20})), B).has_no_reader


def test_a_share_group_has_the_lag_that_its_coordinator_counts_and_none_in_seconds() -> None:
    shared = look(group("billing", {A: 4, B: 3}, kind=Kind.SHARE, lags={A: 2}))
    assert (row(shared, A).lag, row(shared, B).lag, row(shared, A).seconds) == (2, 17, None)
    text = samples(metrics_of(shared, rows_of(shared), ()))
    assert (
        text["kipwire_sharegroup_lag", frozenset({("sharegroup", "billing"), ("topic", "orders"), ("partition", "0")})]
        == 2
    )
    assert not any(name == "kafka_consumergroup_lag" for name, _ in text)


def test_totals_count_groups_and_partitions() -> None:
    of = look(group("billing", {A: 4, B: 3, C: 31}, READER), group("audit", {A: 10}), gone=frozenset((C,)))
    rows = rows_of(of)
    totals = totals_of(of, rows, None)
    assert (totals.groups, totals.with_members, totals.partitions, totals.lag) == (2, 1, 4, 23)
    assert totals.seconds == pytest.approx(2.5)
    assert (totals.behind, totals.without_reader, totals.too_late) == (Count(1, 2), Count(1, 1), Count(1, 1))
    assert (totals.unread, totals.without_offset) == (23, Count(0, 0))
    assert (totals.ahead, totals.gone, totals.stalled) == (Count(1, 1), Count(1, 1), None)
    assert [one.lag for one in largest_first(rows)] == [17, 6, 0, 0]


def test_who_stands_still_needs_time_and_unread_records_whether_the_topic_grows_or_not() -> None:
    first = look(group("billing", {A: 4, B: 20}))
    stands = stands_of(first, rows_of(first))
    assert stands["billing", A] == Stand(4, NOW, 10)
    second = look(group("billing", {A: 4, B: 20}), time=NOW + 60)
    stands = stands_of(second, rows_of(second), stands)
    (found,) = find_stalled(rows_of(second), stands, second.time, 60)
    assert (found.row.partition, found.seconds, found.grown) == (A, 60, 0)
    assert not find_stalled(rows_of(second), stands, second.time, 61)
    moved = look(group("billing", {A: 5, B: 20}), time=NOW + 70)
    stands = stands_of(moved, rows_of(moved), stands)
    assert stands["billing", A] == Stand(5, NOW + 70, 10)
    later = look(group("billing", {A: 5, B: 20}), time=NOW + 200, ends={A: 11, B: 20, C: 30})
    stands = stands_of(later, rows_of(later), stands)
    (found,) = find_stalled(rows_of(later), stands, later.time, 60)
    assert (found.row.partition, found.seconds, found.grown) == (A, 130, 1)


def test_nothing_stands_still_or_lacks_a_reader_where_only_markers_or_removed_records_are_left() -> None:
    first = look(group("billing", {C: 7}))
    rows = rows_of(first)
    assert (rows[0].lag, rows[0].seconds, rows[0].has_no_reader) == (23, 0, False)
    later = replace(first, time=NOW + 600)
    assert not find_stalled(rows_of(later), stands_of(first, rows), later.time, 60)
    unasked = replace(later, firsts={})  # without the right to read topics it is not known
    assert find_stalled(rows_of(unasked), stands_of(first, rows), later.time, 60)


def test_what_a_round_could_not_read_stands_as_before() -> None:
    first = look(group("billing", {A: 4}))
    stands = stands_of(first, rows_of(first))
    blind = look(time=NOW + 30, problems=(Problem("node 2", "gone"),))
    assert stands_of(blind, [], stands) == stands
    assert not stands_of(look(time=NOW + 30), [], stands)


def test_durations_are_for_people() -> None:
    texts = {0: "0 s", 0.25: "0.2 s", 9.94: "9.9 s", 48.2: "48 s", 59.7: "1 min 0 s", 61: "1 min 1 s"}
    texts |= {11_520: "3 h 12 min", 200_000: "2 d 7 h"}
    assert {number: duration_text(number) for number in texts} == texts
    assert duration_text(None) == "?"


def test_what_is_wrong_is_shown_with_one_line_for_each_group_and_topic() -> None:
    of = look(group("billing", {A: 4, B: 3, C: 31}, READER), problems=(Problem("node 2", "gone"),))
    text = "".join(text_of(Report("kafka:9092", of, replace(of, time=NOW - 90)), all_rows=False))
    parts = text.split("\n\n")
    assert parts[0] == "Consumer groups at kafka:9092, 2023-11-14T22:15:00.000Z"
    assert parts[1].splitlines() == [
        "groups                  1  1 with members, 3 partitions",
        "behind                  1  2 partitions, 23 records, up to 2.5 s",
        "stalled                 1  2 partitions",
        "without a reader        1  1 partition that no member reads",
        "too late                1  1 partition whose next record was removed",
        "ahead                   1  1 partition that end before the offset",
    ]
    assert parts[2] == "What could not be read\nnode 2: gone"
    titles = [part.splitlines()[0].partition(":")[0] for part in parts[3:]]
    assert titles == ["Stalled", "Without a reader", "Too late", "Ahead", "Groups", "Offsets and lag"]
    assert parts[3].splitlines()[1:] == [
        "group    topic   partitions  lag  stands for  the topic",
        "billing  orders           2   23  1 min 30 s   is quiet",
    ]
