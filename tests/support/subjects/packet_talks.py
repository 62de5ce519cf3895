"""Captured packets that tests make, and the frames found in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from struct import pack
from typing import Any

from kipwire.traffic.conversation import Found
from kipwire.traffic.packet_captures import find_frames
from kipwire.traffic.packet_headers import ACK, SYN
from tests.support import packet_dumps as made
from tests.support.packet_dumps import Tcp

COLUMNS = ("direction", "api_key", "api_version", "correlation_id", "client_id", "frame")
"""Columns that a capture has from the packets alone."""
COUNT = 2186
CLIENT, BROKER = 50000, 9092


@cache
def shipped() -> tuple[dict[str, Any], ...]:
    return tuple(made.shipped_frames())


def found_in(tmp_path: Path, data: bytes, ports: Sequence[int] = ()) -> list[Found]:
    file = tmp_path / "a.pcap"
    file.write_bytes(data)
    return list(find_frames([file], ports))


def frames_of(found: Iterable[Found]) -> list[tuple[Any, ...]]:
    """Return the frames that are whole, as `COLUMNS`."""
    return [(one.direction, *one.request, one.frame) for one in found if one.request and one.frame is not None]


def errors_of(found: Iterable[Found]) -> list[str]:
    return [one.error for one in found if one.error is not None]


class Talk:
    """A conversation by hand, segment by segment."""

    def __init__(self, client: int = CLIENT, opened: bool = True) -> None:
        self.segments: list[Tcp] = []
        self._client = client
        self._next = {True: 1000, False: 5000}
        if opened:
            self.segments += [
                Tcp(0, client, BROKER, True, 999, flags=SYN),
                Tcp(0, client, BROKER, False, 4999, flags=SYN | ACK, acknowledged=1000),
            ]

    def say(self, from_client: bool, data: bytes, is_captured: bool = True) -> Talk:
        """Send bytes in one segment."""
        if is_captured:
            time = len(self.segments) * 1000
            numbers = self._next[from_client], self._next[not from_client]
            self.segments.append(Tcp(time, self._client, BROKER, from_client, numbers[0], data, ACK, numbers[1]))
        self._next[from_client] += len(data)
        return self

    def ask(self, correlation_id: int, is_captured: bool = True, key: int = 18) -> Talk:
        """Send a request."""
        return self.say(True, request(correlation_id, key), is_captured)

    def answer(self, correlation_id: int, is_captured: bool = True) -> Talk:
        """Send a response."""
        return self.say(False, sized(pack(">i", correlation_id) + b"answer"), is_captured)


def sized(frame: bytes) -> bytes:
    return len(frame).to_bytes(4) + frame


def request(correlation_id: int, key: int = 18) -> bytes:
    return sized(pack(">hhih", key, 3, correlation_id, 2) + b"me" + b"\0body")


def ids(found: Iterable[Found]) -> list[tuple[str | None, int]]:
    return [(one.direction, one.request.correlation_id) for one in found if one.request]
