"""The requests and responses on one connection: which response answers which request.

Brokers answer the requests of a connection in order, except those that expect no response. After a SaslHandshake v0
both sides send frames that are bare tokens, without a header; they are counted, and not shown.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import NamedTuple

from kipwire.codec.wire import unpack_i
from kipwire.model.api_keys import SASL_HANDSHAKE_KEY
from kipwire.tools.text import count_of
from kipwire.traffic.framing import Frame, Skipped
from kipwire.traffic.requests import SMALLEST_RESPONSE, Request, is_request, kafka, request_of
from kipwire.traffic.unread import Reason, Unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.message.registry import Registry

REQUEST, RESPONSE = "request", "response"

_HANDSHAKE = "SaslHandshakeRequest"
_MOST_UNANSWERED = 2048
"""The most requests that wait for responses; far more than any client leaves open, but some expect no response."""
_MOST_TOKENS = 64
"""The most SASL tokens that wait for answers; no mechanism has that many."""
_MOST_EARLY = 64
"""The most responses that wait for their requests, which may have been captured later."""
_COST = 256
"""About how many bytes each of these takes in addition to its content."""


class Found(NamedTuple):
    """A frame, or an error instead of one."""

    time: int
    """Nanoseconds since 1970-01-01 UTC."""
    connection: int | None
    """None: the capture as a whole."""
    listener: str | None
    """Address and port of the broker."""
    client: str | None
    """Address and port of the client."""
    direction: str | None
    """`request` or `response`; None: both."""
    request: Request | None
    """The header of the request, or of the one that a response answers; None without a frame, or if it is not known."""
    frame: bytes | None
    """Without its size; None if it is incomplete."""
    error: str | None
    """Explanation why there is no frame."""
    unread: Unread | None = None
    """Reason and amount of what was not read; None with a frame."""


class _Token(NamedTuple):
    """A SASL token that waits for its answer."""


class Conversation:
    """One connection, whose two sides are known."""

    def __init__(self, connection: int, listener: str, client: str, registry: Registry | None = None) -> None:
        self.requests = 0
        self.held = 0
        """About how many bytes of memory the requests and responses take that wait for each other."""
        self._registry = registry = registry or kafka()
        self._has_handshakes = registry.request_name(SASL_HANDSHAKE_KEY) == _HANDSHAKE
        self._of_all = connection, listener, client
        self._unanswered: deque[Request | _Token] = deque()
        self._open: Counter[int] = Counter()
        """Number of unanswered requests, by correlation id."""
        self._early: deque[Frame] = deque()
        """Responses whose requests have not been seen yet."""
        self._tokens_may_follow = False
        """True from a handshake to the next request."""
        self._open_tokens = 0
        """Number of unanswered tokens."""
        self._has_unreported = False
        self._tokens = {REQUEST: Counter[str](), RESPONSE: Counter[str]()}
        """The number and bytes of the tokens of each direction that have not been reported."""

    @property
    def has_tokens(self) -> bool:
        """True if frames may be tokens, which can be empty."""
        return self._tokens_may_follow or self._open_tokens > 0

    def is_open(self, correlation_id: int) -> bool:
        """True if a request of that id waits for its response."""
        return self._open[correlation_id] > 0

    # Lists, which take a third of the time of generators: nearly every packet is one frame.

    def from_client(self, frame: Frame) -> list[Found]:
        """Process a frame of the client; what is found with it."""
        if self._tokens_may_follow and not is_request(frame.data, self._registry):
            self._tokens[REQUEST].update(count=1, size=frame.size)
            self._has_unreported = True
            self._open_tokens += 1
            self._await_answer(_Token())
            return []
        self._tokens_may_follow = False
        found = list(self._report_tokens(frame.time)) if self._has_unreported else []
        request = request_of(frame.data, self._registry)
        self.requests += 1
        found.append(self._find(REQUEST, request, frame))
        if request is not None:
            is_handshake = (request.api_key, request.api_version) == (SASL_HANDSHAKE_KEY, 0)
            self._tokens_may_follow = is_handshake and self._has_handshakes
            self._open[request.correlation_id] += 1
            self._await_answer(request)
            if self._early:
                found += self._catch_up(frame.time)
        return found

    def from_broker(self, frame: Frame) -> list[Found]:
        """Process a frame of the broker; what is found with it."""
        found: list[Found] = []
        if self._is_token(frame):
            self._forget_first()
            self._tokens[RESPONSE].update(count=1, size=frame.size)
            self._has_unreported = True
        elif self._answers(frame):
            if self._early:
                found += self._give_up(frame.time)
            found.append(self._answer(frame))
        else:
            self._early.append(frame)
            self.held += len(frame.data) + _COST
            if len(self._early) > _MOST_EARLY:
                found += self._give_up(frame.time)
        return found

    def skipped(self, direction: str, skipped: Skipped) -> Found:
        """Make the error for bytes that are not part of a known frame."""
        amount = skipped.captured + skipped.lost
        reason = Reason.GAP if skipped.lost else Reason.START if skipped.is_first else Reason.NO_FRAME
        return self._error(skipped.time, direction, _skipped_text(skipped), Unread(reason, amount))

    def end(self, time: int) -> Iterator[Found]:
        """Yield all that still waits, after the last frame."""
        yield from self._give_up(time)
        yield from self._report_tokens(time)

    def _is_token(self, frame: Frame) -> bool:
        if not self._unanswered or not isinstance(self._unanswered[0], _Token):
            return False
        # The last token of a mechanism may have no answer: then this frame answers the request after it.
        following = next((one for one in self._unanswered if isinstance(one, Request)), None)
        return following is None or _correlation_id(frame) != following.correlation_id

    def _answers(self, frame: Frame) -> bool:
        correlation_id = _correlation_id(frame)
        return correlation_id is not None and self.is_open(correlation_id)

    def _answer(self, frame: Frame) -> Found:
        correlation_id = _correlation_id(frame)
        while True:
            request = self._forget_first()
            if isinstance(request, Request) and request.correlation_id == correlation_id:
                return self._find(RESPONSE, request, frame)

    def _await_answer(self, awaited: Request | _Token) -> None:
        self._unanswered.append(awaited)
        self.held += _cost(awaited)
        if len(self._unanswered) > _MOST_UNANSWERED or self._open_tokens > _MOST_TOKENS:
            self._forget_first()

    def _forget_first(self) -> Request | _Token:
        first = self._unanswered.popleft()
        self.held -= _cost(first)
        if isinstance(first, Request):
            self._open[first.correlation_id] -= 1
            if not self._open[first.correlation_id]:
                del self._open[first.correlation_id]
        else:
            self._open_tokens -= 1
        return first

    def _catch_up(self, time: int) -> Iterator[Found]:
        """Yield the responses whose requests have come; requests for those before them will not come any more."""
        while (before := next((at for at, frame in enumerate(self._early) if self._answers(frame)), None)) is not None:
            yield from self._give_up(time, before)
            yield self._answer(self._first_early())

    def _first_early(self) -> Frame:
        frame = self._early.popleft()
        self.held -= len(frame.data) + _COST
        return frame

    def _give_up(self, time: int, count: int | None = None) -> Iterator[Found]:
        """Stop waiting for the requests of the first `count` responses, or of all."""
        frames = [self._first_early() for _ in range(len(self._early) if count is None else count)]
        if frames:
            count, size = len(frames), sum(frame.size for frame in frames)
            bytes_ = count_of(size, "byte")
            single = f"a response of {bytes_} to a request that was not captured"
            several = f"{count:,} responses of {bytes_} to requests that were not captured"
            unread = Unread(Reason.NO_REQUEST, size, count)
            yield self._error(time, RESPONSE, single if count == 1 else several, unread)

    def _report_tokens(self, time: int) -> Iterator[Found]:
        self._has_unreported = False
        for direction, amount in self._tokens.items():
            if amount["count"]:
                what = "a SASL token" if amount["count"] == 1 else f"{amount['count']:,} SASL tokens"
                text = f"{what} of {count_of(amount['size'], 'byte')} without a header, as after SaslHandshake v0"
                yield self._error(time, direction, text, Unread(Reason.TOKEN, amount["size"], amount["count"]))
                amount.clear()

    def _find(self, direction: str, request: Request | None, frame: Frame) -> Found:
        if request is None or frame.lost:
            error = f"{frame.lost:,} of the frame's {count_of(frame.size, 'byte')} not captured"
            unread = Unread(Reason.END if frame.is_last else Reason.GAP, frame.size)
            return Found(frame.time, *self._of_all, direction, request, None, error, unread)
        return Found(frame.time, *self._of_all, direction, request, frame.data, None)

    def _error(self, time: int, direction: str, text: str, unread: Unread) -> Found:
        return Found(time, *self._of_all, direction, None, None, text, unread)


def _cost(awaited: Request | _Token) -> int:
    return _COST + (len(awaited.client_id or "") if isinstance(awaited, Request) else 0)


def _correlation_id(frame: Frame) -> int | None:
    if len(frame.data) < SMALLEST_RESPONSE:
        return None
    correlation_id: int = unpack_i(frame.data, 0)[0]
    return correlation_id


def _skipped_text(skipped: Skipped) -> str:
    parts = []
    if skipped.lost:
        parts.append(f"{count_of(skipped.lost, 'byte')} not captured")
    if skipped.captured:
        parts.append(f"{count_of(skipped.captured, 'byte')} of frames whose start was not captured")
    return ", ".join(parts)
