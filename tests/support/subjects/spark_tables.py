"""Rows of tables, and where the samples are that jobs read."""

from __future__ import annotations

from typing import Any

from kipjobs.engines import DataFrame
from kipjobs.report.report import Report
from tests.support.places import DATA, ROOT

SEGMENTS = DATA / "segments"
CAPTURE = ROOT / "examples" / "capture"


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    return frame.toArrow().to_pylist()  # type: ignore[no-any-return]


def tables(report: Report, *names: str) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of these tables of a report."""
    return {table.name: rows(table.frame) for table in report.tables if table.name in names}
