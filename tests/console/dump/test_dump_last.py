"""The last records of a log are those that a consumer would get last, from files and from brokers alike."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from struct import pack
from typing import Any, BinaryIO, Literal

import pytest

from kafka_messages.delete_records_request.v2 import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafka_messages.fetch_request.v12 import FetchRequest
from kafka_messages.fetch_response.v12 import AbortedTransaction, FetchableTopicResponse, FetchResponse, PartitionData
from kafka_messages.list_offsets_request.v9 import ListOffsetsRequest
from kafka_messages.list_offsets_response.v9 import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kipwire.aio import connect
from kipwire.cluster import EARLIEST, LATEST, fetching
from kipwire.console.dump import wanted
from kipwire.logs.accounting import Head, batch_heads
from kipwire.records import Record, read_batches, write_batch, write_message_set
from kipwire.records.control import end_marker_key
from kipwire.testing import FakeBroker
from kipwire.testing.broker.state import logs
from tests.console.dump.conftest import Dump
from tests.console.dump.test_dump_follow import append, lines, started
from tests.console.dump.test_dump_logs import batch, log
from tests.console.dump.test_dump_topics import produce
from tests.support.places import ROOT

TIME = 1_700_000_000_000
CAPTURE = ROOT / "examples" / "capture"
PLACES = ("file", "broker", "position", "batch_position")
"""The keys of JSON lines in which a file and a broker differ."""


@dataclass
class Made:
    """A log, and what consumers get of it."""

    random: Random
    batches: list[tuple[int, bytes]] = field(default_factory=list)
    """Each with the offset at which it would begin a segment."""
    records: list[tuple[int, int, int]] = field(default_factory=list)
    """Offset, time and transaction of each record; 0 for none."""
    end: int = 0
    open: dict[int, int] = field(default_factory=dict)
    """Transactions that are open, by producer."""
    firsts: dict[int, int] = field(default_factory=dict)
    """First offsets of transactions."""
    aborted: list[logs.AbortedTransaction] = field(default_factory=list)

    @property
    def stable(self) -> int:
        """The offset at which the first open transaction begins."""
        return min((self.firsts[one] for one in self.open.values()), default=self.end)

    def committed(self) -> list[int]:
        """Return the offsets that readers of committed records get."""
        left_out = {self.firsts.get(number) for number in self.open.values()} | {
            one.first_offset for one in self.aborted
        }
        return [at for at, _, number in self.records if at < self.stable and self.firsts.get(number) not in left_out]

    def step(self) -> None:
        """Add a batch, a marker or a gap."""
        kind = self.random.choice(("plain", "plain", "transactional", "transactional", "marker", "marker", "gap"))
        if kind == "gap":
            self.end += self.random.randint(1, 40)
        elif kind == "marker" and self.open:
            self._mark(self.random.choice([*self.open]), "ABORT" if self.random.random() < 0.5 else "COMMIT")
        else:
            self._add(self.random.randint(1, 3) if kind == "transactional" else 0)

    def _mark(self, producer: int, type_: Literal["ABORT", "COMMIT"]) -> None:
        record = Record(offset=self.end, timestamp=TIME, key=end_marker_key(type_), value=bytes(6))
        how: dict[str, Any] = {
            "producer_id": producer,
            "producer_epoch": 0,
            "is_transactional": True,
            "is_control": True,
        }
        first = self.firsts[self.open.pop(producer)]
        if type_ == "ABORT":
            self.aborted.append(logs.AbortedTransaction(producer, first, self.end))
        self._store(write_batch([record], partition_leader_epoch=0, **how), 1)

    def _add(self, producer: int) -> None:
        """Add a batch of which compaction has removed some records, or all."""
        count = self.random.randint(1, 5)
        kept = [at for at in range(count) if self.random.random() < 0.7]
        some = [Record(offset=self.end + at, timestamp=TIME + self.random.randint(0, 99), value=b"v") for at in kept]
        how: dict[str, Any] = {"compression": self.random.choice(("none", "zstd"))} if some else {}
        number = 0
        if producer:
            number = self.open.setdefault(producer, len(self.firsts) + 1)
            self.firsts.setdefault(number, self.end)
            how |= {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0, "is_transactional": True}
        self.records += [(one.offset, one.timestamp, number) for one in some]
        data = write_batch(some, base_offset=self.end, last_offset_delta=count - 1, partition_leader_epoch=0, **how)
        self._store(data, count)

    def _store(self, data: bytes, count: int) -> None:
        self.batches.append((self.end, data))
        self.end += count

    def write(self, folder: Path) -> None:
        """Write the log as segments, of which the last may be empty."""
        cuts = [0] + [at for at in range(1, len(self.batches)) if self.random.random() < 0.3]
        for start, end in zip(cuts, [*cuts[1:], len(self.batches)], strict=True):
            base = self.batches[start][0] if start else 0
            some = [data for _, data in self.batches[start:end]]
            file = log(folder, *some, name=f"{base:020}.log")
            if (kind := self.random.choice(("", "", "right", "wrong"))) and some:
                file.with_suffix(".index").write_bytes(self._index(base, some, shift=7 * (kind == "wrong")))
        log(folder, name=f"{self.end:020}.log")

    def _index(self, base: int, some: list[bytes], shift: int) -> bytes:
        """Make the index of a segment, with entries for some of its batches, or one that does not fit."""
        entries, position = b"", shift
        for data in some:
            if self.random.random() < 0.5:
                entries += pack(">ii", next(iter(read_batches(data))).last_offset - base, position)
            position += len(data)
        return entries + bytes(8 * self.random.randint(0, 2))

    def serve(self, broker: FakeBroker) -> None:
        """Let a broker answer with the log, whose gaps no producer can make."""
        stored = [logs.Stored(next(iter(read_batches(data))), data) for _, data in self.batches]
        kept = logs.Log(stored=stored, aborted=self.aborted)

        def fetch(request: FetchRequest, _: Callable[[], Awaitable[object]]) -> FetchResponse:
            (topic,) = request.topics
            (one,) = topic.partitions
            end = self.stable if request.isolation_level else self.end
            read = kept.read(one.fetch_offset, one.partition_max_bytes, end)
            aborted = [
                AbortedTransaction(producer_id=gone.producer_id, first_offset=gone.first_offset)
                for gone in kept.aborted_between(one.fetch_offset, end)
            ]
            part = PartitionData(
                high_watermark=self.end, last_stable_offset=self.stable, aborted_transactions=aborted, records=read
            )
            return FetchResponse(responses=[FetchableTopicResponse(topic=topic.topic, partitions=[part])])

        def ends(request: ListOffsetsRequest, _: Callable[[], Awaitable[object]]) -> ListOffsetsResponse:
            (topic,) = request.topics
            end = self.stable if request.isolation_level else self.end
            assert topic.partitions[0].timestamp in (EARLIEST, LATEST)
            part = ListOffsetsPartitionResponse(offset=end if topic.partitions[0].timestamp == LATEST else 0)
            return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name=topic.name, partitions=[part])])

        broker.clear_faults()
        broker.intercept(FetchRequest, fetch)
        broker.intercept(ListOffsetsRequest, ends)


@pytest.fixture(scope="module")
def broker() -> Iterator[FakeBroker]:
    with FakeBroker(topics={"orders": 1}, auto_create_topics=False) as started:
        yield started


def offsets_of(objects: list[dict[str, Any]]) -> list[int]:
    """Return the offsets of records that consumers get."""
    return [one["offset"] for one in objects if one["type"] == "record" and "record_type" not in one]


def parts(made: Made) -> Iterator[tuple[list[object], Callable[[int, int], bool], int | None]]:
    """Yield options, the rule for an offset and a time that the options besides `--last` are, and its number."""
    number = made.random.randint(1, len(made.records) + 2)
    yield ["--last", number], lambda *_: True, number
    before = made.random.randint(0, made.end + 1)
    yield ["--last", number, "--to-offset", before], lambda at, _: at < before, number
    back = made.random.randint(1, made.end + 2)
    yield ["--last", number, "--to-offset", -back], lambda at, _: at < made.end - back, number
    until = TIME + made.random.randint(0, 99)
    yield ["--last", number, "--until", until], lambda _, time: time < until, number
    yield ["--from-offset", -back], lambda at, _: at >= made.end - back, None


def compare(seed: int, folder: Path, broker: FakeBroker, objects: Callable[..., list[dict[str, Any]]]) -> None:
    """Compare what files and brokers give with what consumers get, for a random log."""
    made = Made(Random(seed))
    for _ in range(made.random.randint(0, 25)):
        made.step()
    folder.parent.mkdir()
    made.write(folder)
    made.serve(broker)
    for options, has, number in parts(made):
        expected = [at for at, time, _ in made.records if has(at, time)]
        expected = expected[-number:] if number else expected
        of_files = objects(folder, "-r", *options)
        assert offsets_of(of_files) == expected, (seed, options)
        of_broker = objects("--brokers", broker.bootstrap_servers, "orders/0", "-r", *options)
        plain = [[{k: v for k, v in one.items() if k not in PLACES} for one in some] for some in (of_files, of_broker)]
        assert plain[0] == plain[1], (seed, options)
    number = made.random.randint(1, len(made.records) + 2)
    shown = objects("--brokers", broker.bootstrap_servers, "orders/0", "-r", "--committed", "--last", number)
    assert offsets_of(shown) == made.committed()[-number:], seed


def test_files_and_brokers_give_the_last_records_that_consumers_get(
    tmp_path: Path, broker: FakeBroker, objects: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "WAIT", 1)
    monkeypatch.setattr(wanted, "MOST_PLACES", 4)  # so that chunks have several batches
    for seed in range(12):
        compare(seed, tmp_path / f"{seed}" / "orders-0", broker, objects)


@pytest.mark.night
def test_files_and_brokers_give_the_last_records_of_many_logs(
    tmp_path: Path, broker: FakeBroker, objects: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "WAIT", 1)
    for seed in range(1000, 1500):
        monkeypatch.setattr(wanted, "MOST_PLACES", 1 + seed % 7)
        compare(seed, tmp_path / f"{seed}" / "orders-0", broker, objects)


def test_each_partition_gives_its_last_records(dump: Dump, tmp_path: Path) -> None:
    with FakeBroker(topics={"orders": 2}) as one:
        for number in range(6):
            one.append("orders", b"v%d" % number, partition=number % 2)
            log(tmp_path / f"orders-{number % 2}", batch(number // 2, b"v%d" % number), name=f"{number // 2:020}.log")
        of_topic = dump("--brokers", one.bootstrap_servers, "orders", "-r", "--last", 2).stdout
    of_folder = dump(tmp_path, "-r", "--last", 2).stdout
    for shown in (of_topic, of_folder):
        assert [line.partition("value=")[2] for line in shown.splitlines() if "value=" in line] == [
            *("'v2'", "'v4'", "'v3'", "'v5'")
        ]


async def delete_before(address: str, offset: int) -> None:
    partition = DeleteRecordsPartition(partition_index=0, offset=offset)
    topics = [DeleteRecordsTopic(name="orders", partitions=[partition])]
    async with connect(address) as one:
        await one.request(DeleteRecordsRequest(topics=topics, timeout_ms=1000))


@pytest.mark.parametrize(("number", "expected"), [(1, [9]), (2, [8, 9]), (5, [8, 9])])
def test_records_deleted_from_a_batch_are_not_among_the_last(number: int, expected: list[int], objects: Any) -> None:
    with FakeBroker(topics=["orders"]) as one:
        some = [Record(offset=at, timestamp=TIME, value=b"v") for at in range(10)]
        asyncio.run(produce(one.bootstrap_servers, "orders", 0, write_batch(some)))
        asyncio.run(delete_before(one.bootstrap_servers, 8))
        assert offsets_of(objects("--brokers", one.bootstrap_servers, "orders", "-r", "--last", number)) == expected


def test_entries_of_old_formats_count_their_records(tmp_path: Path, objects: Any) -> None:
    for magic in (0, 1):
        some = [Record(offset=at, timestamp=TIME if magic else -1, value=b"v") for at in range(5)]
        for codec in ("none", "gzip"):
            folder = tmp_path / f"old{magic}{codec}-0"
            log(folder, write_message_set(some, magic=magic, compression=codec), batch(5, b"v"))
            assert offsets_of(objects(folder, "-r", "--last", 3)) == [3, 4, 5]


def test_a_damaged_batch_has_none_of_the_last_records(tmp_path: Path, dump: Dump) -> None:
    damaged = bytearray(batch(3, b"x", b"y"))
    damaged[-1] ^= 1
    log(tmp_path / "a-0", batch(0, b"a", b"b", b"c"), bytes(damaged), batch(5, b"d"))
    done = dump(tmp_path / "a-0", "-r", "--last", 2)
    assert (done.returncode, done.stderr.count("error: ")) == (1, 1)
    assert [line.split()[0] for line in done.stdout.splitlines() if "value=" in line] == ["offset=2", "offset=5"]


def test_only_the_segments_with_the_last_records_are_opened(tmp_path: Path, dump: Dump) -> None:
    log(tmp_path / "a-0", b"no batch at all")
    for base in (10, 20):
        log(tmp_path / "a-0", batch(base, b"v"), name=f"{base:020}.log")
    for options in (("--last", 2), ("--from-offset", -11), ("--last", 1, "--to-offset", 15)):
        assert (dump(tmp_path / "a-0", *options).returncode, options) == (0, options)
    assert dump(tmp_path / "a-0", "--last", 3).returncode == 1


@pytest.mark.parametrize("options", [("--last", 10), ("--from-offset", -10)])
def test_an_index_leads_to_the_end_of_a_segment(
    options: tuple[object, ...], tmp_path: Path, dump: Dump, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(batch(0, b"v"))
    file = log(tmp_path / "a-0", b"\1" * size, *(batch(at, b"v") for at in range(1, 100)))
    file.with_suffix(".index").write_bytes(
        b"".join(pack(">ii", at, at * size) for at in range(50, 100, 10)) + bytes(80)
    )
    begun = []

    def heads(opened: BinaryIO, start: int, *more: Any) -> Iterator[Head]:
        begun.append(start)
        return batch_heads(opened, start, *more)

    monkeypatch.setattr(wanted, "batch_heads", heads)
    done = dump(tmp_path / "a-0", "-r", *options)
    assert (done.returncode, done.stderr, done.stdout.count("value=")) == (0, "", 10)
    assert begun == [90 * size] * (options[0] == "--from-offset")  # for the end


def test_only_the_end_of_a_topic_is_fetched(dump: Dump) -> None:
    with FakeBroker(topics=["orders"]) as one:
        for number in range(500):
            one.append("orders", b"%d" % number)
        assert "value='490'" in dump("--brokers", one.bootstrap_servers, "orders", "-r", "--last", 10).stdout
        bodies: list[Any] = [request.body for request in one.requests(FetchRequest)]
        asked = [body.topics[0].partitions[0].fetch_offset for body in bodies]
    assert asked == [490, 490]  # to count them, and to show them


def test_following_goes_on_after_the_last_records(tmp_path: Path) -> None:
    file = log(tmp_path / "a-0", batch(7, b"a", b"b", b"c"))
    with started(tmp_path / "a-0", "-F", "-r", "--last", 1) as process:
        assert lines(process, 3)[1:] == ["offset=7-9 records=3", "offset=9 time=2023-11-14T22:13:20.002Z"]
        append(file, batch(10, b"d"))
        assert lines(process, 2) == ["offset=10-10 records=1", "offset=10 time=2023-11-14T22:13:20.000Z"]
        file.rename(tmp_path / "kept")  # the log is made again, from its start
        log(tmp_path / "a-0", batch(0, b"new"))
        assert lines(process, 3)[1:] == ["offset=0-0 records=1", "offset=0 time=2023-11-14T22:13:20.000Z"]
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130


def test_following_a_topic_goes_on_after_the_last_records() -> None:
    with FakeBroker(topics=["orders"]) as one:
        for value in (b"a", b"b", b"c"):
            one.append("orders", value, timestamp=TIME)
        with started("--brokers", one.bootstrap_servers, "orders", "-F", "-r", "--last", "1") as process:
            assert lines(process, 3)[1:] == ["offset=2-2 records=1", "offset=2 time=2023-11-14T22:13:20.000Z"]
            one.append("orders", b"d", timestamp=TIME)
            assert lines(process, 2) == ["offset=3-3 records=1", "offset=3 time=2023-11-14T22:13:20.000Z"]
            process.send_signal(signal.SIGINT)
            assert process.wait() == 130


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            ("--last", 1, "--since", "1h"),
            "--last cannot be used with --since: each says where to begin; give one of them",
        ),
        (
            ("--last", 1, "--from-offset", 0),
            "--last cannot be used with --from-offset: each says where to begin; give one of them",
        ),
        (("-F", "--to-offset", -1), "--to-offset -1 cannot be used with --follow, which has no end to count from"),
        (("--from-offset", -2, "--to-offset", -3), "--from-offset -2 is not below --to-offset -3, which is excluded"),
        (("--last", 0), "0 is not in the range 1<=x<=9223372036854775807."),
        (("--last", "ten"), "'ten' is not a valid integer range."),
        (("--from-offset", -(2**63)), "is not in the range"),
        (("--since", "10x"), "'10x' is not a time; write one such as "),
        (("--since", "10 m"), "'10 m' is not a time; write one such as "),
        (("--since", str(2**63)), f"'{2**63}' is not a time; write one such as "),
        (("--since", "5m", "--until", "10m"), "--since 5m is not before --until 10m, which is excluded"),
    ],
)
@pytest.mark.parametrize("brokers", [(), ("--brokers", "localhost:1")])
def test_what_contradicts_is_one_line(
    options: tuple[object, ...], reason: str, brokers: tuple[str, ...], dump: Dump, tmp_path: Path
) -> None:
    log(tmp_path / "a-0", batch(0, b"v"))
    done = dump(*brokers, "a-0", *options)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = [one for one in done.stderr.splitlines() if not one.startswith(("Usage: ", "Try ")) and one]
    assert reason in line


@pytest.mark.parametrize("options", [("--last", 1), ("--from-offset", -1), ("--to-offset", -1)])
def test_standard_input_and_captures_have_no_last_records(options: tuple[object, ...], dump: Dump) -> None:
    done = dump("-", *options, stdin=batch(0, b"v"))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "--last and negative offsets cannot be used with standard input" in done.stderr
    done = dump(CAPTURE, *options)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "--last and offsets are for logs" in done.stderr


def test_an_offset_from_the_start_and_one_from_the_end_may_leave_nothing(tmp_path: Path, dump: Dump) -> None:
    log(tmp_path / "a-0", batch(0, b"a", b"b"))
    assert "value=" not in dump(tmp_path / "a-0", "-r", "--from-offset", 1, "--to-offset", -1).stdout
    assert dump(tmp_path / "a-0", "-r", "--from-offset", 0, "--to-offset", -1).stdout.count("value=") == 1


@pytest.mark.parametrize(("before", "expected"), [(1, [0]), (2, [1]), (3, [2]), (9, [2])])
def test_an_upper_bound_within_a_batch_is_before_the_last_records(
    before: int, expected: list[int], tmp_path: Path, objects: Any
) -> None:
    log(tmp_path / "a-0", batch(0, b"a", b"b", b"c"))
    assert offsets_of(objects(tmp_path / "a-0", "-r", "--last", 1, "--to-offset", before)) == expected


def test_a_folder_that_is_not_there_is_named_with_a_similar_one(tmp_path: Path, dump: Dump) -> None:
    log(tmp_path / "orders-0", batch(0, b"v"))
    done = dump(tmp_path / "order-0")
    assert done.stderr == f"kipwire: {tmp_path}/order-0 does not exist; did you mean {tmp_path}/orders-0?\n"
    done = dump(tmp_path / "x")
    assert done.stderr.endswith("/x does not exist; give a log segment, a folder of a partition or a capture\n")
