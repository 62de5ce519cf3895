"""The client of docs/typed-client.md works with brokers of any version, and the page shows its connection."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from threading import Thread

import pytest

import kafka_messages
from kafka_messages.enums import ApiKey
from kipwire.connection import Request, ServerConnection
from kipwire.testing import FakeBroker
from kipwire.testing.broker.apis import SERVED
from tests.support.docs_samples import samples
from tests.support.example_programs import example
from tests.support.places import ROOT

CLIENT = example("typed_client")
PRODUCER = example("produce_one")

HIGHEST = {
    "0.11": {"PRODUCE": 3, "FETCH": 5, "LIST_OFFSETS": 2, "METADATA": 4, "API_VERSIONS": 1},
    "2.1": {"PRODUCE": 7, "FETCH": 10, "LIST_OFFSETS": 4, "METADATA": 7, "API_VERSIONS": 2},
    "3.9": {"PRODUCE": 11, "FETCH": 17, "LIST_OFFSETS": 9, "METADATA": 12, "API_VERSIONS": 4},
}
"""Highest version that a release of Kafka has of the requests in the programs."""


def of_release(release: str) -> dict[int, range]:
    """Return the versions of these requests that both a release and the fake broker have, and none of other APIs."""
    highest = {int(ApiKey[name]): version for name, version in HIGHEST[release].items()}
    return {key: range(ours.start, highest.get(key, -1) + 1) for key, ours in SERVED.items()}


@pytest.mark.parametrize("release", HIGHEST)
def test_the_client_asks_old_brokers_in_their_versions(release: str) -> None:
    with FakeBroker(topics={"orders": 2}, versions=of_release(release)) as broker:
        producing = PRODUCER.produce(broker.host, broker.port, "orders", b"tea")
        assert asyncio.run(asyncio.wait_for(producing, 60)) == 0
        broker.append("orders", b"water")
        assert list(CLIENT.ends(broker.bootstrap_servers)) == [("orders", 0, 2), ("orders", 1, 0)]
        asked = {ApiKey(one.api_key).name: one.api_version for one in broker.requests()}
    assert asked == {name: version for name, version in HIGHEST[release].items() if name != "FETCH"}


def test_the_client_asks_a_new_broker_in_the_versions_it_is_written_for() -> None:
    with FakeBroker(topics={"orders": 1}) as broker:
        assert list(CLIENT.ends(broker.bootstrap_servers)) == [("orders", 0, 0)]
        asked = {ApiKey(one.api_key).name: one.api_version for one in broker.requests()}
    assert asked == {"API_VERSIONS": 5, "METADATA": 13, "LIST_OFFSETS": 11}


def test_the_page_shows_the_connection_of_the_program() -> None:
    page = (ROOT / "docs/typed-client.md").read_text(encoding="utf-8")
    (shown,) = [one.code for one in samples("docs/typed-client.md", page) if "class Broker" in one.code]
    assert f"\n\n\n{shown}\n\n" in (ROOT / "examples/typed_client.py").read_text(encoding="utf-8")


@pytest.fixture
def before_2_4() -> Iterator[int]:
    """The port of a broker that answers ApiVersions as those before KIP-511 do, and then in version 0."""
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
                    assert isinstance(request, Request)
                    if request.api_key != ApiKey.API_VERSIONS:
                        return
                    frame = request.correlation_id.to_bytes(4, "big") + answers[request.api_version]
                    client.sendall(connection.respond_frame(request, frame))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(60)


def test_brokers_that_do_not_say_which_version_they_have_are_asked_in_version_0(before_2_4: int) -> None:
    broker = CLIENT.Broker("127.0.0.1", before_2_4)
    broker.close()
    assert broker.versions == {3: range(3), 18: range(1)}
