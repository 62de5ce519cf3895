"""Requests with their responses, and what was found in both, from the numbered frames of a capture.

Memory is bounded for any input: by how many requests wait for their responses, and by how much they hold.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kipwire.connection.framing import is_answered
from kipwire.message.registry import Registry
from kipwire.model.api_keys import PRODUCE_KEY
from kipwire.model.errors import KipwireError
from kipwire.traffic.any_capture import Numbered
from kipwire.traffic.conversation import REQUEST, Found
from kipwire.traffic.frame_facts import NOTHING, Look, api_name, look_at
from kipwire.traffic.requests import kafka
from kipwire.traffic.unread import HARMLESS, Unread, reason_of

MOST_OPEN = 65536
"""The most requests that wait for their responses; some get none."""
MOST_HELD = 64 * 1024 * 1024
"""About the most bytes that they take."""
_COST = 1024
"""About how many bytes a request takes in addition to its frame and its client id."""


class Errors(NamedTuple):
    """An error code other than 0 that a message has."""

    path: str
    """Without the indexes of arrays."""
    code: int
    name: str | None
    """Name of the error; None if its enum has none with this code."""
    times: int


class Row(NamedTuple):
    """A frame with what was found in it."""

    number: int | None
    """See `Numbered.number`."""
    found: Found
    """The frame as it was captured, or an error instead of one."""
    size: int | None
    """Bytes of the frame; None if it was not captured completely."""
    api: str | None
    """The name of the API; None if the frame is of no known request."""
    errors: tuple[Errors, ...]
    look: Look
    error: str | None
    """Explanation why it cannot be decoded, or why there is no frame."""
    unread: Unread | None
    """Reason and amount of what was not read."""

    @property
    def is_damaged(self) -> bool:
        """True if it has an error that not each capture of a running system has."""
        return self.unread is not None and self.unread.reason not in HARMLESS


class Exchange(NamedTuple):
    """A request and its response, or one of them alone, or an error about bytes that are neither."""

    request: Row | None
    """Request; None if it was not captured, and for an error."""
    response: Row | None
    """Response, or the error; None if there is no response."""

    @property
    def first(self) -> Row:
        """The part of it that was captured first."""
        row = self.response if self.request is None else self.request
        assert row is not None
        return row

    @property
    def latency(self) -> int | None:
        """Nanoseconds from the last byte of the request to the last byte of the response.

        None if one of them is missing.
        """
        if self.request is None or self.response is None:
            return None
        return self.response.found.time - self.request.found.time

    @property
    def problems(self) -> list[str]:
        """Reasons why the request or the response cannot be decoded, or is missing."""
        return [row.error for row in self if row is not None and row.error is not None]

    @property
    def is_damaged(self) -> bool:
        """True if the request or the response is."""
        return any(row is not None and row.is_damaged for row in self)

    @property
    def notes(self) -> list[str]:
        """Oddities of the request or the response that are no errors."""
        return [row.look.note for row in self if row is not None and row.look.note is not None]

    @property
    def errors(self) -> tuple[Errors, ...]:
        """The error codes in both."""
        request, response = self
        if request is None:
            return () if response is None else response.errors
        return request.errors if response is None else request.errors + response.errors


def rows_of(
    frames: Iterable[Numbered],
    registry: Registry | None = None,
    *,
    with_topics: bool = False,
    with_frames: bool = False,
) -> Iterator[Row]:
    """Look at each frame.

    Args:
        frames: of a capture.
        registry: of their protocol; by default Kafka's.
        with_topics: whether to find the topics in each.
        with_frames: whether to keep the frames themselves, which otherwise are forgotten.
    """
    registry = registry or kafka()
    for number, found in frames:
        yield _row(number, found, registry, with_topics, with_frames)


def exchanges(rows: Iterable[Row]) -> Iterator[Exchange]:
    """Pair requests with responses, each pair as soon as its response is there.

    A request without a response follows when it is known to get none: with `acks` of 0, when a later request of its
    connection is answered, when too many wait, or at the end.
    """
    pairs = Pairs()
    for row in rows:
        if row.found.request is None:
            yield Exchange(None, row)
        elif row.found.direction == REQUEST:
            if row.look.is_answered:
                yield from (Exchange(one, None) for one in pairs.ask(row))
            else:
                yield Exchange(row, None)
        else:
            asked, given_up = pairs.answer(row)
            yield from (Exchange(one, None) for one in given_up)
            yield Exchange(asked, row)
    yield from (Exchange(one, None) for one in pairs.rest())


class Pairs:
    """The requests that wait for their responses, within bounds."""

    def __init__(self) -> None:
        self._open: OrderedDict[int | None, dict[tuple[int, int], tuple[Row, int]]] = OrderedDict()
        """Requests and their costs, by connection, the one silent longest first, and by API key and correlation id, in
        the order of requests."""
        self._count = self._held = 0

    def ask(self, row: Row) -> list[Row]:
        """Note a request; those that are not waited for any longer."""
        given_up = []
        request = row.found.request
        assert request is not None
        key = request.api_key, request.correlation_id
        of_connection = self._open.setdefault(row.found.connection, {})
        self._open.move_to_end(row.found.connection)
        if key in of_connection:
            given_up.append(self._forget(of_connection, key))
        cost = _cost(row)
        of_connection[key] = row, cost
        self._count += 1
        self._held += cost
        while self._count > MOST_OPEN or (self._held > MOST_HELD and self._count > 1):
            given_up.append(self._forget_first())
        return given_up

    def answer(self, row: Row) -> tuple[Row | None, list[Row]]:
        """Take the request of a response, or None, and the earlier ones on its connection, which get none any more."""
        request = row.found.request
        assert request is not None
        of_connection = self._open.get(row.found.connection)
        key = request.api_key, request.correlation_id
        if of_connection is None or key not in of_connection:
            return None, []
        given_up = []
        while (first := next(iter(of_connection))) != key:
            given_up.append(self._forget(of_connection, first))
        asked = self._forget(of_connection, key)
        self._drop_if_empty(row.found.connection)
        return asked, given_up

    def rest(self) -> Iterator[Row]:
        """Take all requests that still wait; the first is of the connection that has been silent longest."""
        while self._open:
            yield self._forget_first()

    def _forget_first(self) -> Row:
        connection, of_connection = next(iter(self._open.items()))
        row = self._forget(of_connection, next(iter(of_connection)))
        self._drop_if_empty(connection)
        return row

    def _forget(self, of_connection: dict[tuple[int, int], tuple[Row, int]], key: tuple[int, int]) -> Row:
        row, cost = of_connection.pop(key)
        self._count -= 1
        self._held -= cost
        return row

    def _drop_if_empty(self, connection: int | None) -> None:
        if not self._open[connection]:
            del self._open[connection]


def _cost(row: Row) -> int:
    found = row.found
    client = "" if found.request is None else found.request.client_id or ""
    of_look = 0 if row.look is NOTHING else row.look.cost
    return _COST + len(client) + len(found.frame or b"") + of_look


def _row(number: int | None, found: Found, registry: Registry, with_topics: bool, with_frames: bool) -> Row:
    request, frame, direction = found.request, found.frame, found.direction
    api = None if request is None else api_name(request.api_key, registry)
    if request is None or frame is None or direction is None:
        return Row(number, found, None, api, (), NOTHING, found.error, found.unread)
    error = unread = None
    try:
        look = look_at(direction, request.api_key, request.api_version, frame, registry, with_topics=with_topics)
    except KipwireError as problem:
        look, error = NOTHING, str(problem)
        unread = Unread(reason_of(problem), len(frame))
    if request.api_key == PRODUCE_KEY and direction == REQUEST:
        answered = is_answered(registry, frame, request.api_key, request.api_version)
        look = look._replace(is_answered=answered)
    codes = look.error_codes
    errors = tuple([Errors(path, code, name, count) for path, code, count, name in codes]) if codes else ()
    kept = found if with_frames else Found(*found[:6], None, found.error)
    return Row(number, kept, len(frame), api, errors, look, error, unread)
