"""The lag in seconds of live groups, by records of known times on a real broker. For `make test-broker`."""

from __future__ import annotations

from time import time
from typing import NamedTuple

import pyarrow.parquet as parquet
import pytest

from tests.support.live import broker_traffic, unread_traffic
from tests.support.live.live_spark import Spark
from tests.support.live.real_broker import ADDRESS, LOGS
from tests.support.live.unread_traffic import APPENDED, COMMITTED, COMPACTED, RECORDS, START, TIMED, at
from tests.support.subjects.exposition import by_labels, samples

pytestmark = [
    pytest.mark.broker,
    pytest.mark.xdist_group("broker"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Reported(NamedTuple):
    """Report of one run of the command."""

    lags: dict[tuple[str, str, int], int | None]
    times: dict[tuple[str, str, int], float | None]
    """The present minus `lag_seconds`, in milliseconds; None if that is null."""
    samples: dict[tuple[str, ...], float]
    as_of: float
    before: float
    after: float


@pytest.fixture(scope="module")
def reported(live_spark: Spark, tmp_path_factory: pytest.TempPathFactory) -> Reported:
    place = tmp_path_factory.mktemp("reported")
    unread_traffic.fill(ADDRESS, LOGS)
    before = time()
    places = ("--out", str(place / "out"), "--metrics", str(place / "kafka.prom"))
    live_spark.run("kipspark", "offsets", "--bootstrap-servers", ADDRESS, *places)
    after = time()
    found = samples((place / "kafka.prom").read_text())
    as_of = found["kipspark_offsets_as_of_timestamp_seconds", frozenset()]
    rows = {
        (row["group"], row["topic"], row["partition"]): row
        for row in parquet.read_table(place / "out" / "groups").to_pylist()
        if row["topic"] in (TIMED, APPENDED, COMPACTED)
    }
    seconds = {name: row["lag_seconds"] for name, row in rows.items()}
    return Reported(
        {name: row["lag"] for name, row in rows.items()},
        {name: None if age is None else (as_of - age) * 1000 for name, age in seconds.items()},
        by_labels(found, "kafka_consumergroup_group_lag_seconds", ("group", "topic", "partition")),
        as_of,
        before,
        after,
    )


def times(reported: Reported, topic: str, partition: int) -> dict[str, float | None]:
    """Return the times that the lags of groups go back to, by group; the present for those without a lag in seconds."""
    return {
        group: time
        for (group, of_topic, number), time in reported.times.items()
        if (of_topic, number) == (topic, partition)
    }


def about(**milliseconds: float | None) -> dict[str, object]:
    return {
        name.replace("_", "-"): None if time is None else pytest.approx(time, abs=0.01)
        for name, time in milliseconds.items()
    }


def test_lag_in_seconds_goes_back_to_the_first_unread_record(reported: Reported) -> None:
    now = reported.as_of * 1000
    assert times(reported, TIMED, 0) == about(none=at(0), some=at(2), some_too=at(2), most=at(950), all=now, ahead=now)
    assert reported.before < reported.as_of < reported.after


def test_of_deleted_records_the_first_one_that_is_left_counts(reported: Reported) -> None:
    assert times(reported, TIMED, 1) == about(
        before=at(2500), before_too=at(2500), long_before=at(2500), just_before=at(2500), after=at(2600)
    )
    assert reported.lags["before", TIMED, 1] == 2990


def test_markers_of_transactions_are_not_records(reported: Reported) -> None:
    now = reported.as_of * 1000
    assert times(reported, TIMED, 2) == about(at_marker=at(4), before_marker=at(2), at_last_marker=now)
    assert reported.lags["at-last-marker", TIMED, 2] == 1


def test_if_nothing_is_left_to_read_there_is_no_lag_in_seconds(reported: Reported) -> None:
    now = reported.as_of * 1000
    assert times(reported, TIMED, 3) == about(lost=now)
    assert times(reported, TIMED, 6) == about(all_lost=now)
    assert reported.lags["lost", TIMED, 3] == 15


def test_without_a_time_and_in_the_future_it_is_not_known(reported: Reported) -> None:
    assert times(reported, TIMED, 4) == about(without_time=None, with_time=at(1))
    assert times(reported, TIMED, 5) == about(future=None)
    assert reported.lags["future", TIMED, 5] == 2


def test_times_of_brokers_count_where_they_set_them(reported: Reported) -> None:
    second = next(one for one in broker_traffic.read_all(ADDRESS, [APPENDED]) if one.offset == 1)
    assert second.timestamp > START + 1_000_000
    assert times(reported, APPENDED, 0) == about(appended=second.timestamp)


def test_gaps_of_compacted_topics_are_skipped(reported: Reported) -> None:
    first = RECORDS - 1
    assert times(reported, COMPACTED, 0) == about(compacted=at(first), compacted_too=at(first))


def test_the_exporter_has_the_samples_that_are_known(reported: Reported) -> None:
    expected = {
        (group, topic, str(partition)): pytest.approx(reported.as_of - time / 1000, abs=0.001)
        for (group, topic, partition), time in reported.times.items()
        if time is not None
    }
    found = {labels: age for labels, age in reported.samples.items() if labels[1] in (TIMED, APPENDED, COMPACTED)}
    assert found == expected
    assert set(reported.times) == set(COMMITTED)
