"""The headers before requests and responses: which version of them comes before which version of a message.

The rule is KIP-482's: flexible messages have a header with a tag section, others have not. Which numbers these versions
have, a package's own header specs say. Kafka's are 2 and 1 for requests, since it gave the flexible one a new number
and left its client id classic; in the KIP itself they are 1 and 0.

Two messages of Kafka are exceptions, by name and API key together (`kipwire.model.api_keys`): another protocol may have
any message under 7 or 18. Frames and registries at run time call the same functions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kipgen.language.spec import MessageSpec
from kipgen.resolve.wire import WireMessage, resolve

HEADERS = {"request": "RequestHeader", "response": "ResponseHeader"}
"""The name of the header before a message, by the type of that."""


@dataclass(frozen=True, slots=True)
class HeaderVersions:
    """The versions of the headers before inflexible and before flexible messages of a package."""

    request: tuple[int, int] = (1, 2)
    response: tuple[int, int] = (0, 1)
    oldest_request: int = 1

    def before(self, spec: MessageSpec) -> tuple[int, ...] | None:
        """Choose a message's header versions, for inflexible and for flexible versions; None for one without a header.

        One more comes first where version 0 has a header of its own.
        """
        # KIP-511: a client cannot read a newer header while it does not know what the broker supports.
        if spec.has_oldest_header:
            return self.response[0], self.response[0]
        # Kafka 4.0 dropped this header, which has no client id. It counts where a package still has a spec of it.
        if spec.begins_with_oldest_header and self.oldest_request < self.request[0]:
            return self.oldest_request, *self.request
        return {"request": self.request, "response": self.response}.get(spec.type)


def header_versions(specs: Iterable[MessageSpec]) -> HeaderVersions:
    """Read the headers of a package from its own header specs; Kafka's where it has none."""
    own = {spec.name: spec for spec in specs}
    request, response = (own.get(name) for name in HEADERS.values())
    versions = HeaderVersions()
    return HeaderVersions(
        versions.request if request is None else _pair(request),
        versions.response if response is None else _pair(response),
        versions.oldest_request if request is None else request.valid_versions.lowest,
    )


def _pair(header: MessageSpec) -> tuple[int, int]:
    """Return the highest inflexible version of a header, and its highest version."""
    # If all versions are flexible, the lowest stands before inflexible messages, too: there is no other.
    valid = header.valid_versions
    return max(valid.lowest, first_flexible(header) - 1), valid.highest


def first_flexible(spec: MessageSpec) -> int:
    """Return the lowest flexible version of a message; the version after its highest one if none is."""
    flexible = spec.flexible_versions.intersect(spec.valid_versions)
    return spec.valid_versions.highest + 1 if flexible.is_empty else flexible.lowest


def resolve_versions(spec: MessageSpec, headers: HeaderVersions) -> list[WireMessage]:
    """Make the wire descriptions of all versions of a message, the lowest first."""
    return [_resolve_version(spec, version, headers.before(spec)) for version in spec.valid_versions.each()]


def _resolve_version(spec: MessageSpec, version: int, before: tuple[int, ...] | None) -> WireMessage:
    if before is None:
        return resolve(spec, version)
    *first, inflexible, flexible = before
    if first and version == 0:
        return resolve(spec, version, first[0])
    return resolve(spec, version, flexible if version in spec.flexible_versions else inflexible)
