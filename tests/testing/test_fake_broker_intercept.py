"""Functions of tests before the handlers: they answer, change, delay, drop and count requests, and go together."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from kafka_messages.enums import ApiKey, ErrorCode
from kafka_messages.metadata_request.v12 import MetadataRequest
from kafka_messages.metadata_response.v12 import MetadataResponse
from kipwire import aio
from kipwire.aio import ClosedByHandler
from kipwire.testing import FakeBroker
from kipwire.testing.broker.interceptors import Handle
from tests.support.places import DATA
from tests.support.spec_package import generated
from tests.support.subjects.fake_cluster import asked


def names(broker: FakeBroker, node: int = 1, version: int = 9) -> list[str | None]:
    return [one.name for one in asked(broker, node, "Metadata", version, topics=None).topics]


def test_a_function_gets_the_class_of_request_that_it_is_for_whichever_version_came() -> None:
    seen: list[MetadataRequest] = []

    def count(request: MetadataRequest, handle: Handle[MetadataResponse]) -> None:
        seen.append(request)

    with FakeBroker(["orders"]) as broker:
        broker.intercept(MetadataRequest, count)
        assert names(broker, version=9) == names(broker, version=1) == ["orders"]
        broker.clear_faults()
        names(broker)
        assert len(broker.requests(MetadataRequest)) == 3
    assert [type(one) for one in seen] == [MetadataRequest] * 2


def test_a_function_answers_in_the_version_that_it_is_written_for() -> None:
    def answer(request: MetadataRequest, handle: Handle[MetadataResponse]) -> MetadataResponse:
        return MetadataResponse(brokers=[], cluster_id="mine", controller_id=7, topics=[])

    with FakeBroker(["orders"]) as broker:
        broker.intercept(MetadataRequest, answer, times=1)
        found = asked(broker, 1, "Metadata", 4, topics=None)
        assert (found.cluster_id, found.controller_id, found.topics) == ("mine", 7, [])
        assert names(broker) == ["orders"]


def test_a_function_changes_what_the_broker_would_answer() -> None:
    async def rename(request: MetadataRequest, handle: Handle[MetadataResponse]) -> MetadataResponse:
        response = await handle()
        response.topics[0].name = "renamed"
        return response

    with FakeBroker(["orders"]) as broker:
        broker.intercept(MetadataRequest, rename)
        assert names(broker) == names(broker, version=1) == ["renamed"]


def test_a_function_delays_and_drops() -> None:
    began = asyncio.Event()

    async def wait(request: MetadataRequest, handle: Handle[MetadataResponse]) -> None:
        await handle()
        await began.wait()

    def drop(request: Any, handle: Handle[Any]) -> None:
        raise ClosedByHandler

    async def run() -> None:
        async with FakeBroker(["orders"]) as broker:
            broker.intercept(MetadataRequest, wait, times=1)
            broker.intercept(ApiKey.METADATA, drop, when=lambda request: request.api_version == 3)
            async with aio.connect(broker.bootstrap_servers, timeout=20) as connection:
                waiting = asyncio.ensure_future(connection.request(MetadataRequest(topics=None)))
                while not broker.requests(ApiKey.METADATA):
                    await asyncio.sleep(0.001)
                await asyncio.sleep(0)
                assert not waiting.done()
                began.set()
                assert len((await waiting).topics) == 1
                with pytest.raises(aio.Failure):
                    await connection.request(MetadataRequest(topics=None), 3)

    asyncio.run(run())


def test_functions_and_faults_go_around_each_other_in_their_order() -> None:
    order: list[str] = []

    def function(name: str) -> Any:
        async def call(request: Any, handle: Handle[Any]) -> Any:
            order.append(f"{name} before")
            response = await handle()
            order.append(f"{name} after")
            return response

        return call

    with FakeBroker(["orders"]) as broker:
        broker.intercept(ApiKey.METADATA, function("outer"))
        broker.delay(ApiKey.METADATA, 0.001)
        broker.intercept(ApiKey.METADATA, function("inner"))
        broker.fail(MetadataRequest, ErrorCode.LEADER_NOT_AVAILABLE)
        found = asked(broker, 1, "Metadata", 9, topics=[{"name": "orders"}])
        assert found.topics[0].error_code == ErrorCode.LEADER_NOT_AVAILABLE
        assert order == ["outer before", "inner before", "inner after", "outer after"]
        assert names(broker) == ["orders"]


def test_faults_and_functions_are_of_one_node_where_they_say_so() -> None:
    with FakeBroker(["orders"], nodes=2) as broker:
        broker.fail(MetadataRequest, ErrorCode.LEADER_NOT_AVAILABLE, node=2, times=None)
        broker.disconnect(ApiKey.LIST_GROUPS, node=2)
        values = {"topics": [{"name": "orders"}]}
        codes = [asked(broker, node, "Metadata", 9, **values).topics[0].error_code for node in (1, 2, 1)]
        assert codes == [0, ErrorCode.LEADER_NOT_AVAILABLE, 0]
        assert asked(broker, 1, "ListGroups", 4).groups == []
        with pytest.raises(aio.Failure):
            asked(broker, 2, "ListGroups", 4)
        assert [len(broker.requests(MetadataRequest, node)) for node in (1, 2)] == [2, 1]


@pytest.mark.parametrize("after", [1, 4, 5, 40, 10_000])
def test_a_connection_breaks_after_any_number_of_bytes(after: int) -> None:
    def received(broker: FakeBroker) -> bytes:
        with socket.create_connection((broker.host, broker.port), timeout=20) as client:
            client.sendall(bytes.fromhex("0000000e 0003 0001 00000007 ffff ffffffff"))
            client.shutdown(socket.SHUT_WR)
            data = b""
            while more := client.recv(65536):
                data += more
            return data

    with FakeBroker(["orders"]) as broker:
        whole = received(broker)
        broker.disconnect(MetadataRequest, after=after)
        assert received(broker) == whole[:after]
        assert received(broker) == whole


METADATA = bytes.fromhex("0000000e 0003 0001 00000007 ffff ffffffff")


@pytest.mark.parametrize("received", [1, 6, 7, 17, 18, 10_000])
def test_a_connection_breaks_within_a_request_after_any_number_of_bytes(received: int) -> None:
    def answered(port: int, count: int) -> bool:
        """True if the first bytes of a request are answered; without an answer the connection must be closed."""
        with socket.create_connection(("127.0.0.1", port), timeout=20) as client:
            client.sendall(METADATA[:count])
            with suppress(ConnectionResetError):
                return client.recv(1) != b""
            return False

    with FakeBroker(["orders"], nodes=2) as broker:
        broker.disconnect(MetadataRequest, received=received, node=2)
        first, second = (int(one.rpartition(":")[2]) for one in broker.bootstrap_servers.split(","))
        assert answered(first, 18)
        assert not answered(second, min(max(received, 6), 18))
        assert answered(second, 18)
        assert len(broker.requests(MetadataRequest, 2)) == (2 if received >= 18 else 1)


def test_other_requests_go_on_where_a_connection_is_to_break_within_one() -> None:
    with FakeBroker(["orders"]) as broker, socket.create_connection((broker.host, broker.port), timeout=20) as client:
        broker.disconnect(ApiKey.PRODUCE, received=6)
        for byte in METADATA:
            client.sendall(bytes([byte]))
        assert client.recv(1) != b""


@pytest.mark.parametrize(
    "values", [{"received": 0}, {"received": 7, "handled": True}, {"received": 7, "when": lambda request: True}]
)
def test_a_break_within_a_request_does_not_wait_for_the_whole_of_it(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="which need the whole request"):
        FakeBroker().disconnect(ApiKey.PRODUCE, **values)


def test_an_error_of_a_function_is_raised_when_the_broker_stops() -> None:
    def wrong(request: MetadataRequest, handle: Handle[MetadataResponse]) -> None:
        raise ZeroDivisionError("of the test")

    with pytest.raises(ZeroDivisionError, match="of the test"), FakeBroker() as broker:
        broker.intercept(MetadataRequest, wrong)
        with pytest.raises(aio.Failure):
            names(broker)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (lambda _: None, "too many positional arguments"),
        (lambda request, handle, more: None, "missing a required argument: 'more'"),
        (MetadataResponse(), "is not a callable object"),
    ],
)
def test_a_function_that_cannot_be_called_is_refused_at_once(wrong: Any, reason: str) -> None:
    broker = FakeBroker()
    with pytest.raises(TypeError, match=rf"called as function\(request, handle\): .*{reason}"):
        broker.intercept(MetadataRequest, wrong)


def test_a_class_of_another_package_is_refused_at_once(tmp_path: Path) -> None:
    with generated(DATA / "cases" / "vendor-api", "lanes_of_intercept", tmp_path):
        cls = import_module("lanes_of_intercept.list_lanes_request.v0").ListLanesRequest
        broker = FakeBroker()
        for use in (
            lambda: broker.intercept(cls, lambda request, handle: None),
            lambda: broker.fail(cls, 1),
            lambda: broker.requests(cls),
        ):
            with pytest.raises(ValueError, match=r"v0\.ListLanesRequest is of another package; the fake broker has"):
                use()


def test_requests_are_kept_in_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    from kipwire.testing.broker import server

    with FakeBroker() as broker:
        for _ in range(4):
            names(broker)
        assert len(broker.requests(MetadataRequest)) == 4
        monkeypatch.setattr(server, "MOST_KEPT", 2500)
        names(broker)
        assert len(broker.requests()) == 2
