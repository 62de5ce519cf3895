"""Random traffic for minutes, and ten thousand connections: the fake broker does not grow, and keeps up."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

import pytest

from kafka_messages.enums import ApiKey
from kipwire import aio
from kipwire.testing import FakeBroker
from kipwire.testing.broker.apis import SERVED
from tests.support.subjects.fake_broker_requests import examples, node, request

pytestmark = pytest.mark.night

SECONDS = float(os.environ.get("TRAFFIC_SECONDS", "90"))
"""Seconds of traffic, in which the number of kept requests reaches its bound long before the half."""
CLIENTS = 8
REQUESTS_OF_A_CONNECTION = 200
ALLOWED = 1.15
"""Factor by which the process may grow between the half and the end."""


def resident() -> int:
    """KiB of this process in memory."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


async def traffic(broker: FakeBroker, seed: int, until: float, counts: list[int]) -> None:
    """Requests of all APIs, in any version, to any node, on connections that end at any time."""
    chance = Random(seed)
    made = examples(node())
    while monotonic() < until:
        address = broker.bootstrap_servers.split(",")[chance.randrange(3)]
        with suppress(aio.Failure):
            async with aio.connect(address, timeout=10) as connection:
                for _ in range(chance.randrange(REQUESTS_OF_A_CONNECTION)):
                    key = chance.choice(list(made))
                    version = chance.choice(SERVED[key])
                    values = dict(made[key])
                    if key == ApiKey.JOIN_GROUP:
                        values |= {"rebalance_timeout_ms": 50, "session_timeout_ms": 50}
                    asked: Any = request(key, version, values).body
                    counts[0] += 1
                    await connection.request(asked, version)


def test_random_traffic_does_not_make_it_grow() -> None:
    counts, sizes = [0], []

    async def run() -> None:
        async with FakeBroker({"orders": 2}, nodes=3) as broker:
            begin = monotonic()
            until = begin + SECONDS
            clients = [asyncio.create_task(traffic(broker, seed, until, counts)) for seed in range(CLIENTS)]
            for part in (0.5, 1.0):
                while monotonic() < begin + part * SECONDS:
                    await asyncio.sleep(0.5)
                    if "orders" in broker.topics():  # records are kept for as long as their topic
                        broker.delete_topic("orders")
                    broker.create_topic("orders", 2)
                gc.collect()
                sizes.append(resident())
            await asyncio.gather(*clients)

    asyncio.run(run())
    print(f"{counts[0]} requests in {SECONDS:.0f} s; resident: {sizes[0]} KiB at the half, {sizes[1]} KiB at the end")
    assert counts[0] > 50 * SECONDS
    assert sizes[1] < sizes[0] * ALLOWED


CONNECTIONS = 10_000
ASKING = """
import resource, socket, sys
ports, count = [int(one) for one in sys.argv[1].split(",")], int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (count + 200, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
request = bytes.fromhex("0000000e 0003 0001 00000007 ffff ffffffff")  # Metadata
clients = []
for at in range(count):
    clients.append(socket.create_connection(("127.0.0.1", ports[at % len(ports)]), timeout=60))
for one in clients:
    one.sendall(request)
sizes = {len(one.recv(4096)) for one in clients}
print(len(sizes), sizes.pop() > 50, flush=True)
sys.stdin.read()
"""


def test_ten_thousand_connections_are_open_at_a_time() -> None:
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most < CONNECTIONS + 200:
        pytest.skip(f"this system allows {most} file descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (CONNECTIONS + 200, most))
    try:
        with FakeBroker(nodes=3) as broker:
            begin, before = monotonic(), resident()
            ports = ",".join(one.rpartition(":")[2] for one in broker.bootstrap_servers.split(","))
            command = [sys.executable, "-c", ASKING, ports, str(CONNECTIONS)]
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as clients:
                assert clients.stdout is not None and clients.stdin is not None
                assert clients.stdout.readline() == "1 True\n"
                seconds, grown = monotonic() - begin, resident() - before
                assert len(broker.requests(ApiKey.METADATA)) == CONNECTIONS
                clients.stdin.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))
    print(f"{CONNECTIONS} connections, each asked once: {seconds:.1f} s, {grown / CONNECTIONS:.1f} KiB each")
