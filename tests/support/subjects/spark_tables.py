"""Rows of tables, and where the samples are that jobs read."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame

from tests.support.places import DATA, ROOT

SEGMENTS = DATA / "segments"
CAPTURE = ROOT / "examples" / "capture"


def rows(frame: DataFrame) -> list[dict[str, Any]]:
    return frame.toArrow().to_pylist()  # type: ignore[no-any-return]
