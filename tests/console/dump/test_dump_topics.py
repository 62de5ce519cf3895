"""kipwire dump --brokers shows the records of topics as it shows records of files, and follows leaders that move."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from kafka_messages.enums import ApiKey, ErrorCode
from kafka_messages.offset_commit_key.v0 import OffsetCommitKey
from kafka_messages.offset_commit_value.v4 import OffsetCommitValue
from kafka_messages.produce_request.v12 import PartitionProduceData, ProduceRequest, TopicProduceData
from kipwire.aio import connect
from kipwire.cli.output import Output
from kipwire.cluster import PATIENT, Partition, Patience, ReadFailedError, fetching
from kipwire.cluster.brokers import Brokers
from kipwire.cluster.fetching import Part, Reader
from kipwire.cluster.settings import Settings
from kipwire.console.dump import topics
from kipwire.console.dump.json_lines import JsonLines
from kipwire.console.dump.logs import DumpOptions, LogDump
from kipwire.records import Record, write_batch
from kipwire.records.compression import Compression
from kipwire.testing import FakeBroker
from tests.console.dump.conftest import Dump
from tests.console.dump.test_dump_logs import log

TIME = 1_700_000_000_000
CODECS: tuple[Compression, ...] = ("none", "lz4", "zstd")


def records(count: int, *, start: int = 0) -> list[Record]:
    return [Record(offset=i, timestamp=TIME + i, key=b"k%d" % i, value=b"v" * i) for i in range(start, start + count)]


async def produce(address: str, topic: str, partition: int, *batches: bytes) -> None:
    async with connect(address) as broker:
        for batch in batches:
            data = PartitionProduceData(index=partition, records=batch)
            request = ProduceRequest(
                acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
            )
            response = await broker.request(request)
            assert not response.responses[0].partition_responses[0].error_code


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeBroker]:
    """A broker with a topic of two partitions, the first of which has compressed batches."""
    monkeypatch.setattr(topics, "PATIENCE", Patience(PATIENT.attempts, 0))
    monkeypatch.setattr(fetching, "WAIT", 10)
    with FakeBroker(topics={"orders": 2}, auto_create_topics=False) as started:
        several = [write_batch(records(3), compression=codec) for codec in CODECS]
        asyncio.run(produce(started.bootstrap_servers, "orders", 0, *several))
        yield started


def of(broker: FakeBroker, *arguments: object) -> list[object]:
    return ["--brokers", broker.bootstrap_servers, *arguments]


def test_lines_are_those_of_a_segment_with_the_same_batches(broker: FakeBroker, dump: Dump, tmp_path: Path) -> None:
    several = []
    for number, codec in enumerate(CODECS):
        moved = [
            Record(offset=3 * number + one.offset, timestamp=one.timestamp, key=one.key, value=one.value)
            for one in records(3)
        ]
        several.append(write_batch(moved, compression=codec, partition_leader_epoch=0))
    file = log(tmp_path / "orders-0", *several)
    for arguments in ((), ("-r",), ("-r", "--from-offset", 4, "--to-offset", 8), ("--since", TIME + 1, "-r")):
        done = dump(*of(broker, "orders/0", *arguments))
        assert (done.returncode, done.stderr) == (0, "")
        of_file = dump(file, *arguments).stdout.splitlines()[1:]
        assert [
            line.partition(" position=")[0] + line[line.find(" size=") :] for line in of_file if "size=" in line
        ] == [line for line in done.stdout.splitlines() if "size=" in line]
        assert [line for line in of_file if "size=" not in line] == [
            line for line in done.stdout.splitlines()[1:] if "size=" not in line
        ]
    heading = f"orders partition 0 at {broker.bootstrap_servers}: offsets 4 to 7"
    assert dump(*of(broker, "orders/0", "--from-offset", 4, "--to-offset", 8)).stdout.splitlines()[0] == heading


def test_all_partitions_are_shown_and_summaries_count_their_bytes(broker: FakeBroker, dump: Dump) -> None:
    where = broker.bootstrap_servers
    shown = dump(*of(broker, "orders", "-s")).stdout.splitlines()
    size = sum(batch.size for batch in broker.batches("orders"))
    assert shown == [
        f"orders partition 0 at {where}: offsets 0 to 8, {size} bytes, 3 batches, 9 records, offset=0-8, "
        "time=2023-11-14T22:13:20.000Z to 2023-11-14T22:13:20.002Z, compression=lz4:1,none:1,zstd:1",
        f"orders partition 1 at {where}: nothing before offset 0, 0 bytes, 0 batches",
    ]


def test_json_lines_name_the_broker_and_can_be_packed(
    broker: FakeBroker, dump: Dump, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = dump(*of(broker, "orders", "-r", "-f", "json"))
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    assert {one["broker"] for one in objects if one["type"] == "batch"} == {broker.bootstrap_servers}
    assert {one["position"] for one in objects if one["type"] == "batch"} == {None}
    assert [one["offset"] for one in objects if one["type"] == "record"] == list(range(9))
    from tests.support.command_line import call

    packed = call(
        *("pack", "--out", "new"),
        folder=tmp_path,
        monkeypatch=monkeypatch,
        capsys=capsys,
        stdin=done.stdout.encode(),
    )
    assert packed.returncode == 0
    assert "; 0 changed" in packed.stdout
    assert dump("new", "-s").stdout.count(" 9 records, offset=0-8, ") == 1


def test_internal_topics_are_decoded(dump: Dump) -> None:
    key = b"\0\1" + OffsetCommitKey(group="billing", topic="orders", partition=0).encode()
    value = b"\0\4" + OffsetCommitValue(offset=3, leader_epoch=0, commit_timestamp=TIME).encode()
    with FakeBroker(topics=["__consumer_offsets", "copy"]) as started:
        for topic in ("__consumer_offsets", "copy"):
            started.append(topic, value, key=key)
        expected = ' OffsetCommit v4 key={"group":"billing","topic":"orders","partition":0} value={"offset":3,'
        assert expected in dump(*of(started, "__consumer_offsets", "-r")).stdout
        assert expected not in dump(*of(started, "__consumer_offsets", "-r", "--as", "none")).stdout
        assert expected not in dump(*of(started, "copy", "-r")).stdout
        assert expected in dump(*of(started, "copy", "-r", "--as", "__consumer_offsets")).stdout


def test_committed_leaves_out_what_consumers_do_not_see(dump: Dump) -> None:
    with FakeBroker(topics=["orders"]) as started:
        settings = {"bootstrap.servers": started.bootstrap_servers, "transactional.id": "t", "log_level": 0}
        producer = Producer(settings)
        producer.init_transactions(30)
        for value, end in ((b"aborted", producer.abort_transaction), (b"committed", producer.commit_transaction)):
            producer.begin_transaction()
            producer.produce("orders", value)
            assert producer.flush(30) == 0
            end(30)
        producer.begin_transaction()
        producer.produce("orders", b"open")
        assert producer.flush(30) == 0
        every = dump(*of(started, "orders", "-r")).stdout
        seen = dump(*of(started, "orders", "-r", "--committed")).stdout
        producer.abort_transaction(30)
    for text in ("value='aborted'", "value='committed'", "value='open'", " ABORT ", " COMMIT "):
        assert text in every
    assert [line.partition("value=")[2] for line in seen.splitlines() if line.startswith("  ")] == ["'committed'"]
    assert " control" not in seen


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("nope",), "{where}: the broker has no topic 'nope': 3 UNKNOWN_TOPIC_OR_PARTITION"),
        (("order",), "{where}: the broker has no topic 'order': 3 UNKNOWN_TOPIC_OR_PARTITION; did you mean orders?"),
        (
            ("Orders/0",),
            "{where}: the broker has no topic 'Orders': 3 UNKNOWN_TOPIC_OR_PARTITION; did you mean orders?",
        ),
        (("orders/7",), "{where}: the broker has no orders partition 7; orders has 2 partitions"),
        (("orders/x",), "'orders/x' is not a topic; with --brokers use TOPIC or TOPIC/PARTITION, such as orders/0"),
        (
            ("o/9999999999",),
            "'o/9999999999' is not a topic; with --brokers use TOPIC or TOPIC/PARTITION, such as " "orders/0",
        ),
        (("orders", "orders/1"), "'orders/1' is given twice"),
        (("orders", "--port", "1"), "--port cannot be used with --brokers"),
    ],
)
def test_what_is_not_there_is_one_line(broker: FakeBroker, dump: Dump, names: tuple[str, ...], reason: str) -> None:
    done = dump(*of(broker, *names))
    expected = f"kipwire: {reason.format(where=broker.bootstrap_servers)}\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", expected)


def test_a_broker_that_is_not_there_is_one_line(dump: Dump) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    done = dump("--brokers", f"127.0.0.1:{port}", "orders")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"kipwire: 127.0.0.1:{port}: connection refused")


@pytest.mark.parametrize("api", [ApiKey.FETCH, ApiKey.LIST_OFFSETS])
def test_a_leader_that_moves_is_asked_again_as_often_as_is_said(broker: FakeBroker, dump: Dump, api: ApiKey) -> None:
    expected = dump(*of(broker, "orders/0", "-r")).stdout
    broker.fail(api, ErrorCode.NOT_LEADER_OR_FOLLOWER, times=PATIENT.attempts - 1)
    done = dump(*of(broker, "orders/0", "-r"))
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
    broker.clear_requests()
    broker.fail(api, ErrorCode.NOT_LEADER_OR_FOLLOWER, times=None)
    done = dump(*of(broker, "orders/0", "-r"))
    assert (done.returncode, done.stderr) == (
        2,
        f"kipwire: {broker.bootstrap_servers}: orders/0: the leader returned 6 NOT_LEADER_OR_FOLLOWER\n",
    )
    assert len(broker.requests(api)) == PATIENT.attempts


def test_what_asking_again_does_not_change_is_not_asked_again(broker: FakeBroker, dump: Dump) -> None:
    broker.fail(ApiKey.FETCH, ErrorCode.TOPIC_AUTHORIZATION_FAILED, times=None)
    done = dump(*of(broker, "orders/0"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.endswith(": orders/0: the leader returned 29 TOPIC_AUTHORIZATION_FAILED\n")
    assert len(broker.requests(ApiKey.FETCH)) == 1


def test_a_connection_that_breaks_is_opened_again(broker: FakeBroker, dump: Dump) -> None:
    expected = dump(*of(broker, "orders/0", "-r")).stdout
    broker.disconnect(ApiKey.FETCH, times=2)
    done = dump(*of(broker, "orders/0", "-r"))
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
    broker.disconnect(ApiKey.FETCH, times=None)
    done = dump(*of(broker, "orders/0", "-r"))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_a_batch_that_is_larger_than_what_is_asked_for_is_read(
    broker: FakeBroker, dump: Dump, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = dump(*of(broker, "orders/0", "-r")).stdout
    monkeypatch.setattr(fetching, "FETCHED", 10)
    broker.clear_requests()
    assert dump(*of(broker, "orders/0", "-r")).stdout == expected
    assert len(broker.requests(ApiKey.FETCH)) == 3
    assert {one.body.to_json()["maxBytes"] for one in broker.requests(ApiKey.FETCH)} == {10}


def test_old_brokers_are_asked_in_their_versions(dump: Dump, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "WAIT", 10)
    with FakeBroker(topics=["orders"], versions={ApiKey.FETCH: range(4, 5), ApiKey.LIST_OFFSETS: range(1, 2)}) as old:
        old.append("orders", b"tea")
        assert "value='tea'" in dump(*of(old, "orders", "-r")).stdout
        assert {one.api_version for one in old.requests(ApiKey.FETCH)} == {4}


class Scripted(Reader):
    """Reads brokers whose answers to Fetch are given."""

    def __init__(self, *parts: Part, first: int = 0, last: int = 10) -> None:
        super().__init__(Brokers("b:1", Settings()), {}, Patience(1, 0), committed=False)
        self.parts = list(parts)
        self.asked: list[tuple[int, int]] = []
        self.ends = {-2: first, -1: last}

    def where(self, partition: Partition) -> str:
        return "b:1"

    async def offset(self, partition: Partition, timestamp: int) -> int:
        return self.ends[timestamp]

    async def fetch(self, offsets: Mapping[Partition, int], size: int) -> dict[Partition, Part]:
        ((partition, offset),) = offsets.items()
        self.asked.append((offset, size))
        return {partition: self.parts.pop(0)}


@contextmanager
def reading(brokers: Scripted, capsys: pytest.CaptureFixture[str]) -> Iterator[list[dict[str, Any]]]:
    """Read a partition of such brokers; the list has its lines once the block has ended."""
    lines: list[dict[str, Any]] = []
    with asyncio.Runner() as runner:
        out = Output()
        dump = LogDump(JsonLines(), out, DumpOptions(records=True))
        reader = topics.TopicDump(dump, brokers, runner, committed=False)
        yield lines
        reader.whole(Partition("orders", 0), None)
        out.flush()
        lines += [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def part(records: bytes, *, end: int = 10, out: bool = False) -> Part:
    return Part(records, end, [], ErrorCode.OFFSET_OUT_OF_RANGE if out else 0)


def test_a_part_of_a_batch_is_asked_for_again_with_room_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    batch = write_batch(records(10))
    brokers = Scripted(part(batch[:50]), part(batch))
    with reading(brokers, capsys) as lines:
        pass
    assert [one["offset"] for one in lines if one["type"] == "record"] == list(range(10))
    assert brokers.asked == [(0, fetching.FETCHED), (0, 2 * fetching.FETCHED)]


def test_damage_is_named_by_its_offset_and_reading_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third = (write_batch(records(3, start=start)) for start in (0, 3, 6))
    brokers = Scripted(part(first + second[:-1] + b"\7" + third), part(b""))
    with reading(brokers, capsys) as lines:
        pass
    assert [one.get("base_offset") for one in lines if one["type"] != "record"] == [0, None, 6]
    (error,) = (one for one in lines if one["type"] == "error")
    assert (error["position"], error["at"], error["broker"]) == (None, None, "b:1")
    assert error["reason"].startswith("batch at offset 3: crc: is 0x")
    assert brokers.asked[1] == (9, fetching.FETCHED)


def test_offsets_that_were_removed_meanwhile_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    brokers = Scripted(part(b"", out=True), part(write_batch(records(5, start=5))))
    with reading(brokers, capsys) as lines:
        brokers.ends[-2] = 0
        asked = iter([0, 5])

        async def offset(partition: Partition, timestamp: int) -> int:
            return next(asked) if timestamp == -2 else 10

        brokers.offset = offset  # type: ignore[method-assign]
    assert [one["offset"] for one in lines if one["type"] == "record"] == [5, 6, 7, 8, 9]
    assert brokers.asked[1][0] == 5


def test_a_leader_that_has_less_than_it_says_is_not_asked_for_ever(capsys: pytest.CaptureFixture[str]) -> None:
    brokers = Scripted(*[part(b"", end=0)] * 50)
    with (
        pytest.raises(ReadFailedError, match="returned no batches from offset 0 on, but the end is 10"),
        reading(brokers, capsys),
    ):
        pass
    assert len(brokers.asked) == fetching.MOST_STALLED


def test_following_shows_what_is_added_to_any_partition(broker: FakeBroker) -> None:
    command = [
        sys.executable,
        "-m",
        "kipwire",
        "dump",
        "--follow",
        "-r",
        *map(str, of(broker, "orders", "--since", "now")),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.readline().endswith(": nothing before offset 9\n")
            assert process.stdout.readline().endswith(": nothing before offset 0\n")
            for partition, value in ((0, b"tea"), (1, b"coffee"), (1, b"water")):
                broker.append("orders", value, partition=partition)
                if value != b"water":  # of the same partition as the one before
                    heading = f"orders partition {partition} at {broker.bootstrap_servers}: more\n"
                    assert process.stdout.readline() == heading
                assert process.stdout.readline().startswith("offset=")
                assert process.stdout.readline().endswith(f"value='{value.decode()}'\n")
            process.send_signal(signal.SIGINT)
            assert process.stderr.read() == "kipwire: interrupted\n"
            assert process.wait() == 130
        finally:
            process.kill()
