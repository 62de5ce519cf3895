"""Prints the end of each partition of a cluster of any version.

python examples/typed_client.py localhost:9092
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import TypeVar

import kafka_messages
from kafka_messages.api_versions_request.v5 import ApiVersionsRequest
from kafka_messages.list_offsets_request.v11 import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_messages.metadata_request.v13 import MetadataRequest
from kipwire import AnsweredBy, Message
from kipwire import connection as wire

REGISTRY = kafka_messages.REGISTRY
LATEST = -1
M = TypeVar("M", bound=Message)


class Broker:
    """A connection; messages are of the versions imported above."""

    def __init__(self, host: str, port: int) -> None:
        self.socket = socket.create_connection((host, port), timeout=30)
        self.close = self.socket.close
        self.connection = wire.ClientConnection(REGISTRY, client_id="typed")
        hello = ApiVersionsRequest(
            client_software_name="typed-client",
            client_software_version="1",
        )
        answer = self.ask(hello, hello.VERSION)
        version = wire.version_to_retry(REGISTRY, answer)
        if version is not None:
            answer = self.ask(hello, version)
        self.versions = wire.served_versions(answer)

    def ask(self, request: AnsweredBy[M], version: int | None = None) -> M:
        """Send a request in the highest version of both sides."""
        if version is None:
            version = wire.best_version(request, self.versions)
        self.socket.sendall(self.connection.send(request, version=version))
        while data := self.socket.recv(65536):
            self.connection.receive_data(data)
            for event in self.connection.events():
                assert isinstance(event, wire.Response)
                return event.body_as(type(request))
        raise ConnectionError("the broker has closed the connection")


def ends(address: str) -> Iterator[tuple[str, int, int]]:
    """Topic, partition and end offset of all partitions with a leader."""
    host, _, port = address.rpartition(":")
    with closing(Broker(host, int(port))) as broker:
        cluster = broker.ask(MetadataRequest(topics=None))
    for node in cluster.brokers:
        request = ListOffsetsRequest(replica_id=-1)
        for topic in cluster.topics:
            led = [
                ListOffsetsPartition(
                    partition_index=one.partition_index,
                    timestamp=LATEST,
                )
                for one in topic.partitions
                if one.leader_id == node.node_id
            ]
            asked = ListOffsetsTopic(name=topic.name or "", partitions=led)
            request.topics.append(asked)
        with closing(Broker(node.host, node.port)) as broker:
            for found in broker.ask(request).topics:
                for one in found.partitions:
                    yield found.name, one.partition_index, one.offset


if __name__ == "__main__":
    for end in ends(sys.argv[1]):
        print(*end, sep="\t")
