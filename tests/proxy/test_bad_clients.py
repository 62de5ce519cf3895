"""A proxy outlives bad clients of every kind, and so do `kipwire proxy` and `kipwire broker`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tracemalloc

import pytest

from kafka_messages.fetch_request.v12 import FetchPartition, FetchRequest, FetchTopic
from kafka_messages.heartbeat_request.v4 import HeartbeatRequest
from kafka_messages.metadata_request.v12 import MetadataRequest
from kipwire import Message
from kipwire.aio import connect
from kipwire.connection import Request
from kipwire.connection.framing import add_size
from kipwire.proxy import Exchange, on
from kipwire.testing import FakeBroker
from tests.support.bad_clients import Growth, Talk, growth_under
from tests.support.subjects.peers import REGISTRY, Broker, QuietProxy, run

pytestmark = pytest.mark.night

MIB = 1 << 20


def talk_of(request: Message) -> Talk:
    return Talk(add_size(REGISTRY.encode_request(request, 1, "x")), (2**31 - 1).to_bytes(4))


class Large(Broker):
    """Answers with a mebibyte, and keeps no request."""

    async def __call__(self, request: Request) -> Message | bytes | None:
        return request.raw[4:8] + bytes(MIB) if request.api_key == 12 else await super().__call__(request)


@on(Request)
def look(request: Request, exchange: Exchange) -> None: ...


@pytest.mark.parametrize("filters", [[], [look]], ids=["none", "one"])
def test_bad_clients_of_a_proxy_leave_nothing_and_take_bounded_memory(filters: list[object]) -> None:
    found: list[Growth] = []

    async def work() -> None:
        async with Large().serve() as server, QuietProxy(server.address, filters) as proxy:  # type: ignore[arg-type]
            found.append(await growth_under(proxy.address, talk_of(HeartbeatRequest(group_id="1"))))

    tracemalloc.start()
    try:
        run(work())
    finally:
        tracemalloc.stop()
    (growth,) = found
    assert growth.left[1:] == (0, 0) and growth.left.memory < MIB
    assert growth.peak.memory < 6 * 8 * MIB  # of eight clients: as much at the broker, which is in this process, too


@pytest.mark.parametrize("is_proxy", [False, True])
def test_programs_that_listen_go_on_after_bad_clients(is_proxy: bool) -> None:
    """With Fetches of large batches, of which the fake broker has more than fits into sockets."""
    asked = FetchTopic(topic="orders", partitions=[FetchPartition(partition=0, partition_max_bytes=8 * MIB)])
    fetch = FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=8 * MIB, topics=[asked])

    async def measure(port: int, process: int) -> Growth:
        growth = await growth_under(("127.0.0.1", port), talk_of(fetch), process=process)
        async with connect(("127.0.0.1", port)) as client:
            assert (await client.request(MetadataRequest(topics=[]))).brokers
        return growth

    with FakeBroker(topics={"orders": 1}) as broker:
        for _ in range(8):
            broker.append("orders", bytes(900_000))
        command = [sys.executable, "-m", "kipwire", "broker", "--port", "0", "--topic", "orders"]
        if is_proxy:
            command[3:] = ["proxy", "--to", broker.bootstrap_servers, "--listen", "127.0.0.1:21431"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                line = (process.stderr if is_proxy else process.stdout).readline()  # type: ignore[union-attr]
                port = int(line.split(";")[0].split(" for ")[0].rpartition(":")[2])
                asyncio.run(measure(port, process.pid))  # what it needs once
                growth = asyncio.run(measure(port, process.pid))
            finally:
                process.terminate()
                _, said = process.communicate()
        assert process.returncode == 0
        assert all(one.startswith("kipwire: ") for one in said.splitlines()), said
        assert growth.left.descriptors <= 0
        assert growth.peak.memory < 18 * 4 * 8 * MIB and growth.left.memory < 4 * 8 * MIB
