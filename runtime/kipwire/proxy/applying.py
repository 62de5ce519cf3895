"""The way of a frame through the filters of a proxy: which of them see it, and what each makes of it.

If a filter changes nothing, the frame goes on byte for byte; a change that its version cannot carry is an error, no
loss.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

from kipwire.aio.filters import Connected, Disconnected, Exchange, Filter, FilterError
from kipwire.connection import Request, Response
from kipwire.message.conversion import Loss, convert
from kipwire.message.messages import Message
from kipwire.model.errors import ConversionError, KipwireError
from kipwire.projection import VersionedProjection
from kipwire.tools.text import error_line

log = logging.getLogger("kipwire.proxy")


async def apply(one: Filter, event: Request | Response, exchange: Exchange) -> Any:
    """Run a filter on an event; return the frame to pass on, a response instead, or an error code to refuse with."""
    try:
        if isinstance(one.of, VersionedProjection):
            given = await one.result(event.project(one.of), exchange, tuple, log)
            given = event.replaced(one.of, given) if isinstance(given, tuple) else given
        elif one.api_key is None:
            given = await one.result(event, exchange, bytes, log)
        else:
            given = await _converted(one, event, exchange)
        return event.raw if given is None else given
    except FilterError:
        raise
    except KipwireError as error:
        raise FilterError(f"{one}: {error}") from None


async def _converted(one: Filter, event: Request | Response, exchange: Exchange) -> Any:
    own, version = event.body, event.body.VERSION
    message = event.body_as(one.of)
    is_same = message is own
    is_whole, before = (True, b"") if is_same else (_is_kept(own, message), message.encode())
    result = await one.result(message, exchange, one.of, log)
    result = message if result is None else result
    if not isinstance(result, one.of):
        return result
    if not is_same and result.encode() == before:
        return event.raw
    back = convert(result, version)
    frame = event.with_body(back)
    if is_same or (is_whole and _is_kept(result, back)):
        return frame
    lost: list[Loss] = []  # a list costs ten times as much, since the kernel reports nothing
    event.body_as(one.of, lost=lost)
    convert(result, version, lost=lost)
    if dropped := next((loss for loss in lost if loss.is_dropped), None):
        raise FilterError(f"{one} cannot change version {version}: {dropped}; write it for a version that has it")
    return frame


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
