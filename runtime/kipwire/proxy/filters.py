"""Filters: typed functions of the requests or the responses of one API, or of the start or end of connections.

`on` checks what a filter is called with when it is made, so that a wrong one fails before the proxy listens. If a
filter changes nothing, the frame goes on byte for byte; a change that its version cannot carry is an error, no loss.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import isawaitable, iscoroutinefunction
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, TypeVarTuple, Union, overload

from kafka_messages.enums import ErrorCode
from kipwire.aio import Address
from kipwire.connection import Request, Response
from kipwire.message.conversion import Loss, convert
from kipwire.message.frames import AnsweredBy
from kipwire.message.messages import Message, described
from kipwire.model.errors import ConversionError, KipwireError
from kipwire.projection import VersionedProjection
from kipwire.tools.text import error_line

if TYPE_CHECKING:
    from kipwire.message.registry import Registry

    T = TypeVar("T")
    G = TypeVar("G")
    M = TypeVar("M", bound=Message)
    Q = TypeVar("Q", bound=AnsweredBy[Any])
    Q_co = TypeVar("Q_co", covariant=True)
    E = TypeVar("E", Request, Response)
    C = TypeVar("C", "Connected", "Disconnected")
    Values = TypeVarTuple("Values")
    Given = Union[Awaitable[Union[T, None]], T, None]  # noqa: UP007
    """A result of a filter."""
    Makes = Callable[[Callable[[T, "Exchange"], Given[G | ErrorCode]]], "Filter"]
    """A decorator of functions that take one type and give another."""

    Hears = Callable[[Callable[[C], None]], "Filter"]
    """A decorator of functions that only take note."""

    class ForRequests(Generic[Q_co]):
        """A decorator of functions that may give the response of the class of requests, too."""

        def __call__(
            self: ForRequests[AnsweredBy[M]], function: Callable[[Q_co, Exchange], Given[Q_co | M | ErrorCode]]
        ) -> Filter: ...


log = logging.getLogger("kipwire.proxy")


class FilterError(KipwireError):
    """A filter failed, or returned what cannot be passed on. It closes that connection."""


class Exchange(NamedTuple):
    """A request, and the connection that it came on."""

    client: Address
    """Host and port of the client."""
    node: int | None
    """The id of the broker that the client is connected to; None for the one that the proxy was given."""
    request: Request
    """Request as the client sent it."""
    notes: dict[str, Any]
    """Notes of filters about this connection."""


class Connected(NamedTuple):
    """A client has connected; its connection to a broker is opened next."""

    client: Address
    """Host and port of the client."""
    node: int | None
    """As in `Exchange`."""
    notes: dict[str, Any]
    """Notes of filters about this connection, the same as in its exchanges."""


class Disconnected(NamedTuple):
    """The connection of a client has ended; each `Connected` has one."""

    client: Address
    node: int | None
    notes: dict[str, Any]
    reason: str | None
    """A line that says what failed; None where the client or the broker has closed the connection."""


@dataclass(frozen=True)
class Filter:
    """A function, and what it is called with; `on` makes filters."""

    function: Callable[..., Any]
    of: Any
    """A class of messages, a `VersionedProjection`, `Request` or `Response`; `Connected` or `Disconnected`."""
    is_of_requests: bool | None
    """True for requests, False for responses, None for connections."""
    api_key: int | None
    """None: it is for all."""
    highest: int | None
    """The highest version that it sees whole."""
    otherwise: ErrorCode | None
    """The answer if it fails; None: the connection is closed."""

    def __call__(self, *given: Any) -> Any:
        """Call the function, such as in a test."""
        return self.function(*given)

    def __str__(self) -> str:
        of = self.of.name if isinstance(self.of, VersionedProjection) else self.of.__name__
        version = f" v{self.highest}" if isinstance(self.of, type) and self.highest is not None else ""
        return f"filter {getattr(self.function, '__qualname__', self.function)} of {of}{version}"

    def expect_of(self, registry: Registry) -> None:
        """Check that the filter is of messages that a proxy has; else each of them would close its connection.

        Raises:
            FilterError: they are of another package.
        """
        if self.api_key is None:
            return
        if isinstance(self.of, VersionedProjection):
            is_own = self.of.registry is registry
        else:
            is_own = registry.has_class(self.of)
        if not is_own:
            raise FilterError(f"{self}: it is of another package; a proxy has the messages of {registry.package} alone")

    async def apply(self, event: Request | Response, exchange: Exchange) -> Any:
        """Return the frame to pass on in place of an event; or the response to answer with; or the error code of it."""
        try:
            if isinstance(self.of, VersionedProjection):
                given = await self._result(event.project(self.of), exchange, tuple)
                given = event.replaced(self.of, given) if isinstance(given, tuple) else given
            elif self.api_key is None:
                given = await self._result(event, exchange, bytes)
            else:
                given = await self._converted(event, exchange)
            return event.raw if given is None else given
        except FilterError:
            raise
        except KipwireError as error:
            raise FilterError(f"{self}: {error}") from None

    async def _converted(self, event: Request | Response, exchange: Exchange) -> Any:
        own, version = event.body, event.body.VERSION
        message = event.body_as(self.of)
        is_same = message is own
        is_whole, before = (True, b"") if is_same else (_is_kept(own, message), message.encode())
        result = await self._result(message, exchange, self.of)
        result = message if result is None else result
        if not isinstance(result, self.of):
            return result
        if not is_same and result.encode() == before:
            return event.raw
        back = convert(result, version)
        frame = event.with_body(back)
        if is_same or (is_whole and _is_kept(result, back)):
            return frame
        lost: list[Loss] = []  # a list costs ten times as much, since the kernel reports nothing
        event.body_as(self.of, lost=lost)
        convert(result, version, lost=lost)
        if dropped := next((one for one in lost if one.is_dropped), None):
            raise FilterError(f"{self} cannot change version {version}: {dropped}; write it for a version that has it")
        return frame

    async def _result(self, chosen: Any, exchange: Exchange, kind: type) -> Any:
        """Call the function and check its result; it may be of a kind, or an answer, or None."""
        try:
            result = self.function(chosen, exchange)
            result = await result if isawaitable(result) else result
        except Exception as error:  # of the user's code, in which anything may go wrong
            if self.otherwise is None:
                raise FilterError(f"{self} failed: {error_line(error)}") from error
            log.warning("%s failed, and %s is answered: %s", self, self.otherwise.label, error_line(error))
            return self.otherwise
        is_response = isinstance(result, Message) and getattr(result, "TYPE", None) == "response"
        key = exchange.request.api_key
        if result is None or isinstance(result, (kind, ErrorCode)) or (is_response and key == result.API_KEY):
            return result
        raise FilterError(f"{self} returned {described(result)}, which the type of the filter does not allow")


def _is_kept(message: Message, other: Message) -> bool:
    """True if a message in another version has all that it had: the way back gives the same."""
    try:
        return convert(other, type(message)) == message
    except ConversionError:
        return False


def wanting(filters: Sequence[Filter], api_key: int, *, requests: bool) -> list[tuple[int, Filter]]:
    """Choose the filters of the requests, or of the responses, of an API; with their positions among all."""
    return [
        (position, one)
        for position, one in enumerate(filters)
        if one.is_of_requests is requests and one.api_key in (None, api_key)
    ]


def tell(filters: Iterable[Filter], event: Connected | Disconnected) -> list[str]:
    """Call the functions of an event of a connection, in their order; return a line for each that fails."""
    failed = []
    for one in filters:
        if one.of is type(event):
            try:
                one.function(event)
            except Exception as error:  # of the user's code, in which anything may go wrong
                failed.append(f"{one} failed: {error_line(error)}")
    return failed


@overload
def on(what: type[Q], *, otherwise: ErrorCode | None = None) -> ForRequests[Q]: ...
@overload
def on(what: type[M], *, otherwise: ErrorCode | None = None) -> Makes[M, M]: ...
@overload
def on(
    what: VersionedProjection[*Values], *, otherwise: ErrorCode | None = None
) -> Makes[tuple[*Values], tuple[*Values] | Message]: ...
@overload
def on(what: type[E], *, otherwise: ErrorCode | None = None) -> Makes[E, bytes | Message]: ...
@overload
def on(what: type[C]) -> Hears[C]: ...
def on(what: Any, *, otherwise: ErrorCode | None = None) -> Any:
    """Make a filter of a function, which may be async. It is called with what is chosen, and the `Exchange`.

    It returns None to pass on what it was given, which it may have changed; or another one of the same type; or an
    `ErrorCode`, by which the request is refused wherever its response has codes. A filter of requests may return a
    response of the same API; then the broker is not asked.

    A function of `Connected` or `Disconnected` is called with that alone, returns nothing and cannot be async. If one
    of `Connected` fails, the connection is closed.

    Args:
        what: a class of requests or responses: the function sees that version, whatever clients and brokers speak. Or a
            `VersionedProjection`: it sees a tuple of the chosen values. Or `Request` or `Response` of
            `kipwire.connection`: it sees each, undecoded, and may return another frame. Or `Connected` or
            `Disconnected`.
        otherwise: the error code to answer if the function fails; by default that closes the connection.
    """
    if what in (Connected, Disconnected):
        return _hearing(what, otherwise)
    facts: tuple[bool, int | None, int | None] = (what is Request, None, None)
    if isinstance(what, VersionedProjection):
        entry = what.registry.entry(what.name)
        facts = (entry.type == "request", entry.api_key, entry.versions[-1])
    elif isinstance(what, type) and issubclass(what, Message) and getattr(what, "TYPE", "") in ("request", "response"):
        facts = (what.TYPE == "request", what.API_KEY, what.VERSION)
    elif what not in (Request, Response):
        raise TypeError(f"a filter needs a request class, a response class or a projection, not {what!r}")
    return lambda function: Filter(function, what, *facts, otherwise)


def _hearing(what: type, otherwise: ErrorCode | None) -> Callable[[Callable[..., None]], Filter]:
    """Return the decorator for functions of an event of connections."""
    if otherwise is not None:
        raise TypeError(f"{what.__name__} has no response for `otherwise`")

    def make(function: Callable[..., None]) -> Filter:
        if iscoroutinefunction(function):
            raise TypeError(f"a function of {what.__name__} cannot be async")
        return Filter(function, what, None, None, None, None)

    return make
