"""Reading with several processes: the same rows in the same order, errors, and ends of every kind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kipwire import DecodeError
from kipwire.tables import query, scan, scan_polars
from kipwire.tables.errors import SourceError
from kipwire.tables.processes import Readers
from kipwire.tables.processes import readers as readers_module
from kipwire.tables.processes.exchange import ROOM
from kipwire.tables.query import query_of
from kipwire.tables.sources.formats import FORMATS
from kipwire.tables.writing import export
from tests.support.pieces_of_rows import Piece, read, rows_of
from tests.support.places import DATA

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="one process reads there"),
    pytest.mark.xdist_group("processes"),  # which share the processes below
]

Values = tuple[int, int, bytes]


@pytest.fixture(scope="module")
def ready() -> Iterator[Readers]:
    """Two processes that are ready."""
    with Readers(2) as readers:
        wait_until(readers._are_ready)
        yield readers


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the processes read from the second piece on, however short the work is."""
    monkeypatch.setattr(readers_module, "MIN_SECONDS_READ", 0)


def wait_until(is_so: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def batches(readers: Readers, pieces: Sequence[Piece]) -> Iterator[pa.RecordBatch]:
    for rows in readers.read(read, pieces, [1] * len(pieces)):
        yield from rows


def values(batch: pa.RecordBatch) -> Values:
    process, piece, number, data = (column[0].as_py() for column in batch)
    assert process > 0
    return piece, number, data


def processes_of(some: Sequence[pa.RecordBatch]) -> set[int]:
    return {batch.column(0)[0].as_py() for batch in some}


def is_there(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def test_rows_have_the_order_of_the_pieces_and_all_processes_read(ready: Readers) -> None:
    pieces = [Piece(number, batches=number % 4, size=10 + number) for number in range(40)]
    found = list(batches(ready, pieces))
    assert list(map(values, found)) == [row for piece in pieces for row in rows_of(piece)]
    assert processes_of(found) >= {reader.process for reader in ready._readers}


@pytest.mark.parametrize(
    "size", [1, ROOM // 3, ROOM + 1], ids=["small", "as large as the room", "larger than the room"]
)
def test_whoever_keeps_all_rows_has_them_all(ready: Readers, size: int) -> None:
    pieces = [Piece(number, batches=1 if size > 1 else 200, size=size) for number in range(4)]
    assert list(map(values, list(batches(ready, pieces)))) == [row for piece in pieces for row in rows_of(piece)]


def test_rows_stay_as_they_are_while_the_processes_read_on(ready: Readers) -> None:
    rows = batches(ready, [Piece(number, batches=20, size=ROOM // 200) for number in range(9)])
    kept = [(batch, values(batch)) for _, batch in zip(range(120), rows, strict=False)][::7]
    list(rows)
    assert [values(batch) for batch, _ in kept] == [value for _, value in kept]


def test_no_python_code_runs_when_rows_are_dropped(ready: Readers) -> None:
    """An interrupt that arrives in such code is printed, and lost."""
    kept, called = list(batches(ready, [Piece(number, batches=20) for number in range(4)])), list[str]()
    assert any(reader.held for reader in ready._readers)
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name) if event == "call" else None)
    try:
        kept.clear()
    finally:
        sys.setprofile(None)
    for reader in ready._readers:
        reader.give_back()
    assert not called and not any(reader.held for reader in ready._readers)


def test_logs_have_the_same_batches_of_rows(ready: Readers) -> None:
    plan = FORMATS["kafka_log"].plan({"path": str(DATA / "segments"), "splitBytes": "1000"})
    work = list(plan.work())
    assert len(work) > 10
    alone = [batch for piece in work for batch in plan.read(piece)]
    together = [batch for rows in ready.read(plan.read, work, [1] * len(work)) for batch in rows]
    assert [batch.schema for batch in together] == [batch.schema for batch in alone] and together == alone


@pytest.mark.parametrize(
    ("ends", "type_", "text"),
    [
        ("damaged", DecodeError, "Message v3: topics[0].name at byte 17: is null"),
        ("not found", FileNotFoundError, "[Errno 2] No such file or directory: '/there'"),
        ("source", SourceError, "/there/x.log: cannot be read"),
        ("odd", RuntimeError, "OddError: 1 and 2"),
    ],
)
def test_an_error_comes_after_the_rows_before_it(ready: Readers, ends: str, type_: type[Exception], text: str) -> None:
    pieces = [Piece(number, ends=ends if number >= 5 else "") for number in range(9)]
    rows, found = batches(ready, pieces), []
    with pytest.raises(type_) as raised:
        for batch in rows:
            found.append(values(batch))  # noqa: PERF401  those before the error, too
    assert str(raised.value) == text and type(raised.value) is type_
    assert found == [row for piece in pieces[:6] for row in rows_of(piece)]
    del raised, rows
    whole = [Piece(number) for number in range(9)]
    assert list(map(values, batches(ready, whole))) == [row for piece in whole for row in rows_of(piece)]


def test_a_warning_comes_where_it_was_given_and_is_what_filters_make_of_it(ready: Readers) -> None:
    pieces = [Piece(number, ends="warning" if number == 5 else "") for number in range(9)]
    with pytest.warns(RuntimeWarning, match="^some of 5 is gone$") as warned:
        assert list(map(values, batches(ready, pieces))) == [row for piece in pieces for row in rows_of(piece)]
    assert len(warned) == 1
    found = []
    with warnings.catch_warnings(), pytest.raises(RuntimeWarning, match="some of 5"):
        warnings.simplefilter("error")
        for batch in batches(ready, pieces):
            found.append(values(batch))  # noqa: PERF401  those before the error, too
    assert found == [row for piece in pieces[:6] for row in rows_of(piece)]


def test_reading_may_end_early_and_begin_again(ready: Readers) -> None:
    many = [Piece(number, batches=100, size=ROOM // 200) for number in range(10)]
    for count in (0, 1, 150, 250):
        rows = batches(ready, many)
        assert [values(next(rows))[:2] for _ in range(count)] == [divmod(one, 100) for one in range(count)]
        del rows
        few = [Piece(number) for number in range(5)]
        assert list(map(values, batches(ready, few))) == [row for piece in few for row in rows_of(piece)]


def test_two_tables_at_once_are_both_whole(ready: Readers) -> None:
    one, other = ([Piece(number, size=size) for number in range(9)] for size in (5, 6))
    pairs = list(zip(batches(ready, one), batches(ready, other), strict=True))
    assert [values(batch) for batch, _ in pairs] == [row for piece in one for row in rows_of(piece)]
    assert [values(batch) for _, batch in pairs] == [row for piece in other for row in rows_of(piece)]


@pytest.mark.parametrize(
    ("ends", "which"),
    [
        ("killed", 3),
        pytest.param("killed", 4, marks=pytest.mark.night),  # a fork of the first
        pytest.param("exit", 4, marks=pytest.mark.night),
    ],
)
def test_a_killed_process_is_one_line_and_leaves_no_other(ends: str, which: int) -> None:
    with Readers(2) as readers:
        wait_until(readers._are_ready)
        numbers = [reader.process for reader in readers._readers]
        pieces = [Piece(number, ends=ends if number == which else "") for number in range(9)]
        line = r"one of 2 processes that read files was killed, as systems do .* \(--cores 1\) no other"
        with pytest.raises(SourceError, match=line):
            list(batches(readers, pieces))
        wait_until(lambda: not any(is_there(one or 0) for one in numbers))


def test_processes_that_cannot_start_are_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers_module, "MIN_SECONDS_LEFT", 0)
    monkeypatch.setattr(readers_module, "START_PROGRAM", "import sys; sys.exit(1)")
    pieces = [Piece(number) for number in range(2000)]
    with Readers(2) as readers:
        found = list(batches(readers, pieces))
        wait_until(lambda: not readers._are_ready() and not readers._can_start)
        found += batches(readers, pieces)
    assert processes_of(found) == {os.getpid()} and len(found) == 12000


def test_neither_one_core_nor_a_short_time_start_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Readers, "_start", lambda _: pytest.fail("a process is started"))
    pieces = [Piece(number) for number in range(50)]
    assert len(list(batches(Readers(2), pieces))) == 150  # by the pace a second is not left
    monkeypatch.setattr(readers_module, "MIN_SECONDS_LEFT", 0)
    assert len(list(batches(Readers(1), pieces))) == 150


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let tables be read by others from the second piece on, which is small; return the processes, once they read."""
    numbers, are_ready = list[int](), Readers._are_ready

    def wait(readers: Readers) -> bool:
        wait_until(lambda: are_ready(readers))
        numbers.extend(reader.process or 0 for reader in readers._readers)
        return True

    monkeypatch.setattr(readers_module, "MIN_SECONDS_LEFT", 0)
    monkeypatch.setattr(query, "PIECE", 1000)
    monkeypatch.setattr(export, "PIECE", 1000)
    monkeypatch.setattr(Readers, "_are_ready", wait)
    return numbers


@pytest.mark.parametrize(
    "wanted",
    [
        {"topics": "__consumer_offsets", "decode": "coordinator", "mode": "PERMISSIVE"},
        pytest.param({"level": "batches"}, marks=pytest.mark.night),
    ],
    ids=["decoded", "batches"],
)
def test_scan_has_the_rows_of_one_process_and_leaves_none(started: list[int], wanted: dict[str, Any]) -> None:
    alone = scan(DATA / "segments", cores=1, **wanted).read_all()
    assert not started and len(alone)
    assert scan(DATA / "segments", cores=2, **wanted).read_all() == alone and len(started) == 2
    wait_until(lambda: not any(map(is_there, started)))


@pytest.mark.parametrize("by", ["dropped", pytest.param("limit", marks=pytest.mark.night)])
def test_rows_that_are_not_wanted_end_the_processes(started: list[int], by: str) -> None:
    if by == "limit":
        assert len(scan_polars(DATA / "segments", cores=2).head(400).collect()) == 400
    else:
        reader = scan(DATA / "segments", cores=2)
        while not started:
            assert len(reader.read_next_batch())
        assert any(map(is_there, started))
        del reader
    assert started
    wait_until(lambda: not any(map(is_there, started)))


@pytest.mark.night
def test_rounds_of_a_state_are_read_by_the_same_processes(
    started: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "ROUND", 8000)
    tables = []
    for cores in (1, 2):
        out, of = tmp_path / f"{cores}.arrow", query_of(DATA / "segments", topics="orders", cores=cores)
        export.export(of, out, state=tmp_path / f"{cores}.json")
        tables.append([pa.ipc.open_file(file).read_all() for file in sorted(out.iterdir()) if file.suffix == ".arrow"])
    assert tables[0] == tables[1] and len(tables[0]) > 1 and len({*started}) == 2
    wait_until(lambda: not any(map(is_there, started)))


_PROGRAM = """
import sys, time
from pathlib import Path
from typing import Any
from kipwire.tables.processes import readers as module
from tests.support.pieces_of_rows import Piece, read
module.MIN_SECONDS_READ = 0
next(read(Piece(0)))  # with its first value pyarrow imports pandas, and drops a KeyboardInterrupt meanwhile
readers = module.Readers(2)
while not readers._are_ready():
    time.sleep(0.01)
pieces = [Piece(number, batches=99999) for number in range(9)]
rows = (batch for some in readers.read(read, pieces, [1] * 9) for batch in some)
print(*(reader.process for reader in readers._readers), flush=True)
for batch in rows:
    pass
"""


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.night)])
def test_no_process_is_left_after_the_one_that_wants_rows(number: signal.Signals) -> None:
    """The program has no guard of its main module, which must not run again."""
    started = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert started.stdout is not None
    readers = list(map(int, started.stdout.readline().split()))
    assert len(readers) == 2 and all(map(is_there, readers))
    time.sleep(0.05)
    if number == signal.SIGINT:
        os.killpg(started.pid, number)  # as a terminal does
    else:
        started.send_signal(number)
    _, err = started.communicate(timeout=60)
    assert started.returncode in (-number, 1, 130)
    assert err.count("Traceback") == (number == signal.SIGINT) and (
        not err or err.rstrip().endswith("KeyboardInterrupt")
    )
    wait_until(lambda: not any(map(is_there, readers)))
