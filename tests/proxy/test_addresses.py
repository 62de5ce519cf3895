"""Clients stay on the proxy: it has a listener for each broker, and responses have their addresses."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

import kafka_messages
from kafka_messages.describe_cluster_request.v2 import DescribeClusterRequest
from kafka_messages.describe_cluster_response.v2 import DescribeClusterBroker, DescribeClusterResponse
from kafka_messages.find_coordinator_request.v4 import FindCoordinatorRequest
from kafka_messages.find_coordinator_response.v4 import Coordinator, FindCoordinatorResponse
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.metadata_request.v12 import MetadataRequest
from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponseBroker
from kipwire import Message, Struct
from kipwire.aio import Address, Closed, connect
from kipwire.connection import Request
from kipwire.proxy import Exchange, Proxy, on
from kipwire.proxy.rewriting import addresses_of
from tests.support.subjects.peers import Broker, run

REGISTRY = kafka_messages.REGISTRY


def kafka_addresses() -> dict[tuple[int, int], set[str]]:
    """Return the paths of hosts and ports in each response that clients read, by API key and version."""
    not_for_clients = {52, 53, 54, 59, 82}  # Vote, BeginQuorumEpoch, EndQuorumEpoch, FetchSnapshot, UpdateRaftVoter
    of_others = {55, 89, 88}  # controllers, and applications of Kafka Streams, which clients do not connect to
    found: dict[tuple[int, int], set[str]] = {}
    for name in REGISTRY.names():
        entry = REGISTRY.entry(name)
        for version in entry.versions if entry.type == "response" else ():
            if paths := addresses(kafka_messages.message(name, version)):
                found[entry.api_key or 0, version] = paths
    return {key: paths for key, paths in found.items() if key[0] not in not_for_clients | of_others}


def addresses(cls: type[Struct], path: str = "") -> set[str]:
    names = {field.name for field in cls.ATTRIBUTES}
    found = {f"{path}host", f"{path}port"} if {"host", "port"} <= names else set()
    for field in cls.ATTRIBUTES:
        if field.struct:
            found |= addresses(field.struct, f"{path}{field.name}.")
    return found


def test_the_proxy_knows_all_responses_with_addresses() -> None:
    known = {
        (key, version): {path for path in one.paths if not path.endswith("_id")} - set(one.absent(version))
        for key, one in addresses_of(REGISTRY).items()
        for version in kafka_messages.versions(one.name)
    }
    assert kafka_addresses() == {key: paths for key, paths in known.items() if paths}


class Cluster(Broker):
    """A broker that names others."""

    def __init__(self, brokers: dict[int, Address]) -> None:
        super().__init__()
        self.brokers = brokers

    def answer(self, request: Request) -> Message | bytes | None:
        named: list[dict[str, Any]] = [
            {"node_id": node, "host": host, "port": port} for node, (host, port) in self.brokers.items()
        ]
        if request.api_key == 3:
            return MetadataResponse(brokers=[MetadataResponseBroker(**one) for one in named])
        if request.api_key == 10:
            none: dict[str, Any] = {"node_id": -1, "host": "", "port": -1}
            return FindCoordinatorResponse(coordinators=[Coordinator(key="k", **one) for one in (*named, none)])
        if request.api_key == 60:
            rows = [DescribeClusterBroker(broker_id=one.pop("node_id"), **one) for one in named]
            return DescribeClusterResponse(brokers=rows)
        return super().answer(request)


def test_each_broker_has_one_listener_whichever_response_names_it() -> None:
    seen: list[int | None] = []

    @on(HeartbeatRequest)
    def look(request: HeartbeatRequest, exchange: Exchange) -> None:
        seen.append(exchange.node)

    async def work() -> None:
        one, two = Broker(), Broker()
        async with one.serve() as first, two.serve() as second:
            cluster = Cluster({1: first.address, 2: second.address})
            async with cluster.serve() as server, Proxy(server.address, [look]) as proxy:
                async with connect(proxy.address) as client:
                    metadata, again = await asyncio.gather(*[client.request(MetadataRequest()) for _ in range(2)])
                    found = await client.request(FindCoordinatorRequest(coordinator_keys=["k"]))
                    described = await client.request(DescribeClusterRequest())
                named = [(one.host, one.port) for one in metadata.brokers]
                assert named == [(one.host, one.port) for one in again.brokers]
                assert named == [(one.host, one.port) for one in described.brokers]
                assert [*named, ("", -1)] == [(one.host, one.port) for one in found.coordinators]
                assert len({*named, proxy.address, first.address, second.address}) == 5
                async with connect(named[1]) as client:
                    await client.request(HeartbeatRequest(group_id="0"))
        assert (len(one.requests), len(two.requests)) == (0, 1)

    run(work())
    assert seen == [2]


def test_a_broker_that_moves_keeps_its_listener() -> None:
    async def work() -> None:
        old, new = Broker(), Broker()
        async with old.serve() as first, new.serve() as second:
            cluster = Cluster({1: first.address})
            async with cluster.serve() as server, Proxy(server.address) as proxy, connect(proxy.address) as client:
                before = await client.request(MetadataRequest())
                cluster.brokers = {1: second.address}
                after = await client.request(MetadataRequest())
                assert before == after
                async with connect((after.brokers[0].host, after.brokers[0].port)) as other:
                    await other.request(HeartbeatRequest(group_id="0"))
        assert (len(old.requests), len(new.requests)) == (0, 1)

    run(work())


def free_ports(count: int) -> int:
    """Return the first of so many ports in a row at which nothing listens."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as one:
            first: int = one.getsockname()[1]
            try:
                for number in range(1, count):
                    socket.create_server(("127.0.0.1", first + number)).close()
            except (OSError, OverflowError):
                continue
        return first


def test_ports_follow_from_the_ids_of_brokers() -> None:
    async def work() -> None:
        first = free_ports(5)
        async with Cluster({3: ("elsewhere", 1), 0: ("nowhere", 2)}).serve() as server:
            for _ in range(2):
                async with (
                    Proxy(server.address, listen=f"127.0.0.1:{first}") as proxy,
                    connect(proxy.address) as client,
                ):
                    brokers = (await client.request(MetadataRequest())).brokers
                    assert [one.port - first for one in brokers] == [4, 1]

    run(work())


@pytest.mark.parametrize(
    ("listen", "advertise", "host"),
    [("127.0.0.1", None, "127.0.0.1"), ("0.0.0.0", None, "127.0.0.1"), ("0.0.0.0", "kafka.example", "kafka.example")],
)
def test_clients_are_sent_to_the_host_that_they_can_reach(listen: str, advertise: str | None, host: str) -> None:
    async def work() -> None:
        async with (
            Cluster({1: ("kafka-1", 9092)}).serve() as server,
            Proxy(server.address, listen=(listen, 0), advertise=advertise) as proxy,
            connect(("127.0.0.1", proxy.address[1])) as client,
        ):
            (broker,) = (await client.request(MetadataRequest())).brokers
            assert broker.host == host

    run(work())


def test_a_broker_with_an_id_above_all_ports_is_at_a_free_one() -> None:
    async def work() -> None:
        first = free_ports(3)
        async with (
            Cluster({100_000: ("kafka-1", 9092)}).serve() as server,
            Proxy(server.address, listen=("127.0.0.1", first)) as proxy,
            connect(proxy.address) as client,
        ):
            (broker,) = (await client.request(MetadataRequest())).brokers
            socket.create_connection(("127.0.0.1", broker.port)).close()

    run(work())


def test_a_port_that_cannot_be_had_is_one_line_of_the_proxy_and_one_of_the_client(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work() -> None:
        first = free_ports(3)
        with socket.create_server(("127.0.0.1", first + 2)):
            async with (
                Cluster({1: ("kafka-1", 9092)}).serve() as server,
                Proxy(server.address, listen=("127.0.0.1", first)) as proxy,
                connect(proxy.address) as client,
            ):
                with pytest.raises(Closed):
                    await client.request(MetadataRequest())

    run(work())
    own, of_client = [one.getMessage() for one in caplog.records]
    assert own.startswith("cannot listen at port") and own.endswith("for the broker with id 1: Address already in use")
    assert of_client.startswith("the connection of 127.0.0.1:") and of_client.endswith(f" is closed: {own}")
