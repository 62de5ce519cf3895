"""kipwire.cluster against brokers that stop, move, refuse and lie: one pool, one patience, any of several addresses."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import pytest
from confluent_kafka import Producer

from kafka_messages.enums import ApiKey, ErrorCode
from kafka_messages.fetch_request.v12 import FetchRequest
from kipwire.aio import Failure, Refused, TlsFailure, parse_addresses
from kipwire.cluster import (
    EARLIEST,
    LATEST,
    ONCE,
    Cluster,
    NotFound,
    Partition,
    Patience,
    ReadFailedError,
    Settings,
    lag,
)
from kipwire.testing import FakeBroker
from tests.cluster.conftest import TIME, committed
from tests.support import command_line
from tests.support.example_programs import example
from tests.support.places import DATA, ROOT
from tests.support.subjects.scripted_broker import unused_address

T = TypeVar("T")

QUICK = Patience(7, 0)
ORDERS = Partition("orders", 0)


def ask(addresses: Any, work: Callable[[Cluster], Coroutine[Any, Any, T]], **how: Any) -> T:
    """Do something with a cluster, and close it."""

    async def asked() -> T:
        async with Cluster(addresses, **{"patience": QUICK, **how}) as cluster, asyncio.timeout(60):
            return await work(cluster)

    return asyncio.run(asked())


async def offsets_of(cluster: Cluster, read: dict[Partition, int], **how: Any) -> dict[Partition, list[int]]:
    """Read partitions to their ends; return the offsets of their records."""
    found: dict[Partition, list[int]] = {partition: [] for partition in read}
    async for batches in cluster.read(read, **how):
        found[batches.partition] += [record.offset for record in batches.records()]
    return found


def server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(DATA / "tls" / "broker.pem")
    return context


# Addresses.


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("a:1", [("a", 1)]),
        ("a:1, b , [::1]:2", [("a", 1), ("b", 9092), ("::1", 2)]),
        (("a", 1), [("a", 1)]),
        (["a:1,b:2", ("::1", 3)], [("a", 1), ("b", 2), ("::1", 3)]),
        (("a", "b:2"), [("a", 9092), ("b", 2)]),
    ],
)
def test_addresses_are_texts_with_commas_or_pairs_or_several_of_these(given: Any, expected: list[Any]) -> None:
    assert parse_addresses(given) == tuple(expected)


@pytest.mark.parametrize("given", ["", "a:1,", "a b", "a:0", [], ["a", "b:x"]])
def test_what_is_no_list_of_addresses_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match=r"is not a valid address|is missing"):
        Cluster(given)


# One pool.


def test_each_broker_has_one_connection_whatever_is_asked() -> None:
    with FakeBroker(topics={"orders": 6}, nodes=3, auto_create_topics=False) as broker:
        for partition in range(6):
            broker.append("orders", b"x", partition=partition)
            committed(broker, f"g{partition}", {("orders", partition): 0})
        broker.clear_requests()

        async def work(cluster: Cluster) -> None:
            assert {row.lag for row in lag.rows_of(await lag.look(cluster))} == {1}
            leaders = await cluster.leaders("orders")
            starts, ends = await cluster.ranges(leaders)
            assert (set(starts.values()), set(ends.values())) == ({0}, {1})
            assert await offsets_of(cluster, dict(starts)) == {partition: [0] for partition in leaders}

        ask(broker.bootstrap_servers, work)
        for node in broker.node_ids:
            assert len(broker.requests(ApiKey.API_VERSIONS, node=node)) == 1
        asked = [*broker.requests(ApiKey.LIST_OFFSETS), *broker.requests(ApiKey.FETCH)]
        assert {one.body.to_json()["replicaId"] for one in asked} == {-1}  # a replica would see more


def test_reading_gives_each_record_from_an_offset_on_once() -> None:
    random = Random(7)
    with FakeBroker(topics={"orders": 4, "paid": 1}, nodes=2) as broker:
        for number in range(200):
            broker.append("orders", bytes(random.randrange(50)), partition=number % 3, timestamp=TIME + number)
        last = {Partition("orders", n): len(broker.records("orders", n)) for n in range(4)}
        for _ in range(5):
            starts = {partition: random.randrange(end + 1) for partition, end in last.items()}
            broker.fail(ApiKey.FETCH, ErrorCode.NOT_LEADER_OR_FOLLOWER, times=random.randrange(1, 4))
            broker.disconnect(ApiKey.FETCH, times=random.randrange(1, 3))
            broker.move_leader("orders", random.randrange(3), to=random.randrange(1, 3))
            found = ask(broker.bootstrap_servers, partial(offsets_of, read=starts))
            assert found == {partition: list(range(start, last[partition])) for partition, start in starts.items()}


def test_offsets_and_records_can_be_the_committed_ones_alone() -> None:
    with FakeBroker(topics=["orders"]) as broker:
        producer = Producer(
            {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "t", "log_level": 0, "linger.ms": 0}
        )
        producer.init_transactions(30)
        for end in (producer.abort_transaction, producer.commit_transaction, None):
            producer.begin_transaction()
            producer.produce("orders", b"x")
            assert producer.flush(30) == 0
            if end is not None:
                end(30)

        async def work(cluster: Cluster) -> list[Any]:
            leaders = await cluster.leaders(ORDERS)
            ends = [(await cluster.offsets(leaders, LATEST, committed=level))[ORDERS] for level in (False, True)]
            read = [(await offsets_of(cluster, {ORDERS: 0}, committed=level))[ORDERS] for level in (False, True)]
            return [ends, read]

        assert ask(broker.bootstrap_servers, work) == [[5, 4], [[0, 2, 4], [2]]]
        producer.abort_transaction(30)


# Patience.


@pytest.mark.parametrize("api", [ApiKey.LIST_OFFSETS, ApiKey.FETCH, ApiKey.METADATA])
def test_patience_is_all_that_a_report_and_a_reader_do_differently(api: ApiKey) -> None:
    with FakeBroker(topics={"orders": 1}, auto_create_topics=False) as broker:
        broker.append("orders", b"x")
        code = ErrorCode.LEADER_NOT_AVAILABLE if api == ApiKey.METADATA else ErrorCode.NOT_LEADER_OR_FOLLOWER
        read = lambda cluster: offsets_of(cluster, {ORDERS: 0})  # noqa: E731
        broker.fail(api, code, times=QUICK.attempts - 1)
        assert ask(broker.bootstrap_servers, read) == {ORDERS: [0]}
        broker.clear_faults()
        broker.fail(api, code, times=1)
        with pytest.raises((ReadFailedError, NotFound), match=code.name):
            ask(broker.bootstrap_servers, read, patience=ONCE)
        broker.fail(api, code, times=None)
        broker.clear_requests()
        with pytest.raises((ReadFailedError, NotFound), match=code.name):
            ask(broker.bootstrap_servers, read)
        assert len(broker.requests(api)) >= QUICK.attempts


def test_a_leader_that_moves_or_stops_is_found_again() -> None:
    with FakeBroker(topics={"orders": 1}, nodes=2) as broker:
        broker.append("orders", b"x")

        async def work(cluster: Cluster) -> None:
            leaders = await cluster.leaders("orders")
            other = 3 - broker.leader("orders")
            await asyncio.to_thread(broker.move_leader, "orders", to=other)
            assert await cluster.offsets(leaders, LATEST) == {ORDERS: 1}
            reader = cluster.reader(leaders)
            assert [batches.next_offset async for batches in reader.read({ORDERS: 0}, {ORDERS: 1})] == [1]
            await asyncio.to_thread(broker.stop_node, other)
            await asyncio.to_thread(broker.move_leader, "orders", to=3 - other)
            assert await cluster.offsets(await cluster.leaders("orders"), EARLIEST) == {ORDERS: 0}

        ask(broker.bootstrap_servers, work)


def test_a_leader_that_says_nothing_of_a_partition_is_not_asked_for_ever(broker: FakeBroker) -> None:
    async def nothing(request: Any, handle: Any) -> Any:
        response = await handle()
        response.responses = []
        return response

    broker.intercept(FetchRequest, nothing)
    found = ask(broker.bootstrap_servers, lag.look)
    assert [str(one) for one in found.problems] == ["orders/0 at offset 1: the leader returned nothing for it"]
    with pytest.raises(ReadFailedError, match="orders/0: the leader returned nothing for it"):
        ask(broker.bootstrap_servers, lambda cluster: offsets_of(cluster, {ORDERS: 0}))


def test_what_is_not_there_is_named(broker: FakeBroker) -> None:
    for wanted, reason in (
        ({Partition("nope", 0): 0}, "has no topic 'nope': 3 UNKNOWN_TOPIC_OR_PARTITION"),
        ({Partition("order", 0): 0}, "has no topic 'order': 3 UNKNOWN_TOPIC_OR_PARTITION; did you mean orders?"),
        ({Partition("orders", 7): 0}, "has no orders partition 7; orders has 2 partitions"),
    ):
        with pytest.raises(NotFound, match=reason):
            ask(broker.bootstrap_servers, partial(offsets_of, read=wanted))
    leaders = ask(broker.bootstrap_servers, lambda cluster: cluster.leaders("nope", "orders", Partition("paid", 9)))
    assert sorted(leaders) == [Partition("orders", 0), Partition("orders", 1)]
    assert leaders.gone == {Partition("paid", 9)}
    assert [str(one) for one in leaders.problems] == ["topic nope: the broker returned 3 UNKNOWN_TOPIC_OR_PARTITION"]


# Addresses of which some are dead, and other bad input: a line each.


def test_dead_addresses_are_named_once_and_the_others_do(broker: FakeBroker, caplog: pytest.LogCaptureFixture) -> None:
    dead = [unused_address(), unused_address()]

    async def work(cluster: Cluster) -> int:
        for _ in range(3):
            await cluster.nodes()
        return len(await cluster.leaders("orders"))

    with caplog.at_level(logging.WARNING, "kipwire.cluster"):
        assert ask(",".join([*dead, broker.bootstrap_servers]), work) == 2
    assert [one.partition(": ")[0] for one in caplog.messages] == dead
    with pytest.raises(Refused) as error:
        ask(dead, work)
    assert str(error.value) == (
        f"{dead[0]}: connection refused; is the broker running on this port?; nor can {dead[1]} be reached"
    )


def calls(brokers: str) -> dict[str, list[str]]:
    """Return a call of each command that is given addresses."""
    return {
        "call": ["call", brokers, "Metadata", "{}", "--to", "leader:orders/0"],
        "call one": ["call", brokers, "Metadata", "{}"],
        "call --list": ["call", brokers, "--list"],
        "dump": ["dump", "--brokers", brokers, "orders"],
        "offsets": ["offsets", "--brokers", brokers],
    }


@pytest.mark.parametrize("name", calls(""))
def test_each_command_takes_several_addresses_and_names_the_dead(
    name: str, broker: FakeBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(brokers: str) -> command_line.Done:
        return command_line.call(*calls(brokers)[name], folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys)

    dead = unused_address()
    done = call(f"{dead},{broker.bootstrap_servers}")
    expected = f"kipwire: {dead}: connection refused; is the broker running on this port?\n"
    assert (done.returncode, done.stderr) == (0, expected)
    done = call(f"{dead},{unused_address()}")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"kipwire: {dead}: connection refused")
    done = call("a:1,b:x")
    assert done.returncode == 2 and "'b:x' is not a valid address" in done.stderr


@pytest.mark.parametrize("name", calls(""))
def test_wrong_settings_are_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def call(brokers: str, *options: str) -> str:
        done = command_line.call(
            *calls(brokers)[name], *options, folder=tmp_path, monkeypatch=monkeypatch, capsys=capsys
        )
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done
        return done.stderr

    resolve = socket.getaddrinfo

    def resolved(host: Any, *arguments: Any, **how: Any) -> Any:
        if host == "no.such.host":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return resolve(host, *arguments, **how)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    assert "no.such.host:9092: cannot connect: Name or service not known" in call("no.such.host")
    (tmp_path / "secret").write_text("wrong")
    with FakeBroker(topics=["orders"], users={"alice": "secret"}) as broker:
        where = f"{broker.bootstrap_servers},localhost:1"
        assert "without TLS?" in call(broker.bootstrap_servers, "--tls")
        login = ("--sasl", "PLAIN", "--user", "alice", "--password-file", str(tmp_path / "secret"))
        broker.clear_requests()
        assert "returned SASL_AUTHENTICATION_FAILED" in call(where, *login)
        assert len(broker.requests(ApiKey.SASL_AUTHENTICATE)) == 1  # not again, which may lock the account


def test_a_certificate_that_is_not_trusted_is_asked_for_once() -> None:
    with FakeBroker(topics=["orders"], ssl=server_context()) as broker:
        for settings, kind in ((Settings(tls=True), TlsFailure), (Settings(), Failure)):
            with pytest.raises(kind):
                ask(broker.bootstrap_servers, lambda cluster: cluster.leaders("orders"), settings=settings)


def test_a_broker_that_leaves_in_the_middle_of_a_look_is_one_problem() -> None:
    with FakeBroker(topics={"orders": 4}, nodes=2, auto_create_topics=False) as broker:
        for partition in range(4):
            broker.append("orders", b"x", partition=partition, timestamp=TIME)
        first, second = broker.bootstrap_servers.split(",")
        coordinator = broker.coordinator(group="billing")
        committed(broker, "billing", {("orders", partition): 0 for partition in range(4)})
        gone = 3 - coordinator
        broker.disconnect(ApiKey.LIST_OFFSETS, node=gone, times=None)
        found = ask((first, second)[coordinator - 1], lag.look, patience=ONCE)
        assert [one.where for one in found.problems] == [f"node {gone} at {(first, second)[gone - 1]}"]
        lags = {row.partition.number: row.lag for row in lag.rows_of(found)}
        assert lags == {n: None if broker.leader("orders", n) == gone else 1 for n in range(4)}


# The program of docs/cluster.md.


def test_the_program_of_the_page_is_the_example() -> None:
    text = (ROOT / "examples/cluster_report.py").read_text("utf-8")
    program = text[text.index("import asyncio") : text.index("\n\n\nif __name__")]
    assert f"```python\n{program}\n```\n" in (ROOT / "docs/cluster.md").read_text("utf-8")


def test_the_example_prints_lag_leaders_and_the_last_records(
    broker: FakeBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(12):
        broker.append("orders", b"late %d" % number, partition=number % 2, timestamp=TIME + 10_000 + number)
    asyncio.run(example("cluster_report").report(broker.bootstrap_servers, "orders"))
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(" and ")[0] for line in lines[:2]] == ["billing is 9 records", "billing is 6 records"]
    assert lines[2:4] == [
        f"node 1 at {broker.bootstrap_servers} leads orders/{number}, from offset 0 to 10" for number in range(2)
    ]
    assert lines[4:] == [f"{TIME + 10_000 + number} None b'late {number}'" for number in range(2, 12)]
