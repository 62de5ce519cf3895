"""Groups that have nothing to read, although their partition ends above their offset: markers, and removed records."""

from __future__ import annotations

from collections.abc import Iterator

import fsspec
import pytest

from kipjobs.engines import Session
from kipjobs.engines.embedded.session import EmbeddedSession
from kipjobs.jobs.offsets.report import offsets_report
from kipjobs.jobs.transactions.command import transactions_report
from kipjobs.report.metrics import exposition
from kipjobs.report.report import Report
from tests.support.places import DATA
from tests.support.subjects.spark_tables import rows

CASES = DATA / "cases"
"""`marker-only`: a group read both records of a transaction, whose marker is the last record. `log-start`: a group at 2
in a partition whose records, 0 to 4, DeleteRecords has removed. Records of another topic are ten minutes younger."""


@pytest.fixture
def session() -> Iterator[Session]:
    with EmbeddedSession() as one:
        yield one


def table(report: Report, name: str) -> list[dict[str, object]]:
    return rows(next(one.frame for one in report.tables if one.name == name))


@pytest.mark.parametrize(("case", "lag"), [("marker-only", 1), ("log-start", 3)])
def test_a_lag_of_markers_or_removed_records_is_no_time_and_does_not_stand_still(
    session: Session, case: str, lag: int
) -> None:
    report = offsets_report(session, CASES / case)
    (group,) = table(report, "groups")
    assert (group["lag"], group["lag_seconds"]) == (lag, 0.0)  # LAG of kafka-consumer-groups, too
    assert (group["unread"], group["too_late"]) == (0, lag if case == "log-start" else 0)
    assert table(report, "stalled") == []
    assert "stalled_seconds{" not in exposition(report.metrics)


def test_a_log_starts_where_the_broker_says_not_where_its_first_segment_begins(session: Session) -> None:
    partitions = table(transactions_report(session, CASES / "log-start"), "partitions")
    assert {row["topic"]: (row["log_start"], row["end_offset"]) for row in partitions}["orders"] == (5, 5)


def test_a_log_in_a_store_has_no_files_of_its_broker(session: Session) -> None:
    store = fsspec.filesystem("memory")
    store.put(str(CASES / "log-start"), "/brokers/1", recursive=True)
    try:
        (group,) = table(offsets_report(session, "memory://brokers/1"), "groups")
    finally:
        store.rm("/brokers", recursive=True)
    assert (group["lag"], group["lag_seconds"]) == (3, 598.0)  # as far as segments say
