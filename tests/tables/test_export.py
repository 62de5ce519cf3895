"""Files of rows: whole or not at all, and with a state each row once, whenever runs are killed."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from kafka_messages.delete_records_request.v2 import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kipwire import KipwireError
from kipwire.aio import connect
from kipwire.cluster import ONCE, Cluster
from kipwire.records import Record, write_batch
from kipwire.tables import JobError, SourceError, scan
from kipwire.tables.query import Query, query_of
from kipwire.tables.writing import export as exporting
from kipwire.tables.writing import files, parts, state
from kipwire.tables.writing.export import Written, export
from kipwire.testing import FakeBroker
from tests.support.cases import THOROUGH, some
from tests.support.places import DATA, ROOT

SEGMENTS = DATA / "segments"
DAY = 86_400_000
FIRST_MIDNIGHT = int(datetime(2026, 11, 28, tzinfo=UTC).timestamp() * 1000)
LAST_DAY = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp() * 1000) + DAY - 1
EDGES = (FIRST_MIDNIGHT - 1, FIRST_MIDNIGHT, LAST_DAY)
"""Times at both sides of midnight, and in the last year that dates have."""
FIRST = int(datetime(2026, 11, 27, 20, tzinfo=UTC).timestamp() * 1000)


def add(folder: Path, *batches: bytes, base: int = 0) -> Path:
    """Add batches to a segment of a partition."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{base:020}.log").open("ab") as file:
        file.writelines(batches)
    return folder


def batch_at(offset: int, count: int = 3, step: int = 3_600_000) -> bytes:
    return write_batch(
        [Record(offset=at, timestamp=FIRST + at * step, value=b"%d" % at) for at in range(offset, offset + count)]
    )


def visible(folder: Path) -> list[Path]:
    """Return the files that readers of a folder see."""
    return sorted(one for one in folder.rglob("*") if one.is_file() and not one.name.startswith("."))


def rows_in(folder: Path) -> list[dict[str, Any]]:
    """Return the rows that a reader of a folder of Parquet files sees, by partition and offset."""
    if not visible(folder):
        return []
    found = pyarrow.dataset.dataset(visible(folder), format="parquet").to_table().to_pylist()
    return sorted(found, key=lambda row: (row["partition"], row["offset"]))


# Formats

READ: dict[str, Callable[[Path], Any]] = {
    "parquet": lambda path: pq.read_table(path),
    "arrow": lambda path: pa.ipc.open_file(path).read_all(),
}


@pytest.mark.parametrize("end", READ)
def test_files_of_arrows_formats_have_the_rows_of_a_scan(tmp_path: Path, end: str) -> None:
    out = tmp_path / f"orders.{end}"
    assert export(query_of(SEGMENTS, topics="orders"), out) == Written(1430, 1)
    assert READ[end](out).equals(scan(SEGMENTS, topics="orders").read_all())
    commits = tmp_path / f"commits.{end}"
    export(query_of(SEGMENTS, decode="coordinator", columns=["offset", "record"]), commits)
    assert READ[end](commits).equals(scan(SEGMENTS, decode="coordinator", columns=["offset", "record"]).read_all())


def test_files_of_text_have_the_rows_of_a_scan(tmp_path: Path) -> None:
    expected = scan(SEGMENTS, topics="orders").read_all()
    for end, function in (("csv", "read_csv"), ("jsonl", "read_json")):
        out = tmp_path / f"orders.{end}"
        export(query_of(SEGMENTS, topics="orders"), out)
        relation = duckdb.sql(f"select *, from_base64(value) as bytes from {function}('{out}')")
        assert relation is not None
        found = relation.to_arrow_table()
        for name in ("topic", "partition", "offset", "timestamp_type", "is_transactional"):
            assert found[name].to_pylist() == expected[name].to_pylist(), (end, name)
        assert found["bytes"].to_pylist() == expected["value"].to_pylist()
    frames = tmp_path / "frames.jsonl"
    assert export(query_of(ROOT / "examples/capture", level="frames"), frames).rows == 2186


def test_memory_is_bounded_by_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "ROWS", 100)
    export(query_of(SEGMENTS, topics="orders"), tmp_path / "o.parquet")
    assert pq.ParquetFile(tmp_path / "o.parquet").num_row_groups > 2


@pytest.mark.parametrize("by", [("topic",), ("date",), ("topic", "date")])
def test_folders_by_topic_and_date_are_read_as_hives(tmp_path: Path, by: tuple[str, ...]) -> None:
    for name in ("a-0", "a-1", "b-0"):
        edges = [Record(offset=at, timestamp=one) for at, one in enumerate((-1, *EDGES), 30)]
        add(tmp_path / "logs" / name, batch_at(0, 30), write_batch(edges))
    out = tmp_path / "rows.parquet"
    query = query_of(tmp_path / "logs", columns=["partition", "offset"])
    assert export(query, out, by) == Written(102, len(visible(out)))
    expected = scan(tmp_path / "logs", columns=["topic", "partition", "offset", "timestamp"]).read_all()
    dates = [None if one is None else one.date() for one in expected["timestamp"].to_pylist()]
    wanted = pl.DataFrame(expected.append_column("date", pa.array(dates, pa.date32())))
    wanted = wanted.select("partition", "offset", *by).sort(pl.all())
    assert pl.scan_parquet(out, hive_partitioning=True).collect().select(wanted.columns).sort(pl.all()).equals(wanted)
    if "date" in by:
        assert {part for file in visible(out) for part in file.parts if part.startswith("date=")} == {
            *("date=2026-11-27", "date=2026-11-28", "date=2026-11-29", "date=__HIVE_DEFAULT_PARTITION__"),
            "date=9999-12-31",
        }


def test_no_more_files_are_open_than_a_process_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "OPEN", 2)
    add(tmp_path / "a-0", batch_at(0, 12, DAY), batch_at(12, 12, -DAY))
    out = tmp_path / "rows.parquet"
    done = export(query_of(tmp_path / "a-0", columns=["partition", "offset"]), out, ("date",))
    assert [row["offset"] for row in rows_in(out)] == [*range(24)]
    assert done.files == len(visible(out)) > 22


# A state

Asked = Callable[[], Query]


class Growing:
    """A log that grows, with the offsets that its records have."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self._chance = Random(seed)
        self._ends = [0, 0]
        self._bases = [0, 0]

    def grow(self) -> None:
        for number, end in enumerate(self._ends):
            for _ in range(self._chance.randrange(4)):
                count = self._chance.randrange(1, 5)
                if self._chance.random() < 0.3:
                    self._bases[number] = end
                add(self.folder / f"t-{number}", batch_at(end, count), base=self._bases[number])
                end += count + self._chance.choice((0, 0, 2))
            self._ends[number] = end


@pytest.fixture
def small_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let rounds end after few batches."""
    monkeypatch.setattr(exporting, "ROUND", 300)


@pytest.mark.usefixtures("small_rounds")
@pytest.mark.parametrize("seed", some(range(9)))
def test_runs_over_a_growing_log_write_what_one_run_over_all_of_it_writes(tmp_path: Path, seed: int) -> None:
    log, out = Growing(tmp_path / "logs", seed), tmp_path / "rows.parquet"
    add(log.folder / "t-0")
    written = 0
    for _ in range(4):
        log.grow()
        done = export(query_of(log.folder), out, ("date",), tmp_path / "state.json")
        written += done.rows
        assert export(query_of(log.folder), out, ("date",), tmp_path / "state.json") == Written()
    export(query_of(log.folder), tmp_path / "all.parquet")
    everything = pq.read_table(tmp_path / "all.parquet").to_pylist()
    assert rows_in(out) == sorted(everything, key=lambda row: (row["partition"], row["offset"]))
    assert len(rows_in(out)) == written > 5


class Kills:
    """Copies a folder at steps of a run that a process may be killed before: all of them if tests are thorough."""

    def __init__(self, folder: Path, copies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.copies = copies
        self.taken: list[Path] = []
        self.steps = 0
        copies.mkdir()
        for owner, name in ((Path, "replace"), (Path, "mkdir"), (os, "fsync"), (files.RowFile, "flush")):
            monkeypatch.setattr(owner, name, self._noting(getattr(owner, name), name))

    def _noting(self, real: Callable[..., Any], name: str) -> Callable[..., Any]:
        def step(*arguments: Any, **named: Any) -> Any:
            self._copy(is_decisive=name == "replace")
            return real(*arguments, **named)

        return step

    def _copy(self, *, is_decisive: bool) -> None:
        self.steps += 1
        if THOROUGH or self.steps % (1 if is_decisive else 15) == 0:
            self.taken.append(self.copies / str(self.steps))
            shutil.copytree(self.folder, self.taken[-1])


@pytest.mark.parametrize("by", [("date",), pytest.param((), marks=pytest.mark.night)])
def test_a_run_that_is_killed_at_any_step_leaves_no_row_twice_and_the_next_one_writes_the_rest(
    tmp_path: Path, by: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "made"
    log, out, kept = Growing(tmp_path / "logs", 4), made / "rows.parquet", made / "state.json"
    made.mkdir()
    monkeypatch.setattr(exporting, "ROUND", 500)

    def run() -> Written:
        return export(query_of(log.folder), out, by, kept)

    for _ in range(3):
        log.grow()
    run()
    before = len(rows_in(out))
    for _ in range(2):
        log.grow()
    with pytest.MonkeyPatch.context() as patched:
        kills = Kills(made, tmp_path / "copies", patched)
        done = run()
    expected = rows_in(out)
    assert len(expected) == before + done.rows > before > 0 and done.files > 2
    monkeypatch.setattr(exporting, "ROUND", 300)  # so that other files have the rows of the round that was killed
    seen = set()
    for copy in kills.taken:
        shutil.rmtree(made)
        shutil.copytree(copy, made)
        left = rows_in(out)
        assert left == [row for row in expected if row in left] and before <= len(left)
        seen.add(len(left))
        run()
        assert rows_in(out) == expected
        assert not [*out.rglob(".part-*")]
    assert len(seen) > 1 and kills.steps > 20


@pytest.mark.usefixtures("small_rounds")
def test_a_run_that_fails_keeps_its_rounds_and_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, out, kept = Growing(tmp_path / "logs", 4), tmp_path / "rows.parquet", tmp_path / "state.json"
    for _ in range(4):
        log.grow()
    export(query_of(log.folder), tmp_path / "all.parquet")
    expected = pq.read_table(tmp_path / "all.parquet").num_rows
    calls = iter(range(1000))
    add_row = files.RowFile.add

    def full(file: files.RowFile, batch: pa.RecordBatch) -> None:
        if next(calls) == 3:
            raise OSError(28, "No space left on device", str(file.path))
        add_row(file, batch)

    monkeypatch.setattr(files.RowFile, "add", full)
    with pytest.raises(OSError, match="No space left"):
        export(query_of(log.folder), out, (), kept)
    assert 0 < len(rows_in(out)) < expected
    assert not [*out.rglob(".part-*")]
    export(query_of(log.folder), out, (), kept)
    assert len(rows_in(out)) == expected


@pytest.mark.night
def test_runs_that_are_killed_ten_times_write_each_row_once(tmp_path: Path) -> None:
    logs, out = tmp_path / "logs", tmp_path / "rows.parquet"
    chance, end = Random(1), 0
    arguments = ("dump", logs, "--out", out, "--state", tmp_path / "state.json")
    command = [sys.executable, "-m", "kipwire", *map(str, arguments)]
    killed = 0
    while killed < 10:
        for _ in range(200):
            add(logs / "t-0", write_batch([Record(offset=at, value=b"v" * 20_000) for at in range(end, end + 10)]))
            end += 10
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT) as process:
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.3 + chance.random())
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                killed += 1
        offsets = [row["offset"] for row in rows_in(out)] if out.exists() else []
        assert offsets == sorted(set(offsets))
    subprocess.run(command, check=True, cwd=ROOT)
    export(query_of(logs), tmp_path / "whole.parquet")
    whole = pq.read_table(tmp_path / "whole.parquet").to_pylist()
    assert rows_in(out) == whole and len(whole) == end


def test_compaction_and_a_damaged_batch_between_two_runs_write_nothing_twice(tmp_path: Path) -> None:
    folder, out, kept = add(tmp_path / "t-0", batch_at(0)), tmp_path / "rows.parquet", tmp_path / "state.json"
    export(query_of(folder, mode="PERMISSIVE"), out, (), kept)
    damaged = batch_at(3)
    add(folder, damaged[:-1] + bytes([damaged[-1] ^ 1]), batch_at(6))
    assert export(query_of(folder, mode="PERMISSIVE"), out, (), kept) == Written(4, 1, 1)
    (folder / f"{0:020}.log").write_bytes(write_batch([Record(offset=1, timestamp=FIRST)]) + batch_at(6))  # compacted
    add(folder, batch_at(9), base=9)
    assert export(query_of(folder, mode="PERMISSIVE"), out, (), kept) == Written(3, 1)
    found = pyarrow.dataset.dataset(visible(out)).to_table()["offset"].to_pylist()
    assert sorted(one for one in found if one is not None) == [0, 1, 2, 6, 7, 8, 9, 10, 11] and None in found


def test_records_that_were_deleted_before_they_were_read_are_a_loss(tmp_path: Path) -> None:
    folder, out, kept = add(tmp_path / "t-0", batch_at(0)), tmp_path / "rows.parquet", tmp_path / "state.json"
    export(query_of(folder), out, (), kept)
    (folder / f"{0:020}.log").unlink()
    add(folder, batch_at(9), base=9)
    with pytest.raises(SourceError, match="offsets 3 to 8 were deleted before they were read"):
        export(query_of(folder), out, (), kept)
    with pytest.warns(UserWarning, match="offsets 3 to 8 were deleted"):
        assert export(query_of(folder, fail_on_data_loss=False), out, (), kept).rows == 3


# What is refused


def kept_run(folder: Path) -> tuple[Path, Path, Path]:
    """Return a log, a folder of rows and its state."""
    logs, out, kept = folder / "logs", folder / "rows.parquet", folder / "state.json"
    add(logs / "a-0", batch_at(0))
    add(folder / "other" / "a-0", batch_at(0))
    export(query_of(logs), out, (), kept)
    return logs, out, kept


Run = Callable[[Path, Path, Path], object]


def with_state(text: str, by: tuple[str, ...] = (), **wanted: Any) -> tuple[Run, str]:
    """Return another run with the same state, and the line that refuses it."""
    return lambda logs, out, kept: export(query_of(logs, **wanted), out, by, kept), text


def elsewhere(text: str, name: str, by: tuple[str, ...] = (), **wanted: Any) -> tuple[Run, str]:
    """Return a run without a state, to another file."""
    return lambda logs, out, kept: export(query_of(logs, **wanted), out.parent / name, by), text


def of_both(state: str | None) -> Run:
    """Return a run over two folders with the same partition."""

    def run(logs: Path, out: Path, kept: Path) -> None:
        paths = [logs, logs.parent / "other"]
        export(query_of(paths), out.with_name("c.csv"), (), state and kept.with_name(state))  # type: ignore[arg-type]

    return run


REFUSED: list[tuple[Run, str]] = [
    (
        lambda logs, out, kept: export(query_of(logs.parent / "other"), out, (), kept),
        "state.json: the runs of this state read ",
    ),
    with_state("had other columns: topic string, this one key binary", columns=["key"]),
    with_state("had other columns: timestamp_type string, this one message ", message="OffsetCommitValue"),
    with_state("had other topics: nothing, this one a", topics="a"),
    with_state("had other bounds: nothing, this one (1, ", from_offset=1),
    with_state("had other columns: nothing, this one error string", mode="PERMISSIVE"),
    with_state("had other folders: nothing, this one date", ("date",)),
    with_state("a state are for records, not for batches", level="batches"),
    (
        lambda logs, out, kept: export(query_of(logs), out.with_name("b.parquet"), (), kept),
        "the runs of this state wrote to ",
    ),
    (lambda logs, out, kept: export(query_of(logs), out, (), kept.with_name("new")), "rows.parquet: has files that "),
    (
        lambda logs, out, kept: export(query_of(f"{logs}*"), out.with_name("c.csv"), (), kept.with_name("new")),
        "with --state give folders",
    ),
    elsewhere("rows.parquet: is there already, and nothing is overwritten", "rows.parquet"),
    elsewhere("rows.parquet: is there already, and nothing is overwritten", "rows.parquet", ("topic",)),
    elsewhere("the end of its name does not give a format; it must be one of .parquet,", "a.txt"),
    elsewhere("by topic and date, not by 'hour'", "a.csv", ("hour",)),
    elsewhere("no does not exist", "no/a.csv"),
    elsewhere("a/0 offset 0: OffsetCommitValue: ", "c.csv", message="OffsetCommitValue"),
    (of_both(None), "so its rows would be there twice"),
    (of_both("new"), "so its rows would be there twice"),
]


@pytest.mark.parametrize(("run", "text"), REFUSED)
def test_what_is_refused_is_one_line_and_writes_nothing(
    tmp_path: Path, run: Callable[[Path, Path, Path], object], text: str
) -> None:
    kept = kept_run(tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    with pytest.raises(KipwireError) as raised:
        run(*kept)
    assert text in str(raised.value) and "\n" not in str(raised.value) and len(str(raised.value)) < 400
    after = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file() and file.suffix != ".lock"}
    assert after == {file: data for file, data in before.items() if file.suffix != ".lock"}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "is not a state that kipwire has written"),
        (b"[]", "is not a state that kipwire has written"),
        (b'{"kipwire_export": 1}', "is not a state that kipwire has written"),
        (b'{"kipwire_export": 2}', "a later release of kipwire has written this state"),
        (b'{"kipwire_export": 1, "files": ["../x"], "of": {}, "topics": {}, "round": 1}', "is not a state that"),
        (b"[" * 100_000, "is not a state that kipwire has written"),
        (b"\xff", "is not a state that kipwire has written"),
    ],
)
def test_a_file_that_is_no_state_is_refused(tmp_path: Path, content: bytes, text: str) -> None:
    add(tmp_path / "a-0", batch_at(0))
    (tmp_path / "state").write_bytes(content)
    with pytest.raises(JobError, match=text):
        export(query_of(tmp_path / "a-0"), tmp_path / "rows.csv", (), tmp_path / "state")
    assert (tmp_path / "state").read_bytes() == content and not (tmp_path / "rows.csv").exists()


def test_two_runs_with_one_state_or_one_folder_are_refused(tmp_path: Path) -> None:
    logs, out, kept = kept_run(tmp_path)
    with (
        state.locked(kept.with_name("state.json.lock"), kept),
        pytest.raises(JobError, match=r"state\.json: another run"),
    ):
        export(query_of(logs), out, (), kept)
    with state.locked(out / parts.LOCK, out), pytest.raises(JobError, match=r"rows\.parquet: another run is using it"):
        export(query_of(logs), out, (), kept)
    assert export(query_of(logs), out, (), kept) == Written()


def test_a_file_that_is_gone_before_readers_saw_it_is_not_passed_over(tmp_path: Path) -> None:
    logs, out, kept = kept_run(tmp_path)
    state.write_state(kept, state.read_state(kept)._replace(files=("part-000009.parquet",)))  # type: ignore[union-attr]
    with pytest.raises(JobError, match=r"part-000009\.parquet: a run before has written it, and it is gone"):
        export(query_of(logs), out, (), kept)


# Brokers


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker(topics={"orders": 2}) as fake:
        yield fake


def topic(broker: FakeBroker, **wanted: Any) -> Query:
    return query_of(Cluster(broker.bootstrap_servers, patience=ONCE), topics="orders", **wanted)


def fill(broker: FakeBroker, values: Sequence[int]) -> None:
    for one in values:
        broker.append("orders", b"%d" % one, partition=one % 2)


@pytest.mark.usefixtures("small_rounds")
def test_runs_over_a_growing_topic_write_each_record_once(tmp_path: Path, broker: FakeBroker) -> None:
    out, kept, end = tmp_path / "rows.parquet", tmp_path / "state.json", 0
    for count in (0, 7, 1, 40, 0, 5):
        fill(broker, range(end, end + count))
        end += count
        assert export(topic(broker), out, (), kept).rows == count
    assert [int(row["value"]) for row in rows_in(out)] == [*range(0, end, 2), *range(1, end, 2)]


@pytest.mark.parametrize("is_allowed", [False, True])
def test_records_of_brokers_that_were_removed_or_cut_off_are_a_loss(
    tmp_path: Path, broker: FakeBroker, monkeypatch: pytest.MonkeyPatch, is_allowed: bool
) -> None:
    out, kept = tmp_path / "rows.parquet", tmp_path / "state.json"
    fill(broker, range(20))
    export(topic(broker, partitions=[0]), out, (), kept)
    before = state.read_state(kept)
    assert before is not None and before.reached.next_offsets == {"orders/0": 10}

    def at(offset: int) -> None:
        """Let the runs before have reached another offset."""
        state.write_state(kept, before._replace(reached=before.reached._replace(next_offsets={"orders/0": offset})))

    def run() -> int:
        return export(topic(broker, partitions=[0], fail_on_data_loss=not is_allowed), out, (), kept).rows

    lost = "orders/0: ends at offset 10, before offset 15, up to which it was read: it was cut off"
    for _ in range(2):
        at(15)
        with pytest.warns(UserWarning, match=lost) if is_allowed else pytest.raises(SourceError, match=lost):
            assert run() == 0
    if is_allowed:  # what is appended has the offsets that were cut off
        fill(broker, [20, 22])
        assert run() == 2
    at(3)
    delete_records(broker, "orders", 0, 5)
    lost = "orders/0: offsets 3 to 4 were removed before they were read"
    with pytest.warns(UserWarning, match=lost) if is_allowed else pytest.raises(SourceError, match=lost):
        assert run() == 7


def delete_records(broker: FakeBroker, name: str, number: int, offset: int) -> None:
    async def delete() -> None:
        async with connect(broker.bootstrap_servers) as connection:
            partitions = [DeleteRecordsPartition(partition_index=number, offset=offset)]
            topics = [DeleteRecordsTopic(name=name, partitions=partitions)]
            await connection.request(DeleteRecordsRequest(topics=topics, timeout_ms=1000))

    asyncio.run(delete())


def test_a_topic_that_was_made_anew_or_read_from_elsewhere_is_refused(tmp_path: Path, broker: FakeBroker) -> None:
    out, kept = tmp_path / "rows.parquet", tmp_path / "state.json"
    fill(broker, range(6))
    export(topic(broker), out, (), kept)
    folder = add(tmp_path / "orders-0", batch_at(0))
    with pytest.raises(JobError, match=r"state\.json: the runs of this state read brokers, this one /.*orders-0"):
        export(query_of(folder, topics="orders"), out, (), kept)
    broker.delete_topic("orders")
    broker.create_topic("orders", 2)
    fill(broker, range(20))
    with pytest.raises(JobError, match="orders: is not the topic that the runs before have read: it was made anew"):
        export(topic(broker), out, (), kept)
    assert len(rows_in(out)) == 6
