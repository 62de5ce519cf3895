"""States of groups at a real broker, with one verdict by all ways to ask. For `make test-broker`."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from itertools import count, repeat
from pathlib import Path
from time import monotonic, sleep, time
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Commit
from kafka import KafkaProducer
from kafka.admin import NewTopic

from tests.console.offsets.conftest import Offsets, lines_of
from tests.support.live.broker_traffic import admin_client
from tests.support.live.kafka_tools import lag_by_kafka
from tests.support.live.real_broker import ADDRESS, LOGS
from tests.support.live.unread_traffic import KEPT, OFTEN, commit, compact, delete_before, send
from tests.support.subjects.exposition import by_labels, samples
from tests.support.subjects.scripted_broker import unused_address

pytestmark = [
    pytest.mark.broker,
    pytest.mark.xdist_group("broker"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

STALLED_AFTER = 10
RUN = str(uuid4())[:8]
TOPIC, CLEANED, ANEW, OWNED, OWNED_TOO, NEW = (
    f"{name}-{RUN}" for name in ("states", "cleaned", "anew", "owned", "owned-too", "new")
)
OLD = 1_700_000_000_000
"""The time of most records, in milliseconds."""


class Verdict(NamedTuple):
    """All that is said of a group at a partition, but for times."""

    lag: int | None
    unread: int | None
    is_stalled: bool = False
    too_late: int = 0
    ahead: int = 0
    without_offset: bool = False
    seconds: str = "some"
    """none, some or unknown."""


class State(NamedTuple):
    """Steps at a partition, the offset that a group commits, later steps, and the verdict."""

    before: Callable[[int], object]
    offset: int
    after: Callable[[int], object]
    verdict: Verdict


def records(*times: int) -> Callable[[int], None]:
    """Send records, each in a batch of its own."""

    def run(partition: int) -> None:
        for one in times:
            send(ADDRESS, TOPIC, partition, [one])

    return run


def transaction(end: str, number: int = 2) -> Callable[[int], None]:
    """Send records in a transaction, which is committed, aborted or left open."""

    def run(partition: int) -> None:
        producer = KafkaProducer(
            bootstrap_servers=ADDRESS, transactional_id=f"{end}-{partition}-{RUN}", transaction_timeout_ms=600_000
        )
        producer.init_transactions()
        producer.begin_transaction()
        for at in range(number):
            producer.send(TOPIC, b"record", partition=partition, timestamp_ms=OLD + at)
        producer.flush()
        if end == "open":
            OPEN.callback(producer.close)
            OPEN.callback(producer.abort_transaction)
            return
        producer.commit_transaction() if end == "commit" else producer.abort_transaction()
        producer.close()

    return run


def deleted(offset: int) -> Callable[[int], None]:
    return lambda partition: delete_before(ADDRESS, TOPIC, partition, offset)


def both(*steps: Callable[[int], object]) -> Callable[[int], None]:
    def run(partition: int) -> None:
        for step in steps:
            step(partition)

    return run


def nothing(_: int) -> None:
    """Do nothing."""


OPEN = ExitStack()
THREE = records(OLD, OLD + 1000, OLD + 2000)
MOVES = Verdict(None, None)
"""Of a group whose lag is another one each time, and is unread."""
READ = Verdict(0, 0, seconds="none")
STATES: Mapping[str, State] = {
    "all-read": State(THREE, 3, nothing, READ),
    "empty": State(nothing, 0, nothing, READ),
    "dead-quiet": State(THREE, 1, nothing, Verdict(2, 2, True)),
    "dead-grows": State(THREE, 3, THREE, Verdict(3, 3, True)),
    "one-is-unread": State(THREE, 2, nothing, Verdict(1, 1, True)),
    "moves": State(lambda partition: send(ADDRESS, TOPIC, partition, [OLD] * 900), 0, nothing, MOVES),
    "commits-the-same": State(THREE, 1, nothing, Verdict(2, 2, True)),
    "marker-only": State(transaction("commit"), 2, nothing, Verdict(1, 0, seconds="none")),
    "aborted-only": State(THREE, 3, transaction("abort"), Verdict(3, 0, seconds="none")),
    "two-aborted": State(THREE, 3, both(transaction("abort"), transaction("abort")), Verdict(6, 0, seconds="none")),
    "aborted-and-more": State(THREE, 3, both(transaction("abort"), THREE), Verdict(6, 3, True)),
    "aborted-and-committed": State(THREE, 3, both(transaction("abort"), transaction("commit")), Verdict(6, 3, True)),
    "open": State(THREE, 3, transaction("open"), Verdict(2, 2, True)),
    "aborted-and-open": State(THREE, 3, both(transaction("abort"), transaction("open")), Verdict(5, 2, True)),
    "deleted": State(THREE, 1, deleted(3), Verdict(2, 0, too_late=2, seconds="none")),
    "next-deleted": State(THREE, 0, deleted(2), Verdict(3, 1, True, too_late=2)),
    "all-read-deleted": State(THREE, 3, deleted(3), READ),
    "ahead": State(THREE, 10, nothing, Verdict(0, 0, ahead=7, seconds="none")),
    "future": State(records(round(time() * 1000) + 1_800_000), 0, nothing, Verdict(1, 1, True, seconds="unknown")),
    "without-time": State(records(-1), 0, nothing, Verdict(1, 1, True, seconds="unknown")),
}
PARTITIONS = {name: number for number, name in enumerate(STATES)}


@contextmanager
def member(topic: str, group: str, protocol: str) -> Iterator[None]:
    """Run a member that has all partitions of a topic and never commits."""
    settings = {"group.id": f"{group}-{RUN}", "group.protocol": protocol, "enable.auto.commit": False}
    with closing(Consumer({"bootstrap.servers": ADDRESS, "auto.offset.reset": "earliest", **settings})) as consumer:
        consumer.subscribe([topic])
        until = monotonic() + 60
        while not consumer.assignment():
            assert monotonic() < until
            consumer.poll(0.1)
        stop = threading.Event()

        def poll() -> None:
            while not stop.is_set():
                consumer.poll(0.2)

        thread = threading.Thread(target=poll)
        thread.start()
        yield
        stop.set()
        thread.join()


@contextmanager
def committing(name: str, offsets: Iterator[int]) -> Iterator[None]:
    """Run a group that commits an offset again and again."""
    stop = threading.Event()

    def run() -> None:
        settings = {"bootstrap.servers": ADDRESS, "group.id": f"{name}-{RUN}", "enable.auto.commit": False}
        with closing(Consumer(settings)) as consumer:
            while not stop.is_set():
                part = [Commit(TOPIC, PARTITIONS[name], next(offsets))]
                consumer.commit(offsets=part, asynchronous=False)
                stop.wait(0.3)

    thread = threading.Thread(target=run)
    thread.start()
    yield
    stop.set()
    thread.join()


@pytest.fixture(scope="module")
def states() -> Iterator[None]:
    with admin_client(ADDRESS) as admin:
        topics = [NewTopic(TOPIC, len(STATES), 1, topic_configs=KEPT), NewTopic(CLEANED, 1, 1, topic_configs=OFTEN)]
        topics += [NewTopic(name, 1, 1, topic_configs=KEPT) for name in (ANEW, OWNED, OWNED_TOO, NEW)]
        admin.create_topics(topics, wait_for_metadata=True)
        for name, state in STATES.items():
            state.before(PARTITIONS[name])
        for topic in (OWNED, OWNED_TOO, ANEW):
            send(ADDRESS, topic, 0, [OLD] * 5)
        commit(ADDRESS, {(f"{name}-{RUN}", TOPIC, PARTITIONS[name]): one.offset for name, one in STATES.items()})
        for name, state in STATES.items():
            state.after(PARTITIONS[name])
        admin.delete_topics([ANEW])
        until = monotonic() + 30
        while ANEW in admin.list_topics():
            assert monotonic() < until
            sleep(0.2)
        admin.create_topics([NewTopic(ANEW, 1, 1, topic_configs=KEPT)], wait_for_metadata=True)
        send(ADDRESS, ANEW, 0, [OLD] * 2)
        with closing(KafkaProducer(bootstrap_servers=ADDRESS)) as producer:
            for at in range(50):  # each in a batch of its own
                producer.send(CLEANED, b"record", key=b"same", timestamp_ms=OLD + at)
                producer.flush()
        send(ADDRESS, CLEANED, 0, [OLD + 50], key=b"the last segment is never cleaned")
        compact(ADDRESS, LOGS, CLEANED, 50)
        commit(ADDRESS, {(f"made-anew-{RUN}", ANEW, 0): 5, (f"cleaned-{RUN}", CLEANED, 0): 10})
    checkpoint = LOGS / "log-start-offset-checkpoint"  # written once a minute
    until = monotonic() + 120
    while checkpoint.read_text().count(f"\n{TOPIC} ") < 3:
        assert monotonic() < until, "the broker has not written down the starts of logs"
        sleep(0.5)
    with (
        OPEN,
        member(OWNED, "owns", "classic"),
        member(OWNED_TOO, "owns-too", "consumer"),
        member(NEW, "new", "classic"),
        committing("moves", count(0)),
        committing("commits-the-same", repeat(1)),
    ):
        sleep(STALLED_AFTER + 1)
        yield
    with admin_client(ADDRESS) as admin:  # with them the offsets of groups go
        admin.delete_topics([TOPIC, CLEANED, ANEW, OWNED, OWNED_TOO, NEW])


EXPECTED = {
    **{name: state.verdict for name, state in STATES.items()},
    "made-anew": Verdict(0, 0, ahead=3, seconds="none"),
    "cleaned": Verdict(41, 2, True),
    "owns": Verdict(None, None, without_offset=True, seconds="unknown"),
    "owns-too": Verdict(None, None, without_offset=True, seconds="unknown"),
}


def verdict(row: Mapping[str, Any], *, is_stalled: bool) -> Verdict:
    """Make the verdict of a row of JSON with the words of both commands."""
    seconds = row["lag_seconds"]
    found = Verdict(
        row["lag"],
        row["unread"],
        is_stalled,
        row["too_late"],
        max(row["offset"] - row["end_offset"], 0),
        seconds="unknown" if seconds is None else "some" if seconds else "none",
    )
    is_moving = row["group"] == f"moves-{RUN}" and row["lag"] == row["unread"] > 0
    return found._replace(lag=None, unread=None) if is_moving else found


def name_of(row: Mapping[str, Any]) -> str:
    return str(row["group"]).removesuffix(f"-{RUN}")


def by_brokers(offsets: Offsets) -> dict[str, Verdict]:
    done = offsets("--brokers", ADDRESS, "--group", f"*-{RUN}", "-f", "json", "--stalled-after", STALLED_AFTER)
    assert (done.returncode, done.stderr) == (0, "")
    found = {}
    for row in lines_of(done, "partition"):
        if row["offset"] is not None:
            found[name_of(row)] = verdict(row, is_stalled=row["stalled_seconds"] is not None)
        elif row["without_offset"]:
            found[name_of(row)] = Verdict(None, None, without_offset=True, seconds="unknown")
    return found


def by_folder(offsets: Offsets, page: Path) -> dict[str, Verdict]:
    done = offsets(LOGS, "-f", "json", "--stalled-after", STALLED_AFTER, "--html", page)
    assert done.returncode == 0, done.stderr
    every = [row for row in map(json.loads, done.stdout.splitlines()) if str(row.get("group", "")).endswith(f"-{RUN}")]
    tables: dict[str, list[dict[str, Any]]] = {}
    for row in every:
        tables.setdefault(row["table"], []).append(row)
    stalled = {row["group"] for row in tables["stalled"]}
    found = {name_of(row): verdict(row, is_stalled=row["group"] in stalled) for row in tables["groups"]}
    for row in tables["without_offset"]:
        found[name_of(row)] = Verdict(None, None, without_offset=True, seconds="unknown")
    return found


def on_page(page: Path) -> dict[str, set[str]]:
    """Return the names of groups in the tables of a page, by title."""
    found = {}
    for section in page.read_text().split("<section")[1:]:
        title = section.partition("<h2>")[2].partition("</h2>")[0]
        rows = section.partition('<script type="application/json">')[2].partition("</script>")[0]
        groups = [row[0] for row in json.loads(rows or "[]")]
        found[title] = {group.removesuffix(f"-{RUN}") for group in groups if group.endswith(f"-{RUN}")}
    return found


def by_exporter() -> dict[str, dict[str, float]]:
    """Return the samples of each metric of groups, by group."""
    address = unused_address()
    command = [sys.executable, "-m", "kipwire", "offsets", "--brokers", ADDRESS, "--serve", address, "--every", "0.5"]
    command += ["--stalled-after", str(STALLED_AFTER), "--group", f"*-{RUN}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        process.stderr.readline()
        sleep(STALLED_AFTER + 4)
        with urllib.request.urlopen(f"http://{address}/metrics") as answer:
            found = samples(answer.read().decode())
        process.terminate()
    every = ("kafka_consumergroup_lag", *(f"kipwire_consumergroup_{word}" for word in WORDS))
    places = ("consumergroup", "topic", "partition")
    return {
        name: {group.removesuffix(f"-{RUN}"): number for (group, *_), number in by_labels(found, name, places).items()}
        for name in every
    }


WORDS = ("unread", "stalled_seconds", "too_late", "without_offset")


@pytest.mark.usefixtures("states")
def test_each_state_has_one_verdict(offsets: Offsets, tmp_path: Path) -> None:
    brokers, folder = by_brokers(offsets), by_folder(offsets, tmp_path / "lag.html")
    for name, expected in EXPECTED.items():
        assert (name, brokers.get(name)) == (name, expected)
        assert (name, folder.get(name)) == (name, expected)
    assert set(brokers) == set(folder) == set(EXPECTED)

    def those(choose: Callable[[Verdict], object]) -> set[str]:
        return {name for name, one in EXPECTED.items() if choose(one)}

    stalled, too_late, without = (
        those(lambda one: one.is_stalled), those(lambda one: one.too_late), those(lambda one: one.without_offset)
    )  # fmt: skip
    page = on_page(tmp_path / "lag.html")
    titles = ("Groups that stand still", "Groups that came too late", "Partitions without an offset")
    assert [page[title] for title in titles] == [stalled, too_late, without]
    lag, unread, *wrong = by_exporter().values()
    assert [set(one) for one in wrong] == [stalled, too_late, without]
    for name, expected in EXPECTED.items():
        if expected.lag is not None:
            assert (name, lag[name], unread[name]) == (name, expected.lag, expected.unread)


@pytest.mark.usefixtures("states")
def test_lag_is_what_kafkas_own_tool_prints(offsets: Offsets) -> None:
    kafka = {group.removesuffix(f"-{RUN}"): lag for (group, *_), (*_, lag) in lag_by_kafka(ADDRESS).items()}
    found = by_brokers(offsets)
    for name, expected in EXPECTED.items():
        if expected.lag is not None:
            assert (name, kafka[name]) == (name, found[name].lag)
