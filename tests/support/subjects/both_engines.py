"""The jobs on both engines, and what differs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import SparkSession

from kipjobs.engines import DataFrame, Session
from kipjobs.engines.embedded.session import EmbeddedSession
from kipjobs.jobs.compaction.command import compaction_report
from kipjobs.jobs.metadata.report import metadata_report
from kipjobs.jobs.offsets.report import offsets_report
from kipjobs.jobs.share.command import share_report
from kipjobs.jobs.tiered.command import tiered_report
from kipjobs.jobs.traffic.command import traffic_report
from kipjobs.jobs.transactions.command import transactions_report
from kipjobs.report.metrics import exposition
from kipjobs.report.report import Report
from kipspark.reasons import SPARK_ERRORS, reason
from kipwire import KipwireError
from kipwire.tables.arrow import python_rows
from kipwire.tables.files.roots import Roots

JOBS: dict[str, Callable[[Session, Roots], Report]] = {
    "offsets": offsets_report,
    "traffic": traffic_report,
    "transactions": transactions_report,
    "metadata": lambda session, path: metadata_report(session, path, None),
    "compaction": lambda session, path: compaction_report(session, path, ()),
    "share": share_report,
    "tiered": tiered_report,
}
"""The report of each job that both command lines have."""


def frame_of(session: Session, types: dict[str, pa.DataType], given: list[tuple[Any, ...]]) -> DataFrame:
    """Return rows as a frame of a session."""
    rows = [dict(zip(types, row, strict=True)) for row in given]
    table = pa.Table.from_pylist(rows, pa.schema(list(types.items())))
    if isinstance(session, EmbeddedSession):
        return session.frame_of(table.schema, lambda: iter(table.to_batches()))
    return cast(SparkSession, session).createDataFrame(table)


Found = dict[str, tuple[list[tuple[str, str]], list[str]]]
"""Columns with their types, and sorted rows, by the name of the table."""


def found(report: Report) -> Found:
    """Return all that a report has: tables, the data of charts, totals, metrics, notes."""
    tables = {table.name: _rows(table.frame) for table in report.tables}
    charts = {f"chart {chart.title}": _rows(chart.frame) for chart in report.charts}
    totals = {} if report.totals is None else {"totals": _rows(report.totals)}
    return {
        **tables,
        **charts,
        **totals,
        "notes": ([], list(report.notes)),
        "metrics": ([], exposition(report.metrics).splitlines()),
    }


def _rows(frame: DataFrame) -> tuple[list[tuple[str, str]], list[str]]:
    table = frame.toArrow()
    types = [(field.name, str(_plain(field.type))) for field in table.schema]
    return types, sorted(map(repr, map(_ordered, python_rows(table))))


def _plain(type_: pa.DataType) -> pa.DataType:
    """Return a type without the parts that do not affect values: names of the items of lists, and nullability."""
    if pa.types.is_list(type_):
        return pa.list_(_plain(type_.value_type))
    if pa.types.is_struct(type_):
        return pa.struct([(field.name, _plain(field.type)) for field in type_])
    return type_


def _ordered(value: Any) -> Any:
    return {name: value[name] for name in sorted(value)} if isinstance(value, dict) else value


def outcomes(job: str, spark: SparkSession, path: Roots) -> tuple[Found | str, Found | str]:
    """Return the findings of a job on each engine, or the text of its error."""
    return _outcome(lambda: _here(job, path)), _outcome(lambda: _on_spark(job, spark, path))


def _outcome(compute: Callable[[], Found]) -> Found | str:
    try:
        return compute()
    except (KipwireError, *SPARK_ERRORS) as error:
        return reason(error)


def _here(job: str, path: Roots) -> Found:
    with EmbeddedSession() as session:
        return found(JOBS[job](session, path))


def _on_spark(job: str, spark: SparkSession, path: Roots) -> Found:
    try:
        return found(JOBS[job](spark, path))
    finally:
        spark.catalog.clearCache()  # tables that a job keeps would fill the session: its JVM died of 200 logs


def of_both(job: str, spark: SparkSession, path: Roots) -> tuple[Found, Found]:
    """Return the findings of a job on each engine."""
    return _here(job, path), _on_spark(job, spark, path)


class Both:
    """Reports on a changing folder by both engines; they read a copy, so that the reports can be compared."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self._sessions: list[EmbeddedSession] = []

    def report(self, report_of: Callable[..., Report], path: Path, *arguments: Any) -> Report:
        """Return the report of the engine in this process, after a check that Spark has the same."""
        copy = self._folder / str(len(self._sessions))
        shutil.copytree(path, copy, ignore=shutil.ignore_patterns("*.index", "*.timeindex"))
        self._sessions.append(EmbeddedSession())
        here = report_of(self._sessions[-1], copy, *arguments)
        assert different(found(here), found(report_of(self._spark, copy, *arguments))) == {}
        return here

    def close(self) -> None:
        """End the sessions."""
        for session in self._sessions:
            session.stop()


def different(here: Found, on_spark: Found) -> dict[str, Any]:
    """Return the differences, by the name of the table: types, and rows that only one engine has."""
    assert here.keys() == on_spark.keys()
    differing: dict[str, Any] = {}
    for name in here:
        if here[name] != on_spark[name]:
            (types, rows), (types_of_spark, rows_of_spark) = here[name], on_spark[name]
            differing[name] = {
                "types": [pair for pair in zip(types, types_of_spark, strict=False) if pair[0] != pair[1]],
                "only here": [row for row in rows if row not in rows_of_spark],
                "only on Spark": [row for row in rows_of_spark if row not in rows],
            }
    return differing
