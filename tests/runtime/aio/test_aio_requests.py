"""Any request gets its own response, in the version of its class, whatever the broker has."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, assert_type

import pytest

import kafka_messages
from kafka_messages.api_versions_request.v5 import ApiVersionsRequest
from kafka_messages.enums import ApiKey
from kafka_messages.heartbeat_request.v3 import HeartbeatRequest as OldHeartbeatRequest
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.heartbeat_response.v4 import HeartbeatResponse
from kafka_messages.metadata_request.v13 import MetadataRequest, MetadataRequestTopic
from kafka_messages.metadata_response.v13 import MetadataResponse
from kafka_messages.produce_request.v12 import PartitionProduceData, ProduceRequest, TopicProduceData
from kipwire import DecodeError, EncodeError, Loss, Message, UnsupportedVersionError, build
from kipwire.aio import Closed, Connection, connect, parse_address, serve
from kipwire.connection import LocalProtocolError, Request, versions_answer
from kipwire.testing import FakeBroker
from tests.support.spec_package import generated
from tests.support.subjects.fake_broker_requests import batch
from tests.support.subjects.peers import Broker, run, until

REGISTRY = kafka_messages.REGISTRY


def produced(value: bytes, acks: int) -> ProduceRequest:
    data = TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=0, records=batch(value))])
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[data])


@pytest.mark.parametrize("metadata", [range(14), range(9), range(1, 3), range(13, 30)])
def test_a_response_has_the_version_of_the_request_whatever_the_broker_has(metadata: range) -> None:
    broker = Broker({3: metadata, 18: range(4)})
    broker.answer = lambda request: build(  # type: ignore[method-assign]
        REGISTRY.response(3, request.api_version), {"brokers": [{"node_id": 4, "host": "b", "port": 1}]}
    )

    async def work() -> None:
        async with broker.serve() as server, connect(server.address, client_id="me") as connection:
            assert (connection.address, connection.versions[3]) == (server.address, metadata)
            answer = await connection.request(MetadataRequest(topics=None))
            assert_type(answer, MetadataResponse)
            assert type(answer) is MetadataResponse
            assert [(one.node_id, one.host) for one in answer.brokers] == [(4, "b")]
        (request,) = broker.requests
        assert request.api_version == min(metadata[-1], 13)
        assert request.header.client_id == "me"

    run(work())


def test_a_pinned_version_goes_over_the_wire_and_says_what_it_loses() -> None:
    broker = Broker()
    lost: list[Loss] = []

    async def work() -> None:
        async with broker.serve() as server, connect(server.address) as connection:
            answer = await connection.request(MetadataRequest(topics=[]), version=8, lost=lost)
            assert type(answer) is MetadataResponse
            with pytest.raises(UnsupportedVersionError):
                await connection.request(MetadataRequest(topics=[]), version=99)
        assert [request.api_version for request in broker.requests] == [8]

    run(work())
    assert {(one.version, one.is_dropped) for one in lost} == {
        (8, False),
        (13, False),
    }  # each lacks fields of the other


@pytest.mark.parametrize("versions", [range(1), range(3), range(6), range(9)])
def test_versions_are_agreed_on_with_brokers_of_any_age(versions: range) -> None:
    asked: list[int] = []

    async def handle(request: Request) -> Message:
        asked.append(request.api_version)
        return versions_answer(REGISTRY, request.api_version, {18: versions, 3: range(5)})

    async def work() -> None:
        async with serve(handle) as server, connect(server.address) as connection:
            assert connection.versions == {18: versions, 3: range(5)}
            answer = await connection.request(ApiVersionsRequest(client_software_name="a", client_software_version="1"))
            assert len(answer.api_keys) == 2

    run(work())
    newest = REGISTRY.api_versions()[18][-1]
    known = min(newest, versions[-1])
    assert asked == [newest, known] if known == newest else [newest, known, known]


def test_known_versions_are_not_asked_for() -> None:
    broker = Broker()

    async def work() -> None:
        async with broker.serve() as server, connect(server.address, versions={12: range(2, 4)}) as connection:
            assert (await connection.request(HeartbeatRequest(group_id="5"))).throttle_time_ms == 5
            with pytest.raises(UnsupportedVersionError, match="the peer does not support API key 3"):
                await connection.request(MetadataRequest(topics=None))
        assert [(one.api_key, one.api_version) for one in broker.requests] == [(12, 3)]

    run(work())


def test_each_of_many_requests_gets_its_own_response() -> None:
    broker = Broker()

    async def work() -> None:
        async with broker.serve(in_flight=7) as server, connect(server.address) as connection:
            classes: list[Any] = [OldHeartbeatRequest, HeartbeatRequest]
            requests = (connection.request(classes[number % 2](group_id=str(number))) for number in range(300))
            answers: list[Any] = await asyncio.gather(*requests)
            assert [one.throttle_time_ms for one in answers] == list(range(300))
            assert [one.VERSION for one in answers[:4]] == [3, 4, 3, 4]
        assert [request.body.group_id for request in broker.requests] == [str(one) for one in range(300)]  # type: ignore[attr-defined]

    run(work())


def test_a_program_of_this_kind_reads_what_a_broker_has() -> None:
    async def work() -> None:
        async with FakeBroker({"orders": 2}) as broker, connect(broker.bootstrap_servers) as connection:
            answer = await connection.request(MetadataRequest(topics=[MetadataRequestTopic(name="orders")]))
            assert len(answer.topics[0].partitions) == 2
            assert repr(connection) == f"<Connection to {broker.bootstrap_servers}, open>"
        assert repr(connection) == f"<Connection to {broker.bootstrap_servers}, closed>"

    run(work())


def test_a_connection_is_awaited_too() -> None:
    async def work() -> None:
        async with Broker().serve() as server:
            connection: Connection = await connect(server.address)
            assert isinstance(await connection.request(HeartbeatRequest(group_id="1")), HeartbeatResponse)
            await connection.close()
            await connection.close()
            with pytest.raises(Closed, match="this program has closed the connection"):
                await connection.request(HeartbeatRequest(group_id="1"))

    run(work())


def test_what_needs_no_acknowledgement_is_sent_without_waiting_for_one() -> None:
    async def work() -> None:
        async with FakeBroker(["orders"]) as broker, connect(broker.bootstrap_servers) as connection:
            for number in range(3):
                await connection.send(produced(b"%d" % number, acks=0))
            answer = await connection.request(produced(b"3", acks=1))
            assert answer.responses[0].partition_responses[0].base_offset == 3
            with pytest.raises(LocalProtocolError, match="ProduceRequest v12 with acks of 0 has no response; use"):
                await connection.request(produced(b"x", acks=0))
            with pytest.raises(LocalProtocolError, match="ProduceRequest v12 has a response; use request"):
                await connection.send(produced(b"x", acks=1))
            frame = REGISTRY.encode_request(produced(b"4", acks=0), 7)
            assert await connection.exchange(frame) is None
            await connection.request(MetadataRequest(topics=None))
            values = [one.value for one in broker.records("orders")]
            assert values == [b"0", b"1", b"2", b"3", b"4"]

    run(work())


def test_what_was_sent_arrives_although_the_connection_is_closed_then() -> None:
    async def work() -> None:
        async with FakeBroker(["orders"]) as broker:
            async with connect(broker.bootstrap_servers) as connection:
                for _ in range(20):
                    await connection.send(produced(bytes(100_000), acks=0))
            await until(lambda: len(broker.records("orders")) == 20)

    run(work())


def test_frames_of_any_api_are_exchanged_with_the_ids_that_they_have() -> None:
    broker = Broker()
    seen: list[int] = []

    async def handle(request: Request) -> Message | bytes | None:
        if request.api_key != 999:
            return await broker(request)
        seen.append(request.correlation_id)
        return request.raw[4:8] + b"answer to " + request.raw[8:]

    async def work() -> None:
        async with serve(handle, in_flight=10) as server, connect(server.address) as connection:
            frames = [bytes.fromhex("03e70005 00000009") + bytes([number]) for number in range(8)]
            answers = await asyncio.gather(*map(connection.exchange, frames))
            assert answers == [bytes.fromhex("00000009") + b"answer to " + frame[8:] for frame in frames]
            heartbeat = REGISTRY.encode_request(HeartbeatRequest(group_id="6"), -3, "other")
            answer = await connection.exchange(heartbeat)
            assert answer is not None
            decoded = REGISTRY.decode_response(answer, HeartbeatRequest)
            assert (decoded.header.correlation_id, decoded.body.throttle_time_ms) == (-3, 6)
            with pytest.raises(LocalProtocolError, match="a request has at least 8 bytes, not 7"):
                await connection.exchange(bytes(7))
        assert len(set(seen)) == 8 and seen[0] == 9  # no other request had it then

    run(work())


def test_a_mistake_of_the_program_costs_nothing_but_that_request() -> None:
    broker = Broker()

    async def work() -> None:
        async with broker.serve() as server, connect(server.address, in_flight=1) as connection:
            wrong: Any = HeartbeatResponse()
            for version in (None, 4):
                with pytest.raises((TypeError, EncodeError), match="HeartbeatResponse"):
                    await connection.request(wrong, version=version)
                with pytest.raises((TypeError, EncodeError), match="HeartbeatResponse"):
                    await connection.send(wrong, version=version)
            with pytest.raises(EncodeError, match="generation_id"):
                await connection.request(HeartbeatRequest(generation_id=1 << 40))
            waiting = [connection.request(HeartbeatRequest(generation_id=1 << 40)) for _ in range(3)]
            right = [connection.request(HeartbeatRequest(group_id=str(number))) for number in range(3)]
            results = await asyncio.gather(*waiting, *right, return_exceptions=True)
            assert [type(one) for one in results] == [EncodeError] * 3 + [HeartbeatResponse] * 3

    run(work())


def test_a_broken_response_is_an_error_of_its_request_alone() -> None:
    broker = Broker()

    async def handle(request: Request) -> Message | bytes | None:
        if request.api_key == 3:
            return request.raw[4:8] + b"\0\xff"
        return await broker(request)

    async def work() -> None:
        async with serve(handle) as server, connect(server.address) as connection:
            with pytest.raises(DecodeError, match="MetadataResponse v13"):
                await connection.request(MetadataRequest(topics=None))
            assert (await connection.request(HeartbeatRequest(group_id="8"))).throttle_time_ms == 8

    run(work())


def test_a_protocol_of_ones_own_has_the_versions_of_its_package(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    field = {"name": "Text", "type": "string", "versions": "0+"}
    for kind in ("request", "response"):
        spec = {"apiKey": 5, "type": kind, "name": f"Echo{kind.title()}", "validVersions": "0-1"}
        path = tmp_path / "specs" / f"{spec['name']}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(spec | {"flexibleVersions": "1+", "fields": [field]}))
    with generated(tmp_path / "specs", "echoing", tmp_path) as package:
        registry = package.REGISTRY

        async def handle(request: Request) -> Message:
            body: Any = request.body
            answer: Message = registry.response(5, request.api_version)(text=body.text.upper())
            return answer

        async def work() -> None:
            serving = serve(handle, registry=registry)
            async with serving as server, connect(server.address, registry=registry) as connection:
                assert connection.versions == {5: range(2)}
                answer: Any = await connection.request(registry.request(5, 1)(text="tea"))
                assert (answer.VERSION, answer.text) == (1, "TEA")
                with pytest.raises(Closed):
                    async with connect(server.address):  # which asks for the versions of Kafka's APIs
                        pass
                await until(lambda: bool(caplog.records))

        run(work())
    (record,) = caplog.records
    assert record.getMessage().endswith("request_api_key at byte 0: echoing has no request with API key 18")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("broker:19092", ("broker", 19092)),
        ("broker", ("broker", 9092)),
        ("127.0.0.1:1", ("127.0.0.1", 1)),
        ("[::1]:65535", ("::1", 65535)),
        ("[::1]", ("::1", 9092)),
        ("::1", ("::1", 9092)),
    ],
)
def test_addresses_are_those_of_kafka_tools(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":1",
        "b:",
        "b:0",
        "b:65536",
        "b:x",
        "a b",
        "a\nb",
        "http://b:9092",
        "u@b:1",
        "a/b",
        "[::1",
        "a,b:1:2",
        "b:1?",
    ],
)
def test_what_is_no_address_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a valid address; use HOST or HOST:PORT") as caught:
        parse_address(text)
    assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(ValueError, match="is not a valid address"):
        connect(text)


def test_a_frame_with_its_size_is_not_only_a_closed_connection() -> None:
    async def work() -> None:
        frame = kafka_messages.encode_request(MetadataRequest(), 7)
        async with FakeBroker() as broker, connect(broker.bootstrap_servers) as connection:
            with pytest.raises(Closed, match=r"its own size \(\d+\), .* leave out the first 4 bytes"):
                await connection.exchange(len(frame).to_bytes(4, "big") + frame)

    run(work())


def test_other_types_than_connect_takes_are_called_by_their_names() -> None:
    address: Any = ["b:9092"]
    with pytest.raises(TypeError, match=r"an address is a text .*, not \['b:9092'\]"):
        connect(address)

    async def work() -> None:
        credentials: Any = ("alice", "secret")
        async with FakeBroker() as broker:
            with pytest.raises(TypeError, match=r"OAuthBearer of kipwire\.connection, not a tuple"):
                await connect((broker.host, broker.port), sasl=credentials)

    run(work())


def test_the_versions_of_the_fake_broker_are_seen() -> None:
    async def work() -> None:
        broker = FakeBroker(versions={ApiKey.FETCH: range(4, 8)})
        async with broker, connect((broker.host, broker.port)) as connection:
            assert connection.versions[ApiKey.FETCH] == range(4, 8)

    run(work())


def test_something_must_be_allowed_to_be_in_flight() -> None:
    for call in (lambda: connect("broker", in_flight=0), lambda: serve(Broker(), in_flight=0)):
        with pytest.raises(ValueError, match="in_flight must be 1 or more, not 0"):
            call()
