"""One TCP connection: which side is the broker, and what was found on it.

Packets show neither which side is the broker nor where frames begin. The client is the side that opened the connection;
if that was not captured, `direction` finds it by what both say. What the rest means follows from that: requests are
found by their heads, responses by the correlation ids of open requests. If the opening is there and the first bytes are
no request, the connection is another protocol's, and its frames are not looked for any more, unless its port is one of
brokers. `streams` puts packets in order, `framing` cuts frames, and `conversation` pairs requests with responses.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator
from dataclasses import dataclass, field
from struct import Struct

from kipwire.tools.text import count_of
from kipwire.traffic.conversation import REQUEST, RESPONSE, Conversation, Found
from kipwire.traffic.direction import KNOWN_PORTS, Direction
from kipwire.traffic.framing import Frame, Framer, Skipped
from kipwire.traffic.packet_headers import ACK, FIN, RST, SYN, Segment, address, port
from kipwire.traffic.requests import (
    SMALLEST_REQUEST,
    SMALLEST_RESPONSE,
    Likeness,
    begins_request,
    is_of_unknown_api,
    kafka,
    likeness_of,
    opens_with_request,
    why_no_request,
)
from kipwire.traffic.streams import Piece, Stream
from kipwire.traffic.unread import Reason, Unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.message.registry import Registry

_MODULUS = 2**32
_MOST_DOUBTFUL = 64
"""The most finds that wait for something that shows what they are."""
_FIRST_BYTES = 64
"""The number of bytes kept from the start of each side, to say why it is not Kafka."""
_SHOWN_BYTES = 8
_TLS_RECORDS = range(20, 24)
_TLS_MAJOR = 3

_SIZE_AND_CORRELATION_ID = Struct(">ii")


@dataclass(eq=False, slots=True)
class _Side:
    """One end of the connection, with the bytes that it sends."""

    endpoint: bytes
    stream: Stream = field(default_factory=Stream)
    framer: Framer = field(default_factory=lambda: Framer(SMALLEST_REQUEST, begins_request))
    captured: int = 0
    """Bytes of its stream that the capture has."""
    lost: int = 0
    """Bytes of the stream that the capture does not have."""
    is_from_start: bool = False
    """True if the first of these bytes is the first one of the connection."""
    first: bytes = b""
    end: int | None = None
    """Sequence number after its last byte; None until it announces its end."""
    first_acknowledged: int | None = None
    acknowledged: int | None = None
    """The sequence number before which the peer has all bytes: the first one seen, and the latest."""

    @property
    def is_complete(self) -> bool:
        """True if no byte is known to be missing."""
        is_at_end = self.end is None or self.stream.has_reached(self.end)
        return is_at_end and not self.stream.has_hole and not self.framer.held


class Connection:
    """One TCP connection between two endpoints.

    The client is the side whose port is not a broker's. If ports do not decide it, the client is the side that opens
    the connection; if that was not captured, `Direction` finds it.
    """

    def __init__(
        self,
        number: int,
        one: bytes,
        other: bytes,
        ports: Collection[int],
        listeners: Container[bytes] = (),
        registry: Registry | None = None,
    ) -> None:
        """Start with the endpoints of any packet.

        Args:
            number: of the connection in its capture.
            one: the source of a packet.
            other: its target.
            ports: the brokers' ports; empty if they are not known.
            listeners: the endpoints that have accepted other connections.
            registry: of the protocol; by default Kafka's.
        """
        self._registry = registry or kafka()
        self.number = number
        self.opening: int | None = None
        """The sequence number of the packet that opened it; None if that was not captured."""
        self.is_over = False
        """True if the connection has ended, with nothing missing."""
        self.counted = 0
        """Value of `held` when it was last counted among all connections."""
        self._sides = {one: _Side(one), other: _Side(other)}
        self._both = self._sides[one], self._sides[other]
        """Both sides, which are the same one if a host sends packets to itself."""
        self._client: _Side | None = None
        self._conversation: Conversation | None = None
        self._is_foreign = False
        """True if it is certain that it is not Kafka's plaintext."""
        self._is_reset = False
        self._has_tokens = False
        """True if frames may be tokens, which can be empty."""
        self._listeners = listeners
        self._direction: Direction | None = None
        """Evidence of the client, while it is not known."""
        self._doubtful: list[Found] | None = None
        """Finds of a connection that begins with a request of an unknown API, until something shows that it is one."""
        brokers = [endpoint for endpoint in (one, other) if port(endpoint) in ports]
        self._is_chosen = len(brokers) == 1
        """True if the ports of the caller have its broker."""
        if self._is_chosen:
            self._decide(self._sides[other if brokers == [one] else one])

    @property
    def held(self) -> int:
        """About how many bytes of memory wait for more data."""
        one, other = self._both
        held = one.stream.held + one.framer.held + other.stream.held + other.framer.held
        if self._conversation is None:
            return held if self._direction is None else held + self._direction.held
        if self._doubtful is not None:
            held += sum(len(found.frame or b"") for found in self._doubtful)
        return held + self._conversation.held

    def goes_on_with(self, segment: Segment) -> bool:
        """True if a segment belongs to this connection, and not to a later one between the same endpoints."""
        if segment.flags & SYN and not segment.flags & ACK:
            return self.opening == segment.sequence or (self.opening is None and not self._has_data())
        side = self._sides[segment.source]
        return not self.is_over or not segment.size or side.stream.has_reached(_end(segment))

    def add(self, segment: Segment, time: int) -> list[Found]:
        """Process a segment; what is found with it."""
        found: list[Found] = []
        side, other = self._sides[segment.source], self._sides[segment.target]
        sequence = segment.sequence
        if segment.flags & SYN:
            sequence = (sequence + 1) % _MODULUS
            self._open(side, other, segment, sequence, found)
        if segment.size:
            self._pieces(side, side.stream.add(sequence, segment.data, segment.size, time), found)
        if segment.flags & ACK:
            if other.first_acknowledged is None:
                other.first_acknowledged = segment.acknowledged
            other.acknowledged = segment.acknowledged
            if other.stream.has_hole:
                self._pieces(other, other.stream.acknowledged(segment.acknowledged, time), found)
        if segment.flags & FIN:
            side.end = (sequence + segment.size) % _MODULUS
            if not side.stream.is_started:
                side.stream.start(side.end)
        self._is_reset = self._is_reset or bool(segment.flags & RST)
        if self._is_reset or (side.end is not None and other.end is not None):
            # Segments that were captured late may still come.
            self.is_over = all(one.is_complete for one in self._both)
        return found if self._doubtful is None else self._believed(found)

    def end(self, time: int) -> list[Found]:
        """Return the frames and errors that still wait, after the last segment."""
        found: list[Found] = []
        rest: list[Found] = []
        for side in self._sides.values():
            self._pieces(side, side.stream.give_up_all(), found)
            last = side.acknowledged if side.end is None else side.end
            if not side.stream.is_started and side.first_acknowledged is not None:  # nothing of it was captured
                side.stream.start(side.first_acknowledged)
            if last is not None:
                self._pieces(side, side.stream.give_up_before(last, time), found)
        if self._direction is not None:
            client = self._direction.end(self._listening())
            if client is not None:
                self._decide(self._both[client])
                self._replay(found)
        if self._doubtful is not None:
            found = self._believed(found)
        for side in self._sides.values():
            self._events(side, [self._ended(side, event) for event in side.framer.end(time)], rest)
            if side.stream.early:
                self._events(side, [Skipped(time, side.stream.early, 0, True)], rest)
        for side in self._sides.values():  # lets go of what refers to the connection: it is freed at once
            side.framer.expect(SMALLEST_REQUEST, begins_request)
        if self._conversation is None or not self._conversation.requests or self._doubtful is not None:
            return [*found, *self._not_kafka(time)]
        return [*found, *rest, *self._conversation.end(time)]

    def _ended(self, side: _Side, event: Frame | Skipped) -> Frame | Skipped:
        """Return what its framer has at the end; a frame lacks no bytes because of that if its sender ended first."""
        if isinstance(event, Frame) and (self._is_reset or side.end is not None):
            return event._replace(is_last=False)
        return event

    def _has_data(self) -> bool:
        return any(side.stream.is_started for side in self._sides.values())

    def _open(self, side: _Side, other: _Side, segment: Segment, first: int, found: list[Found]) -> None:
        """Process a segment with the first sequence number of a side."""
        answers = bool(segment.flags & ACK)
        if not answers:
            self.opening = segment.sequence
        if not side.stream.is_started:
            side.stream.start(first)
        if answers and not other.stream.is_started:
            other.stream.start(segment.acknowledged)
        if self._client is None:
            self._decide(other if answers else side)
            self._replay(found)
        for one in self._both:
            one.is_from_start = one.is_from_start or not one.captured
        broker = self._broker()
        # The first bytes of a broker answer the first request, so its frames start where its stream does.
        broker.framer.in_step = broker.framer.in_step or not broker.captured

    def _decide(self, client: _Side) -> None:
        self._client = client
        broker = self._broker()
        registry = self._registry
        conversation = Conversation(self.number, address(broker.endpoint), address(client.endpoint), registry)

        def begins_response(data: bytes) -> bool | None:
            if len(data) < _SIZE_AND_CORRELATION_ID.size:
                return None
            size, correlation_id = _SIZE_AND_CORRELATION_ID.unpack_from(data)
            return size >= SMALLEST_RESPONSE and conversation.is_open(correlation_id)

        def begins(data: bytes) -> bool | None:
            is_first = client.is_from_start and not client.lost and len(data) == client.captured
            begins = opens_with_request(data, registry) if is_first else begins_request(data, registry)
            if begins and is_first and not self._is_chosen and is_of_unknown_api(data, registry):
                self._doubtful = []
            return begins

        broker.framer.expect(SMALLEST_RESPONSE, begins_response)
        client.framer.expect(SMALLEST_REQUEST, begins)
        self._conversation = conversation

    def _broker(self) -> _Side:
        return self._both[0] if self._both[0] is not self._client else self._both[1]

    def _listening(self) -> int | None:
        """Return the number of the side that listens, or has a port of brokers; None if not just one does."""
        for is_listener in (
            [one.endpoint in self._listeners for one in self._both],
            [port(one.endpoint) in KNOWN_PORTS for one in self._both],
        ):
            if sum(is_listener) == 1:
                return is_listener.index(True)
        return None

    def _pieces(self, side: _Side, pieces: Iterable[Piece], found: list[Found]) -> None:
        for piece in pieces:
            side.captured += len(piece.data)
            side.lost += piece.lost
            if len(side.first) < _FIRST_BYTES:
                side.first += piece.data[: _FIRST_BYTES - len(side.first)]
            if self._is_foreign:
                continue
            if self._conversation is not None:  # as it is for nearly all, and a call costs as much as the rest
                events = side.framer.feed(piece)
                if events:
                    self._events(side, events, found)
                if not side.framer.in_step:
                    self._is_foreign = self._is_foreign_at(side)
                continue
            if self._direction is None:
                self._direction = Direction(self._registry)
            client = self._direction.add(0 if side is self._both[0] else 1, piece, self._listening())
            if client is not None:
                self._decide(self._both[client])
                self._replay(found)

    def _replay(self, found: list[Found]) -> None:
        """Read what waited until the client was known."""
        if self._direction is None:
            return
        waiting, skipped = self._direction.take()
        self._direction = None
        for side, (captured, lost) in zip(self._both, skipped, strict=True):
            side.framer.skip(captured, lost)
        for number, piece in waiting:
            side = self._both[number]
            self._events(side, side.framer.feed(piece), found)

    def _believed(self, found: list[Found]) -> list[Found]:
        """Return what was found, if something shows that a connection of unknown requests is one of Kafka's."""
        assert self._doubtful is not None
        self._doubtful += found
        if any(
            one.request is not None
            and (one.direction == RESPONSE or self._likeness_of(one.frame or b"") >= Likeness.LIKELY)
            for one in found
        ):
            found, self._doubtful = self._doubtful, None
            return found
        if len(self._doubtful) > _MOST_DOUBTFUL:
            self._doubtful = []
            self._is_foreign = True
        return []

    def _likeness_of(self, frame: bytes) -> Likeness:
        return likeness_of(frame, len(frame), self._registry)

    def _is_foreign_at(self, side: _Side) -> bool:
        """True if the client's opening was captured, its first bytes are not a request, and no port is a broker's."""
        return (
            side is self._client
            and self.opening is not None
            and side.framer.has_skipped
            and not side.lost
            and self._conversation is not None
            and not self._conversation.requests
            and not self._is_chosen
            and port(self._broker().endpoint) not in KNOWN_PORTS
        )

    def _events(self, side: _Side, events: Iterable[Frame | Skipped], found: list[Found]) -> None:
        conversation = self._conversation
        if conversation is None:
            return
        is_client = side is self._client
        for event in events:
            if isinstance(event, Skipped):
                found.append(conversation.skipped(REQUEST if is_client else RESPONSE, event))
            elif is_client:
                found += conversation.from_client(event)
            else:
                found += conversation.from_broker(event)
            if self._has_tokens is not conversation.has_tokens:
                self._has_tokens = conversation.has_tokens
                for one in self._sides.values():
                    smallest = SMALLEST_REQUEST if one is self._client else SMALLEST_RESPONSE
                    one.framer.smallest = 0 if self._has_tokens else smallest

    def _not_kafka(self, time: int) -> Iterator[Found]:
        sides = list(self._sides.values())
        if not any(side.captured or side.lost for side in sides):
            return
        firsts = [side.first for side in sides if side.first]
        if any(len(first) > 1 and first[0] in _TLS_RECORDS and first[1] == _TLS_MAJOR for first in firsts):
            what, reason = "TLS, which cannot be read", Reason.TLS
        elif self._direction is not None and self._direction.is_open:
            what = "it is not clear which side is the client; give the port of the broker"
            reason = Reason.UNDECIDED
        elif firsts:
            starts = " and ".join(first[:_SHOWN_BYTES].hex(" ") for first in firsts)
            # If it is not known which side is the client, none of both is one.
            of_client = [self._client.first] if self._client else firsts if len(firsts) == len(sides) else []
            why = next((why for first in of_client if (why := why_no_request(first, self._registry)) is not None), None)
            what = f"no Kafka request found; it starts with {starts}" + (f": {why}" if why else "")
            reason = Reason.FOREIGN
        else:
            what, reason = "none of its content was captured", Reason.GAP
        amounts = " and ".join(
            f"{count_of(side.captured + side.lost, 'byte')} from {address(side.endpoint)}"
            for side in sides
            if side.captured or side.lost
        )
        listener, client = (
            (address(self._broker().endpoint), address(self._client.endpoint)) if self._client else (None, None)
        )
        unread = Unread(reason, sum(side.captured + side.lost for side in sides))
        yield Found(time, self.number, listener, client, None, None, None, f"{what}; {amounts}", unread)


def _end(segment: Segment) -> int:
    return (segment.sequence + segment.size) % _MODULUS
