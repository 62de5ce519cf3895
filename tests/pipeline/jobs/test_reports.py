"""Reports begin with totals and problems, and hide nothing: on pages, in charts and on a terminal of 80 columns."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from kipjobs.engines import DataFrame, Session
from kipjobs.engines.embedded.session import EmbeddedSession
from kipjobs.jobs import share, tiered
from kipjobs.jobs.metadata.report import metadata_report
from kipjobs.jobs.offsets import lag
from kipjobs.jobs.offsets.report import offsets_report
from kipjobs.jobs.traffic.command import traffic_report
from kipjobs.report import charts
from kipjobs.report.report import Chart, FirstRows, Report, Table, first_rows, total_row
from kipjobs.report.terminal import report_lines
from kipjobs.report.views import page
from tests.support.places import DATA, ROOT
from tests.support.subjects.both_engines import JOBS
from tests.support.subjects.broker_logs import table
from tests.support.subjects.spark_tables import CAPTURE, SEGMENTS

DOCUMENTED = "".join((ROOT / f"docs/{page}.md").read_text() for page in ("offsets", "jobs"))
START = datetime(2026, 11, 21, 8, tzinfo=UTC)
TIME = pa.timestamp("us", tz="UTC")


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with EmbeddedSession() as one:
        yield one


Frame = Callable[[dict[str, pa.DataType], list[tuple[Any, ...]]], DataFrame]


@pytest.fixture
def frame(session: Session) -> Frame:
    """Makes a frame of rows."""

    def make(columns: dict[str, pa.DataType], rows: list[tuple[Any, ...]]) -> DataFrame:
        schema = pa.schema(list(columns.items()))
        records = [dict(zip(columns, row, strict=True)) for row in rows]
        batch = pa.RecordBatch.from_pylist(records, schema)
        return cast(EmbeddedSession, session).frame_of(schema, lambda: iter([batch]))

    return make


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def rows(of: DataFrame) -> list[dict[str, Any]]:
    return of.toArrow().to_pylist()  # type: ignore[no-any-return]


# Lag over time.

PLACE = {"group": pa.string(), "topic": pa.string(), "partition": pa.int32()}


def lines(frame: Frame, *, ends: list[tuple[float, int]], until: float) -> dict[str, list[tuple[float, int]]]:
    """Return the lines of a group that reads to the end and dies after 10 seconds, and of one that lives."""
    commits = [("dead", 5, 50, 0), ("dead", 10, 100, 0), ("alive", 10, 100, 0), ("alive", until, ends[-1][1], 0)]
    lagging = frame(
        {**PLACE, "time": TIME, "offset": pa.int64(), "lag": pa.int64()},
        [(group, "t", 0, at(time), offset, behind) for group, time, offset, behind in commits],
    )
    end = ends[-1][1]
    groups = frame(
        {**PLACE, "offset": pa.int64(), "lag": pa.int64(), "last_commit": TIME},
        [("dead", "t", 0, 100, end - 100, at(10)), ("alive", "t", 0, end, 0, at(until))],
    )
    grown = frame(
        {"topic": pa.string(), "partition": pa.int32(), "time": TIME, "end_offset": pa.int64()},
        [("t", 0, at(time), offset) for time, offset in ends],
    )
    found = lag.over_time(lagging, groups, grown, frame({"as_of": TIME}, [(at(until),)]))
    by_name: dict[str, list[tuple[float, int]]] = {}
    for row in rows(found):
        by_name.setdefault(row["name"], []).append(((row["time"] - START).total_seconds(), row["lag"]))
    return {name: sorted(points) for name, points in by_name.items()}


def test_the_line_of_a_dead_consumer_rises_to_the_end_of_the_log(frame: Frame) -> None:
    found = lines(frame, ends=[(5, 50), (10, 100), (40, 130), (70, 160), (100, 200)], until=110)
    assert found["dead t-0"] == [(5, 0), (10, 0), (40, 30), (70, 60), (100, 100), (110, 100)]
    assert found["alive t-0"] == [(10, 0), (110, 0)]


def test_a_line_has_few_points_however_many_batches_follow(frame: Frame) -> None:
    found = lines(frame, ends=[(10 + n / 10, 100 + n) for n in range(5000)], until=600)
    points = found["dead t-0"]
    assert 30 < len(points) <= lag.STEPS + 4
    assert [behind for _, behind in points] == sorted(behind for _, behind in points)
    assert points[-1] == (600, 4999)


def test_lines_without_lag_are_left_out_and_the_highest_stay(frame: Frame) -> None:
    names = {"name": pa.string(), "time": TIME, "lag": pa.int64()}
    every = frame(names, [(f"g{n}", at(second), n * second) for n in range(15) for second in (0, 1)])
    chosen = {row["name"] for row in rows(lag.highest(every, charts.MOST_LINES))}
    assert chosen == {f"g{n}" for n in range(5, 15)}
    few = frame(names, [("idle", at(0), 0), ("busy", at(0), 1)])
    assert {row["name"] for row in rows(lag.highest(few, 10))} == {"busy"}


# The samples.


def test_groups_of_the_samples(session: Session) -> None:
    report = offsets_report(session, SEGMENTS)
    assert (report.title, report.where) == ("Consumer groups", str(SEGMENTS))
    totals = total_row(report)
    wrong = dict.fromkeys(("stalled", "without_offset", "too_late", "ahead"), 0)
    oldest = totals.pop("lag_seconds")
    assert (totals, round(oldest, 1)) == ({**wrong, "groups": 4, "behind": 2, "lag": 722, "unread": 722}, 53.9)
    (chart,) = report.charts
    points = sorted((row["time"], row["lag"]) for row in rows(chart.frame) if row["name"] == "kp-group orders-2")
    assert points[-1][1] == 267
    groups = {(row["group"], row["partition"]): row for row in table(report, "groups")}
    last = groups["kp-group", 2]["last_commit"]
    assert [behind for time, behind in points if time <= last][-1] == 0
    assert next(behind for time, behind in points if time > last) > 0
    assert report.tables[0].is_wrong
    documented = re.findall(r"`(kafka_\w+|kipwire_\w+)", DOCUMENTED)
    assert {gauge.name for metrics in report.metrics for gauge in metrics.gauges} <= set(documented)


def test_a_fetch_that_waits_for_records_is_not_slow(session: Session) -> None:
    report = traffic_report(session, CAPTURE)
    totals = total_row(report)
    wrong = {"with_errors": 35, "not_served": 0, "not_decoded": 0, "bytes_not_read": 0}
    assert totals == {"clients": 28, "connections": 105, "requests": 1094, "bytes_read": 578890, **wrong}
    (table,) = [one for one in report.tables if one.name == "exchanges"]
    slowest = first_rows(table, 50).rows
    beyond = [row["latency_ms"] - (row["max_wait_ms"] or 0) for row in slowest]
    assert beyond == sorted(beyond, reverse=True)
    assert [row["api"] for row in slowest[:5]].count("Fetch") == 0
    waited = [row for row in rows(table.frame) if row["api"] == "Fetch" and (row["latency_ms"] or 0) > 490]
    assert len(waited) > 200
    assert {row["max_wait_ms"] for row in waited} == {500}
    assert not {"Fetch", "ShareFetch"} & {row["name"] for row in rows(report.charts[0].frame)}
    flagged = [row for row in rows(table.frame) if row["errors"]]
    assert (len(flagged), table.flag) == (35, "errors")
    assert "CONCURRENT_TRANSACTIONS" in {row["errors"] for row in flagged}


def test_records_of_metadata_say_their_version_once(session: Session) -> None:
    report = metadata_report(session, SEGMENTS, None)
    assert total_row(report) == {
        "topics": 5, "partitions": 15, "without_leader": 0, "lacking_replicas": 0, "brokers": 2, "fenced": 0
    }  # fmt: skip
    changes = rows(next(one for one in report.tables if one.name == "changes").frame)
    assert {row["version"] for row in changes} >= {0, 2}
    assert not [row for row in changes if '"_version"' in row["record"] or "unknown_tagged_fields" in row["record"]]
    assert {row["record"][:1] for row in changes} == {"{"}


@pytest.mark.parametrize("job", JOBS)
def test_every_job_has_totals_and_what_is_wrong_first(job: str, session: Session) -> None:
    report = JOBS[job](session, CAPTURE if job == "traffic" else SEGMENTS)
    totals = total_row(report)
    assert len(totals) >= 4
    assert all(value is None or isinstance(value, int | float) for value in totals.values())
    assert [table.is_wrong for table in report.tables] == sorted(
        (table.is_wrong for table in report.tables), reverse=True
    )
    assert report.tables[0].is_wrong
    documented = re.findall(r"`(kafka_\w+|kipwire_\w+)", DOCUMENTED)
    assert {gauge.name for metrics in report.metrics for gauge in metrics.gauges} <= set(documented)


def test_partitions_with_trouble_are_wrong(session: Session, tmp_path: Path) -> None:
    log = tmp_path / "__cluster_metadata-0"
    for folder in (SEGMENTS, DATA / "shutdown"):
        shutil.copytree(folder / log.name, log, dirs_exist_ok=True)
    report = metadata_report(session, tmp_path, None)
    assert {"without_leader": 15, "lacking_replicas": 15, "fenced": 2}.items() <= total_row(report).items()
    troubled, partitions = (rows(next(one.frame for one in report.tables if one.name == name))
                            for name in ("troubled", "partitions"))  # fmt: skip
    assert len(troubled) == len(partitions) == 15
    early = metadata_report(session, tmp_path, datetime(2026, 11, 21, 8, 0, 50, tzinfo=UTC))
    assert [rows(one.frame) for one in early.tables if one.name == "troubled"] == [[]]


def test_records_that_are_given_up_or_delivered_again_are_wrong(frame: Frame) -> None:
    names = {"first_offset": pa.int64(), "last_offset": pa.int64(), "state": pa.string(), "delivery_count": pa.int16()}
    delivered = [(0, 4, "ACKNOWLEDGED", 1), (5, 5, "ARCHIVED", 1), (6, 7, "AVAILABLE", 2), (8, 9, "ACQUIRED", 1)]
    assert [row["first_offset"] for row in rows(share.troubled(frame(names, delivered)))] == [5, 6]


def test_copies_and_removals_that_have_not_ended_are_wrong(frame: Frame) -> None:
    states = ["COPY_SEGMENT_STARTED", "COPY_SEGMENT_FINISHED", "DELETE_SEGMENT_STARTED", "DELETE_SEGMENT_FINISHED"]
    found = rows(tiered.unfinished(frame({"state": pa.string()}, [(state,) for state in states])))
    assert [row["state"] for row in found] == [states[0], states[2]]


# Terminals.


def shown_rows(columns: tuple[str, ...], *values: tuple[Any, ...], **more: Any) -> FirstRows:
    table = Table("t", "Title", cast(DataFrame, SimpleNamespace(columns=list(columns))), (), **more)
    return FirstRows(table, columns, tuple(dict(zip(columns, row, strict=True)) for row in values), True)


def printed(
    report: Report, *tables: FirstRows, totals: dict[str, Any] | None = None, width: int | None = 80
) -> list[str]:
    return "".join(report_lines(report, tables, totals, width=width)).splitlines()


WIDE = shown_rows(
    ("group", "topic", "time", "lag", "member_id", "first_commit", "note"),
    (
        "payments-service-fraud-detection-blue",
        "eu-west-1.payments.authorization.v2",
        at(1),
        12_345,
        "m" * 40,
        at(2),
        "n",
    ),
    ("b", "c", at(3), 1, "d", at(4), "e" * 60),
)


def test_each_row_is_one_line_of_80_columns() -> None:
    lines = printed(Report("Groups", ()), WIDE)
    assert max(map(len, lines)) <= 80
    assert sum("08:00:0" in line for line in lines) == 2
    assert any("paymen…n-blue  eu-wes…ion.v2" in line and "12,345" in line for line in lines)
    assert "Title, times of 2026-11-21 in UTC" in " ".join(lines)
    (left_out,) = [line for line in lines if line.startswith("no room for ")]
    assert left_out.startswith("no room for note; ")


@pytest.mark.parametrize("width", [20, 40, 79, 80, 81, 120, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    lines = printed(Report("Groups", ()), WIDE, width=width)
    assert max(map(len, lines)) <= width
    if width == 200:
        assert not [line for line in lines if "no room" in line]


def test_days_stay_where_there_are_several() -> None:
    shown = shown_rows(("time",), (at(0),), (at(86_400),))
    assert printed(Report("r", ()), shown)[2:] == [
        "Title", "time", "2026-11-21 08:00:00.000", "2026-11-22 08:00:00.000"
    ]  # fmt: skip


def test_files_have_whole_texts() -> None:
    _, _, _, head, first, *_ = printed(Report("r", ()), WIDE, width=None)
    assert first.startswith("payments-service-fraud-detection-blue ") and first.endswith("  n")
    assert "  first commit  " in head


def test_totals_come_before_tables_and_notes_with_their_table() -> None:
    with_rows = shown_rows(("lag",), (1,), note="Of rows.")
    without = shown_rows(("lag",), note="Of none.")
    report = Report("Groups", (), where="/kafka")
    lines = printed(report, without, with_rows, totals={"groups": 1200, "longest_lag_seconds": None})
    assert lines[:5] == ["Groups", "/kafka", "", "groups                    1,200", "longest lag seconds   not known"]
    assert "Of rows." in lines and "Of none." not in lines


# Pages.


def chart_of(*points: tuple[str, datetime, int]) -> tuple[Chart, list[dict[str, Any]]]:
    named: list[dict[str, Any]] = [{"name": name, "time": time, "lag": behind} for name, time, behind in points]
    return Chart("Lag over time", cast(DataFrame, None), charts.lag_over_time), named


def test_a_page_has_totals_then_what_is_wrong_then_charts_then_the_rest() -> None:
    wrong = shown_rows(("lag",), (7,), is_wrong=True, note="Why.")
    rest = shown_rows(("with_errors", "name"), (0, "fine"), (2, "bad"), flag="with_errors")
    report = Report("Consumer groups", (), where="/var/lib/kafka & more", notes=("The end.",))
    text = page(report, [wrong, rest], [chart_of(("g", at(0), 1))], {"groups": 1200, "stalled": 0})
    places = [
        *("<h1>Consumer groups</h1>", "/var/lib/kafka &amp; more", "<dt>groups</dt><dd>1,200</dd>"),
        *(' class="wrong"><h2>Title</h2>', "Why.", "<svg", 'data-flag="0"', "The end."),
    ]
    found = [text.index(one) for one in places]
    assert found == sorted(found)
    assert "<title>Consumer groups</title>" in text
    assert text.count("only errors") == 1
    assert '<section class="none"><h2>Title</h2>' in page(report, [shown_rows(("lag",))], [])


def test_columns_have_classes_by_what_is_in_them() -> None:
    shown = shown_rows(
        ("lag", "time", "kind", "member", "note", "is_open"),
        (1, at(0), "__transaction_state", "m" * 24, "n" * 60, True),
    )
    text = page(Report("r", ()), [shown], [])
    heads = re.findall(r'<th class="(\w+)">([^<]+)</th>', text)
    assert heads == [
        ("number", "lag"), ("time", "time"), ("word", "kind"), ("text", "member"), ("long", "note"), ("word", "is open")
    ]  # fmt: skip
    assert '<td class="number" data-label="lag">1</td>' in text


def test_ticks_of_a_few_seconds_have_hours_and_no_zeros_at_their_end() -> None:
    text = page(Report("r", ()), [shown_rows(("lag",), (1,))], [chart_of(("g", at(0), 1), ("g", at(2), 2))])
    assert re.findall(r">(08:[^<]+)</text>", text)[:3] == ["08:00:00", "08:00:00.5", "08:00:01"]
    assert ".000000" not in "".join(re.findall(r">([^<]+)</text>", text))


def test_a_page_fetches_nothing(tmp_path: Path) -> None:
    text = page(Report("r", ()), [shown_rows(("lag",), (1,))], [chart_of(("g", at(0), 1))])
    outside = [one for one in re.findall(r"https?://[^\s\"'<]+", text) if "w3.org" not in one and "purl.org" not in one]
    assert not [one for one in outside if "matplotlib" not in one and "creativecommons" not in one]
    assert "<link" not in text and " src=" not in text
