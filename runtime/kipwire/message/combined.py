"""The registry of several packages: a protocol, and what others have added to it, such as a vendor's APIs to Kafka's.

An API key belongs to one package, which reads and writes its frames with its own headers. Of messages that have the
same name, such as headers, the first package's is found by the name.
"""

from __future__ import annotations

from itertools import combinations

from kipwire.message import frames
from kipwire.message.messages import content_of
from kipwire.message.registry import Registry
from kipwire.model.errors import PackageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from kipwire.message.catalogue import Entry
    from kipwire.message.messages import Message


def combine(*registries: Registry) -> Registry:
    """Make the registry of the messages of several packages; one alone, or given twice, stays what it is.

    Args:
        registries: of the packages, such as `kafka_messages.REGISTRY` and the registry of a vendor's package.

    Raises:
        PackageError: two packages have requests of the same API key.
        TypeError: there is none.
    """
    parts = tuple(dict.fromkeys(part for one in registries for part in one.parts))
    if not parts:
        raise TypeError("give one registry or more")
    for one, other in combinations(parts, 2):
        if both := one.request_keys() & other.request_keys():
            key = min(both)
            names = " and ".join(f"{part.package} ({part.request_name(key)})" for part in (one, other))
            more = f", and {len(both) - 1} more" if len(both) > 1 else ""
            raise PackageError(f"{names} both have API key {key}{more}; requests could be of either: give one of them")
    return parts[0] if len(parts) == 1 else CombinedRegistry(parts)


class CombinedRegistry(Registry):
    """All messages of several packages, and their frames."""

    def __init__(self, parts: tuple[Registry, ...]) -> None:
        self._parts = parts
        self._owners = {key: part for part in parts for key in part.request_keys()}
        self._owner_of = {entry: part for part in parts for entry in part.entries()}
        by_name: dict[str, Entry] = {}
        for entry in self._owner_of:
            by_name.setdefault(entry.name, entry)
        super().__init__(" + ".join(part.package for part in parts), tuple(by_name.values()))
        for part in parts:  # also those whose name another package has
            self._requests |= part._requests
            self._responses |= part._responses

    @property
    def parts(self) -> tuple[Registry, ...]:
        return self._parts

    def entries(self) -> Iterator[Entry]:
        return iter(self._owner_of)

    def has_class(self, cls: type[Message]) -> bool:
        return any(part.has_class(cls) for part in self._parts)

    def counterpart(self, cls: type[Message]) -> type[Message]:
        return self._owner(cls).counterpart(cls)

    def has_client_ids(self) -> bool:
        return all(part.has_client_ids() for part in self._parts)

    def header_class(self, name: str, body: type[Message] | Message) -> Any:
        return self._owner(body).header_class(name, body)

    def request_header_class(self, api_key: int, version: int) -> Any:
        return self._owners.get(api_key, self._parts[0]).request_header_class(api_key, version)

    def encode_request(self, body: Any, *args: Any, **options: Any) -> bytes:
        return self._owner(body).encode_request(body, *args, **options)

    def encode_response(self, body: Any, *args: Any, **options: Any) -> bytes:
        return self._owner(body).encode_response(body, *args, **options)

    def _read_request(self, frame: bytes) -> tuple[Any, Message, bytes]:
        frame = frame if type(frame) is bytes else content_of(frame)
        owner = self._owners.get(frames.key_and_version(frame)[0])
        return super()._read_request(frame) if owner is None else owner._read_request(frame)

    def _read_response(self, frame: bytes, api_key: Any, version: Any, lost: Any) -> tuple[Any, Message, bytes]:
        owner = self._owners.get(getattr(api_key, "API_KEY", api_key))
        if owner is None:
            return super()._read_response(frame, api_key, version, lost)
        return owner._read_response(frame, api_key, version, lost)

    def _has(self, cls: type[Message]) -> bool:
        return any(part._has(cls) for part in self._parts)

    def _class(self, entry: Entry, version: int) -> type[Message]:
        return self._owner_of[entry]._class(entry, version)

    def _owner(self, body: type[Message] | Message) -> Registry:
        """Find the package of a message by its API key; the first one for any other object."""
        return self._owners.get(getattr(body, "API_KEY", -1), self._parts[0])
