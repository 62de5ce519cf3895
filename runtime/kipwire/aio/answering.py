"""Typed handlers: a server's filters, each of the requests of one API, and what is answered where there is none.

A handler is written for one version of a request, and clients have others: requests are converted to that version, and
responses back. So a server has the versions up to the handler's, and says so in its answer to ApiVersions, which it
gives by itself. All other requests are answered by an error code where the response has a place for one, since a
connection that is closed tells a client nothing; what went wrong here goes to the log.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from kipwire.aio.filters import Exchange, Filter, FilterError
from kipwire.aio.link import log
from kipwire.aio.served import Client, ClosedByHandler, Handler, Session
from kipwire.connection import Request, refusal, versions_answer
from kipwire.connection.negotiation import versions_key, versions_text
from kipwire.connection.refusals import has_code
from kipwire.message.conversion import convert
from kipwire.message.messages import Message, described
from kipwire.message.registry import registry_of
from kipwire.model.api_keys import UNKNOWN_SERVER_ERROR, UNSUPPORTED_VERSION
from kipwire.model.enums import ErrorNumber
from kipwire.model.errors import ConversionError, EncodeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.message.registry import Registry

Failed = Callable[[Exception], None]
"""Gets the errors of handlers."""
_MOST_NAMES = 5
"""Limit for the APIs that one error names."""


class Handlers(NamedTuple):
    """The handlers of a server, which fit together."""

    registry: Registry
    by_key: dict[int, Filter]
    served: dict[int, range]
    """The versions of each API, with ApiVersions where the package has it."""
    versions_key: int | None
    """The API key of ApiVersions."""

    def session(self, failed: Failed) -> Session:
        """Make what gives each connection its handler.

        Args:
            failed: called with the errors of handlers.
        """

        @asynccontextmanager
        async def handling(client: Client) -> AsyncIterator[Handler]:
            notes: dict[str, Any] = {}

            async def handle(request: Request) -> Message | bytes | None:
                return await _answer(self, Exchange(client.address, None, request, notes), failed)

            yield handle

        return handling


def handlers_of(filters: Iterable[Filter], registry: Registry | None, *, partial: bool) -> Handlers:
    """Check the handlers of a server together.

    Args:
        filters: made by `on`.
        registry: the registry of the package; by default of the first handler's.
        partial: True if APIs of the package may lack a handler.

    Raises:
        FilterError: one is not of a request of the package, two are of one API, or an API has none.
        TypeError: something else is among them.
    """
    given = tuple(filters)
    for one in given:
        if not isinstance(one, Filter):
            raise TypeError(f"a server takes functions marked by @on(...) of a request class, not {described(one)}")
        if one.is_of_requests is not True or not isinstance(one.of, type) or one.api_key is None:
            raise FilterError(f"handler {one.label}: a server answers requests; mark it by @on of a request class")
    if registry is None:
        if not given:
            raise FilterError("there is no handler; give functions marked by @on(...)")
        registry = registry_of(given[0].of.__module__.rsplit(".", 2)[0])
    by_key: dict[int, Filter] = {}
    for one in given:
        assert one.api_key is not None
        other = by_key.setdefault(one.api_key, one)
        if not registry.has_class(one.of):
            why = f"it is of another package; this server has the messages of {registry.package} alone"
            raise FilterError(f"handler {one.label}: {why}")
        if other is not one:
            raise FilterError(f"handlers {other.label} and {one.label}: both are of API key {one.api_key}; keep one")
    key, all_served = versions_key(registry), registry.api_versions()
    missing = [api for api in all_served if api not in by_key and api != key]
    if missing and not partial:
        shown = [f"{registry.request(api, all_served[api][-1]).NAME} (API key {api})" for api in missing[:_MOST_NAMES]]
        more = f" and {len(missing) - _MOST_NAMES} more" if len(missing) > _MOST_NAMES else ""
        raise FilterError(f"no handler has {', '.join(shown)}{more}; write one, or serve with partial=True")
    served = {api: _versions_of(one, all_served.get(api, range(0))) for api, one in sorted(by_key.items())}
    if key is not None and key not in by_key:
        served[key] = all_served.get(key, range(0))
    return Handlers(registry, by_key, served, key)


def _versions_of(one: Filter, served: range) -> range:
    """Find the versions that a handler takes: of those that the package serves, up to its own."""
    versions = range(served.start, min(served.stop, one.of.VERSION + 1))
    if not versions:
        raise FilterError(f"handler {one.label}: the package serves {versions_text(served)} of it; write it for these")
    return versions


async def _answer(handlers: Handlers, exchange: Exchange, failed: Failed) -> Message | bytes | None:
    """Answer a request: by its handler, or by the reason why there is no answer.

    Raises:
        ClosedByHandler: the client cannot be told, since the response has no place for an error code.
        DecodeError: the request is not valid.
    """
    request = exchange.request
    key, version = request.api_key, request.api_version
    one = handlers.by_key.get(key)
    if one is None and key == handlers.versions_key:
        return versions_answer(handlers.registry, version, handlers.served)
    if one is None or version not in handlers.served[key]:
        return _refused(request, UNSUPPORTED_VERSION, _unserved(handlers, request))
    try:
        asked = request.body_as(one.of)
    except ConversionError as error:
        return _refused(request, UNSUPPORTED_VERSION, str(error))
    try:
        result = await one.result(asked, exchange, type(None), log, "handler")
        if isinstance(result, ErrorNumber):
            return _refused(request, result, result.about or None)
        due = handlers.registry.counterpart(one.of)
        if type(result) is not due:
            why = f"returned {described(result)}; return {due.NAME} v{due.VERSION}, or an error code"
            raise FilterError(f"handler {one.label} {why}")
        if not request.is_answered:
            return None
        return handlers.registry.encode_response(convert(result, version), request.correlation_id)
    except (ConversionError, EncodeError, FilterError) as error:
        if isinstance(error.__cause__, ClosedByHandler):
            raise error.__cause__ from None
        failed(error)
        return _refused(request, UNKNOWN_SERVER_ERROR, None, f"the handler of {one.of.NAME} failed")


def _unserved(handlers: Handlers, request: Request) -> str:
    """Explain that a request is not served, and what is."""
    key, version, registry = request.api_key, request.api_version, handlers.registry
    known = registry.request_versions(key)
    if not known:
        return f"{registry.package} has no request with API key {key}"
    name = registry.request(key, known[-1]).NAME
    if key not in handlers.served:
        return f"{name} is not served"
    return f"{name} v{version} is not served; {versions_text(handlers.served[key])} can be used"


def _refused(request: Request, error: int, text: str | None, reason: str = "") -> Message:
    """Make the response with an error code.

    Raises:
        ClosedByHandler: it has no place for one, or the package has no such response.
    """
    reason = reason or text or f"error {error}"
    if not request.is_known:
        raise ClosedByHandler(reason)
    if request.is_answered and has_code(answer := refusal(request.body, error, text), error):
        return answer
    raise ClosedByHandler(f"{reason}, and the response has no place for an error code")
