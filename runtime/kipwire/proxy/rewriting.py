"""Changes that a proxy makes in responses: addresses of brokers, and the versions that it cannot look into."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import lru_cache
from typing import Any

import kafka_messages
from kipwire.aio import Address
from kipwire.connection import Response
from kipwire.model.api_keys import API_VERSIONS_KEY
from kipwire.projection import VersionedProjection
from kipwire.proxy.filters import Filter

Move = Callable[[int, Address], Awaitable[Address]]
"""The address of the proxy for a node and its own."""
ADDRESSES = {
    key: VersionedProjection(
        kafka_messages.REGISTRY, name, *[path + field for path in at for field in (node_id, "host", "port")]
    )
    for key, name, node_id, *at in (
        (0, "ProduceResponse", "node_id", "node_endpoints."),
        (1, "FetchResponse", "node_id", "node_endpoints."),
        (3, "MetadataResponse", "node_id", "brokers."),
        (10, "FindCoordinatorResponse", "node_id", "", "coordinators."),  # up to version 3, and from 4 on
        (60, "DescribeClusterResponse", "broker_id", "brokers."),
        (78, "ShareFetchResponse", "node_id", "node_endpoints."),
        (79, "ShareAcknowledgeResponse", "node_id", "node_endpoints."),
    )
}
"""The ids, hosts and ports of brokers in responses, one after the other, by API key."""


@lru_cache(1000)
def is_rewritten(api_key: int, version: int) -> bool:
    """True if responses have addresses of brokers, or versions."""
    projection = ADDRESSES.get(api_key)
    if projection is None or not kafka_messages.REGISTRY.has_request(api_key, version):
        return api_key == API_VERSIONS_KEY
    return projection.absent(version) != projection.paths


async def rewritten(response: Response, move: Move, filters: Iterable[Filter]) -> bytes:
    """Put addresses of the proxy in the frame of a response, or take out versions that filters do not see whole."""
    if response.to.api_key == API_VERSIONS_KEY:
        return _limited(response, filters) if response.is_known else response.raw
    projection = ADDRESSES[response.to.api_key]
    values = response.project(projection)
    new: list[Any] = []
    for ids, hosts, ports in zip(*[iter(values)] * 3, strict=True):
        new += [ids, *await _moved(ids, hosts, ports, move)]
    return response.raw if new == list(values) else response.replaced(projection, tuple(new))


async def _moved(node: Any, host: Any, port: Any, move: Move) -> tuple[Any, Any]:
    """Find the address in the place of a broker's address, or of each in two lists."""
    if isinstance(host, list):
        pairs = [await _moved(*one, move) for one in zip(node, host, port, strict=True)]
        return [one for one, _ in pairs], [one for _, one in pairs]
    if host is None or port < 0:  # not in this version, or -1, the port of no broker
        return host, port
    return await move(node, (host, port))


def _limited(response: Response, filters: Iterable[Filter]) -> bytes:
    """Limit an answer to ApiVersions; an API of which the broker only has versions that are too high stays as it is."""
    highest = {key: kafka_messages.REGISTRY.request_versions(key)[-1] for key in ADDRESSES}
    for one in filters:
        if one.api_key is not None and one.highest is not None:
            highest[one.api_key] = min(one.highest, highest.get(one.api_key, one.highest))
    body: Any = response.body
    too_high = [one for one in body.api_keys if one.min_version <= highest.get(one.api_key, -1) < one.max_version]
    for one in too_high:
        one.max_version = highest[one.api_key]
    return response.with_body(body) if too_high else response.raw
