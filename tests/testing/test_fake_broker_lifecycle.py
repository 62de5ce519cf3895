"""A fake broker starts and stops without a trace, and shows what it has."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import socket
import threading
import warnings
from typing import Any, cast

import pytest

import kafka_messages
from kafka_messages.enums import ApiKey, ErrorCode
from kipwire import build
from kipwire.connection import ClientConnection, Response
from kipwire.testing import FakeBroker
from kipwire.testing.broker import interceptors
from kipwire.testing.broker.apis import APIS
from kipwire.testing.broker.apis.api import Api
from tests.support.subjects.fake_broker_requests import batch

REGISTRY = kafka_messages.REGISTRY
HEARTBEAT = {"group_id": "g", "generation_id": 1, "member_id": "m"}


class Connection:
    """A client of a few lines, without a thread."""

    def __init__(self, broker: FakeBroker) -> None:
        self.socket = socket.create_connection((broker.host, broker.port), timeout=20)
        self.connection = ClientConnection(REGISTRY, "tests")

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, api: int, version: int, **values: Any) -> None:
        self.socket.sendall(self.connection.send(build(REGISTRY.request(api, version), values)))

    def receive(self) -> Any:
        """Return the next response; None if the broker closes the connection."""
        while data := self.socket.recv(65536):
            self.connection.receive_data(data)
            for event in self.connection.events():
                assert isinstance(event, Response)
                return event.body
        return None

    def ask(self, api: int, version: int, **values: Any) -> Any:
        self.send(api, version, **values)
        return self.receive()


def produce_values(value: bytes, acks: int = 1, topic: str = "orders") -> dict[str, Any]:
    data = {"index": 0, "records": batch(value)}
    return {"acks": acks, "timeout_ms": 1000, "topic_data": [{"name": topic, "partition_data": [data]}]}


def fetch_values(**values: Any) -> dict[str, Any]:
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1000}
    return {"min_bytes": 1, "topics": [{"topic": "orders", "partitions": [partition]}], **values}


def test_nothing_is_left_after_the_end() -> None:
    before = set(threading.enumerate())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with FakeBroker(["orders"]) as broker:
            idle, waiting = Connection(broker), Connection(broker)
            waiting.send(ApiKey.FETCH, 12, **fetch_values(max_wait_ms=600_000))
            broker.wait_until(lambda: len(broker.requests(ApiKey.FETCH)) == 1)
            assert {thread.name for thread in set(threading.enumerate()) - before} == {"fake broker"}
        assert idle.receive() is None and waiting.receive() is None
        idle.socket.close()
        waiting.socket.close()
        gc.collect()  # open sockets warn now
    assert set(threading.enumerate()) == before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((broker.host, broker.port), timeout=20)


def test_connections_that_come_while_it_stops_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    left_open: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", lambda caught: left_open.append(caught.exc_value))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for count in range(100):
            broker = FakeBroker()
            broker.start()
            clients = [socket.create_connection((broker.host, broker.port), timeout=20) for _ in range(count % 5)]
            broker.stop()
            for client in clients:
                client.close()
        gc.collect()
    assert left_open == []


def test_a_stopped_broker_keeps_its_records_and_its_port() -> None:
    broker = FakeBroker(["orders"])
    with broker, Connection(broker) as connection:
        connection.ask(ApiKey.PRODUCE, 9, **produce_values(b"first"))
        port = broker.port
    assert [record.value for record in broker.records("orders")] == [b"first"]
    with broker, Connection(broker) as connection:
        assert broker.port == port
        connection.ask(ApiKey.PRODUCE, 9, **produce_values(b"second"))
    assert [record.value for record in broker.records("orders")] == [b"first", b"second"]


def test_a_broker_shows_where_it_is() -> None:
    broker = FakeBroker()
    assert repr(broker) == "<FakeBroker not running>"
    with pytest.raises(RuntimeError, match="not running, so its port is not known"):
        _ = broker.bootstrap_servers
    assert FakeBroker(port=19092).bootstrap_servers == "127.0.0.1:19092"
    with broker:
        assert repr(broker) == f"<FakeBroker at {broker.bootstrap_servers}>"
    assert repr(broker) == "<FakeBroker not running>"


def test_a_broker_starts_once_and_only_where_nobody_listens() -> None:
    with FakeBroker() as broker:
        with pytest.raises(RuntimeError, match=rf"is already running, at {broker.bootstrap_servers}"):
            broker.start()
        other = FakeBroker(port=broker.port)
        with pytest.raises(OSError, match="in use"):
            other.start()
        other.stop()  # does nothing
    assert broker.bootstrap_servers == f"127.0.0.1:{broker.port}"


def test_it_runs_in_the_event_loop_of_the_test() -> None:
    async def run() -> None:
        before = threading.active_count()
        async with FakeBroker(["orders"]) as broker:
            reader, writer = await asyncio.open_connection(broker.host, broker.port)
            connection = ClientConnection(REGISTRY)
            writer.write(connection.send(build(REGISTRY.request(ApiKey.PRODUCE, 9), produce_values(b"v"))))
            connection.receive_data(await asyncio.wait_for(reader.read(1000), 20))
            assert len(list(connection.events())) == 1
            assert [record.value for record in broker.records("orders")] == [b"v"]
            assert await asyncio.to_thread(broker.topics) == {"orders": 1}
            assert threading.active_count() - before <= 1  # the thread of to_thread
            with pytest.raises(RuntimeError, match="would block the event loop"):
                broker.wait_until(lambda: True)
            await asyncio.to_thread(broker.wait_until, lambda: True)
            writer.close()
            await writer.wait_closed()

    asyncio.run(run())


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_it_stops_before_the_end_of_async_with(is_elsewhere: bool) -> None:
    async def run() -> None:
        async with FakeBroker(nodes=2) as broker:
            reader, writer = await asyncio.open_connection(broker.host, broker.port)
            broker.stop_node(2)
            if is_elsewhere:
                await asyncio.to_thread(broker.stop)
            else:
                broker.stop()
            assert await asyncio.wait_for(reader.read(), 20) == b""
            writer.close()
            assert repr(broker) == "<FakeBroker not running>"
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(broker.host, broker.port)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


def test_a_broker_that_was_stopped_within_async_with_has_closed_at_its_end() -> None:
    async def run() -> None:
        async with FakeBroker() as broker:
            broker.stop()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(broker.host, broker.port)

    asyncio.run(run())


def test_topics_and_records_are_made_by_tests_too() -> None:
    broker = FakeBroker({"orders": 2}, default_partitions=3)
    broker.create_topic("others")
    assert broker.append("orders", b"a", partition=1) == 0
    assert broker.append("orders", b"b", key=b"k", headers=[("h", b"v")], timestamp=5, partition=1) == 1
    assert broker.append("made", None, key=b"gone", compression="gzip") == 0
    assert broker.topics() == {"orders": 2, "others": 3, "made": 3}
    second = broker.records("orders", 1)[1]
    assert (second.offset, second.key, second.value, second.headers, second.timestamp) == (
        1,
        b"k",
        b"b",
        [("h", b"v")],
        5,
    )
    assert broker.records("orders", 0) == []
    assert [one.compression for one in broker.batches("made")] == ["gzip"]
    broker.delete_topic("orders")
    assert "orders" not in broker.topics()


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda broker: broker.create_topic("orders"), "the topic 'orders' already exists"),
        (lambda broker: broker.create_topic("a b"), "'a b' is not a valid name of a topic"),
        (lambda broker: broker.create_topic("zero", 0), "a topic needs at least one partition"),
        (lambda broker: broker.delete_topic("other"), "no topic is named 'other'"),
        (lambda broker: broker.append("other", b"v"), "no topic is named 'other'"),
        (lambda broker: broker.records("orders", 1), "orders has no partition 1"),
        (lambda broker: broker.fail(ApiKey.VOTE, ErrorCode.UNKNOWN_SERVER_ERROR), "does not serve 52 VOTE"),
        (lambda broker: broker.delay(ApiKey.FETCH, 1, times=0), "times must be 1 or more, or None for always, not 0"),
        (lambda _: FakeBroker(versions={ApiKey.FETCH: range(3, 5)}), "cannot serve 1 FETCH in range.3, 5.*4 to 18"),
        (lambda _: FakeBroker(versions={ApiKey.VOTE: range(1)}), "cannot serve 52 VOTE in range.0, 1.*none"),
        (lambda _: FakeBroker({"a b": 1}), "'a b' is not a valid name"),
    ],
)
@pytest.mark.parametrize("is_running", [False, True])
def test_calls_that_cannot_be_are_refused(wrong: Any, reason: str, is_running: bool) -> None:
    broker = FakeBroker(["orders"], auto_create_topics=False)
    if is_running:
        broker.start()
    try:
        with pytest.raises(ValueError, match=reason):
            wrong(broker)
    finally:
        broker.stop()


def test_a_text_is_not_taken_for_the_names_of_topics() -> None:
    with pytest.raises(TypeError, match=r"as in \['orders'\]; not a text"):
        FakeBroker("orders")


@pytest.mark.parametrize(
    "wrong",
    [
        lambda broker: broker.fail("Produce", ErrorCode.UNKNOWN_SERVER_ERROR),
        lambda broker: broker.requests("Produce"),
        lambda broker: broker.intercept("Produce", lambda request, handle: None),
        lambda _: FakeBroker(versions=cast("Any", {"Produce": range(1)})),
        lambda _: FakeBroker(versions=cast("Any", {"Produce": range(0)})),
    ],
)
def test_a_name_is_not_taken_for_an_api(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"as in ApiKey.METADATA, .* not by 'Produce'"):
        wrong(FakeBroker())


def test_waiting_ends_with_an_error_in_time_or_where_nothing_runs() -> None:
    broker = FakeBroker()
    with pytest.raises(RuntimeError, match="not running"):
        broker.wait_until(lambda: True)
    with broker:
        with pytest.raises(TimeoutError, match=r"did not hold within 0\.01 s"):
            broker.wait_until(lambda: False, timeout=0.01)
        with pytest.raises(ZeroDivisionError):
            broker.wait_until(lambda: bool(1 / 0))


def test_requests_are_kept_with_their_bodies() -> None:
    with FakeBroker(["orders"]) as broker, Connection(broker) as connection:
        connection.ask(ApiKey.METADATA, 12, topics=[{"name": "orders"}])
        connection.ask(ApiKey.PRODUCE, 9, **produce_values(b"v"))
        assert [one.api_key for one in broker.requests()] == [ApiKey.METADATA, ApiKey.PRODUCE]
        (produced,) = broker.requests(ApiKey.PRODUCE)
        body: Any = produced.body
        assert (produced.header.client_id, produced.api_version, body.acks) == ("tests", 9, 1)
        assert broker.clear_requests()[1] is produced
        assert broker.requests() == broker.clear_requests() == []


def test_fewer_versions_are_served_where_a_test_says_so() -> None:
    served = {ApiKey.API_VERSIONS: range(3), ApiKey.PRODUCE: range(3, 8), ApiKey.INIT_PRODUCER_ID: range(0)}
    with FakeBroker(["orders"], versions=served) as broker, Connection(broker) as connection:
        refused = connection.ask(ApiKey.API_VERSIONS, 4, client_software_name="a", client_software_version="1")
        assert (refused.VERSION, refused.error_code) == (0, ErrorCode.UNSUPPORTED_VERSION)
        assert [(row.api_key, row.min_version, row.max_version) for row in refused.api_keys] == [(18, 0, 2)]
        found = {row.api_key: row.max_version for row in connection.ask(ApiKey.API_VERSIONS, 2).api_keys}
        assert found[ApiKey.PRODUCE] == 7 and ApiKey.INIT_PRODUCER_ID not in found
        assert connection.ask(ApiKey.INIT_PRODUCER_ID, 0, transactional_id=None) is None


def test_faults_happen_as_often_as_they_are_asked_for_and_to_whom() -> None:
    with FakeBroker(["orders"]) as broker, Connection(broker) as connection:

        def codes(count: int, topic: str = "orders") -> list[int]:
            bodies = [connection.ask(ApiKey.PRODUCE, 9, **produce_values(b"v", topic=topic)) for _ in range(count)]
            return [body.responses[0].partition_responses[0].error_code for body in bodies]

        broker.fail(ApiKey.PRODUCE, ErrorCode.REQUEST_TIMED_OUT, times=2)
        broker.fail(ApiKey.PRODUCE, ErrorCode.NOT_ENOUGH_REPLICAS)
        assert codes(4) == [ErrorCode.REQUEST_TIMED_OUT] * 2 + [ErrorCode.NOT_ENOUGH_REPLICAS, 0]
        broker.create_topic("other")

        def is_other(request: Any) -> bool:
            return bool(request.body.topic_data[0].name == "other")

        broker.fail(ApiKey.PRODUCE, ErrorCode.REQUEST_TIMED_OUT, times=None, when=is_other)
        assert codes(2) == [0, 0] and codes(2, "other") == [ErrorCode.REQUEST_TIMED_OUT] * 2
        broker.clear_faults()
        assert codes(1, "other") == [0]
        assert len(broker.records("orders")) == 3 and len(broker.records("other")) == 1


def test_a_delayed_request_is_handled_after_all(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        while not broker.records("orders"):
            await asyncio.sleep(0.001)

    monkeypatch.setattr(interceptors, "sleep", sleep)
    with FakeBroker(["orders"]) as broker, Connection(broker) as slow, Connection(broker) as fast:
        broker.delay(ApiKey.PRODUCE, 30.0)
        slow.send(ApiKey.PRODUCE, 9, **produce_values(b"slow"))
        broker.wait_until(lambda: slept == [30.0])
        fast.ask(ApiKey.PRODUCE, 9, **produce_values(b"fast"))
        assert slow.receive().responses[0].partition_responses[0].base_offset == 1
        assert [record.value for record in broker.records("orders")] == [b"fast", b"slow"]


@pytest.mark.parametrize("handled", [False, True])
def test_a_connection_is_closed_instead_of_an_answer(handled: bool) -> None:
    with FakeBroker(["orders"]) as broker:
        broker.disconnect(ApiKey.PRODUCE, handled=handled)
        with Connection(broker) as connection:
            assert connection.ask(ApiKey.PRODUCE, 9, **produce_values(b"v")) is None
        assert len(broker.records("orders")) == handled
        broker.check()  # which finds nothing that the test has not asked for


def test_a_failure_closes_a_connection_that_wants_no_answers() -> None:
    with FakeBroker(["orders"]) as broker:
        broker.fail(ApiKey.PRODUCE, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        with Connection(broker) as connection:
            connection.send(ApiKey.PRODUCE, 9, **produce_values(b"v", acks=0))
            assert connection.receive() is None
        with Connection(broker) as connection:
            connection.send(ApiKey.PRODUCE, 9, **produce_values(b"v", acks=0))
            assert connection.ask(ApiKey.HEARTBEAT, 4, **HEARTBEAT).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert len(broker.records("orders")) == 1


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", bytes.fromhex("0000000b 0003 000c 00000001 ffff 00")])
def test_bytes_that_are_no_request_close_their_connection_alone(data: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with FakeBroker() as broker, Connection(broker) as other:
        with Connection(broker) as connection, caplog.at_level(logging.WARNING, "kipwire.testing"):
            connection.socket.sendall(data)
            assert connection.receive() is None
        assert other.ask(ApiKey.HEARTBEAT, 4, **HEARTBEAT).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        with pytest.raises(AssertionError, match="closed connections without an answer:\n  "):
            broker.check()
    (record,) = caplog.records
    assert record.getMessage().startswith("A connection is closed: ")


def test_an_error_of_the_fake_broker_itself_is_raised_at_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> Any:
        raise LookupError("a mistake")

    monkeypatch.setitem(APIS, ApiKey.HEARTBEAT, Api(broken, broken))

    def run() -> None:
        with FakeBroker() as broker, Connection(broker) as connection:
            assert connection.ask(ApiKey.HEARTBEAT, 4, **HEARTBEAT) is None

    with pytest.raises(LookupError, match="a mistake"):
        run()
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    with pytest.raises(ZeroDivisionError), FakeBroker() as broker, Connection(broker) as connection:
        connection.ask(ApiKey.HEARTBEAT, 4, **HEARTBEAT)
        _ = 1 / 0  # the test's own error comes through


def test_it_stops_while_a_client_does_not_read() -> None:
    partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 10**7}
    asked = {"max_bytes": 10**7, "topics": [{"topic": "orders", "partitions": [partition]}]}
    with FakeBroker(["orders"]) as broker:
        broker.append("orders", bytes(300_000))
        client = Connection(broker)
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for _ in range(200):
            client.send(ApiKey.FETCH, 12, **asked)
        broker.wait_until(lambda: len(broker.requests(ApiKey.FETCH)) > 5)  # the answers fill the buffers of the sockets
    client.socket.close()


def test_want_of_descriptors_is_raised_at_the_end_and_others_are_answered(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    refused: list[bool] = []
    accept = asyncio.SelectorEventLoop.sock_accept

    async def sock_accept(loop: Any, listener: socket.socket) -> Any:
        if not refused:
            refused.append(True)
            raise OSError(errno.EMFILE, "Too many open files")
        return await accept(loop, listener)

    monkeypatch.setattr(asyncio.SelectorEventLoop, "sock_accept", sock_accept)
    broker = FakeBroker()
    broker.start()
    with Connection(broker) as connection:
        assert connection.ask(ApiKey.HEARTBEAT, 4, **HEARTBEAT).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    with pytest.raises(OSError, match="the fake broker cannot accept a connection: Too many open files"):
        broker.stop()
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    with broker:  # at the same port
        assert refused == [True]


def test_it_stops_while_it_has_no_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    async def sock_accept(loop: Any, listener: socket.socket) -> Any:
        raise OSError(errno.EMFILE, "Too many open files")

    broker = FakeBroker()
    with monkeypatch.context() as patched:
        patched.setattr(asyncio.SelectorEventLoop, "sock_accept", sock_accept)
        broker.start()
        with pytest.raises(OSError, match="cannot accept a connection"):
            broker.stop()
    with broker, Connection(broker) as connection:
        assert connection.ask(ApiKey.HEARTBEAT, 4, **HEARTBEAT).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_start_without_descriptors_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_loop(*_: object, **__: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(asyncio, "new_event_loop", no_loop)
    monkeypatch.setattr("asyncio.runners.events.new_event_loop", no_loop)
    with pytest.raises(OSError, match="Too many open files"):
        FakeBroker().start()
