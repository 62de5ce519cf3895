"""Filters: typed functions of the requests or the responses of one API, or of the start or end of connections.

`on` checks what a filter is called with when it is made, so that a wrong one fails before anything listens. A server
has filters of requests alone, which answer (`answering`); a proxy has all (`kipwire.proxy`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import isawaitable, iscoroutinefunction
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, TypeVarTuple, Union, overload

from kipwire.aio.failures import Address
from kipwire.connection import Request, Response
from kipwire.message.frames import AnsweredBy
from kipwire.message.messages import Message, described
from kipwire.model.enums import ErrorNumber
from kipwire.model.errors import KipwireError
from kipwire.projection import VersionedProjection
from kipwire.tools.text import error_line

if TYPE_CHECKING:
    import logging

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
    Makes = Callable[[Callable[[T, "Exchange"], Given[G | ErrorNumber]]], "Filter"]
    """A decorator of functions that take one type and give another."""

    Hears = Callable[[Callable[[C], None]], "Filter"]
    """A decorator of functions that only take note."""

    Answers = Union[Awaitable[T], T]  # noqa: UP007
    """A result of a filter that answers each request."""

    class ForRequests(Generic[Q_co]):
        """A decorator of functions that may give the response of the class of requests, too."""

        @overload
        def __call__(
            self: ForRequests[AnsweredBy[M]], function: Callable[[Q_co, Exchange], Answers[M | ErrorNumber]]
        ) -> Answering: ...
        @overload
        def __call__(
            self: ForRequests[AnsweredBy[M]], function: Callable[[Q_co, Exchange], Given[Q_co | M | ErrorNumber]]
        ) -> Filter: ...
        def __call__(self, function: Any) -> Any: ...


class FilterError(KipwireError):
    """A filter failed, or returned what cannot be passed on. It closes that connection."""


class Exchange(NamedTuple):
    """A request, and the connection that it came on."""

    client: Address
    """Host and port of the client."""
    node: int | None
    """The id of the broker that the client is connected to; None for the one that a proxy was given, and in servers."""
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
    otherwise: ErrorNumber | None
    """The answer if it fails; None: the connection is closed."""

    def __call__(self, *given: Any) -> Any:
        """Call the function, such as in a test."""
        return self.function(*given)

    def __str__(self) -> str:
        return f"filter {self.label}"

    @property
    def label(self) -> str:
        """Name of the function, and what it is called with."""
        of = self.of.name if isinstance(self.of, VersionedProjection) else self.of.__name__
        version = f" v{self.highest}" if isinstance(self.of, type) and self.highest is not None else ""
        return f"{getattr(self.function, '__qualname__', self.function)} of {of}{version}"

    def expect_of(self, registry: Registry) -> None:
        """Check that the filter is of messages that a registry has; else each would close its connection.

        Raises:
            FilterError: they are of another package.
        """
        if self.api_key is None:
            return
        if isinstance(self.of, VersionedProjection):
            is_own = set(self.of.registry.parts) <= set(registry.parts)
        else:
            is_own = registry.has_class(self.of)
        if not is_own:
            why = f"it is of another package than {registry.package}; give that, too, as registry= or --package"
            raise FilterError(f"{self}: {why}")

    async def result(
        self, chosen: Any, exchange: Exchange, kind: type, log: logging.Logger, noun: str = "filter"
    ) -> Any:
        """Call the function and check its result; it may be of a kind, or an answer, or None.

        Raises:
            FilterError: the function fails, and there is no code to answer with; or it returns something else.
        """
        try:
            result = self.function(chosen, exchange)
            result = await result if isawaitable(result) else result
        except Exception as error:  # of the user's code, in which anything may go wrong
            if self.otherwise is None:
                raise FilterError(f"{noun} {self.label} failed: {error_line(error)}") from error
            why = error_line(error)
            log.warning("%s %s failed, and %s is answered: %s", noun, self.label, self.otherwise.label, why)
            return self.otherwise
        is_response = isinstance(result, Message) and getattr(result, "TYPE", None) == "response"
        key = exchange.request.api_key
        if result is None or isinstance(result, (kind, ErrorNumber)) or (is_response and key == result.API_KEY):
            return result
        raise FilterError(
            f"{noun} {self.label} returned {described(result)}, which the type of the {noun} does not allow"
        )


if TYPE_CHECKING:

    class Answering(Filter):
        """A filter of requests that answers each, as a server's must: it returns the response, or an error code."""

else:
    Answering = Filter  # what a function returns is known to type checkers alone


@overload
def on(what: type[Q], *, otherwise: ErrorNumber | None = None) -> ForRequests[Q]: ...
@overload
def on(what: type[M], *, otherwise: ErrorNumber | None = None) -> Makes[M, M]: ...
@overload
def on(
    what: VersionedProjection[*Values], *, otherwise: ErrorNumber | None = None
) -> Makes[tuple[*Values], tuple[*Values] | Message]: ...
@overload
def on(what: type[E], *, otherwise: ErrorNumber | None = None) -> Makes[E, bytes | Message]: ...
@overload
def on(what: type[C]) -> Hears[C]: ...
def on(what: Any, *, otherwise: ErrorNumber | None = None) -> Any:
    """Make a filter of a function, which may be async. It is called with what is chosen, and the `Exchange`.

    It returns None to pass on what it was given, which it may have changed; or another one of the same type; or an
    `ErrorNumber`, by which the request is refused wherever its response has codes. A filter of requests may return a
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


def _hearing(what: type, otherwise: ErrorNumber | None) -> Callable[[Callable[..., None]], Filter]:
    """Return the decorator for functions of an event of connections."""
    if otherwise is not None:
        raise TypeError(f"{what.__name__} has no response for `otherwise`")

    def make(function: Callable[..., None]) -> Filter:
        if iscoroutinefunction(function):
            raise TypeError(f"a function of {what.__name__} cannot be async")
        return Filter(function, what, None, None, None, None)

    return make
