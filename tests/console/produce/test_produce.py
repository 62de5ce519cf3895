"""kipwire produce writes the lines of a dump into a topic: nothing is missing, nothing is there twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from kafka_messages.enums import ApiKey, ErrorCode
from kipwire.cluster import ONCE, Cluster, Partition
from kipwire.cluster.writing import Found, Producer
from kipwire.console.produce import filling
from kipwire.console.produce.entries import Entry
from kipwire.console.produce.filling import Filling, Moved
from kipwire.console.produce.placing import murmur2
from kipwire.console.produce.state import Reached
from kipwire.records import Record, write_batch
from kipwire.testing import FakeBroker
from tests.console.produce.conftest import TIME, Kipwire, contents, expected, save


def written(broker: FakeBroker, topic: str = "copy") -> tuple[list[object], ...]:
    return tuple(contents(broker.records(topic, number)) for number in range(broker.topics()[topic]))


def test_a_dump_comes_back_record_by_record(broker: FakeBroker, kipwire: Kipwire, lines: str) -> None:
    done = kipwire("produce", "--brokers", broker.bootstrap_servers, "copy", "--compression", "zstd", stdin=lines)
    assert (done.returncode, done.stderr) == (0, "")
    assert written(broker) == expected()
    assert done.stdout.splitlines() == [
        "copy partition 0: 7 records now at offsets 0 to 6, before at 0 to 11 of orders partition 0",
        "copy partition 1: 4 records now at offsets 0 to 3, before at 0 to 3 of orders partition 1",
        "copy: 11 records written",
        "left out, control records: 3",
        "left out, records of aborted transactions: 2",
        "written, records of transactions whose end the lines do not have: 1",
    ]
    (batch,) = broker.batches("copy", 0)
    assert (batch.compression, batch.base_sequence, batch.is_transactional) == ("zstd", 0, False)
    assert batch.producer_id >= 0


def test_json_has_the_new_offset_of_each_old_one(broker: FakeBroker, kipwire: Kipwire, lines: str) -> None:
    broker.append("copy", b"before")
    done = kipwire("produce", "--brokers", broker.bootstrap_servers, "copy", "-f", "json", stdin=lines)
    *runs, summary = map(json.loads, done.stdout.splitlines())
    moved = {
        (one["from_partition"], one["from_offset"] + at): (one["partition"], one["offset"] + at)
        for one in runs
        for at in range(one["records"])
    }
    old = [0, 1, 2, 3, 4, 9, 11]
    of_first = {(0, offset): (0, at + 1) for at, offset in enumerate(old)}
    assert moved == of_first | {(1, offset): (1, offset) for offset in range(4)}
    assert summary == {
        "type": "summary",
        "topic": "copy",
        "records": 11,
        "before": 0,
        "markers": 3,
        "aborted": 2,
        "undecided": 1,
    }


def test_records_go_where_the_options_say(broker: FakeBroker, kipwire: Kipwire, lines: str) -> None:
    to = ("produce", "--brokers", broker.bootstrap_servers)
    first, second = expected()
    assert kipwire(*to, "one", "--partition", 0, stdin=lines).returncode == 0
    assert written(broker, "one") == ([*first, *second],)
    assert kipwire(*to, "three", "--by-key", stdin=lines).returncode == 0
    for number in range(3):
        keys = [one.key for one in broker.records("three", number) if one.key is not None]
        assert all(murmur2(key) % 3 == number for key in keys)
    assert sum(bool(broker.records("three", number)) for number in range(3)) > 1
    assert sorted(map(repr, chain(*written(broker, "three")))) == sorted(map(repr, [*first, *second]))
    assert kipwire(*to, "copy", "--lines", stdin="a\n\nb\r\nc").returncode == 0
    assert [one.value for one in broker.records("copy")] == [b"a", b"b\r", b"", b"c"]


@pytest.mark.parametrize(
    ("key", "hash_"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_of_a_key_is_as_in_kafkas_own_tests(key: bytes, hash_: int) -> None:
    assert murmur2(key) == hash_ & 0x7FFFFFFF


def test_what_passes_is_tried_again_and_is_there_once(
    broker: FakeBroker, kipwire: Kipwire, lines: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "BATCH_BYTES", 100)
    broker.fail(ApiKey.PRODUCE, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    broker.disconnect(ApiKey.PRODUCE, handled=True)
    broker.fail(ApiKey.INIT_PRODUCER_ID, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    for partition in (0, 1):
        broker.move_leader("copy", partition, to=2)
    done = kipwire("produce", "--brokers", broker.bootstrap_servers, "copy", stdin=lines)
    assert (done.returncode, written(broker)) == (0, expected())
    assert len(broker.batches("copy", 0)) > 2


def test_batches_are_halved_until_the_broker_takes_them(broker: FakeBroker, kipwire: Kipwire, tmp_path: Path) -> None:
    some = [Record(offset=at, timestamp=TIME, value=bytes([at]) * 90_000) for at in range(12)]
    save(tmp_path, 0, *(write_batch([one]) for one in some))
    dumped = kipwire("dump", "-r", "-f", "json", "logs/orders-0").stdout
    sizes = (
        '{"resources":[{"resourceType":2,"resourceName":"one","configs":[{"name":"max.message.bytes","value":"%d"}]}]}'
    )
    to = ("produce", "--brokers", broker.bootstrap_servers, "one")
    assert kipwire("call", broker.bootstrap_servers, "AlterConfigs", sizes % 500_000).returncode == 0
    assert kipwire(*to, stdin=dumped).returncode == 0
    assert written(broker, "one") == (contents(some),)
    assert [batch.records_count for batch in broker.batches("one")] == [5, 5, 2]
    assert kipwire("call", broker.bootstrap_servers, "AlterConfigs", sizes % 1000).returncode == 0
    done = kipwire(*to, stdin=dumped)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == "one: 0 records written"
    assert "one partition 0: the leader returned 10 MESSAGE_TOO_LARGE" in done.stderr
    assert "the record at standard input:1, offset 0 is too large; raise max.message.bytes" in done.stderr


def test_a_repeat_after_a_break_goes_on_where_the_log_ends(
    broker: FakeBroker, kipwire: Kipwire, lines: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to a batch is lost, and the state is as old as can be."""
    monkeypatch.setattr(filling, "BATCH_BYTES", 100)
    command = ("produce", "--brokers", broker.bootstrap_servers, "copy", "--state", "state.json")
    with monkeypatch.context() as patched:
        patched.setattr(Cluster.__init__, "__kwdefaults__", {"patience": ONCE})
        broker.disconnect(
            ApiKey.PRODUCE, handled=True, when=lambda _: len(broker._node.topics.log("copy", 0).batches) > 1
        )
        broken = kipwire(*command, stdin=lines)
    assert broken.returncode == 2
    assert "more may be written: no answer came" in broken.stderr
    before = len(broker.records("copy"))
    assert 0 < before < 11
    done = kipwire(*command, "-f", "json", stdin=lines)
    assert (done.returncode, done.stderr) == (0, "")
    assert written(broker) == expected()
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert runs[-1]["records"] + runs[-1]["before"] == 11
    assert sum(one["records"] for one in runs[:-1]) == runs[-1]["records"] > 11 - before  # the lost answer is told
    assert kipwire(*command, stdin=lines).stdout.splitlines()[0] == "copy: 0 records written"
    assert written(broker) == expected()


def test_a_break_while_lines_of_before_are_read_loses_nothing() -> None:
    """The state may then end within a batch that the log has; sequence numbers may have begun again."""
    partition, turn = Partition("copy", 0), 2**31
    found = [Found(partition, 0, 4, 100)]
    entries = [Entry(Record(offset=at, timestamp=TIME, value=b"%d" % at), 0, at, "") for at in range(6)]
    broken = Filling(partition, Producer(7, 0), Reached(0, "", 90), found)
    moved = [broken.add(entry) for entry in entries[:2]]
    assert moved == [Moved(0, 0, 100, 1), Moved(0, 1, 101, 1)]
    again = Filling(partition, Producer(7, 0), broken.reached, found)
    moved = [again.add(entry) for entry in entries]
    assert moved == [None, None, *(Moved(0, at, 100 + at, 1) for at in range(2, 5)), None]
    assert (again.known, again.waits, again.reached.offset) == (5, True, 105)
    late = Filling(partition, Producer(7, 0), Reached(turn - 2, "", 90), [Found(partition, turn - 2, 1, 100)])
    assert late.known == turn + 2


@pytest.mark.night
def test_a_killed_process_is_repeated_and_nothing_is_missing_or_twice(
    broker: FakeBroker, kipwire: Kipwire, tmp_path: Path
) -> None:
    some = [Record(offset=at, timestamp=TIME, value=b"%d" % at * 50_000) for at in range(60)]
    save(tmp_path, 0, *(write_batch(some[at : at + 10]) for at in range(0, 60, 10)))
    (tmp_path / "lines").write_text(kipwire("dump", "-r", "-f", "json", "logs/orders-0").stdout)
    command = ("produce", "--brokers", broker.bootstrap_servers, "one", "lines", "--state", "state.json")
    broker.delay(ApiKey.PRODUCE, 0.1, times=None)
    with subprocess.Popen([sys.executable, "-m", "kipwire", *command], cwd=tmp_path, stdout=-3) as process:
        broker.wait_until(lambda: len(broker.records("one")) > 10, 60)
        process.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    assert 0 < len(broker.records("one")) < 60
    broker.clear_faults()
    assert kipwire(*command).returncode == 0
    assert written(broker, "one") == (contents(some),)
    # The lines may grow, but not be others.
    save(tmp_path, 0, *(write_batch(some[at : at + 10]) for at in range(0, 60, 10)), write_batch([Record(offset=60)]))
    longer = kipwire("dump", "-r", "-f", "json", "logs/orders-0").stdout
    (tmp_path / "lines").write_text(longer)
    assert kipwire(*command).stdout.splitlines()[0].startswith("one partition 0: 1 record now at offsets 60 to 60")
    (tmp_path / "lines").write_text(longer.replace("33333", "33334", 1))
    done = kipwire(*command)
    assert (done.returncode, len(broker.records("one"))) == (2, 61)
    assert done.stderr.splitlines()[-1] == (
        "kipwire: state.json: the first 61 records of one partition 0 are not those that the runs of this state have "
        "written; give the same lines, to which more may be added, or another --state"
    )
