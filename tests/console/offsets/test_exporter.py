"""kipwire offsets --serve: it goes on whatever brokers do, and whatever comes by HTTP."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kipwire.aio import Refused, parse_address
from kipwire.cluster import ONCE, Cluster, Settings, lag
from kipwire.cluster.model import Group, Kind, Look, Problem
from kipwire.console.offsets import exporter as exporters
from kipwire.console.offsets.exporter import HEAD_BYTES, Exporter, Server, request_line
from kipwire.logs.names import Partition
from kipwire.testing import FakeBroker
from tests.support.subjects.exposition import by_labels, samples
from tests.support.subjects.scripted_broker import unused_address

A = Partition("orders", 0)


def seen(offset: int, end: int, time: float, *problems: Problem) -> Look:
    group = Group("billing", Kind.CLASSIC, "Empty", (), {A: offset})
    return Look(time, ("billing",), (group,), {A: 0}, {A: end}, frozenset(), {}, problems)


@asynccontextmanager
async def serving(exporter: Exporter) -> AsyncIterator[Callable[..., Any]]:
    """Run a server; yield a function that sends it bytes, and returns the bytes of the answer."""
    handler = Server(exporter)
    server = await asyncio.start_server(handler.accept, "127.0.0.1", 0, limit=HEAD_BYTES)
    host, port = server.sockets[0].getsockname()

    async def ask(request: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(request)
        if request:
            await writer.drain()
        else:
            writer.write_eof()
        answer = await reader.read()
        writer.close()
        return answer

    async with server:
        yield ask
        await handler.close()


def made(rounds: list[Look | Exception], said: list[str] | None = None, *, oldest: float = 1000) -> Exporter:
    """Return an exporter after some rounds."""
    one = Exporter(60, oldest, (said if said is not None else []).append)
    left = iter(rounds)

    async def following() -> Look:
        found = next(left, None)
        if found is None:
            raise asyncio.CancelledError
        if isinstance(found, Exception):
            raise found
        return found

    async def run() -> None:
        with pytest.raises(asyncio.CancelledError):
            await one.run(following, 0)

    asyncio.run(run())
    return one


async def scrape(exporter: Exporter, target: str = "/metrics") -> tuple[bytes, str]:
    async with serving(exporter) as ask:
        head, _, body = (await ask(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())).partition(b"\r\n\r\n")
    return head, body.decode()


def test_scrapes_get_the_last_round() -> None:
    exporter = made([seen(3, 10, 1000), seen(5, 10, 1015)])
    head, body = asyncio.run(scrape(exporter))
    assert head.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    found = samples(body)
    assert by_labels(found, "kafka_consumergroup_lag", ("consumergroup", "topic", "partition")) == {
        ("billing", "orders", "0"): 5
    }
    assert found["kipwire_offsets_as_of_timestamp_seconds", frozenset()] == 1015
    assert found["kipwire_offsets_up", frozenset()] == 1


def test_stalled_is_known_after_several_rounds() -> None:
    labels = ("consumergroup", "topic", "partition")
    for rounds, expected in (
        ([seen(3, 10, 1000)], {}),
        ([seen(3, 10, 1000), seen(3, 10, 1061)], {("billing", "orders", "0"): 61}),
        ([seen(3, 10, 1000), seen(4, 10, 1010), seen(4, 10, 1080)], {("billing", "orders", "0"): 70}),
        ([seen(3, 10, 1000), seen(4, 10, 1010), seen(4, 11, 1080)], {("billing", "orders", "0"): 70}),
    ):
        _, body = asyncio.run(scrape(made([*rounds])))
        assert by_labels(samples(body), "kipwire_consumergroup_stalled_seconds", labels) == expected


def test_without_a_broker_it_is_down_and_has_no_old_lag() -> None:
    said: list[str] = []
    failure = Refused(("kafka", 9092), "connection refused")
    exporter = made([seen(3, 10, 1000), failure, failure], said)
    _, body = asyncio.run(scrape(exporter))
    assert set(samples(body)) == {
        (name, frozenset()) for name in ("kipwire_offsets_up", "kipwire_offsets_round_seconds")
    }
    assert samples(body)["kipwire_offsets_up", frozenset()] == 0
    head, reason = asyncio.run(scrape(exporter, "/health"))
    assert (head.splitlines()[0], reason) == (
        b"HTTP/1.1 503 Service Unavailable",
        "kafka:9092: connection refused\n",
    )
    assert said == ["kafka:9092: connection refused"]
    made([failure, seen(3, 10, 1000, Problem("node 2", "gone")), seen(3, 10, 1000, Problem("node 2", "gone"))], said)
    assert said[1:] == ["kafka:9092: connection refused", "the cluster is reachable again", "node 2: gone"]


@pytest.mark.parametrize("error", [OverflowError("bind(): port must be 0-65535."), RecursionError("a\nb\x1b")])
def test_a_round_may_fail_in_any_way(error: Exception) -> None:
    said: list[str] = []
    exporter = made([seen(3, 10, 1000), error, error], said)
    _, body = asyncio.run(scrape(exporter))
    assert samples(body)["kipwire_offsets_up", frozenset()] == 0 and "kafka_consumergroup_lag" not in body
    assert len(said) == 1 and said[0].startswith(f"a round failed: {type(error).__name__}: ") and said[0].isprintable()
    _, body = asyncio.run(scrape(made([error, seen(3, 10, 1000)], said)))
    assert samples(body)["kipwire_offsets_up", frozenset()] == 1
    assert said[-1] == "the cluster is reachable again"


def test_an_old_round_is_not_shown() -> None:
    exporter = made([seen(3, 10, 1000)], oldest=-1)
    _, body = asyncio.run(scrape(exporter))
    assert samples(body)["kipwire_offsets_up", frozenset()] == 0
    assert "kafka_consumergroup_lag" not in body
    _, reason = asyncio.run(scrape(exporter, "/health"))
    assert reason.startswith("the last round ended ")


def test_a_scrape_waits_for_the_first_round_but_not_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporters, "SECONDS_FOR_FIRST_ROUND", 0.05)
    _, body = asyncio.run(scrape(Exporter(60, 60, print)))
    assert samples(body) == {("kipwire_offsets_up", frozenset()): 0}
    _, reason = asyncio.run(scrape(Exporter(60, 60, print), "/health"))
    assert reason == "no round has ended yet\n"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"HEAD /metrics HTTP/1.1\r\n\r\n", b"200 OK"),
        (b"GET /metrics?x=1 HTTP/1.0\r\n\r\n", b"200 OK"),
        (b"GET / HTTP/1.1\r\n\r\n", b"200 OK"),
        (b"GET /other HTTP/1.1\r\n\r\n", b"404 Not Found"),
        (b"GET /\xff\x00 HTTP/1.1\r\n\r\n", b"404 Not Found"),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", b"405 Method Not Allowed"),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", b"400 Bad Request"),
        (b"GET /metrics\r\n\r\n", b"400 Bad Request"),
        (b"\r\n\r\n", b"400 Bad Request"),
        (b"GET " + b"a" * 2 * HEAD_BYTES, b"431 Request Header Fields Too Large"),
        (b"x" * 2 * HEAD_BYTES + b"\r\n\r\n", b"431 Request Header Fields Too Large"),
        (b"", b""),
    ],
)
def test_whatever_comes_ends_its_own_connection_alone(request_: bytes, status: bytes) -> None:
    async def work() -> None:
        async with serving(made_within) as ask:
            answer = await ask(request_)
            assert answer.partition(b"\r\n")[0] == (b"HTTP/1.1 " + status if status else b"")
            if request_.startswith(b"HEAD"):
                assert answer.endswith(b"\r\n\r\n")
            assert (await ask(b"GET /health HTTP/1.1\r\n\r\n")).startswith(b"HTTP/1.1 200 OK")

    made_within = made([seen(3, 10, 1000)])
    asyncio.run(work())


def test_request_lines() -> None:
    assert request_line(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n") == ("GET", "/metrics")
    assert request_line(b"GET  /metrics HTTP/1.1\r\n") == ("", "")
    assert request_line(b"G\xc3T / HTTP/1.1\r\n") == ("", "")


def test_rounds_go_on_when_a_broker_stops_and_comes_back() -> None:
    """One cluster, its connections kept: a node that stops is a problem, a cluster that is gone an error."""
    with FakeBroker(topics={"orders": 2}, nodes=2, auto_create_topics=False) as broker:
        addresses = [parse_address(one) for one in broker.bootstrap_servers.split(",")]

        async def work() -> None:
            cluster = Cluster(addresses[:1], Settings(timeout=5), patience=ONCE)
            try:
                assert not (await lag.look(cluster)).problems
                await asyncio.to_thread(broker.stop_node, 1)
                assert not (await lag.look(cluster)).problems  # by the other node, known from metadata
                await asyncio.to_thread(broker.stop_node, 2)
                with pytest.raises(Refused):
                    await lag.look(cluster)
                await asyncio.to_thread(broker.start_node, 1)
                assert not (await lag.look(cluster)).problems
            finally:
                await cluster.close()

        asyncio.run(work())


@pytest.mark.parametrize(
    ("host", "by", "end"),
    [("127.0.0.1", signal.SIGTERM, (0, "")), ("", signal.SIGINT, (130, "kipwire: interrupted\n"))],
)
def test_the_command_serves_until_it_is_ended(host: str, by: signal.Signals, end: tuple[int, str]) -> None:
    port = parse_address(unused_address())[1]
    address = f"{host or 'localhost'}:{port}"
    with FakeBroker(topics={"orders": 1}) as broker:
        command = [sys.executable, "-m", "kipwire", "offsets", "--brokers", broker.bootstrap_servers]
        process = subprocess.Popen(
            [*command, "--serve", f"{host}:{port}", "--every", "0.1"], stderr=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        said = process.stderr
        first = said.readline()
        assert first == f"kipwire: metrics of {broker.bootstrap_servers} at http://{address}/metrics\n"
        with socket.create_connection(parse_address(address)) as one:
            one.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            text = b"".join(iter(lambda: one.recv(65536), b"")).decode()
        assert "\nkipwire_offsets_up 1\n" in text
        clients = [socket.create_connection(parse_address(address)) for _ in range(3)]
        clients[1].sendall(b"GET /metr")
        clients[2].sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        process.send_signal(by)
        assert (process.wait(30), said.read()) == end
        said.close()
        for client in clients:
            client.close()
        taken = subprocess.run(
            [*command, "--serve", broker.bootstrap_servers], capture_output=True, text=True, check=False, timeout=60
        )
        words = f"kipwire: cannot listen at {broker.bootstrap_servers}: Address already in use\n"
        assert (taken.returncode, taken.stderr) == (2, words)
