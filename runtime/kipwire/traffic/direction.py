"""The client of a connection whose opening was not captured, by what both sides say.

The head of a request has nothing that a response cannot have: a response of correlation id 20 begins as a request of
Produce v20 with an empty client id. So bytes that may begin a request wait, on both sides, until one of these decides:

* a frame that names its client and is valid to its last byte, on a side
* two frames of a side that are likely to be requests, and none of the other
* one that is likely, and whose response is valid, or whose target listens
* two that are possible, and whose correlation ids come back

The wait is bounded by pieces. What waited is then read as if the client had been known before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from kipwire.codec.wire import unpack_i
from kipwire.connection.events import CORRELATION_ID, HEAD
from kipwire.message.frames import SIZE_BYTES
from kipwire.model.errors import KipwireError
from kipwire.traffic.framing import Frame, Framer
from kipwire.traffic.requests import (
    SMALLEST_REQUEST,
    SMALLEST_RESPONSE,
    Likeness,
    kafka,
    likeness_of,
    may_begin_request,
)
from kipwire.traffic.streams import Piece

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.message.registry import Registry

KNOWN_PORTS = range(9092, 9095)
"""Ports of brokers in Kafka's own configurations and in most others; 9094 is mostly the one for clients outside."""
MOST_WAITING = 64
"""The most pieces of both sides that wait for a decision."""
_COST = 256
"""About how many bytes a waiting piece takes in addition to its content."""
_TWICE = 2


@dataclass(eq=False, slots=True)
class _Side:
    """The frames of one side that may be requests."""

    registry: Registry
    framer: Framer = field(init=False)
    likely: int = 0
    possible: int = 0
    asked: dict[int, tuple[bytes, bool]] = field(default_factory=dict)
    """The heads of these frames by correlation id, and True if the frame is likely a request."""
    answered: set[int] = field(default_factory=set)
    """Those correlation ids that the other side has sent since; not 0, which all kinds of bytes have."""
    captured: int = 0
    lost: int = 0
    """Bytes that do not wait any more."""

    def __post_init__(self) -> None:
        self.restart()

    @property
    def begun(self) -> Likeness:
        """Degree to which the incomplete frame is like a request."""
        return likeness_of(*self.framer.begun, self.registry)

    def restart(self) -> None:
        """Look for the start of a frame."""
        self.framer = Framer(SMALLEST_REQUEST, partial(may_begin_request, registry=self.registry))

    def note(self, frame: bytes, size: int) -> Likeness:
        """Note a frame; how like a request it is."""
        likeness = likeness_of(frame, size, self.registry)
        if likeness:
            is_likely = likeness >= Likeness.LIKELY
            self.likely += is_likely
            self.possible += not is_likely
            self.asked[HEAD.unpack_from(frame)[2]] = frame[: HEAD.size], is_likely
        return likeness

    def forget(self) -> None:
        """Look for other frames, as at first."""
        self.restart()
        self.likely = self.possible = 0
        self.asked.clear()
        self.answered.clear()


class Direction:
    """Bytes of both sides of a connection, until it is known which is the client."""

    def __init__(self, registry: Registry | None = None) -> None:
        """Wait for the first bytes of a protocol, by default Kafka's."""
        self.held = 0
        """About how many bytes of memory wait for the decision."""
        self.is_open = False
        """True if bytes that may be requests came, which decided nothing."""
        self._registry = registry or kafka()
        self._sides = _Side(self._registry), _Side(self._registry)
        self._waiting: list[tuple[int, Piece]] = []

    def add(self, number: int, piece: Piece, broker: int | None) -> int | None:
        """Process what a side sends next; the number of the client, if it is known then.

        Args:
            number: of the side, 0 or 1.
            piece: the bytes.
            broker: the number of the side whose port is one of brokers, if just one is.
        """
        side, other = self._sides[number], self._sides[1 - number]
        self._waiting.append((number, piece))
        self.held += len(piece.data) + _COST
        if other.asked and _answers(piece.data, other):
            return 1 - number
        if side.framer.in_step and side.begun < Likeness.LIKELY <= _head_of(piece.data, self._registry):
            side.restart()  # it was no head, or its rest is missing
        for event in side.framer.feed(piece):
            if not isinstance(event, Frame):
                continue
            likeness = side.note(event.data, event.size)
            if likeness is Likeness.SURE:
                return number
            if likeness is Likeness.NONE:
                side.restart()
        return self._weigh(broker)

    def end(self, broker: int | None) -> int | None:
        """Return the number of the client as far as what came decides, at the end; None if it does not."""
        client = self._choose(broker)
        self.is_open = client is None and (self.is_open or self._has_heads())
        return client

    def take(self) -> tuple[list[tuple[int, Piece]], list[tuple[int, int]]]:
        """Return the pieces that wait, each with the number of its side; and of both sides the bytes before them."""
        waiting, self._waiting, self.held = self._waiting, [], 0
        return waiting, [(side.captured, side.lost) for side in self._sides]

    def _weigh(self, broker: int | None) -> int | None:
        """Find the client if what came is enough; let go of what cannot help any more."""
        for number, side in enumerate(self._sides):
            other = self._sides[1 - number]
            if broker == 1 - number and (side.likely or side.possible or side.begun):
                return number
            if len(side.answered) >= _TWICE or (side.likely >= _TWICE and not other.likely):
                return number
        if len(self._waiting) > MOST_WAITING:
            client = self._choose(broker)
            if client is not None:
                return client
            self.is_open = self.is_open or self._has_heads()
            for side in self._sides:
                side.forget()
        if not any(side.likely or side.possible or side.framer.waits for side in self._sides):
            self._drop()
        return None

    def _has_heads(self) -> bool:
        return any(side.likely or side.possible or side.begun for side in self._sides)

    def _choose(self, broker: int | None) -> int | None:
        """Choose the side that alone has sent what is likely a request, or what is possible and goes to a broker."""
        likely = [number for number, side in enumerate(self._sides) if side.likely or side.begun >= Likeness.LIKELY]
        if len(likely) == 1:
            return likely[0]
        if broker is not None and self._sides[1 - broker].possible:
            return 1 - broker
        return None

    def _drop(self) -> None:
        for number, piece in self._waiting:
            self._sides[number].captured += len(piece.data)
            self._sides[number].lost += piece.lost
        self._waiting.clear()
        self.held = 0


def _head_of(data: bytes, registry: Registry) -> Likeness:
    """Return the degree to which a piece begins with a request."""
    if len(data) < SIZE_BYTES:
        return Likeness.NONE
    (size,) = unpack_i(data, 0)
    return likeness_of(data[SIZE_BYTES : SIZE_BYTES + max(size, 0)], size, registry)


def _answers(data: bytes, asker: _Side) -> bool:
    """True if bytes begin with the valid response to a frame that is likely a request; notes one to a possible one."""
    if len(data) < SIZE_BYTES + SMALLEST_RESPONSE:
        return False
    size, (correlation_id,) = unpack_i(data, 0)[0], CORRELATION_ID.unpack_from(data, SIZE_BYTES)
    if size < SMALLEST_RESPONSE or correlation_id not in asker.asked:
        return False
    if correlation_id:
        asker.answered.add(correlation_id)
    head, is_likely = asker.asked[correlation_id]
    if not is_likely or len(data) < SIZE_BYTES + size:
        return False
    api_key, version, _ = HEAD.unpack(head)
    try:
        asker.registry.decode_response(data[SIZE_BYTES : SIZE_BYTES + size], api_key, version)
    except KipwireError:
        return False
    return True
