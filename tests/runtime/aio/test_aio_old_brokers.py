"""A program that is written for one version of each message works with brokers of any version."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from socket import create_server
from threading import Thread

import pytest

import kafka_messages
from kafka_messages.enums import ApiKey
from kafka_messages.list_offsets_request.v11 import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kafka_messages.metadata_request.v13 import MetadataRequest
from kipwire.aio import connect
from kipwire.connection import Request, ServerConnection
from kipwire.testing import FakeBroker
from kipwire.testing.broker.apis import SERVED
from tests.support.example_programs import example

PRODUCER = example("produce_one")

HIGHEST = {
    "0.11": {"PRODUCE": 3, "LIST_OFFSETS": 2, "METADATA": 4, "API_VERSIONS": 1},
    "2.1": {"PRODUCE": 7, "LIST_OFFSETS": 4, "METADATA": 7, "API_VERSIONS": 2},
    "3.9": {"PRODUCE": 11, "LIST_OFFSETS": 9, "METADATA": 12, "API_VERSIONS": 4},
}
"""Highest version that a release of Kafka has of the requests in the programs."""


def of_release(release: str) -> dict[int, range]:
    """Return the versions of these requests that both a release and the fake broker have, and none of other APIs."""
    highest = {int(ApiKey[name]): version for name, version in HIGHEST[release].items()}
    return {key: range(ours.start, highest.get(key, -1) + 1) for key, ours in SERVED.items()}


async def ends(address: str) -> dict[int, int]:
    """Return the ends of the partitions of the one topic, by requests of the newest versions."""
    async with connect(address) as broker:
        (topic,) = (await broker.request(MetadataRequest(topics=None))).topics
        assert topic.name is not None
        latest = [ListOffsetsPartition(partition_index=one.partition_index, timestamp=-1) for one in topic.partitions]
        asked = ListOffsetsTopic(name=topic.name, partitions=latest)
        (found,) = (await broker.request(ListOffsetsRequest(replica_id=-1, topics=[asked]))).topics
    return {one.partition_index: one.offset for one in found.partitions}


@pytest.mark.parametrize("release", HIGHEST)
def test_old_brokers_are_asked_in_their_versions(release: str) -> None:
    with FakeBroker(topics={"orders": 2}, versions=of_release(release)) as broker:
        producing = PRODUCER.produce(broker.host, broker.port, "orders", b"tea")
        assert asyncio.run(asyncio.wait_for(producing, 60)) == 0
        assert asyncio.run(asyncio.wait_for(ends(broker.bootstrap_servers), 60)) == {0: 1, 1: 0}
        asked = {ApiKey(one.api_key).name: one.api_version for one in broker.requests()}
    assert asked == HIGHEST[release]


def test_a_new_broker_is_asked_in_the_versions_of_the_classes() -> None:
    with FakeBroker(topics={"orders": 1}) as broker:
        assert asyncio.run(asyncio.wait_for(ends(broker.bootstrap_servers), 60)) == {0: 0}
        asked = {ApiKey(one.api_key).name: one.api_version for one in broker.requests()}
    assert asked == {"API_VERSIONS": 5, "METADATA": 13, "LIST_OFFSETS": 11}


@contextmanager
def before_kip_511() -> Iterator[str]:
    """Run a broker that answers ApiVersions of version 5 without its versions, and then of version 0; its address."""
    answers = {
        5: bytes.fromhex("0023 00000000"),
        0: bytes.fromhex("0000 00000002 0003 0000 0002 0012 0000 0000"),
    }

    def serve() -> None:
        connection = ServerConnection(kafka_messages.REGISTRY)
        client, _ = listener.accept()
        with client:
            while data := client.recv(65536):
                connection.receive_data(data)
                for request in connection.events():
                    assert isinstance(request, Request) and request.api_key == ApiKey.API_VERSIONS
                    frame = request.correlation_id.to_bytes(4, "big") + answers[request.api_version]
                    client.sendall(connection.respond_frame(request, frame))

    with create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        thread.join(60)


def test_brokers_that_do_not_say_which_version_they_have_are_asked_in_version_0() -> None:
    async def versions(address: str) -> dict[int, range]:
        async with connect(address) as broker:
            return dict(broker.versions)

    with before_kip_511() as address:
        assert asyncio.run(asyncio.wait_for(versions(address), 60)) == {3: range(3), 18: range(1)}
