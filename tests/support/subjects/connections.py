"""Frames, and connections that have received them."""

from __future__ import annotations

from typing import Any

import kafka_messages
from kipwire.connection import (
    ClientConnection,
    Request,
    Response,
    ServerConnection,
)

REGISTRY = kafka_messages.REGISTRY
REFUSED = bytes.fromhex("00000000 0023 00000001 0012 0000 0005")


def sized(*frames: bytes) -> bytes:
    return b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)


def unsized(data: bytes) -> list[bytes]:
    """Return the frames in what a connection sends."""
    frames = []
    while data:
        size = int.from_bytes(data[:4], "big")
        frames.append(data[4 : 4 + size])
        data = data[4 + size :]
    return frames


def server(*frames: bytes, **limits: int) -> ServerConnection:
    """Return a broker's side that has received frames."""
    connection = ServerConnection(REGISTRY, **limits)
    connection.receive_data(sized(*frames))
    return connection


def request(body: Any, correlation_id: int = 1) -> bytes:
    return kafka_messages.encode_request(body, correlation_id, "me")


def requests(connection: ServerConnection) -> list[Request]:
    found = []
    for event in connection.events():
        assert isinstance(event, Request)
        found.append(event)
    return found


def produce(version: int, acks: int, **values: Any) -> Any:
    cls: Any = REGISTRY.request(0, version)
    return cls(acks=acks, timeout_ms=30000, **values)


def answers(connection: ClientConnection, *frames: bytes) -> list[Response]:
    connection.receive_data(sized(*frames))
    found = []
    for event in connection.events():
        assert isinstance(event, Response)
        found.append(event)
    return found
