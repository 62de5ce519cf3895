"""Names are data: on pages, in charts and on terminals; and no fault of a page costs the tables."""

from __future__ import annotations

import html
import json
import os
import re
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from kipjobs.jobs.shared import running
from kipjobs.jobs.shared.options import Outputs
from kipjobs.report import charts
from kipjobs.report.outputs import write_file, write_tables
from kipjobs.report.report import Chart, FirstRows, Report, Table, cell
from kipjobs.report.terminal import report_lines
from kipjobs.report.views import page
from kipwire.tables.errors import JobError
from kipwire.tools.atomic import new_folder, rename_new, write_atomically

HOSTILE = [
    "a$b_{$c",
    "$$",
    "$\\notacommand$",
    "${{{{{{{{{{{{{{{{$",
    "$x$",
    "price $5 and $6",
    "_hidden",
    "__consumer_offsets",
    "<script>alert(1)</script>",
    "&amp;",
    "\U0001f600 \u6f22\u5b57",
    "-",
    "%s {x} {0}",
    "[/red]",
]
TIME = datetime(2026, 11, 21, tzinfo=UTC)
DRAWN = (charts.lag_over_time, charts.latencies, charts.events, charts.transactions, charts.dead_bytes)


def drawn(draw: Callable[[Any, list[dict[str, Any]]], None], rows: list[dict[str, Any]]) -> str:
    chart = Chart("chart", None, draw)  # type: ignore[arg-type]
    nothing = FirstRows(Table("t", "t", None, ()), (), (), True)  # type: ignore[arg-type]
    return page(Report("r", ()), [nothing], [(chart, rows)])


def row(name: str) -> dict[str, Any]:
    return {"name": name, "time": TIME, "lag": 3, "median": 1, "high": 2, "end": None, "is_hanging": True} | {
        "dead_bytes": 5,
        "live_bytes": 7,
    }


@pytest.mark.parametrize("names", [HOSTILE[:7], HOSTILE[7:]])
@pytest.mark.parametrize("draw", DRAWN)
def test_every_name_is_in_every_chart_as_it_is(
    draw: Callable[[Any, list[dict[str, Any]]], None], names: list[str]
) -> None:
    text = drawn(draw, [row(name) for name in names])
    for name in names:
        assert f">{html.escape(name, quote=False)}</text>" in text


def test_control_characters_of_names_are_escapes_on_pages() -> None:
    name = "a\x1b[31m\x00\u202eb\nc"
    for draw in DRAWN:
        assert r">a\x1b[31m\x00\u202eb\x0ac</text>" in drawn(draw, [row(name)])
    report = Report(name, (), notes=(name,))
    shown = FirstRows(Table("t", name, None, ()), ("x",), ({"x": name},), True)  # type: ignore[arg-type]
    assert page(report, [shown], []).count(r"a\x1b[31m\x00\u202eb\x0ac") == 5


def test_the_terminal_gets_data_as_text() -> None:
    name = "[/red]\x1b]0;x\x07[link=a]b"
    shown = FirstRows(Table("t", name, None, ()), ("x",), ({"x": name},), True)  # type: ignore[arg-type]
    text = "".join(report_lines(Report(name, (), notes=(name,)), [shown], width=80))
    assert text.count(r"[/red]\x1b]0;x\x07[link=a]b") == 4


# Large tables.


def groups(count: int) -> FirstRows:
    """Return the offsets of so many partitions, 20 for each group."""
    columns = ("group", "topic", "partition", "offset", "lag", "last_commit")
    rows = tuple(
        dict(zip(columns, (f"group-{n // 20} <script>", f"topic-{n % 50}", n, n * 1000, n % 97, TIME), strict=True))
        for n in range(count)
    )
    return FirstRows(Table("groups", "Groups", None, ()), columns, rows, True)  # type: ignore[arg-type]


def data_of(text: str) -> list[list[list[str]]]:
    """Return the rows of each table, as the page's script reads them."""
    return [json.loads(one) for one in re.findall(r'<script type="application/json">(.*?)</script>', text)]


def test_a_page_of_500_groups_and_10000_partitions_has_all_rows_in_two_megabytes() -> None:
    text = page(Report("r", ()), [groups(10_000)], [])
    assert len(text) < 2_000_000
    (rows,) = data_of(text)
    assert rows == [[cell(value, name) for name, value in row.items()] for row in groups(10_000).rows]
    assert "only" not in text and "This page has" not in text


def test_a_page_shares_its_room_between_tables_and_says_where_the_rest_is() -> None:
    text = page(Report("r", ()), [groups(40_000), groups(100)], [])
    assert len(text) < 2_000_000
    first, second = data_of(text)
    assert 8_000 < len(first) < 40_000 and len(second) == 100
    assert f"This page has the first {len(first):,} rows; --out writes all." in text
    assert text.count("This page has") == 1


def test_the_first_table_is_whole_before_others_share_the_room() -> None:
    text = page(Report("r", ()), [groups(10_000), groups(40_000), groups(40_000)], [])
    assert len(text) < 2_000_000
    first, second, third = data_of(text)
    assert len(first) == 10_000
    assert 1_000 < len(second) < 40_000 and abs(len(second) - len(third)) < 2


def test_a_page_without_scripts_has_the_rows_of_a_terminal() -> None:
    text = page(Report("r", ()), [groups(1_000)], [])
    assert text.count("<tr>") == 1 + 20
    assert '<div class="tools" hidden>' in text


# Tables, without Spark: frames that write a file.


class Frame:
    """Writes a table as Spark does: not where one is."""

    def __init__(
        self, content: str, meanwhile: Callable[[], object] = lambda: None, *, elsewhere: bool = False
    ) -> None:
        self.content, self.meanwhile = content, meanwhile
        self.write = self
        self.elsewhere = elsewhere
        self.paths: list[str] = []
        self.sparkSession = self.read = self

    def text(self, path: str) -> Any:
        found = [] if self.elsewhere else [(Path(path).read_text(),)]
        return SimpleNamespace(collect=lambda: found)

    def parquet(self, path: str) -> None:
        self.meanwhile()
        self.paths.append(path)
        if not self.elsewhere:
            Path(path).mkdir()  # as Spark, fails if it is there
            (Path(path) / "part").write_text(self.content)


def table(name: str, frame: Frame) -> Table:
    return Table(name, name, frame, ())  # type: ignore[arg-type]


def test_a_second_run_into_the_same_folder_leaves_the_first_ones_tables(tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = [table("a", Frame("first")), table("b", Frame("first"))]
    second = [table("x", Frame("second")), table("b", Frame("second", lambda: write_tables(out, first)))]
    with pytest.raises(JobError, match=r"out/b: another run has written it meanwhile, and nothing is overwritten"):
        write_tables(out, second)
    assert {str(path.relative_to(out)): path.read_text() for path in out.rglob("part")} == {
        "a/part": "first",
        "b/part": "first",
    }
    assert sorted(os.listdir(out)) == ["a", "b"]  # noqa: PTH208


def test_a_table_that_fails_leaves_what_others_wrote(tmp_path: Path) -> None:
    def fail() -> None:
        write_tables(tmp_path, [table("theirs", Frame("theirs"))])
        raise RuntimeError("no space")

    with pytest.raises(RuntimeError, match="no space"):
        write_tables(tmp_path, [table("good", Frame("")), table("theirs", Frame("", fail))])
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]


@pytest.mark.parametrize("there", ["", "a", "a/b"])
def test_a_table_that_fails_leaves_no_new_folder(there: str, tmp_path: Path) -> None:
    (tmp_path / there).mkdir(parents=True, exist_ok=True)
    before = sorted(tmp_path.rglob("*"))

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_tables(tmp_path / "a" / "b", [table("good", Frame("")), table("late", Frame("", interrupt))])
    assert sorted(tmp_path.rglob("*")) == before


def test_where_spark_has_other_files_it_writes_to_the_places_themselves(tmp_path: Path) -> None:
    frame = Frame("", elsewhere=True)
    write_tables(tmp_path / "out", [table("a", frame), table("b", frame)])
    assert frame.paths == [str(tmp_path / "out" / name) for name in "ab"]


def test_a_page_that_fails_costs_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def draw(axes: Any, rows: list[dict[str, Any]]) -> None:
        raise RecursionError("no such chart")

    rows: Any = SimpleNamespace(toArrow=lambda: pa.Table.from_pylist([row("a")]))
    of_report = table("a", Frame("kept"))
    report = Report("r", (of_report,), (Chart("Lag", rows, draw),))
    monkeypatch.setattr(running, "first_rows", lambda one, most: FirstRows(one, (), (), True))
    with pytest.raises(JobError, match=r"the chart 'Lag' cannot be drawn: RecursionError\('no such chart'\)"):
        running.deliver(report, Outputs(tmp_path / "out", html=tmp_path / "page.html"))
    assert (tmp_path / "out" / "a" / "part").read_text() == "kept"
    assert not (tmp_path / "page.html").exists()
    assert "Tables: " in capsys.readouterr().out


# Files that are whole or not there.


def test_a_page_goes_through_no_link_that_somebody_else_made(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")
    for name in (".page.html.part", "page.html"):
        (tmp_path / name).symlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="is a link, which is not written through") as error:
        write_file(tmp_path / "page.html", "page")
    assert error.value.filename == str(tmp_path / "page.html")
    assert (tmp_path / "precious").read_text() == "kept"
    assert (tmp_path / "page.html").is_symlink()
    (tmp_path / "page.html").unlink()
    write_file(tmp_path / "page.html", "page")
    assert (tmp_path / "page.html").read_text() == "page"
    assert (tmp_path / "precious").read_text() == "kept"


def test_a_whole_file_has_the_permissions_that_it_had_or_that_files_get(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_atomically(tmp_path / "new", b"1")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    (tmp_path / "new").chmod(0o640)
    write_atomically(tmp_path / "new", b"2")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    assert (tmp_path / "new").read_bytes() == b"2"


def test_what_cannot_be_written_is_reported_by_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "none" / "file", tmp_path / "folder"):
        with pytest.raises(OSError) as error:
            write_atomically(place, b"")
        assert error.value.filename == str(place)
        assert ".kipwire" not in str(error.value)
    assert os.listdir(tmp_path) == ["folder"]  # noqa: PTH208


@pytest.mark.parametrize("there", ["file", "folder", "link"])
def test_a_new_folder_replaces_nothing(tmp_path: Path, there: str) -> None:
    place = tmp_path / "place"
    if there == "file":
        place.write_text("theirs")
    elif there == "link":
        place.symlink_to(tmp_path)
    else:
        place.mkdir()
        (place / "theirs").write_text("")
    with new_folder(beside=place) as made:
        (made / "ours").write_text("")
        with pytest.raises(FileExistsError, match="place"):
            rename_new(made, place)
    assert os.listdir(tmp_path) == ["place"]  # noqa: PTH208


def test_numbers_that_are_names_can_be_pasted_and_quantities_can_be_read() -> None:
    names = ("producer_id", "topic_id", "broker_id", "producer_epoch", "last_stable_offset", "offset", "partition")
    for column in (*names, "replicas", "isr", "leader", "marker_position", "log_start", "snapshot_epoch", "line"):
        assert cell(990001, column) == "990001", column
        assert cell([990001, 7], column) == "990001, 7"
    for column in ("lag", "records", "response_bytes", "held_back", "timeout_ms", "leaders", "partitions", "idle", ""):
        assert cell(990001, column) == "990,001", column
    frame: Any = SimpleNamespace(columns=["producer_id", "records"])
    shown = FirstRows(
        Table("t", "T", frame, ()), ("producer_id", "records"), ({"producer_id": 990001, "records": 1000},), True
    )
    assert "990001" in "".join(report_lines(Report("R", (shown.table,)), [shown], width=80))
    html = page(Report("R", (shown.table,)), [shown], [])
    assert '["990001","1,000"]' in html and ">990001</td>" in html
