"""The catalogue of a generated package: its messages by name, API key and version, without importing them all.

An entry has all that can be answered without a class, such as versions and header versions, so that importing the
package imports no message. A class is imported when it is first asked for, and kept. `registry` adds frames, and is
what a generated package makes of its entries.

Two messages may share an API key, if one is the former name of the other: keys lead to the one that is served.
"""

from __future__ import annotations

from importlib import import_module

from kipwire.model.errors import UnsupportedVersionError, expect_version, unknown_version
from kipwire.tools.text import count_of, did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn

    from kipwire.message.messages import Message


class Entry:
    """Facts of a message that are known before its class is imported."""

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
        headers: tuple[int, ...] | dict[int, int] | None,
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
        """Header versions of a request or response: before inflexible and before flexible versions.

        Three where version 0 has a header of its own, whose version is the first. A spec with other headers than these
        (KIP-1313) has a dict: header versions by the first version with each.
        """
        lowest_served, highest_served = served or (lowest, highest)
        self.served = range(lowest_served, highest_served + 1)
        """The versions that the current release of the protocol speaks; others are for what earlier releases wrote."""

    @property
    def versions(self) -> range:
        return range(self.lowest, self.highest + 1)

    def existing(self, version: int, package: str) -> int:
        """Return the version, if the message has it.

        Raises:
            UnsupportedVersionError: the message has no such version.
        """
        if type(version) is not int:
            version = expect_version(version)
        if version in self.versions:
            return version
        if not self.versions:
            raise UnsupportedVersionError(f"{self.name} is retired: {package} has no version of it")
        raise UnsupportedVersionError(unknown_version(version, self.versions, f"{self.name} in {package}"))

    def header_version(self, version: int, package: str) -> int:
        """Return the version of the header before the message in that version.

        Raises:
            UnsupportedVersionError: the message has no such version.
        """
        version = self.existing(version, package)
        if isinstance(self.headers, dict):
            return self.headers[max(first for first in self.headers if first <= version)]
        *first, inflexible, flexible = self.headers or (0, 0)
        if version >= self.first_flexible:
            return flexible
        return first[0] if first and version == 0 else inflexible


class Catalogue:
    """All messages of one package."""

    def __init__(self, package: str, entries: tuple[Entry, ...]) -> None:
        self.package = package
        self._classes: dict[tuple[str, int], type[Message]] = {}  # imported so far
        self._by_name = {entry.name: entry for entry in entries}
        # Of two messages of one API, the served one: it has all versions of the other.
        ranked = sorted(entries, key=lambda entry: bool(entry.served))
        self._requests = {entry.api_key: entry for entry in ranked if entry.type == "request"}
        self._responses = {entry.api_key: entry for entry in ranked if entry.type == "response"}

    def names(self) -> tuple[str, ...]:
        """List the names of all messages, retired ones among them, in alphabetical order."""
        return tuple(self._by_name)

    def entries(self) -> Iterator[Entry]:
        """Yield what is known of each message before its class is imported."""
        return iter(self._by_name.values())

    def request_keys(self) -> set[int]:
        """Return the API keys of all requests, retired ones among them."""
        return {key for key in self._requests if key is not None}

    def request_name(self, api_key: int) -> str | None:
        """Return the name of the request with an API key; None where the package has no such request."""
        entry = self._requests.get(api_key)
        return None if entry is None else entry.name

    def missing(self, name: str) -> NoReturn:
        """Raise the error about an attribute that the package does not have: the `__getattr__` of its module.

        Raises:
            ImportError: a message has this name, and one class for each version.
            AttributeError: no message has this name.
        """
        if name not in self._by_name:
            hint = did_you_mean(name, self._by_name) if name[:1].isupper() else ""
            raise AttributeError(f"module {self.package!r} has no attribute {name!r}{hint}")
        entry = self._by_name[name]
        if not entry.versions:
            raise ImportError(f"{name} is retired: {self.package} has no version of it", name=self.package)
        newest = f"from {self.package}.{entry.module}.v{entry.highest} import {name}"
        raise ImportError(f"{name} has a class for each version; import the one you need: {newest}", name=self.package)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.package}: {count_of(len(self._by_name), 'message')}>"

    def entry(self, name: str) -> Entry:
        """Look up a message without importing its class.

        Raises:
            UnsupportedVersionError: the package has no message of that name.
        """
        entry = self._by_name.get(name)
        if entry is None:
            hint = did_you_mean(name, self._by_name)
            raise UnsupportedVersionError(f"{self.package} has no message named {name!r}{hint}")
        return entry

    def versions(self, name: str) -> range:
        """Return the versions that a message has classes for; empty for a retired one.

        Raises:
            UnsupportedVersionError: the package has no message of that name.
        """
        return self.entry(name).versions

    def served(self, name: str) -> range:
        """Return the versions that the current release of the protocol speaks; in `kafka_messages` that is Kafka 4.4.

        A message's other versions have classes, too: for older peers, and for what was written in them.

        Raises:
            UnsupportedVersionError: the package has no message of that name.
        """
        return self.entry(name).served

    def message(self, name: str, version: int) -> type[Message]:
        """Find the class of a message in one version.

        Raises:
            UnsupportedVersionError: the package has no such message, or not in that version.
        """
        return self._class(self.entry(name), version)

    def request(self, api_key: int, version: int) -> type[Message]:
        """Find the class of a request.

        Raises:
            UnsupportedVersionError: the package has no request of that key, or not in that version.
        """
        return self._class(self._entry_by_key(self._requests, "request", api_key), version)

    def request_versions(self, api_key: int) -> range:
        """Return the versions of a request that the package has classes for; empty where it has no such request."""
        entry = self._requests.get(api_key)
        return range(0) if entry is None else entry.versions

    def has_request(self, api_key: int, version: int) -> bool:
        """True if the package has a request of that key in that version."""
        return version in self.request_versions(api_key)

    def has_class(self, cls: type[Message]) -> bool:
        """True if a class is of this package; a class of another package may have the same name or API key."""
        entry = self._by_name.get(cls.NAME)
        return entry is not None and cls.VERSION in entry.versions and self._class(entry, cls.VERSION) is cls

    def response(self, api_key: int, version: int) -> type[Message]:
        """Find the class of a response.

        Raises:
            UnsupportedVersionError: the package has no response of that key, or not in that version.
        """
        return self._class(self._entry_by_key(self._responses, "response", api_key), version)

    def counterpart(self, cls: type[Message]) -> type[Message]:
        """Find the class of a request's response, or of a response's request, in the same version.

        Two names of one API share its key, so a message is found by its name first.

        Args:
            cls: the class of a request or of a response.

        Raises:
            UnsupportedVersionError: the package has no such message, or not in that version.
        """
        own, other = ("Request", "Response") if cls.TYPE == "request" else ("Response", "Request")
        entry = self._by_name.get(cls.NAME.removesuffix(own) + other)
        if entry is None or entry.api_key != cls.API_KEY:
            find = self.response if cls.TYPE == "request" else self.request
            return find(cls.API_KEY, cls.VERSION)
        return self._class(entry, cls.VERSION)

    def request_header_version(self, api_key: int, version: int) -> int:
        """Return the version of the header before a request.

        Raises:
            UnsupportedVersionError: the package has no request of that key, or not in that version.
        """
        return self._entry_by_key(self._requests, "request", api_key).header_version(version, self.package)

    def response_header_version(self, api_key: int, version: int) -> int:
        """Return the version of the header before a response.

        Raises:
            UnsupportedVersionError: the package has no response of that key, or not in that version.
        """
        return self._entry_by_key(self._responses, "response", api_key).header_version(version, self.package)

    def api_versions(self) -> dict[int, range]:
        """Map the API key of each request in the package to its served versions; retired APIs are left out."""
        found = {key: entry.served for key, entry in self._requests.items() if key is not None and entry.served}
        return dict(sorted(found.items()))

    def _entry_by_key(self, entries: dict[int | None, Entry], what: str, api_key: int) -> Entry:
        if api_key not in entries:
            raise UnsupportedVersionError(f"{self.package} has no {what} with API key {api_key}")
        return entries[api_key]

    def _class(self, entry: Entry, version: int) -> type[Message]:
        if type(version) is not int:
            version = expect_version(version)
        found = self._classes.get((entry.name, version))
        if found is None:
            module = import_module(f"{self.package}.{entry.module}.v{entry.existing(version, self.package)}")
            found = getattr(module, module.__all__[-1])  # a generated module lists its message last
            self._classes[entry.name, version] = found
        return found
