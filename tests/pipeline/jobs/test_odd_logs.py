"""Whatever odd records a log has, jobs report all the others, and show the odd ones as they are.

`ODD_LOGS=10000 SEED=1 pytest -m night tests/pipeline/jobs/test_odd_logs.py` tries more logs, and others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from kipjobs.engines import Session
from kipjobs.engines.embedded.session import EmbeddedSession
from kipjobs.jobs.compaction.command import compaction_report
from kipjobs.jobs.metadata.report import metadata_report
from kipjobs.jobs.offsets.report import offsets_report
from kipjobs.jobs.share.command import share_report
from kipjobs.jobs.shared.options import Outputs
from kipjobs.jobs.shared.running import deliver
from kipjobs.jobs.tiered.command import tiered_report
from kipjobs.jobs.transactions.command import transactions_report
from kipjobs.report.outputs import TableFormat, json_lines
from kipjobs.report.report import Report
from kipwire.cli.jobs import ReportFormat
from kipwire.tables.errors import PERMISSIVE
from kipwire.tables.files.roots import Roots
from tests.support.odd_logs import DAMAGED, JOBS, KINDS, missing, write_odd_logs
from tests.support.subjects.both_engines import JOBS as REPORTS
from tests.support.subjects.both_engines import different, of_both
from tests.support.subjects.broker_logs import NOW

pytestmark = [
    pytest.mark.xdist_group("spark"),
    # py4j and Spark leave sockets and files to be collected, and pandas has deprecated what Spark still uses.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
_LOGS = int(os.environ.get("ODD_LOGS", "200"))
_SEED = int(os.environ.get("SEED", "0"))
_AT_ONCE = 200
"""Logs in a folder, which one run of a job reads."""
_REPORTS: dict[str, Callable[[Session, Roots], Report]] = {
    **REPORTS,
    "transactions": partial(transactions_report, at=NOW),
}
_PERMISSIVE: dict[str, Callable[[Session, Roots], Report]] = {
    "offsets": partial(offsets_report, mode=PERMISSIVE),
    "transactions": partial(transactions_report, at=NOW, mode=PERMISSIVE),
    "compaction": lambda session, path: compaction_report(session, path, (), PERMISSIVE),
    "share": partial(share_report, mode=PERMISSIVE),
    "tiered": partial(tiered_report, mode=PERMISSIVE),
    "metadata": lambda session, path: metadata_report(session, path, None, PERMISSIVE),
}
"""The reports that leave out what is damaged."""
_OUTPUTS = (
    (ReportFormat.TEXT, TableFormat.PARQUET),
    (ReportFormat.JSON, TableFormat.CSV),
    (ReportFormat.PROMETHEUS, TableFormat.JSONL),
)


def check(
    folder: Path,
    seeds: Sequence[int],
    jobs: Sequence[str],
    outputs: Sequence[tuple[ReportFormat, TableFormat]],
    *,
    damaged: bool,
) -> None:
    """Check that reports on logs have all rows, and that they can be shown and written in these formats."""
    logs = write_odd_logs(folder / "logs", seeds, tuple(DAMAGED if damaged else KINDS))
    reports = _PERMISSIVE if damaged else _REPORTS
    for job in jobs:
        with EmbeddedSession() as session:
            report = reports[job](session, str(folder / "logs"))
            assert missing(job, report, logs) == [], f"{job}: seeds {seeds[0]} to {seeds[-1]}"
            for shown, written in outputs:
                page = folder / f"{job}.html" if shown is ReportFormat.TEXT else None
                deliver(report, Outputs(folder / f"{job}-{written}", written, page, shown=shown))


def test_jobs_have_all_rows_of_two_odd_logs(tmp_path: Path) -> None:
    check(tmp_path, range(_SEED, _SEED + 2), ("transactions", "tiered"), (), damaged=True)


@pytest.mark.night
@pytest.mark.parametrize("part", range(-(-_LOGS // _AT_ONCE)))
def test_jobs_have_all_rows_of_odd_logs(part: int, tmp_path: Path) -> None:
    first = _SEED + part * _AT_ONCE
    seeds = range(first, min(first + _AT_ONCE, _SEED + _LOGS))
    check(tmp_path, seeds, JOBS, _OUTPUTS, damaged=part % 2 == 0)


@pytest.mark.night
@pytest.mark.parametrize("job", JOBS)
def test_200_odd_logs_have_the_same_rows_on_both_engines(job: str, tmp_path: Path, spark: SparkSession) -> None:
    logs = write_odd_logs(tmp_path, range(_SEED, _SEED + 200))
    here, on_spark = of_both(job, spark, str(tmp_path))
    assert different(here, on_spark) == {}
    assert missing(job, _REPORTS[job](spark, str(tmp_path)), logs) == []


@pytest.mark.night
@pytest.mark.parametrize("job", ["transactions", "tiered", "offsets"])
def test_the_json_of_odd_logs_is_the_same_on_both_engines(job: str, tmp_path: Path, spark: SparkSession) -> None:
    write_odd_logs(tmp_path, range(_SEED, _SEED + 20))
    with EmbeddedSession() as session:
        here = sorted(json_lines(_REPORTS[job](session, str(tmp_path)).tables))
    assert here == sorted(json_lines(_REPORTS[job](spark, str(tmp_path)).tables))
    assert any('ms"' in line for line in here)


def test_every_kind_is_odd_in_a_row_of_its_own(tmp_path: Path) -> None:
    for kind in DAMAGED:
        (log,) = write_odd_logs(tmp_path / kind, [_SEED], [kind])
        (of_good,) = write_odd_logs(tmp_path / f"no {kind}", [_SEED], [])
        assert len(log.expected) > len(of_good.expected)
