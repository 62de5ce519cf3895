"""The notebook runs from top to bottom, and is kept without results."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.places import ROOT

# All of them in one process, where they share a session.
pytestmark = [
    pytest.mark.xdist_group("spark"),
    # py4j and Spark leave sockets and files to be collected, and pandas has deprecated what Spark still uses.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
NOTEBOOK = json.loads((ROOT / "examples" / "kafka_logs.ipynb").read_text("utf-8"))
CELLS = ["".join(cell["source"]) for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]


def test_the_notebook_is_kept_without_results_and_fits_a_page() -> None:
    assert (NOTEBOOK["nbformat"], NOTEBOOK["nbformat_minor"]) == (4, 5)
    of_code = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in of_code)
    assert len({cell["id"] for cell in NOTEBOOK["cells"]}) == len(NOTEBOOK["cells"])
    for number, cell in enumerate(CELLS):
        compile(cell, f"cell {number}", "exec")
        assert max(map(len, cell.splitlines())) <= 120


def test_the_notebook_runs_from_top_to_bottom(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(CELLS):
        exec(compile(cell, f"cell {number}", "exec"), names)
    assert names["spark"] is spark
    assert names["first"] == names["second"] == names["orders"].count() > 0
    assert names["commits"].count() > 0
    seen = names["seen"].get
    assert 0 < seen["broken"] < seen["rows"]
    lags = {(row["group"], row["partition"]): row["lag"] for row in names["latest"].collect()}
    assert lags["kp-group", 0] == 0
    shown = capsys.readouterr().out
    assert "kp-group" in shown and "zstd" in shown
