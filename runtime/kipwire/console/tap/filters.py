"""Filter for exchanges: by API, client, address, topic and error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple
from uuid import UUID

from kipwire.cli.apis import find_api
from kipwire.connection.negotiation import versions_key
from kipwire.console.tap.topics import TopicNames
from kipwire.description.json_codec import uuid_to_json
from kipwire.message.registry import Registry
from kipwire.model.api_keys import METADATA_KEY
from kipwire.traffic.any_capture import Numbered
from kipwire.traffic.exchanges import Exchange
from kipwire.traffic.request_log import Logged


class Conditions(NamedTuple):
    """Conditions for an exchange to be shown; an empty tuple is no condition. Globs are like the shell's."""

    api_keys: tuple[int, ...] = ()
    clients: tuple[str, ...] = ()
    """Globs of client ids."""
    addresses: tuple[str, ...] = ()
    """Globs of the address of the client or of the broker, with or without the port."""
    topics: tuple[str, ...] = ()
    """Globs of topics, or their ids."""
    errors: bool = False
    """True to demand an error code, or a part that cannot be decoded."""


def api_keys_of(names: Sequence[str], registry: Registry) -> tuple[int, ...]:
    """Find the keys of APIs that are given by name, in any case, or by number.

    Raises:
        KipwireError: the packages have no such API.
    """
    return tuple(int(name) if name.isascii() and name.isdigit() else find_api(registry, name).key for name in names)


def filter_frames(frames: Iterable[Numbered], conditions: Conditions, registry: Registry) -> Iterator[Numbered]:
    """Yield the frames to decode: frames of the wanted APIs, and frames with facts about their clients and topics."""
    keys = {*conditions.api_keys, METADATA_KEY, *map(versions_key, registry.parts)}
    for one in frames:
        request = one.found.request
        if request is None or not conditions.api_keys or conditions.topics or request.api_key in keys:
            yield one


class Filter:
    """Chooses exchanges."""

    def __init__(self, conditions: Conditions, names: TopicNames) -> None:
        self._conditions, self._names = conditions, names

    def has(self, exchange: Exchange) -> bool:
        """True if an exchange is wanted; an error without a request is, unless its address is not."""
        conditions = self._conditions
        found = exchange.first.found
        request = found.request
        if conditions.addresses and not _has_address(conditions.addresses, (found.client, found.listener)):
            return False
        if request is None:
            return True
        return (
            (not conditions.api_keys or request.api_key in conditions.api_keys)
            and (not conditions.clients or _matches(request.client_id or "", conditions.clients))
            and (not conditions.errors or bool(exchange.errors) or bool(exchange.problems))
            and (not conditions.topics or self._has_topic(exchange))
        )

    def _has_topic(self, exchange: Exchange) -> bool:
        globs = self._conditions.topics
        for row in exchange:
            if row is None:
                continue
            ids = {id_ for id_, _ in row.look.names_of_ids}
            for topic in row.look.topics:
                if isinstance(topic, UUID):
                    ids.add(topic)
                name = self._names.of(topic)
                if name is not None and _matches(name, globs):
                    return True
            if any(str(id_) in globs or uuid_to_json(id_) in globs for id_ in ids):
                return True
        return False


def _matches(text: str, globs: Iterable[str]) -> bool:
    return any(fnmatchcase(text, glob) for glob in globs)


def has_logged(conditions: Conditions, one: Logged) -> bool:
    """True if a request of a log is wanted; conditions on topics and errors are for captures."""
    use = one.use
    return (
        (not conditions.api_keys or use.api_key in conditions.api_keys)
        and (not conditions.clients or _matches(use.client_id or "", conditions.clients))
        and (not conditions.addresses or _matches(one.host, conditions.addresses))
    )


def _has_address(globs: Sequence[str], addresses: Iterable[str | None]) -> bool:
    for address in addresses:
        if address is not None:
            host = address.rpartition(":")[0].strip("[]")
            if _matches(address, globs) or (host and any(glob == host or fnmatchcase(host, glob) for glob in globs)):
                return True
    return False
