"""No record and no batch hides the others: jobs name what they cannot read, and pass it over."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from kipjobs.engines import Session
from kipjobs.engines.embedded.session import EmbeddedSession
from kipjobs.errors import FAILFAST, PERMISSIVE, JobError, Mode
from kipjobs.jobs.metadata.report import metadata_report
from kipjobs.jobs.offsets.report import offsets_report
from kipjobs.jobs.share.command import share_report
from kipjobs.jobs.tiered.command import tiered_report
from kipjobs.jobs.transactions.command import transactions_report
from kipjobs.report.report import Report
from tests.support.subjects.both_engines import Found, different, found
from tests.support.subjects.broker_logs import table
from tests.support.subjects.odd_records import FAMILIES, Odd, add_odd_records, without, write_remote
from tests.support.subjects.random_logs import write_random_logs, write_random_metadata

JOBS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "offsets": (offsets_report, ("__consumer_offsets",)),
    "transactions": (transactions_report, ("__transaction_state",)),
    "share": (share_report, ("__share_group_state",)),
    "metadata": (partial(metadata_report, at=None), ("__cluster_metadata",)),
    "tiered": (tiered_report, ("__remote_log_metadata",)),
}
"""Jobs, with the topics in which odd records are put for them."""


def write_broker(folder: Path, seed: int, number: int) -> None:
    """Write the log folder of a broker, with all internal topics but the cluster's metadata."""
    write_random_logs(folder, seed, number)
    write_remote(folder / f"__remote_log_metadata-{number}", Random(seed), number)


class Broker:
    """Log folders with odd records, whose places are known."""

    def __init__(self, folder: Path, seed: int, logs: int, *, damaged: bool = False) -> None:
        random = Random(seed)
        self.folders = [folder / str(number) for number in range(logs)]
        self.odd: dict[Path, list[Odd]] = {}
        for number, root in enumerate(self.folders):
            write_broker(root, seed * logs + number, number)
        write_random_metadata(self.folders[0], seed)
        for root in self.folders:
            for topic in FAMILIES:
                for partition in root.glob(f"{topic}-*"):
                    self.odd[partition] = add_odd_records(partition, random, damaged=damaged)

    @property
    def roots(self) -> list[str]:
        return [str(folder) for folder in self.folders]

    def expected(self, topics: tuple[str, ...]) -> list[tuple[object, ...]]:
        """Return the places, kinds, types and versions of the odd records in these topics."""
        rows: list[tuple[object, ...]] = []
        for folder, some in self.odd.items():
            topic, _, partition = folder.name.rpartition("-")
            if topic in topics:
                rows += [(topic, int(partition), one.record.offset, one.kind, one.type, one.version) for one in some]
        return sorted(rows, key=repr)

    def remove_odd(self) -> None:
        for folder, some in self.odd.items():
            without(folder, some)


def names(report: Report) -> list[tuple[object, ...]]:
    columns = ("topic", "partition", "offset", "kind", "type", "version")
    return sorted((tuple(row[name] for name in columns) for row in table(report, "left_out")), key=repr)


def check(broker: Broker, jobs: Iterable[str], mode: Mode = FAILFAST) -> None:
    """Check jobs: odd records are named once, and all else is as without them."""
    kept: dict[str, Found] = {}
    for job in jobs:
        report_of, topics = JOBS[job]
        with EmbeddedSession() as session:
            report = report_of(cast(Session, session), broker.roots, mode=mode)
            named = names(report)
            assert [row for row in named if row[0] in topics] == broker.expected(topics), job
            # Jobs read other internal topics, too, such as for the names of topics.
            assert all(row in broker.expected(tuple(FAMILIES)) for row in named), job
            assert (report.left_out != "") == bool(named)
            assert report.is_damaged == any(row[3] == "damaged" for row in named)
            kept[job] = rest(report)
    broker.remove_odd()
    for job in kept:
        with EmbeddedSession() as session:
            clean = JOBS[job][0](cast(Session, session), broker.roots)
            assert names(clean) == []
            assert different(kept[job], rest(clean)) == {}, job


def rest(report: Report) -> Found:
    """Return all that a report has but what is left out, and its numbers."""
    return {name: content for name, content in found(report).items() if name not in ("left_out", "metrics")}


@pytest.mark.parametrize(
    "job", [pytest.param(job, marks=() if job == "offsets" else pytest.mark.night) for job in JOBS]
)
def test_odd_records_are_named_once_and_hide_no_other(job: str, tmp_path: Path) -> None:
    check(Broker(tmp_path, 1, 1), [job])


@pytest.mark.night
@pytest.mark.parametrize("seed", range(100, 110))
def test_odd_records_of_50_brokers_are_named_once_and_hide_no_other(seed: int, tmp_path: Path) -> None:
    check(Broker(tmp_path / "unknown", seed, 5), JOBS)
    check(Broker(tmp_path / "damaged", seed, 5, damaged=True), JOBS, PERMISSIVE)


@pytest.mark.night
@pytest.mark.parametrize("seed", range(200, 204))
def test_odd_records_are_the_same_rows_on_both_engines(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    broker = Broker(tmp_path, seed, 10, damaged=True)
    for report_of, _ in JOBS.values():
        with EmbeddedSession() as session:
            here = found(report_of(cast(Session, session), broker.roots, mode=PERMISSIVE))
        assert different(here, found(report_of(spark, broker.roots, mode=PERMISSIVE))) == {}
        spark.catalog.clearCache()


def test_a_damaged_record_ends_a_job_unless_it_is_left_out(tmp_path: Path) -> None:
    write_random_logs(tmp_path, 5, 0)
    random = Random(5)
    odd: list[Odd] = []
    while not any(one.kind == "damaged" for one in odd):
        odd = add_odd_records(tmp_path / "__share_group_state-0", random, damaged=True)
    offset = min(one.record.offset for one in odd if one.kind == "damaged")
    with EmbeddedSession() as session, pytest.raises(JobError) as caught:
        share_report(cast(Session, session), str(tmp_path))
    assert str(caught.value).startswith(f"__share_group_state-0 offset {offset}: Share")
    assert str(caught.value).endswith("; --permissive leaves it out and goes on")
