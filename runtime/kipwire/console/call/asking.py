"""One request to one broker, and to several: what was sent, what came, or why nothing came."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from kipwire.cluster import Cluster, Node
from kipwire.cluster.given import Target
from kipwire.cluster.settings import Settings
from kipwire.console.call.requests import Encoded
from kipwire.console.call.versions import Row, rows_of
from kipwire.message.conversion import Loss
from kipwire.message.messages import Message
from kipwire.message.registry import Registry
from kipwire.model.errors import ConversionError, KipwireError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.aio import Address

Encode = Callable[[Mapping[int, range]], Encoded]
"""Encodes the request, given the versions that a broker serves."""

_AT_ONCE = 20
"""Brokers that are asked at the same time."""


class Answer(NamedTuple):
    """Answer of a broker."""

    node: Node
    sent: Encoded
    frame: bytes | None
    """The response frame, without a size; None if the request has no response."""


class Response(NamedTuple):
    """The response of a frame."""

    body: Message
    """Response in the version of the request's class if it can be converted, else in the version of the wire."""
    lost: tuple[Loss, ...]
    """Values that one of the two versions cannot carry."""
    unconverted: str
    """Reason why it is in the version of the wire; empty if it is not, or need not be."""
    rest: int
    """Bytes after the body."""


class Failed(NamedTuple):
    """A broker without an answer."""

    node: Node
    reason: str


async def ask(
    settings: Settings, brokers: Sequence[Address], target: Target | None, registry: Registry, encode: Encode
) -> list[Answer | Failed]:
    """Send a request to the brokers that it is for, and return their answers in order.

    Args:
        settings: for the connections to brokers.
        brokers: the addresses of some brokers of the cluster.
        target: the brokers to ask; None for the first of these that answers.
        registry: the registry of the package.
        encode: makes the request.

    Raises:
        KipwireError: the brokers cannot be found; or there is only one, and it has no answer.
    """
    nodes = await _find(settings, brokers, target)

    async def one(node: Node) -> Answer:
        async with settings.connect(node.address, registry) as connection:
            sent = encode(connection.versions)
            return Answer(node, sent, await connection.exchange(sent.frame))

    if target is None or target.kind != "all":
        return [await one(node) for node in nodes]
    room = asyncio.Semaphore(_AT_ONCE)

    async def one_of_all(node: Node) -> Answer | Failed:
        try:
            async with room:
                return await one(node)
        except KipwireError as error:
            return Failed(node, str(error))

    return list(await asyncio.gather(*map(one_of_all, nodes)))


async def ask_versions(
    settings: Settings, brokers: Sequence[Address], target: Target | None, registry: Registry
) -> list[tuple[Node, list[Row]]]:
    """List the versions that brokers serve, beside the package's own.

    Args:
        settings: for the connections to brokers.
        brokers: the addresses of some brokers of the cluster.
        target: the brokers to ask; None for the first of these that answers.
        registry: the registry of the package.

    Raises:
        KipwireError: a broker cannot be found or asked.
    """
    found = []
    for node in await _find(settings, brokers, target):
        async with settings.connect(node.address, registry) as connection:
            found.append((node, rows_of(registry, connection.versions)))
    return found


async def _find(settings: Settings, brokers: Sequence[Address], target: Target | None) -> list[Node]:
    if target is None and len(brokers) == 1:  # which no other connection has to try
        return [Node(None, brokers[0])]
    async with Cluster(brokers, settings) as cluster:
        return await cluster.find(target)


def read(registry: Registry, sent: Encoded, frame: bytes) -> Response:
    """Decode the response in a frame.

    Args:
        registry: the registry of the package.
        sent: its request.
        frame: the bytes.

    Raises:
        DecodeError: the bytes are not such a response.
    """
    cls = registry.counterpart(type(sent.body))
    lost: list[Loss] = []
    try:
        _, body, rest = registry.read_response(frame, cls, version=sent.version, lost=lost)
    except ConversionError as error:
        _, body, rest = registry.read_response(frame, sent.body.API_KEY or 0, sent.version)
        return Response(body, (), str(error), len(rest))
    return Response(body, tuple(lost), "", len(rest))
