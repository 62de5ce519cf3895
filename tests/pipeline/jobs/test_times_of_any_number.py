"""Times that no date has are numbers with their units, in all formats, and text from logs steers no terminal."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from unicodedata import category

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kipjobs.engines.embedded.session import EmbeddedSession
from kipjobs.jobs.offsets.report import offsets_report
from kipjobs.jobs.shared.options import Outputs
from kipjobs.jobs.shared.running import deliver
from kipjobs.report.report import Chart, cell, chart_rows
from kipwire.cli import output
from kipwire.cli.jobs import ReportFormat
from kipwire.cli.output import metrics_text
from kipwire.tables.arrow import TIMESTAMP, python_values
from kipwire.tools.text import printable_json
from kipwire.tools.times import EPOCH
from tests.support.command_line import call
from tests.support.places import DATA
from tests.support.subjects.offset_logs import Batch, Commit, write_logs

CASES = DATA / "cases"


@settings(max_examples=25)
@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1) | st.integers(-(10**14), 10**15), max_size=4))
@example([253_402_300_799_999_999, 253_402_300_800_000_000, None])
@example([-62_135_596_800_000_000, -62_135_596_800_000_001])
def test_a_column_of_times_has_a_value_for_every_number(numbers: list[int | None]) -> None:
    for found, number in zip(python_values(pa.array(numbers, pa.int64()).cast(TIMESTAMP)), numbers, strict=True):
        if isinstance(found, str):
            assert number is not None
            assert found == (f"{number}us" if number % 1000 else f"{number // 1000}ms")
            assert cell(found) == found
        else:
            assert found is None if number is None else (found - EPOCH) // timedelta(microseconds=1) == number


def test_a_time_without_a_date_has_no_place_on_the_axis_of_a_chart() -> None:
    class Frame:
        def toArrow(self) -> pa.Table:  # noqa: N802  PySpark's own name
            return pa.table({"time": pa.array([0, 2**62, None], pa.int64()).cast(TIMESTAMP), "lag": [1, 2, 3]})

    assert [row["lag"] for row in chart_rows(Chart("", Frame(), print))] == [1]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("job", "case", "expected"),
    [
        (
            "transactions",
            "one-time-in-microseconds",
            [
                ("producers", {"producer_id": 5, "last_timestamp": "1700000000000000ms"}),
                ("implausible_times", {"topic": "orders", "producer_id": 5, "batches": 1, "first_offset": 1}),
                ("partitions", {"topic": "orders", "end_offset": 3}),
            ],
        ),
        (
            "offsets",
            "times-in-microseconds",
            [("groups", {"group": "g", "lag": 1, "lag_seconds": None, "last_commit": "1700000000123456ms"})],
        ),
        # 64 bits do not hold the microseconds of these.
        (
            "transactions",
            "times-in-nanoseconds",
            [
                ("open", {"producer_id": 3, "last_timestamp": None, "held_back": 1}),
                ("implausible_times", {"producer_id": 3, "highest": "1700000000123456789ms"}),
            ],
        ),
        pytest.param(
            *("offsets", "times-in-nanoseconds", [("groups", {"group": "g", "offset": 1, "lag": 1})]),
            marks=pytest.mark.night,
        ),
    ],
)
def test_a_time_in_another_unit_hides_no_row(
    job: str,
    case: str,
    expected: list[tuple[str, dict[str, object]]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    more = ("--out", "tables", "--out-format", "csv")
    done = call(job, CASES / case, "-f", "json", *more, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
    assert done.returncode == 0
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    for table, columns in expected:
        assert any(row["table"] == table and columns.items() <= row.items() for row in rows), (table, rows)
        assert (tmp_path / "tables" / f"{table}.csv").is_file()


@settings(max_examples=50)
@given(st.text(max_size=6) | st.text(st.characters(categories=("Cc", "Cf", "Zl", "Zp")), max_size=6))
@example("\x9b\x85\x7f\u202e\u2028\U000e0001\ufeff")
def test_json_for_people_means_the_same_without_control_characters(text: str) -> None:
    written = json.dumps({"name": text}, ensure_ascii=False)
    shown = printable_json(written)
    assert json.loads(shown) == {"name": text}
    assert not [one for one in shown if category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp")]
    assert shown == written or not written.isprintable()


def test_names_from_logs_steer_no_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    group = "\x9b31m\x85\x7f\u202e\u2028 größe"
    commits = [Commit(group, 0, 1, 2)]
    with EmbeddedSession() as session:
        report = offsets_report(session, str(write_logs(tmp_path, "t", {0: [Batch(0, [1])]}, commits)))
        capsys.readouterr()
        deliver(report, Outputs(shown=ReportFormat.JSON))
        said = capsys.readouterr().out
        assert {row["group"] for row in map(json.loads, said.splitlines()) if row["table"] == "groups"} == {group}
        assert "größe" in said
        assert not [one for one in said if category(one) in ("Cc", "Cf", "Zl", "Zp") and one != "\n"]
        monkeypatch.setattr(output, "is_terminal", lambda stream: True)
        deliver(report, Outputs(shown=ReportFormat.PROMETHEUS))
        assert "\x9b" not in (said := capsys.readouterr().out)
        assert r"\x9b31m" in said
    monkeypatch.setattr(output, "is_terminal", lambda stream: False)
    assert metrics_text(group) == group
