"""The headers before requests and responses: which version of them comes before which version of a message.

A message may say it itself, in `headerVersions` (KIP-1313). Else the rule is KIP-482's: flexible messages have a header
with a tag section, others have not. Which numbers these versions have, a package's own header specs say. Kafka's are 2
and 1 for requests, since it gave the flexible one a new number and left its client id classic; in the KIP itself they
are 1 and 0.

Two messages of Kafka are exceptions, by name and API key together (`kipwire.model.api_keys`): another protocol may have
any message under 7 or 18. Frames and registries at run time call the same functions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kipgen.language.spec import HEADERS, MessageSpec
from kipgen.language.versions import MAX_VERSION, Versions
from kipgen.resolve.wire import WireMessage, resolve

Before = tuple[int, ...] | dict[int, int]
"""The header versions before a message: for inflexible and for flexible versions, or by the first version with each.

One more comes first in a tuple where version 0 has a header of its own.
"""


@dataclass(frozen=True, slots=True)
class HeaderVersions:
    """The versions of the headers before inflexible and before flexible messages of a package."""

    request: tuple[int, int] = (1, 2)
    response: tuple[int, int] = (0, 1)
    oldest_request: int = 1

    def before(self, spec: MessageSpec) -> Before | None:
        """Choose a message's header versions; None for one without a header.

        Where they are written, they are in the form by versions only if they differ from what follows without.
        """
        derived = self._derive(spec)
        written = _first_versions(spec)
        # In specs of a release, which no rule has checked, headers may begin too late.
        if derived is None or spec.valid_versions.lowest not in written:
            return derived
        versions = spec.valid_versions.each()
        is_same = all(number_of(written, spec, one) == number_of(derived, spec, one) for one in versions)
        return derived if is_same else written

    def _derive(self, spec: MessageSpec) -> tuple[int, ...] | None:
        """Derive the header versions from the flexible versions."""
        # KIP-511: a client cannot read a newer header while it does not know what the broker supports.
        if spec.has_oldest_header:
            return self.response[0], self.response[0]
        # Kafka 4.0 dropped this header, which has no client id. It counts where a package still has a spec of it.
        if spec.begins_with_oldest_header and self.oldest_request < self.request[0]:
            return self.oldest_request, *self.request
        return {"request": self.request, "response": self.response}.get(spec.type)


def _first_versions(spec: MessageSpec) -> dict[int, int]:
    """Map the first valid version with each header that a message says itself to that header's version."""
    found: dict[int, int] = {}
    before: int | None = None
    for versions, number in spec.header_versions:
        inside = versions.intersect(spec.valid_versions)
        if not inside.is_empty and number != before:
            found[inside.lowest] = before = number
    return found


def number_of(before: Before, spec: MessageSpec, version: int) -> int:
    """Find the version of the header before a version of a message."""
    if isinstance(before, dict):
        return before[max(first for first in before if first <= version)]
    *first, inflexible, flexible = before
    if first and version == 0:
        return first[0]
    return flexible if version in spec.flexible_versions else inflexible


def numbers_of(spec: MessageSpec, headers: HeaderVersions) -> dict[int, int]:
    """Map each version of a request or a response to the version of its header; empty for another message."""
    before = headers.before(spec)
    return {} if before is None else {one: number_of(before, spec, one) for one in spec.valid_versions.each()}


def ranges_of(spec: MessageSpec, headers: HeaderVersions) -> dict[str, str]:
    """Write out the headers of a message as `headerVersions` has them: from version 0 on, the last without an end."""
    if spec.header_versions:
        return {str(versions): str(number) for versions, number in spec.header_versions}
    numbers = numbers_of(spec, headers)
    starts = [one for one in numbers if numbers[one] != numbers.get(one - 1)]
    ends = [*(start - 1 for start in starts[1:]), MAX_VERSION]
    ranges = (Versions(start if start != starts[0] else 0, end) for start, end in zip(starts, ends, strict=False))
    return {str(versions): str(numbers[start]) for versions, start in zip(ranges, starts, strict=True)}


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


def resolve_versions(spec: MessageSpec, headers: HeaderVersions) -> list[type[WireMessage]]:
    """Make the classes of all versions of a message, the lowest first."""
    numbers = numbers_of(spec, headers)
    return [resolve(spec, version, numbers.get(version)) for version in spec.valid_versions.each()]
