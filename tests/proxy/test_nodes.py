"""The proxy listens for every broker before a client asks, for a bounded number of them, and for none without need."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from kafka_messages.find_coordinator_request.v4 import FindCoordinatorRequest
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.metadata_request.v12 import MetadataRequest
from kipwire.aio import Address, Closed, connect
from kipwire.proxy import Proxy, nodes
from tests.proxy.test_addresses import Cluster, free_ports
from tests.support.subjects.peers import Broker, QuietProxy, run, until


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records]
    assert not any("\n" in one for one in found)
    return found


async def named(proxy: Proxy) -> list[Address]:
    """Return the addresses of brokers that a client is told."""
    async with connect(proxy.address) as client:
        return [(one.host, one.port) for one in (await client.request(MetadataRequest())).brokers]


async def listens(address: Address) -> bool:
    try:
        _, writer = await asyncio.open_connection(*address)
    except ConnectionRefusedError:
        return False
    writer.close()
    await writer.wait_closed()
    return True


def test_a_second_proxy_at_the_same_ports_listens_for_brokers_before_a_client_asks() -> None:
    async def work() -> None:
        first = free_ports(4)
        broker = Broker()
        async with (
            broker.serve() as behind,
            Cluster({0: behind.address, 2: behind.address}).serve() as server,
            Proxy(server.address, listen=("127.0.0.1", first)),
            connect(("127.0.0.1", first + 3)) as client,
        ):
            assert (await client.request(HeartbeatRequest(group_id="4"))).throttle_time_ms == 4
            assert await listens(("127.0.0.1", first + 1)) and not await listens(("127.0.0.1", first + 2))

    run(work())


def test_a_cluster_that_is_down_at_the_start_is_one_line_and_is_found_when_it_is_up(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kipwire.proxy.serving.SECONDS_TO_FIRST_RETRY", 0.002)

    async def work() -> None:
        first, to = free_ports(3), free_ports(1)
        asked = 0
        connecting = Proxy._connected

        def count(*arguments: Any, **how: Any) -> Any:
            nonlocal asked
            asked += 1
            return connecting(*arguments, **how)

        monkeypatch.setattr(Proxy, "_connected", count)
        how: dict[str, Any] = {"listen": ("127.0.0.1", first), "metadata_max_age": 0.01}
        async with Broker().serve() as behind, Proxy(("127.0.0.1", to), **how) as proxy:
            await until(lambda: asked > 3)
            assert not await listens(("127.0.0.1", first + 2))
            cluster = Cluster({1: behind.address})
            async with cluster.serve(port=to):
                while not await listens(("127.0.0.1", first + 2)):
                    await asyncio.sleep(0.01)
                cluster.brokers[0] = behind.address  # and a new one is found, too
                while not await listens(("127.0.0.1", first + 1)):
                    await asyncio.sleep(0.01)
            again = asked + 3
            await until(lambda: asked > again)
            assert await named_or_none(proxy) is None

    async def named_or_none(proxy: Proxy) -> list[Address] | None:
        try:
            return await named(proxy)
        except Closed:
            return None

    run(work())
    found = lines(caplog)
    asking = "cannot ask for the brokers, whose ports open once a client has asked"
    of_asking = [one for one in found if one.startswith(asking)]
    assert sum("connection refused" in one for one in of_asking) == 2  # once before and once after
    assert len(of_asking) <= 3  # a cluster that ends may break off what it has just accepted, too
    assert found[0] == of_asking[0]
    assert "connection refused" in found[-1] and found[-1] not in of_asking  # of the client, which is the last


def test_more_brokers_than_the_proxy_may_listen_for_open_no_listener(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nodes, "most_nodes", lambda: (3, ", since it may have 12 files open (ulimit -n)"))

    async def work() -> None:
        cluster = Cluster({node: ("kafka", 1 + node) for node in range(4)})
        async with cluster.serve() as server, QuietProxy(server.address) as proxy:
            before = descriptors()
            with pytest.raises(Closed):
                await named(proxy)
            await until(lambda: descriptors() == before)
            del cluster.brokers[3]
            assert len(await named(proxy)) == 3
            await until(lambda: descriptors() == before + 3)  # one for each: none to end it with

    run(work())
    (line,) = lines(caplog)
    assert line.endswith(
        "responses name 4 brokers; the proxy listens for at most 3, since it may have 12 files open (ulimit -n)"
    )


def descriptors() -> int:
    return sum(1 for _ in Path(f"/proc/{os.getpid()}/fd").iterdir())


@pytest.mark.parametrize(
    ("limit", "most"), [(256, 64), (1024, 256), (4000, 1000), (1 << 20, 1000), (resource.RLIM_INFINITY, 1000)]
)
def test_three_quarters_of_all_descriptors_are_left_for_clients(
    limit: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    found, why = nodes.most_nodes()
    assert found == most and (f"{limit:,} files" in why) == (most < 1000)


def test_what_a_response_has_opened_is_closed_if_it_fails() -> None:
    async def work() -> None:
        first = free_ports(4)
        cluster = Cluster({0: ("kafka-0", 9092), 1: ("kafka-1", 9092)})
        with socket.create_server(("127.0.0.1", first + 2)):
            async with cluster.serve() as server, QuietProxy(server.address, listen=("127.0.0.1", first)) as proxy:
                with pytest.raises(Closed):
                    await named(proxy)
                assert not await listens(("127.0.0.1", first + 1))
                del cluster.brokers[1]
                assert await named(proxy) == [("127.0.0.1", first + 1)]

    run(work())


def test_a_taken_port_of_one_broker_does_not_keep_the_proxy_from_listening_for_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def work() -> None:
        first = free_ports(4)
        cluster = Cluster({1: ("kafka-1", 9092), 2: ("kafka-2", 9092)})
        with socket.create_server(("127.0.0.1", first + 2)):
            async with cluster.serve() as server, Proxy(server.address, listen=("127.0.0.1", first)):
                assert await listens(("127.0.0.1", first + 3))

    run(work())
    (line,) = [one for one in lines(caplog) if "cannot listen" in one]
    assert "for the broker with id 1: " in line


def test_a_listener_of_a_broker_that_is_no_longer_named_is_closed_once_no_client_uses_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nodes, "SECONDS_UNNAMED", 0.0)

    async def work() -> None:
        broker = Broker()
        async with broker.serve() as behind:
            cluster = Cluster({1: behind.address, 2: behind.address, 3: behind.address})
            async with cluster.serve() as server, QuietProxy(server.address) as proxy:
                one, two, three = await named(proxy)
                async with connect(two) as client:
                    cluster.brokers = {1: behind.address}
                    await named(proxy)
                    assert [await listens(at) for at in (one, two, three)] == [True, True, False]
                    assert (await client.request(HeartbeatRequest(group_id="7"))).throttle_time_ms == 7
                    async with connect(proxy.address) as other:  # whose response names some brokers, not all
                        await other.request(FindCoordinatorRequest(coordinator_keys=["k"]))
                await until(lambda: proxy._nodes._servers[2].connections == 0)
                await named(proxy)
                assert not await listens(two)
                cluster.brokers[3] = behind.address
                await listens_again(proxy)

    async def listens_again(proxy: Proxy) -> None:
        assert all([await listens(at) for at in await named(proxy)])

    run(work())


@pytest.mark.parametrize("node", [-1, -2, -5, -(2**31), 2**31 - 1, 70_000])
def test_an_id_without_a_regular_port_has_a_free_one(node: int) -> None:
    async def work() -> None:
        first = free_ports(1)
        async with (
            Broker().serve() as behind,
            Cluster({node: behind.address}).serve() as server,
            QuietProxy(server.address, listen=("127.0.0.1", first)) as proxy,
        ):
            ((_, port),) = await named(proxy)
            assert port not in (first, first + 1 + node)
            async with connect(("127.0.0.1", port)) as client:
                assert (await client.request(HeartbeatRequest(group_id="7"))).throttle_time_ms == 7

    run(work())


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        (("127.0.0.1", 70_000), "127.0.0.1:70000: invalid port 70000; ports are 1 to 65535"),
        (("127.0.0.1", 2**31 - 1), "127.0.0.1:2147483647: invalid port 2147483647; ports are 1 to 65535"),
        (("a\0b", 9092), "a\\x00b:9092: invalid host name"),
        (("", 9092), ":9092: the address has no host"),
    ],
)
def test_an_address_of_a_broker_that_is_none_is_one_line_of_each_client_that_goes_there(
    address: Address, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        async with (
            Broker().serve() as behind,
            Cluster({1: address, 2: behind.address}).serve() as server,
            QuietProxy(server.address) as proxy,
        ):
            bad, good = await named(proxy)
            with pytest.raises(Closed):
                await connect(bad)
            async with connect(good) as client:
                assert (await client.request(HeartbeatRequest(group_id="7"))).throttle_time_ms == 7

    run(work())
    (line,) = lines(caplog)
    assert line.startswith("the connection of 127.0.0.1:") and line.endswith(f" is closed: {fault}")


def test_ports_below_zero_are_no_brokers() -> None:
    async def work() -> None:
        async with Cluster({1: ("kafka", -2), 2: ("", -1)}).serve() as server, Proxy(server.address) as proxy:
            assert await named(proxy) == [("kafka", -2), ("", -1)]

    run(work())


@pytest.mark.parametrize(
    ("advertise", "told"),
    [
        ("kafka.example", lambda first: [("kafka.example", first + 1 + node) for node in (0, 5)]),
        ("kafka.example:29093", lambda first: [("kafka.example", 29094 + node) for node in (0, 5)]),
        ("[::1]:29093", lambda first: [("::1", 29094 + node) for node in (0, 5)]),
        (("::1", None), lambda first: [("::1", first + 1 + node) for node in (0, 5)]),
    ],
)
def test_clients_are_told_the_advertised_host_and_ports_counted_from_the_advertised_one(
    advertise: Any, told: Callable[[int], list[Address]]
) -> None:
    async def work() -> None:
        first = free_ports(7)
        cluster = Cluster({0: ("kafka", 1), 5: ("kafka", 2)})
        listen = ("127.0.0.1", first)
        async with cluster.serve() as server, Proxy(server.address, listen=listen, advertise=advertise) as proxy:
            assert await named(proxy) == told(first)

    run(work())


def test_a_broker_at_a_free_port_is_told_with_its_own_port_since_nothing_maps_it() -> None:
    async def work() -> None:
        first = free_ports(1)
        how: dict[str, Any] = {"listen": ("127.0.0.1", first), "advertise": "kafka.example:65000"}
        async with Cluster({99_999: ("kafka", 1)}).serve() as server, Proxy(server.address, **how) as proxy:
            ((host, port),) = await named(proxy)
            assert host == "kafka.example" and await listens(("127.0.0.1", port))

    run(work())


@pytest.mark.parametrize("advertise", ["a b", "http://x", "x:0", "x:65536", "x:-1", "x:y", "", ":9092"])
def test_an_advertised_address_that_is_none_is_refused(advertise: str) -> None:
    with pytest.raises(ValueError, match="is not a valid address; use HOST or HOST:PORT"):
        Proxy("kafka", listen="127.0.0.1:9093", advertise=advertise)


def test_a_port_is_advertised_only_for_a_port() -> None:
    with pytest.raises(ValueError, match="has to listen at a port, not at a free one"):
        Proxy("kafka", advertise="x:9093")


def test_opening_that_is_cancelled_leaves_nothing() -> None:
    async def work() -> None:
        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        opening: Awaitable[Proxy] = Proxy(server.sockets[0].getsockname()[:2]).__aenter__()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(opening, 0.02)
        server.close()
        await asyncio.sleep(0.01)

    run(work())
