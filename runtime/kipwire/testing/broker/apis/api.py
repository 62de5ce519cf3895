"""What the APIs have in common: each answers a request with plain values, for any version."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from types import ModuleType
from typing import Any, NamedTuple

from kafka_messages.enums import ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused
from kipwire.testing.broker.state.transactions import Numbers, Transaction

Values = dict[str, Any]
"""What a response is built of."""


class NoAnswer(Exception):
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


def api_of(module: ModuleType) -> Api:
    """The API that a module answers."""
    return Api(module.answer, getattr(module, "refuse", refuse_all), getattr(module, "VERSIONS", None))


def refuse_all(body: Any, error: int) -> Values:
    """A response with one error code, for all of the request."""
    return {"error_code": error}


def outcome(action: Callable[[Any], Values], asked: Any) -> Values:
    """The values of a row: those of an action, or why it refuses."""
    try:
        return action(asked)
    except Refused as error:
        return {"error_code": error.error, "error_message": error.message}


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
        {**_identity(topic), of_response: [answer(topic, one) for one in getattr(topic, of_request)]}
        for topic in topics
    ]


def _identity(topic: Any) -> Values:
    """The name or id of a topic, as the request has it and the response repeats it."""
    return {name: getattr(topic, name) for name in ("name", "topic", "topic_id") if hasattr(topic, name)}


# Requests of producers with a transactional id.

_FIRST_WITH_FENCED = 2
"""The first version of most of these APIs whose clients have the code PRODUCER_FENCED."""


def numbers_of(body: Any) -> Numbers:
    """The numbers of the producer that asks."""
    return Numbers(body.producer_id, body.producer_epoch)


def current(node: Node, request: Request, transactional_id: str, numbers: Numbers) -> Transaction:
    """The transaction of a producer.

    Raises:
        Refused: another producer has its transactional id now.
    """
    try:
        return node.producers.current(transactional_id, numbers)
    except Refused as error:
        raise in_version(error, request.api_version, _FIRST_WITH_FENCED) from None


def in_version(error: Refused, version: int, first_with_fenced: int) -> Refused:
    """A refusal with a code that clients of a version have."""
    is_new = error.error == ErrorCode.PRODUCER_FENCED and version < first_with_fenced
    return Refused(ErrorCode.INVALID_PRODUCER_EPOCH) if is_new else error
