"""What the handlers of all APIs have in common: each answers a request with plain values, for any version."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from kipwire.aio import ClosedByHandler
from kipwire.connection import Request
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused

Values = dict[str, Any]
"""What a response is built of."""


class NoAnswer(ClosedByHandler):
    """The broker closes the connection instead of answering, as Kafka does if a Produce with `acks` of 0 fails.

    Its text says why, for the log; it is empty if the test or the client has asked for it.
    """


class Api(NamedTuple):
    """How requests of one API are answered."""

    answer: Callable[[Node, Request], Values | Awaitable[Values]]
    """Handle a request."""
    refuse: Callable[[Any, int], Values]
    """Answer a request with an error code, wherever its response has codes; nothing else happens."""
    versions: range | None = None
    """Those that are served, where they are not all that Kafka has."""


def refuse_all(body: Any, error: int) -> Values:
    """A response with one error code, for all of the request."""
    return {"error_code": error}


def refusal(error: Refused) -> Values:
    """The error code of an element, and the message."""
    return {"error_code": error.error, "error_message": error.message}


def identity(topic: Any) -> Values:
    """The name or id of a topic, as the request has it and the response repeats it."""
    return {name: getattr(topic, name) for name in ("name", "topic", "topic_id") if hasattr(topic, name)}


def by_partition(
    topics: Iterable[Any], of_request: str, of_response: str, answer: Callable[[Any, Any], Values]
) -> list[Values]:
    """The topics of a response, with an answer for each partition that the request has.

    Args:
        topics: those of the request.
        of_request: the attribute that has its partitions.
        of_response: the one that has those of the response.
        answer: for a topic and a partition of the request.
    """
    return [
        {**identity(topic), of_response: [answer(topic, one) for one in getattr(topic, of_request)]} for topic in topics
    ]
