"""Real clients reach a real broker through a proxy: every frame that passes is encoded again as it came.

For `make test-broker`. The frames of each client, by API and version, are in `build/proxied-frames.txt`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import kafka_messages
from kipwire import Message
from kipwire.connection import Request, Response
from kipwire.message.frames import FrameAndRest
from tests.support.live.proxied_clients import CLIENTS
from tests.support.live.real_broker import HOST, PORT
from tests.support.live.recording_proxy import Passed, recording_proxy
from tests.support.places import ROOT

pytestmark = [
    pytest.mark.broker,
    pytest.mark.xdist_group("broker"),
    # The clients leave sockets to be collected, and use deprecated parts of Python.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

BROKER = (HOST, PORT)
REPORT = ROOT / "build" / "proxied-frames.txt"
REGISTRY = kafka_messages.REGISTRY
PRODUCE, FETCH = 0, 1
EXPECTED = "the client broke off the connection"
"""Log line of a client that ends: it waits for no data on its way, so its system resets the connection."""
LEFT_OVER = {
    "confluent-kafka": {
        ("AlterUserScramCredentialsRequest", 0): b"\0",  # it ends the structs of an array twice
        ("MetadataRequest", 13): b"\1\0\0",  # a null array takes four bytes, where one is enough
    }
}
"""Bytes that clients send after the message, by its name and version; librdkafka alone does so."""


class Frames(NamedTuple):
    """Numbers of requests and responses of one API and version that passed."""

    requests: int
    responses: int


Table = dict[str, dict[tuple[int, int], Frames]]


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    """The frames of each client; written down at the end."""
    found: Table = {}
    yield found
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(as_text(found))
    print(f"\n{as_text(found)}")


def as_text(table: Table) -> str:
    """Return one line for each API and version, with requests and responses of each client."""
    lines = [f"{'':36}" + "".join(f"{client:>17}" for client in table)]
    for key, version in sorted({pair for frames in table.values() for pair in frames}):
        name = kafka_messages.request(key, version).NAME.removesuffix("Request")
        cells = (frames.get((key, version)) for frames in table.values())
        shown = (f"{cell.requests:,} / {cell.responses:,}" if cell else "" for cell in cells)
        lines.append(f"{f'{name} v{version}':36}" + "".join(f"{cell:>17}" for cell in shown))
    sums = (f"{sum(map(sum, frames.values())):,}" for frames in table.values())
    lines.append(f"{'all frames':36}" + "".join(f"{one:>17}" for one in sums))
    return "\n".join(lines) + "\n"


def frames_by_version(passed: Passed) -> dict[tuple[int, int], Frames]:
    requests = Counter((one.api_key, one.api_version) for one in passed.requests)
    responses = Counter((one.to.api_key, one.to.api_version) for one in passed.responses)
    return {pair: Frames(requests[pair], responses[pair]) for pair in requests}


def decoded(event: Request | Response) -> FrameAndRest[Any, Message]:
    """Decode the frame that came, without later changes by the proxy."""
    if isinstance(event, Request):
        return REGISTRY.read_request(event.raw)
    return REGISTRY.read_response(event.raw, event.to.api_key, event.to.api_version)


def encoded(frame: FrameAndRest[Any, Message]) -> bytes:
    """Encode a decoded frame."""
    encode: Any = REGISTRY.encode_request if frame.body.TYPE == "request" else REGISTRY.encode_response
    again: bytes = encode(frame.body, header=frame.header) + frame.rest
    return again


@pytest.mark.parametrize("client", [pytest.param("kafka-python", marks=pytest.mark.smoke), *list(CLIENTS)[1:]])
def test_every_frame_of_a_real_client_is_encoded_again_as_it_came(
    client: str, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    with recording_proxy(monkeypatch, BROKER) as (address, passed):
        read = CLIENTS[client](address)
    assert read
    assert [line for line in passed.lines if EXPECTED not in line] == []  # no connection was dropped
    left_over = defaultdict(set)
    events: list[Request | Response] = [*passed.requests, *passed.responses]
    for event in events:
        frame = decoded(event)
        assert encoded(frame) == event.raw, event
        if frame.rest:
            left_over[frame.body.NAME, frame.body.VERSION].add(frame.rest)
    table[client] = frames_by_version(passed)
    assert left_over == {message: {rest} for message, rest in LEFT_OVER.get(client, {}).items()}
    assert {PRODUCE, FETCH} <= {key for key, _ in table[client]}  # it stayed on the proxy
    assert not passed.tokens
