"""Amounts of a capture that were read, and of what was not, by reason: what a statement about the traffic stands on."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from kipwire.model.errors import KipwireError, UnsupportedVersionError

MOST_REMEMBERED = 16384
"""The most connections that are told from new ones."""


class Reason(StrEnum):
    """Reasons for which bytes are not read; packets that cannot be read have their kind as a reason, such as ARP."""

    START = "before the first frame"
    END = "capture ended within it"
    GAP = "not captured"
    NO_FRAME = "no frame"
    NO_REQUEST = "request not captured"
    TOKEN = "SASL"
    TLS = "TLS"
    FOREIGN = "no Kafka request"
    UNDECIDED = "client not known"
    DROPPED = "too much waited"
    DAMAGED = "damaged file"
    UNKNOWN = "unknown API or version"
    BROKEN = "cannot be decoded"
    NO_ENTRY = "no request"
    BROKEN_ENTRY = "no request in JSON"


HARMLESS = frozenset({Reason.START, Reason.END, Reason.TOKEN})
"""Reasons that each capture of a running system has, so that they are no damage."""
_NOUNS: Mapping[str, str] = {
    Reason.START: "piece",
    Reason.END: "frame",
    Reason.GAP: "gap",
    Reason.NO_FRAME: "piece",
    Reason.NO_REQUEST: "response",
    Reason.TOKEN: "token",
    Reason.TLS: "connection",
    Reason.FOREIGN: "connection",
    Reason.UNDECIDED: "connection",
    Reason.DROPPED: "connection",
    Reason.DAMAGED: "file",
    Reason.UNKNOWN: "frame",
    Reason.BROKEN: "frame",
    Reason.NO_ENTRY: "line",
    Reason.BROKEN_ENTRY: "line",
}


def reason_of(error: KipwireError) -> Reason:
    """Return the reason for which the error of a frame keeps it from being read."""
    return Reason.UNKNOWN if isinstance(error, UnsupportedVersionError) else Reason.BROKEN


class Unread(NamedTuple):
    """Bytes that were not read."""

    reason: str
    """One of `Reason`, or a kind of packets."""
    bytes: int
    """Number of them, as far as it is known."""
    times: int = 1
    """Number of packets, connections, frames, or pieces of a stream."""

    @property
    def noun(self) -> str:
        """Word for one of those that `times` counts."""
        return _NOUNS.get(self.reason, "packet")


@dataclass(eq=False, slots=True)
class Reading:
    """Amounts of what was read, and of what was not."""

    connections: int = 0
    """Connections with a request."""
    requests: int = 0
    responses: int = 0
    bytes: int = 0
    """Bytes of whole requests and responses."""
    _unread: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Times and bytes, by reason."""
    _known: OrderedDict[int | None, None] = field(default_factory=OrderedDict)

    @property
    def unread(self) -> list[Unread]:
        """All that was not read, most bytes first."""
        found = [Unread(reason, size, times) for reason, (times, size) in self._unread.items()]
        return sorted(found, key=lambda one: (-one.bytes, -one.times, one.reason))

    def begin_capture(self) -> None:
        """Start another capture, whose connections are numbered anew."""
        self._known.clear()

    def count(self, connection: int | None, size: int, *, is_request: bool) -> None:
        """Count a frame."""
        self.bytes += size
        if not is_request:
            self.responses += 1
            return
        self.requests += 1
        if connection not in self._known:
            self.connections += 1
            self._known[connection] = None
            if len(self._known) > MOST_REMEMBERED:
                self._known.popitem(last=False)

    def miss(self, unread: Unread) -> None:
        """Count what was not read."""
        times, size = self._unread.get(unread.reason, (0, 0))
        self._unread[unread.reason] = times + unread.times, size + unread.bytes

    def miss_body(self, unread: Unread) -> None:
        """Count a frame, which was counted as read, as one of which only the header was read."""
        self.bytes -= unread.bytes
        self.miss(unread)
