"""Changes that a proxy makes in responses: addresses of brokers, and versions that the proxy cannot look into."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any

from kipwire.aio import Address
from kipwire.aio.filters import Filter
from kipwire.connection import Response
from kipwire.connection.negotiation import versions_key
from kipwire.message.registry import Registry
from kipwire.projection import ProjectionError, VersionedProjection

Move = Callable[[dict[int, Address], bool], Awaitable[dict[int, Address]]]
"""Function from the addresses of brokers, by node id, and True if these are all of the cluster, to the proxy's."""
METADATA_KEY = 3
_ADDRESSES: dict[int, tuple[str, str, tuple[str, ...]]] = {
    0: ("Produce", "node_id", ("node_endpoints.",)),
    1: ("Fetch", "node_id", ("node_endpoints.",)),
    METADATA_KEY: ("Metadata", "node_id", ("brokers.",)),
    10: ("FindCoordinator", "node_id", ("", "coordinators.")),  # up to version 3, and from 4 on
    60: ("DescribeCluster", "broker_id", ("brokers.",)),
    78: ("ShareFetch", "node_id", ("node_endpoints.",)),
    79: ("ShareAcknowledge", "node_id", ("node_endpoints.",)),
}
"""The places of addresses in responses: the name of the API, the field of the node id, and the structs with both."""
_NAMES_ALL = (METADATA_KEY, 60)
"""API keys of responses with all brokers of the cluster."""


@cache
def addresses_of(registry: Registry) -> dict[int, VersionedProjection]:
    """Project the ids, hosts and ports of brokers in responses, one after the other, by API key.

    A package of another protocol has other APIs under these keys, and an older one of Kafka not all of these fields.
    """
    found: dict[int, VersionedProjection] = {}
    for key, (name, node_id, structs) in _ADDRESSES.items():
        owner = next((one for one in registry.parts if one.request_name(key) == f"{name}Request"), None)
        paths = [struct + field for struct in structs for field in (node_id, "host", "port")]
        if owner is not None:
            with suppress(ProjectionError):
                found[key] = VersionedProjection(owner, f"{name}Response", *paths)
    return found


@cache
def _keys_of_versions(registry: Registry) -> frozenset[int | None]:
    """Find the keys of ApiVersions, which each package may have under one of its own."""
    return frozenset(map(versions_key, registry.parts))


@lru_cache(1000)
def is_rewritten(registry: Registry, api_key: int, version: int) -> bool:
    """True if responses have addresses of brokers, or versions."""
    projection = addresses_of(registry).get(api_key)
    if projection is None or not registry.has_request(api_key, version):
        return api_key in _keys_of_versions(registry)
    return projection.absent(version) != projection.paths


async def rewritten(response: Response, move: Move, filters: Iterable[Filter]) -> bytes:
    """Put addresses of the proxy in the frame of a response, or take out versions that filters do not see whole."""
    projection = addresses_of(response.registry).get(response.to.api_key)
    if projection is None:
        return _limited(response, filters) if response.is_known else response.raw
    values = response.project(projection)
    triples = list(zip(*[iter(values)] * 3, strict=True))
    named = {node: (host, port) for one in triples for node, host, port in _brokers(*one)}
    if not named:
        return response.raw
    moved = await move(named, response.to.api_key in _NAMES_ALL)
    new = [part for ids, hosts, ports in triples for part in (ids, *_moved(ids, hosts, ports, moved))]
    return response.raw if new == list(values) else response.replaced(projection, tuple(new))


def _brokers(node: Any, host: Any, port: Any) -> Iterator[tuple[int, str, int]]:
    """Yield the brokers with an address: of one, or of lists."""
    if isinstance(host, list):
        for one in zip(node, host, port, strict=True):
            yield from _brokers(*one)
    elif host is not None and port >= 0:  # else the address is not in this version, or has -1, the port of no broker
        yield node, host, port


def _moved(node: Any, host: Any, port: Any, moved: dict[int, Address]) -> tuple[Any, Any]:
    """Find the host and port in the place of a broker's, or a list of each."""
    if isinstance(host, list):
        pairs = [_moved(*one, moved) for one in zip(node, host, port, strict=True)]
        return [one for one, _ in pairs], [one for _, one in pairs]
    return (host, port) if host is None or port < 0 else moved[node]


def _limited(response: Response, filters: Iterable[Filter]) -> bytes:
    """Limit an answer to ApiVersions; an API of which the broker only has versions that are too high stays as it is."""
    highest = {key: response.registry.request_versions(key)[-1] for key in addresses_of(response.registry)}
    for one in filters:
        if one.api_key is not None and one.highest is not None:
            highest[one.api_key] = min(one.highest, highest.get(one.api_key, one.highest))
    body: Any = response.body
    too_high = [one for one in body.api_keys if one.min_version <= highest.get(one.api_key, -1) < one.max_version]
    for one in too_high:
        one.max_version = highest[one.api_key]
    return response.with_body(body) if too_high else response.raw
