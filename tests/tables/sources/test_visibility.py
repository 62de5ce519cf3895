"""Records of a log that a consumer is shown: by the markers in it, beside `read_committed` over the whole log."""

from __future__ import annotations

from pathlib import Path
from random import Random
from struct import pack
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import pytest

from kafka_messages.aborted_txn.v0 import AbortedTxn
from kafka_messages.end_txn_marker.v0 import EndTxnMarker
from kafka_messages.producer_snapshot.v1 import ProducerEntry, ProducerSnapshot
from kipwire import KipwireError
from kipwire.codec.checksums import crc32c
from kipwire.records import Record, read_batches, read_committed, write_batch
from kipwire.records.control import end_marker_key
from kipwire.tables import scan
from kipwire.tables.errors import SourceError
from kipwire.tables.query import query_of
from kipwire.tables.sources.formats import log_plan
from kipwire.tables.writing.export import export
from tests.tables.sources.test_streams import Stream

TOPIC = "orders-0"


class Aborted(NamedTuple):
    """An aborted transaction, as the index of a segment has it."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class Log:
    """A partition that a broker writes: batches, some of transactions, in segments with the files beside them."""

    def __init__(self, folder: Path, base: int = 0) -> None:
        self.folder = folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.base = self.next = self.segment = base
        self.data = b""
        self.open: dict[int, int] = {}
        """First offsets of open transactions, by producer."""
        self.aborted: list[Aborted] = []

    @property
    def stable(self) -> int:
        """The last stable offset."""
        return min(self.open.values(), default=self.next)

    def append(self, batch: bytes, count: int) -> None:
        with (self.folder / f"{self.segment:020}.log").open("ab") as file:
            file.write(batch)
        self.data += batch
        self.next += count

    def send(self, producer: int, count: int = 1, *, in_transaction: bool = True) -> None:
        """Append a batch."""
        some = [Record(offset=self.next + at, timestamp=1, value=b"v" * (at + 1)) for at in range(count)]
        if in_transaction:
            self.open.setdefault(producer, self.next)
        of: Any = {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0} if producer >= 0 else {}
        self.append(write_batch(some, is_transactional=in_transaction, **of), count)

    def end(self, producer: int, type_: Any) -> None:
        """Append a marker, and the entry of an aborted transaction in the index of the segment."""
        started, end = self.open.pop(producer, None), self.next
        value = pack(">h", 0) + EndTxnMarker(coordinator_epoch=1).encode()
        record = Record(offset=end, timestamp=1, key=end_marker_key(type_), value=value)
        of: Any = {"producer_id": producer, "producer_epoch": 0, "is_transactional": True, "is_control": True}
        self.append(write_batch([record], **of), 1)
        if started is not None and type_ == "ABORT":
            entry = Aborted(producer, started, end, self.stable)
            self.aborted.append(entry)
            with (self.folder / f"{self.segment:020}.txnindex").open("ab") as file:
                file.write(pack(">h", 0) + AbortedTxn(**entry._asdict()).encode())

    def roll(self) -> None:
        """Begin a segment, with the producer snapshot that brokers write then."""
        if self.segment == self.next:
            return
        self.segment = self.next
        entries = [
            ProducerEntry(producer_id=one, current_txn_first_offset=first, last_sequence=-1)
            for one, first in self.open.items()
        ]
        body = ProducerSnapshot(producer_entries=entries).encode()
        (self.folder / f"{self.next:020}.snapshot").write_bytes(pack(">hI", 1, crc32c(body[4:])) + body[4:])
        (self.folder / f"{self.next:020}.log").touch()

    def shown(self) -> list[int]:
        """Return the offsets that a consumer gets, by the rule for Fetch responses over the whole log."""
        stable = self.stable
        batches = (batch for batch in read_batches(self.data) if batch.base_offset < stable)
        return [record.offset for batch in read_committed(batches, self.aborted) for record in batch.records]

    def act(self, random: Random) -> None:
        """Append something that producers may send, or begin a segment."""
        producer = random.randrange(5)
        if random.random() < 0.15:
            self.roll()
        if random.random() < 0.3:
            self.send(-1, random.randrange(1, 4), in_transaction=False)
        elif producer in self.open and random.random() < 0.5:
            self.end(producer, random.choice(("COMMIT", "ABORT")))
        elif random.random() < 0.05:
            self.end(producer, random.choice(("COMMIT", "ABORT")))  # of a transaction without records here
        else:
            self.send(producer, random.randrange(1, 4))


def read(logs: Path, **options: str) -> list[dict[str, Any]]:
    plan = log_plan({"path": str(logs), "isolationLevel": "read_committed", **options})
    return [row for piece in plan.work() for batch in plan.read(piece) for row in batch.to_pylist()]


def offsets(logs: Path, **options: str) -> list[int]:
    return [row["offset"] for row in read(logs, columns="offset", **options)]


def spoil(random: Random, file: Path) -> None:
    """Remove a file, cut it short, or change a byte."""
    data, what = file.read_bytes(), random.randrange(3)
    if what == 0 or not data:
        file.unlink()
    elif what == 1:
        file.write_bytes(data[: random.randrange(len(data))])
    else:
        at = random.randrange(len(data))
        file.write_bytes(data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :])


@pytest.mark.parametrize(
    "seed", [*range(16), *(pytest.param(seed, marks=pytest.mark.night) for seed in range(16, 1500))]
)
def test_what_is_shown_is_what_a_consumer_of_the_whole_log_gets(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    log = Log(tmp_path / TOPIC, random.choice((0, 100)))
    for _ in range(random.randrange(1, 60)):
        log.act(random)
    for beside in [*log.folder.glob("*.txnindex"), *log.folder.glob("*.snapshot")]:
        if random.random() < 0.4:
            spoil(random, beside)
    size = str(random.choice((1, 200, 500, 1 << 20)))
    expected = log.shown()
    assert offsets(tmp_path, splitBytes=size) == expected
    first, end = sorted(random.randrange(log.base, log.next + 2) for _ in range(2))
    some = [offset for offset in expected if first <= offset < end]
    assert offsets(tmp_path, splitBytes=size, startingOffset=str(first), endingOffset=str(end)) == some
    heads = read(tmp_path, splitBytes=size, level="batches", columns="base_offset,last_offset")
    assert [at for row in heads for at in range(row["base_offset"], row["last_offset"] + 1)] == expected
    control = read(tmp_path, splitBytes=size, includeControl="true", columns="offset,is_control")
    assert [row["offset"] for row in control if not row["is_control"]] == expected


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.night) for seed in range(6, 400))])
def test_a_stream_waits_for_the_ends_of_transactions_and_has_each_record_once(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    log = Log(tmp_path / TOPIC)
    log.send(-1, in_transaction=False)
    options: Any = {"isolationLevel": "read_committed", "splitBytes": str(random.choice((1, 1 << 20)))}
    if random.random() < 0.5:
        options["maxBytesPerTrigger"] = str(random.choice((1, 400)))
    seen: list[int] = []
    stream = Stream(tmp_path, None, **options)

    def poll() -> None:
        planned = stream.plan()
        while planned is not None:
            _, end, tasks = planned
            if random.random() < 0.3:  # Spark was killed: the new one reads the same batch
                stream.read(tasks)
                return
            seen.extend(offset for _, offset in stream.read(tasks))
            stream.kept = end
            planned = stream.plan() if random.random() < 0.7 else None

    for _ in range(random.randrange(40)):
        for _ in range(random.randrange(4)):
            log.act(random)
        if random.random() < 0.2:
            stream = Stream(tmp_path, stream.kept, **options)
        poll()
        assert seen == log.shown()[: len(seen)]
    for producer in list(log.open):
        log.end(producer, "COMMIT")
    seen += [offset for batch in stream.batches() for _, offset in batch]
    assert seen == log.shown()


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.night) for seed in range(6, 1000))])
def test_damage_is_an_error_or_left_out(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    log = Log(tmp_path / TOPIC)
    for _ in range(random.randrange(10, 60)):
        log.act(random)
    for _ in range(random.randrange(1, 4)):
        file = random.choice([one for one in log.folder.glob("*.log") if one.stat().st_size])
        data, at = bytearray(file.read_bytes()), random.randrange(file.stat().st_size)
        data[at] ^= 1 << random.randrange(8)
        file.write_bytes(data)
    for level, columns in (("records", "offset,value,error"), ("batches", "base_offset,records_count,error")):
        of_all = {"level": level, "columns": columns, "splitBytes": "300"}
        try:
            read(tmp_path, **of_all)
        except KipwireError as error:
            assert str(log.folder) in str(error) and "\n" not in str(error)
        rows = read(tmp_path, mode="PERMISSIVE", **of_all)
        every = read(tmp_path, mode="PERMISSIVE", isolationLevel="read_uncommitted", **of_all)
        assert [row for row in rows if row["error"] is None and row not in every] == []


def test_tables_wait_for_the_ends_of_transactions_and_have_each_record_once(tmp_path: Path) -> None:
    log, out, random = Log(tmp_path / "logs" / TOPIC), tmp_path / "out.parquet", Random(3)
    for _ in range(6):
        for _ in range(8):
            log.act(random)
        export(query_of(tmp_path / "logs", columns=["offset"], committed=True), out, (), tmp_path / "state.json")
        files = sorted(out.glob("*.parquet"))
        assert [row["offset"] for file in files for row in pq.read_table(file).to_pylist()] == log.shown()
        assert (
            scan(tmp_path / "logs", columns=["offset"], committed=True).read_all()["offset"].to_pylist() == log.shown()
        )


def aborted_and_committed(folder: Path) -> Log:
    """Write a transaction that is aborted in the next segment, and one that is committed there."""
    log = Log(folder)
    log.send(1, 2)
    log.send(2)
    log.roll()
    log.end(1, "ABORT")
    log.end(2, "COMMIT")
    return log


def test_a_snapshot_after_the_end_of_a_copy_decides_nothing(tmp_path: Path) -> None:
    log = Log(tmp_path / TOPIC)
    log.send(-1, in_transaction=False)
    log.send(1)
    file, position = log.folder / f"{0:020}.log", len(log.data)
    log.send(-1, in_transaction=False)
    file.with_suffix(".index").write_bytes(pack(">ii", 2, position))
    copied = file.read_bytes()
    log.end(1, "COMMIT")
    log.roll()
    (log.folder / f"{log.next:020}.log").unlink()
    file.write_bytes(copied)
    assert [*log.folder.glob("*.snapshot")]
    assert offsets(tmp_path) == [0]


def test_a_stream_forgets_the_transactions_of_a_log_that_was_cut_off_and_written_again(tmp_path: Path) -> None:
    log = Log(tmp_path / TOPIC)
    log.send(-1, in_transaction=False)
    log.send(1)
    stream = Stream(tmp_path, isolationLevel="read_committed")
    assert stream.all() == [(TOPIC, 0)]
    file = log.folder / f"{0:020}.log"
    with file.open("r+b") as opened:
        opened.truncate(next(read_batches(log.data)).size)
    log.next, log.open = 1, {}
    log.send(-1, 20, in_transaction=False)
    assert stream.all() == [(TOPIC, at) for at in range(1, 21)]


def test_one_segment_is_decided_by_those_beside_it(tmp_path: Path) -> None:
    log = aborted_and_committed(tmp_path / TOPIC)
    assert offsets(log.folder / f"{0:020}.log") == [2]


def test_a_damaged_end_of_a_transaction_is_one_line_or_the_transaction_is_left_out(tmp_path: Path) -> None:
    log = aborted_and_committed(tmp_path / TOPIC)
    file = log.folder / f"{3:020}.log"
    data = bytearray(file.read_bytes())
    data[len(data) // 2 + 70] ^= 1  # in the second marker, the type that its key has
    file.write_bytes(data)
    with pytest.raises(SourceError, match=rf"^{file}: the end of a transaction, at byte 78, cannot be read: .*crc "):
        offsets(tmp_path, endingOffset="3")
    assert offsets(tmp_path, endingOffset="3", mode="PERMISSIVE") == []


def test_damage_before_the_last_stable_offset_is_known_is_an_error(tmp_path: Path) -> None:
    log = aborted_and_committed(tmp_path / TOPIC)
    file = log.folder / f"{3:020}.log"
    file.write_bytes(b"\xff" * 20 + file.read_bytes())
    with pytest.raises(KipwireError, match=f"{file.name}"):
        offsets(tmp_path, endingOffset="1")
    assert offsets(tmp_path, mode="PERMISSIVE", endingOffset="4") == [2, None]


def write_log_start(logs: Path, offset: object) -> None:
    (logs / "log-start-offset-checkpoint").write_text(f"0\n1\norders 0 {offset}\n")


@pytest.mark.parametrize("start", [0, 1, 3, 4, 9])
def test_records_below_the_log_start_are_left_out(tmp_path: Path, start: int) -> None:
    log = Log(tmp_path / TOPIC)
    for _ in range(4):
        log.send(-1, 2, in_transaction=False)
        log.roll()
    of_all = {"isolationLevel": "read_uncommitted", "fromLogStart": "true"}
    assert offsets(tmp_path, **of_all) == [*range(8)]  # there is no checkpoint
    write_log_start(tmp_path, start)
    assert offsets(tmp_path, **of_all) == offsets(log.folder, **of_all) == [*range(start, 8)]
    assert offsets(tmp_path, isolationLevel="read_uncommitted") == [*range(8)]
    (tmp_path / "clicks-0").mkdir()
    (log.folder / f"{0:020}.log").rename(tmp_path / "clicks-0" / f"{0:020}.log")
    assert offsets(tmp_path, topics="clicks", **of_all) == [0, 1]


def test_a_stream_begins_a_log_at_its_log_start(tmp_path: Path) -> None:
    log = Log(tmp_path / TOPIC)
    log.send(-1, 2, in_transaction=False)
    log.send(-1, 2, in_transaction=False)
    write_log_start(tmp_path, 3)
    stream = Stream(tmp_path, fromLogStart="true")
    planned = stream.plan()
    assert planned is not None
    write_log_start(tmp_path, 4)
    assert stream.read(planned[2]) == [(TOPIC, 3)]  # and again, if it is asked for again
    stream.kept = planned[1]
    log.send(-1, in_transaction=False)
    assert stream.all() == [(TOPIC, 4)]


def test_a_damaged_log_start_is_one_line(tmp_path: Path) -> None:
    aborted_and_committed(tmp_path / TOPIC)
    write_log_start(tmp_path, "many")
    file = tmp_path / "log-start-offset-checkpoint"
    with pytest.raises(SourceError, match=rf"^{file}: line 3: expected topic, partition and offset, found"):
        offsets(tmp_path, fromLogStart="true")
    assert offsets(tmp_path, fromLogStart="true", mode="PERMISSIVE") == [2]


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [("isolationLevel", "committed", "read_uncommitted or read_committed"), ("fromLogStart", "yes", "true or false")],
)
def test_wrong_values_are_refused(tmp_path: Path, name: str, text: str, wanted: str) -> None:
    with pytest.raises(SourceError, match=rf"^kafka_log: option {name} is '{text}'; it must be {wanted}$"):
        read(tmp_path, **{name: text})
