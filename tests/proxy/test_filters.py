"""Filters see, change, answer and refuse messages; an error of a filter closes its connection with one line of log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, assert_type
from uuid import UUID

import pytest

import kafka_messages
import kipwire
from kafka_messages.api_versions_request.v4 import ApiVersionsRequest
from kafka_messages.enums import ErrorCode
from kafka_messages.fetch_request.v12 import FetchRequest
from kafka_messages.fetch_request.v13 import FetchRequest as FetchRequest13
from kafka_messages.fetch_request.v13 import FetchTopic as FetchTopic13
from kafka_messages.fetch_response.v12 import FetchResponse
from kafka_messages.find_coordinator_request.v4 import FindCoordinatorRequest
from kafka_messages.find_coordinator_response.v4 import FindCoordinatorResponse
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.heartbeat_response.v4 import HeartbeatResponse
from kafka_messages.metadata_request.v12 import MetadataRequest, MetadataRequestTopic
from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponseTopic
from kafka_messages.produce_request.v12 import PartitionProduceData, ProduceRequest, TopicProduceData
from kipwire import Message
from kipwire.aio import Closed, Connection, connect
from kipwire.connection import Request, Response
from kipwire.projection import VersionedProjection
from kipwire.proxy import Exchange, Filter, FilterError, Proxy, applying, on
from tests.support.places import DATA
from tests.support.spec_package import generated
from tests.support.subjects.peers import Broker, QuietProxy, run

REGISTRY = kafka_messages.REGISTRY


@asynccontextmanager
async def through(broker: Broker, *filters: Filter, **options: Any) -> AsyncIterator[Connection]:
    """Connect a client through a proxy with filters."""
    async with (
        broker.serve() as server,
        QuietProxy(server.address, filters, **options) as proxy,
        connect(proxy.address, client_id="me") as client,
    ):
        yield client


def beat(number: int) -> HeartbeatRequest:
    """Return a request whose response has that number as throttle time."""
    return HeartbeatRequest(group_id=str(number))


def test_a_filter_of_requests_changes_what_the_broker_sees() -> None:
    @on(HeartbeatRequest)
    def in_place(request: HeartbeatRequest, exchange: Exchange) -> None:
        request.group_id += "0"

    @on(HeartbeatRequest)
    async def another(request: HeartbeatRequest, exchange: Exchange) -> HeartbeatRequest:
        await asyncio.sleep(0)
        assert exchange.request.body_as(HeartbeatRequest).group_id == "1"  # as it came
        return HeartbeatRequest(group_id=f"{request.group_id}2")

    async def work() -> None:
        async with through(Broker(), in_place, another) as client:
            assert (await client.request(beat(1))).throttle_time_ms == 102

    run(work())


def test_responses_go_through_filters_in_the_opposite_order() -> None:
    @on(HeartbeatResponse)
    def one(response: HeartbeatResponse, exchange: Exchange) -> None:
        response.throttle_time_ms = response.throttle_time_ms * 10 + 1

    @on(HeartbeatResponse)
    def two(response: HeartbeatResponse, exchange: Exchange) -> None:
        response.throttle_time_ms = response.throttle_time_ms * 10 + 2

    async def work() -> None:
        async with through(Broker(), one, two) as client:
            assert (await client.request(beat(7))).throttle_time_ms == 721

    run(work())


@pytest.mark.parametrize("wire", [0, 2, 4])
def test_a_filter_sees_its_own_version_whatever_is_on_the_wire(wire: int) -> None:
    seen: list[int] = []

    @on(HeartbeatRequest)
    def look(request: HeartbeatRequest, exchange: Exchange) -> None:
        assert_type(request, HeartbeatRequest)
        seen.append(request.VERSION)
        request.member_id = "m"

    @on(HeartbeatResponse)
    def answer(response: HeartbeatResponse, exchange: Exchange) -> None:
        seen.append(response.VERSION)
        response.error_code = ErrorCode.REBALANCE_IN_PROGRESS

    broker = Broker()

    async def work() -> None:
        async with through(broker, look, answer) as client:
            assert (await client.request(beat(0), version=wire)).error_code == ErrorCode.REBALANCE_IN_PROGRESS

    run(work())
    (request,) = broker.requests
    assert seen == [4, 4]
    assert (request.api_version, request.body_as(HeartbeatRequest).member_id) == (wire, "m")


def test_clients_are_offered_no_version_above_the_one_of_a_filter() -> None:
    @on(FetchRequest)
    def of_requests(request: FetchRequest, exchange: Exchange) -> None: ...

    @on(MetadataResponse)
    def of_responses(response: MetadataResponse, exchange: Exchange) -> None: ...

    async def work() -> None:
        versions = {**REGISTRY.api_versions(), 60: range(99), 1000: range(3), 3: range(13, 14)}
        async with through(Broker(versions), of_requests, of_responses) as client:
            assert client.versions[1][-1] == 12
            assert client.versions[60][-1] == REGISTRY.request_versions(60)[-1]  # its addresses could not be rewritten
            assert client.versions[0] == range(14)  # as every broker lists Produce
            assert client.versions[1000] == range(3)
            assert client.versions[3] == range(13, 14)  # the broker has none that the filter sees whole

    run(work())


def test_a_filter_that_changes_nothing_passes_on_what_its_version_lacks() -> None:
    @on(FetchRequest)
    def look(request: FetchRequest, exchange: Exchange) -> None: ...

    broker = Broker()
    asked = FetchRequest13(forgotten_topics_data=[], rack_id="r")
    frame = REGISTRY.encode_request(asked, 7, "me")

    async def work() -> None:
        async with through(broker, look) as client:
            await client.exchange(frame)

    run(work())
    assert broker.requests[0].raw[8:] == frame[8:]


def test_a_change_in_another_version_that_loses_nothing_needs_no_list_of_losses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def convert(message: Any, version: Any) -> Any:
        """Convert without `lost=`, as the kernel can; with it, plain Python would convert."""
        return kipwire.convert(message, version)

    @on(HeartbeatRequest)
    def change(request: HeartbeatRequest, exchange: Exchange) -> None:
        request.member_id = "m"

    async def work() -> None:
        broker = Broker()
        async with through(broker, change) as client:
            await client.request(beat(0), version=0)
        assert broker.requests[0].body_as(HeartbeatRequest).member_id == "m"

    monkeypatch.setattr(applying, "convert", convert)
    run(work())


def test_a_change_that_would_lose_a_value_closes_the_connection_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    @on(FetchRequest)
    def shorten(request: FetchRequest, exchange: Exchange) -> None:
        request.max_wait_ms = 5

    async def work() -> None:
        async with through(Broker(), shorten) as client:
            with pytest.raises(Closed):
                topics = [FetchTopic13(topic_id=UUID(int=5), partitions=[])]
                await client.request(FetchRequest13(topics=topics), version=13)

    run(work())
    (line,) = lines(caplog)
    assert (
        "shorten of FetchRequest v12 cannot change version 13: topics[0].topic_id: version 12 has no such field" in line
    )


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the lines that the proxy has logged."""
    found = [record.getMessage() for record in caplog.records if record.name == "kipwire.proxy"]
    assert not any("\n" in one for one in found)
    return found


def test_a_filter_answers_in_any_version_and_the_broker_is_not_asked() -> None:
    @on(HeartbeatResponse)
    def before(response: HeartbeatResponse, exchange: Exchange) -> None:
        response.throttle_time_ms += 1

    @on(HeartbeatRequest)
    def answer(request: HeartbeatRequest, exchange: Exchange) -> HeartbeatResponse:
        return HeartbeatResponse(throttle_time_ms=40)

    @on(HeartbeatResponse)
    def after(response: HeartbeatResponse, exchange: Exchange) -> None:
        raise AssertionError("a filter after the one that answers sees no response")

    broker = Broker()

    async def work() -> None:
        async with through(broker, before, answer, after) as client:
            assert (await client.request(beat(1), version=1)).throttle_time_ms == 41

    run(work())
    assert not broker.requests


def test_a_filter_refuses_with_the_error_code_wherever_the_response_has_codes() -> None:
    @on(MetadataRequest)
    def refuse(request: MetadataRequest, exchange: Exchange) -> ErrorCode | None:
        assert request.topics is not None
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED if request.topics[0].name == "secret" else None

    async def work() -> None:
        async with through(Broker(), refuse) as client:
            topics = [MetadataRequestTopic(name=name) for name in ("secret", "other")]
            response = await client.request(MetadataRequest(topics=topics), version=4)
            assert [(one.name, one.error_code) for one in response.topics] == [("secret", 29), ("other", 29)]
            assert not (await client.request(MetadataRequest(topics=topics[1:]), version=4)).topics

    run(work())


def test_a_filter_of_responses_refuses_what_was_asked() -> None:
    @on(FindCoordinatorResponse)
    def refuse(response: FindCoordinatorResponse, exchange: Exchange) -> ErrorCode:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE

    async def work() -> None:
        async with through(Broker(), refuse) as client:
            response = await client.request(FindCoordinatorRequest(coordinator_keys=["a", "b"]))
            assert [(one.key, one.error_code) for one in response.coordinators] == [("a", 15), ("b", 15)]

    run(work())


names = VersionedProjection[list[str | None]](REGISTRY, "MetadataResponse", "topics.name")


class Topics(Broker):
    """A broker with two topics."""

    def answer(self, request: Request) -> Message | bytes | None:
        topics = [MetadataResponseTopic(name="a"), MetadataResponseTopic(name="b")]
        return MetadataResponse(topics=topics) if request.api_key == 3 else super().answer(request)


@pytest.mark.parametrize("wire", [0, 5, 12])
def test_a_projection_gives_a_filter_the_fields_that_it_needs(wire: int) -> None:
    @on(names)
    def louder(values: tuple[list[str | None]], exchange: Exchange) -> tuple[list[str | None]]:
        assert_type(values, tuple[list[str | None]])
        return ([one and one.upper() for one in values[0]],)

    @on(names)
    def look(values: tuple[list[str | None]], exchange: Exchange) -> None:
        assert values == (["a", "b"],)

    async def work() -> None:
        async with through(Topics(), louder, look) as client:
            response = await client.request(MetadataRequest(topics=[]), version=wire)
            assert [one.name for one in response.topics] == ["A", "B"]

    run(work())


def test_a_filter_of_all_messages_decodes_none_of_them() -> None:
    seen: list[object] = []

    @on(Request)
    def requests(request: Request, exchange: Exchange) -> bytes | None:
        assert_type(request, Request)
        seen.append((request.api_key, request.is_known, request.client_id))
        return request.raw if request.api_key == 12 else None

    @on(Response)
    def responses(response: Response, exchange: Exchange) -> bytes | None:
        seen.append(response.raw[4:])
        return response.raw[:4] + b"changed" if response.to.api_key == 999 else None

    class Odd(Broker):
        def answer(self, request: Request) -> Message | bytes | None:
            return request.raw[4:8] + b"anything" if request.api_key == 999 else super().answer(request)

    async def work() -> None:
        async with through(Odd(), requests, responses) as client:
            seen.clear()
            assert await client.exchange(bytes.fromhex("03e7 0001 00000007 ffff")) == b"\0\0\0\7changed"
            await client.request(beat(1))

    run(work())
    assert seen[:3] == [(999, False, None), b"anything", (12, True, "me")]


def test_requests_reach_the_broker_in_their_order_however_long_filters_take() -> None:
    @on(HeartbeatRequest)
    async def delay(request: HeartbeatRequest, exchange: Exchange) -> None:
        await asyncio.sleep(0.01 if request.group_id == "0" else 0)

    broker = Broker()

    async def work() -> None:
        async with through(broker, delay) as client:
            asked: list[Any] = [beat(0), MetadataRequest(topics=[]), beat(1), MetadataRequest(topics=[]), beat(2)]
            await asyncio.gather(*[client.request(one) for one in asked])

    run(work())
    assert [one.api_key for one in broker.requests] == [12, 3, 12, 3, 12]
    assert [one.body_as(HeartbeatRequest).group_id for one in broker.requests[::2]] == ["0", "1", "2"]


def test_a_connection_has_notes_of_its_own_and_says_who_the_client_is() -> None:
    found: list[int] = []

    @on(HeartbeatRequest)
    def count(request: HeartbeatRequest, exchange: Exchange) -> None:
        assert exchange.client[0] == "127.0.0.1" and exchange.node is None
        exchange.notes["seen"] = exchange.notes.get("seen", 0) + 1
        found.append(exchange.notes["seen"])

    async def work() -> None:
        broker = Broker()
        async with broker.serve() as server, QuietProxy(server.address, [count]) as proxy:
            for _ in range(2):
                async with connect(proxy.address) as client:
                    await client.request(beat(1))
                    await client.request(beat(1))

    run(work())
    assert found == [1, 2, 1, 2]


# Errors.


def boom(request: Any, exchange: Exchange) -> Any:
    """Fail."""
    raise KeyError("x\ny")


def test_an_error_of_a_filter_closes_that_connection_with_one_line(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with (
            Broker().serve() as server,
            QuietProxy(server.address, [on(HeartbeatRequest)(boom)]) as proxy,
            connect(proxy.address) as client,
            connect(proxy.address) as other,
        ):
            with pytest.raises(Closed):
                await client.request(beat(1))
            await other.request(MetadataRequest(topics=[]))

    run(work())
    (line,) = lines(caplog)
    assert "filter boom of HeartbeatRequest v4 failed: KeyError: 'x\\ny'" in line and "test_filters.py, line" in line


def test_an_error_of_a_filter_can_be_answered_instead(caplog: pytest.LogCaptureFixture) -> None:
    filtered = on(HeartbeatRequest, otherwise=ErrorCode.UNKNOWN_SERVER_ERROR)(boom)

    async def work() -> None:
        async with through(Broker(), filtered) as client:
            assert (await client.request(beat(1))).error_code == ErrorCode.UNKNOWN_SERVER_ERROR

    run(work())
    assert len(lines(caplog)) == 1


@pytest.mark.parametrize("result", ["text", 5, MetadataResponse(), MetadataRequest(), beat, b"bytes"])
def test_what_a_filter_must_not_return_closes_the_connection(result: Any, caplog: pytest.LogCaptureFixture) -> None:
    wrong: Any = on(HeartbeatRequest)(lambda request, exchange: result)

    async def work() -> None:
        async with through(Broker(), wrong) as client:
            with pytest.raises(Closed):
                await client.request(beat(1))

    run(work())
    (line,) = lines(caplog)
    assert "which the type of the filter does not allow" in line


def test_a_value_that_does_not_fit_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    @on(HeartbeatRequest)
    def wrong(request: HeartbeatRequest, exchange: Exchange) -> None:
        request.generation_id = 2**40

    @on(VersionedProjection[int](REGISTRY, "HeartbeatResponse", "error_code"))
    def worse(values: tuple[int], exchange: Exchange) -> tuple[int]:
        return (2**20,)

    async def work() -> None:
        for one in (wrong, worse):
            async with through(Broker(), one) as client:
                with pytest.raises(Closed):
                    await client.request(beat(1))

    run(work())
    assert [("generation_id" in one, "error_code" in one) for one in lines(caplog)] == [(True, False), (False, True)]


@pytest.mark.parametrize("chosen", [HeartbeatResponse, VersionedProjection(REGISTRY, "HeartbeatRequest", "group_id")])
def test_what_a_filter_wants_does_not_pass_unseen(chosen: Any, caplog: pytest.LogCaptureFixture) -> None:
    class Newer(Broker):
        def answer(self, request: Request) -> bytes:
            return request.raw[4:8]

    async def work() -> None:
        async with through(Newer(), on(chosen)(lambda one, exchange: None)) as client:
            with pytest.raises(Closed):
                await client.exchange(bytes.fromhex("000c 0063 00000007 ffff"))  # Heartbeat v99

    run(work())
    (line,) = lines(caplog)
    assert "unknown version 99 of Heartbeat" in line


def test_a_broken_message_that_a_filter_wants_closes_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with through(Broker(), on(HeartbeatRequest)(lambda one, exchange: None)) as client:
            with pytest.raises(Closed):
                await client.exchange(bytes.fromhex("000c 0000 00000007 ffff 7fff"))

    run(work())
    (line,) = lines(caplog)
    assert "HeartbeatRequest v0" in line


def produce(acks: int) -> ProduceRequest:
    data = [TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=b"")])]
    return ProduceRequest(acks=acks, timeout_ms=1, topic_data=data)


def test_produce_without_acknowledgement_passes_filters_and_has_no_response() -> None:
    @on(ProduceRequest)
    def look(request: ProduceRequest, exchange: Exchange) -> None:
        request.timeout_ms = 2

    broker = Broker()

    async def work() -> None:
        async with through(broker, look) as client:
            await client.send(produce(0), version=9)
            await client.request(beat(1))

    run(work())
    assert [one.api_key for one in broker.requests] == [0, 12]
    assert broker.requests[0].body_as(ProduceRequest).timeout_ms == 2


@pytest.mark.parametrize("acks", [0, 1])
def test_a_response_that_cannot_come_closes_the_connection(acks: int, caplog: pytest.LogCaptureFixture) -> None:
    """A refusal of Produce with `acks` of 0; and a Produce with another one, which a filter gives `acks` of 0."""

    @on(ProduceRequest)
    def refuse(request: ProduceRequest, exchange: Exchange) -> ErrorCode | None:
        request.acks = 0
        return None if acks else ErrorCode.NOT_LEADER_OR_FOLLOWER

    async def work() -> None:
        async with through(Broker(), refuse) as client:
            closed = asyncio.Event()
            client.when_closed(closed.set)
            if acks:
                with pytest.raises(Closed):
                    await client.request(produce(1))
            else:
                await client.send(produce(0))
            await closed.wait()

    run(work())
    (line,) = lines(caplog)
    assert "acks" in line


def test_a_filter_is_of_messages_alone() -> None:
    every: list[Any] = [int, kafka_messages.message("RequestHeader", 2), "Fetch", None]
    for wrong in every:
        with pytest.raises(TypeError, match="a filter needs a request class, a response class"):
            on(wrong)


def test_a_filter_can_be_called_as_its_function() -> None:
    @on(FetchResponse)
    def zero(response: FetchResponse, exchange: Exchange) -> None:
        response.throttle_time_ms = 0

    response = FetchResponse(throttle_time_ms=5)
    zero(response, Exchange(("127.0.0.1", 1), None, Request(REGISTRY, bytes(10)), {}))
    assert response.throttle_time_ms == 0
    assert (str(zero), zero.api_key, zero.is_of_requests) == (
        f"filter {zero.function.__qualname__} of FetchResponse v12",
        1,
        False,
    )


def test_nothing_is_logged_of_ordinary_ends(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def work() -> None:
        async with through(Broker()) as client:
            await client.request(ApiVersionsRequest(client_software_name="a", client_software_version="1"))

    run(work())
    assert lines(caplog) == []


def test_a_filter_of_messages_of_another_package_is_refused_when_the_proxy_is_made(tmp_path: Path) -> None:
    """Also where it has Kafka's name and key for a message, since its class is another one."""
    with generated(DATA / "cases" / "vendor-api", "lanes_of_filters", tmp_path) as package:
        request = import_module("lanes_of_filters.list_lanes_request.v0").ListLanesRequest
        projection = VersionedProjection(package.REGISTRY, "ListLanesRequest", "names")
        alike = type("HeartbeatRequest", (HeartbeatRequest,), {})
        for of in (request, projection, alike):
            one: Any = on(of)(lambda message, exchange: None)
            with pytest.raises(FilterError, match=r"of (ListLanes|Heartbeat)Request.*: it is of another package"):
                Proxy("kafka", [one])
