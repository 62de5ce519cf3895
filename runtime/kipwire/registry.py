"""The registry of a generated package: from names, API keys and versions to classes, without importing them all."""

from __future__ import annotations

import struct
from importlib import import_module

from kipwire.errors import DecodeError, LevelError, PackageError, UnsupportedVersionError
from kipwire.messages import expect_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kipwire.messages import Message

_KEY_AND_VERSION = struct.Struct(">hh")

KAFKA_PACKAGE = "kafka_messages"
"""Whose headers stand before the messages of a package that has no header specs of its own."""


class Entry:
    """What is known of a message before its class is imported."""

    __slots__ = ("api_key", "first_flexible", "headers", "highest", "lowest", "module", "name", "served", "type")

    def __init__(
        self,
        name: str,
        module: str,
        type: str,  # the spec language's own word
        api_key: int | None,
        lowest: int,
        highest: int,
        first_flexible: int,
        headers: tuple[int, ...] | None,
        served: tuple[int, int] | None = None,
    ) -> None:
        self.name = name
        self.module = module
        self.type = type
        self.api_key = api_key
        self.lowest = lowest
        self.highest = highest
        """Below `lowest` for a retired message, which has no version left."""
        self.first_flexible = first_flexible
        """The lowest flexible version; one above `highest` where there is none."""
        self.headers = headers
        """Of requests and responses: the header's version before inflexible and before flexible versions.

        One more comes first where version 0 has a header of its own.
        """
        lowest_served, highest_served = served or (lowest, highest)
        self.served = range(lowest_served, highest_served + 1)
        """The versions that the current release of the protocol speaks; the others are for what earlier ones wrote."""

    @property
    def versions(self) -> range:
        return range(self.lowest, self.highest + 1)


class Registry:
    """All messages of one package."""

    def __init__(self, package: str, entries: tuple[Entry, ...]) -> None:
        self.package = package
        self._by_name = {entry.name: entry for entry in entries}
        # Of two names of one API, the one that is served: it has all versions of the other.
        ranked = sorted(entries, key=lambda entry: bool(entry.served))
        self._requests = {entry.api_key: entry for entry in ranked if entry.type == "request"}
        self._responses = {entry.api_key: entry for entry in ranked if entry.type == "response"}

    def names(self) -> tuple[str, ...]:
        """The names of all messages, retired ones among them, in alphabetical order."""
        return tuple(self._by_name)

    def entry(self, name: str) -> Entry:
        """What is known of a message before its class is imported.

        Raises:
            UnsupportedVersionError: the package has no message of that name.
        """
        entry = self._by_name.get(name)
        if entry is None:
            from kipwire.words import did_you_mean  # only errors need it

            hint = did_you_mean(name, self._by_name)
            raise UnsupportedVersionError(f"{self.package} has no message named {name!r}{hint}")
        return entry

    def versions(self, name: str) -> range:
        """The versions that a message has classes for; empty for a retired one.

        Raises:
            UnsupportedVersionError: the package has no message of that name.
        """
        return self.entry(name).versions

    def served(self, name: str) -> range:
        """The versions that the current release of the protocol speaks; in `kafka_messages` that is Kafka 4.4.

        A message's other versions have classes, too: for older peers, and for what was written in them.

        Raises:
            UnsupportedVersionError: the package has no message of that name.
        """
        return self.entry(name).served

    def message(self, name: str, version: int) -> type[Message]:
        """The class of a message in one version.

        Raises:
            UnsupportedVersionError: the package has no such message, or not in that version.
        """
        return self._class(self.entry(name), version)

    def request(self, api_key: int, version: int) -> type[Message]:
        """The class of a request.

        Raises:
            UnsupportedVersionError: the package has no request of that key, or not in that version.
        """
        return self._class(self._keyed(self._requests, "request", api_key), version)

    def response(self, api_key: int, version: int) -> type[Message]:
        """The class of a response.

        Raises:
            UnsupportedVersionError: the package has no response of that key, or not in that version.
        """
        return self._class(self._keyed(self._responses, "response", api_key), version)

    def request_header_version(self, api_key: int, version: int) -> int:
        """The version of the header that stands before a request.

        Raises:
            UnsupportedVersionError: the package has no request of that key, or not in that version.
        """
        return self._header_version(self._keyed(self._requests, "request", api_key), version)

    def response_header_version(self, api_key: int, version: int) -> int:
        """The version of the header that stands before a response.

        Raises:
            UnsupportedVersionError: the package has no response of that key, or not in that version.
        """
        return self._header_version(self._keyed(self._responses, "response", api_key), version)

    def decode_request(self, frame: bytes) -> tuple[Message, Message]:
        """A request frame, without the size before it: (header, body).

        Raises:
            DecodeError: the frame is cut short, is of an API or a version that the package does not have, or is not
                strictly valid; offsets count from the start of the frame.
        """
        if len(frame) < _KEY_AND_VERSION.size:
            from kipwire.words import counted  # only errors need it

            raise DecodeError(
                "RequestHeader", 0, "", len(frame), f"a frame of {counted(len(frame), 'byte')} has no header"
            )
        api_key, version = _KEY_AND_VERSION.unpack_from(frame)
        try:
            body_class = self.request(api_key, version)
        except UnsupportedVersionError as error:
            raise DecodeError("RequestHeader", 0, "request_api_key", 0, str(error)) from None
        return self._decode("RequestHeader", body_class, frame)

    def decode_response(self, frame: bytes, api_key: int, version: int) -> tuple[Message, Message]:
        """A response frame, without the size before it: (header, body).

        Args:
            frame: the bytes.
            api_key: the API key of the request it answers, which the frame itself does not tell.
            version: the version of that request.

        Raises:
            DecodeError: the frame is not strictly valid; offsets count from the start of the frame.
            UnsupportedVersionError: the package has no response of that key, or not in that version.
        """
        return self._decode("ResponseHeader", self.response(api_key, version), frame)

    def encode_request(self, body: Message, correlation_id: int, client_id: str | None = None) -> bytes:
        """A request frame, without the size before it: the header that belongs to the body, then the body.

        Raises:
            EncodeError: a value does not fit its field.
        """
        cls = self._header_class("RequestHeader", body)
        has_client_id = any(field.name == "client_id" for field in cls.ATTRIBUTES)  # version 0 has none
        header: Message = cls(
            request_api_key=body.API_KEY,
            request_api_version=body.VERSION,
            correlation_id=correlation_id,
            **({"client_id": client_id} if has_client_id else {}),
        )
        return header.encode() + body.encode()

    def encode_response(self, body: Message, correlation_id: int) -> bytes:
        """A response frame, without the size before it.

        Raises:
            EncodeError: a value does not fit its field.
        """
        header: Message = self._header_class("ResponseHeader", body)(correlation_id=correlation_id)
        return header.encode() + body.encode()

    def with_header(self, name: str) -> Registry:
        """The registry that has a header: this one, or Kafka's where the package has none of its own.

        Args:
            name: `RequestHeader` or `ResponseHeader`.
        """
        if name in self._by_name:
            return self
        return registry_of(KAFKA_PACKAGE)

    def _decode(self, header_name: str, body_class: type[Message], frame: bytes) -> tuple[Message, Message]:
        header, body_at = self._header_class(header_name, body_class).read(frame)
        body, end = body_class.read(frame, body_at)
        expect_end(body_class, end, frame)
        return header, body

    def _header_class(self, name: str, body: type[Message] | Message) -> Any:
        return self.with_header(name).message(name, body.HEADER_VERSION)

    def _keyed(self, entries: dict[int | None, Entry], what: str, api_key: int) -> Entry:
        entry = entries.get(api_key)
        if entry is None:
            raise UnsupportedVersionError(f"{self.package} has no {what} with API key {api_key}")
        return entry

    def _supported(self, entry: Entry, version: int) -> int:
        if version in entry.versions:
            return version
        if not entry.versions:
            raise UnsupportedVersionError(f"{entry.name} is retired: {self.package} has no version of it")
        known = f"{entry.lowest} to {entry.highest}" if entry.lowest < entry.highest else f"only {entry.lowest}"
        raise UnsupportedVersionError(f"{self.package} has no version {version} of {entry.name}; it has {known}")

    def _class(self, entry: Entry, version: int) -> type[Message]:
        module = import_module(f"{self.package}.{entry.module}.v{self._supported(entry, version)}")
        found: type[Message] = getattr(module, module.__all__[-1])  # a generated module lists its message last
        return found

    def _header_version(self, entry: Entry, version: int) -> int:
        *first, inflexible, flexible = entry.headers or (0, 0)
        if self._supported(entry, version) >= entry.first_flexible:
            return flexible
        return first[0] if first and version == 0 else inflexible


def registry_of(package: str) -> Registry:
    """The registry of a generated package.

    Args:
        package: dotted name of the package.

    Raises:
        PackageError: it cannot be imported, kipgen did not generate it, or did so for another level of the runtime.
    """
    try:
        module = import_module(package)
    except LevelError:
        raise
    except Exception as error:  # the package is the user's code, in which anything may go wrong
        if not all(part.isidentifier() for part in package.split(".")):
            raise PackageError(f"{package!r} cannot be the name of a Python package") from None
        hint = "; is its folder on PYTHONPATH?" if isinstance(error, ModuleNotFoundError) else ""
        raise PackageError(f"{package}: cannot be imported ({error}){hint}") from error
    found = getattr(module, "REGISTRY", None)
    if not isinstance(found, Registry):
        raise PackageError(f"{package}: is not a package that kipgen generated")
    return found
