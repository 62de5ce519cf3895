"""An API: the module that answers it, and what several of them have in common."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any, NamedTuple

from kafka_messages.enums import CoordinatorType, ErrorCode
from kipwire.aio import ClosedByHandler
from kipwire.connection import Request, refusal
from kipwire.message.messages import Message
from kipwire.testing.broker.apis.rows import Values, answered, refused_rows
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state import Refused
from kipwire.testing.broker.state.producers import Numbers, Transaction

__all__ = ["Api", "NoAnswer", "Node", "Refused", "Sent", "Values", "answered", "refused_rows"]
"""The words that all APIs are written in, whichever module has them; and, further below, functions for some."""

Sent = Any
"""A request, or a struct of one: each version has a class of its own."""


class NoAnswer(ClosedByHandler):
    """The broker closes the connection instead of answering, as Kafka does if a Produce with `acks` of 0 fails.

    Its text says why, for the log; it is empty if the test or the client has asked for it.
    """


class Api(NamedTuple):
    """The handler of one API."""

    answer: Callable[[Node, Request], Values | Awaitable[Values]]
    """Handle a request."""
    refuse: Callable[[Any, int], Message]
    """Answer a request with an error code; nothing else happens."""
    versions: range | None = None
    """Those that are served, where they are not all that Kafka has."""


def api_of(module: ModuleType) -> Api:
    """The API that a module answers.

    It has `answer`, which is given the body of a request; or `answer_request`, for those who need its header, too.
    """
    on_request = getattr(module, "answer_request", None)

    def answer(node: Node, request: Request) -> Values | Awaitable[Values]:
        node.expire_transactions()
        found: Values | Awaitable[Values]
        found = module.answer(node, request.body) if on_request is None else on_request(node, request)
        return found

    return Api(answer, getattr(module, "refuse", refusal), getattr(module, "VERSIONS", None))


# Answers of nodes that do not lead.


def with_endpoints(node: Node, values: Values) -> Values:
    """A response with the addresses of the leaders that its rows name (KIP-951)."""
    rows = [row for topic in values["responses"] for row in topic.get("partition_responses", topic.get("partitions"))]
    leaders = {row["current_leader"]["leader_id"] for row in rows if "current_leader" in row}
    return {**values, "node_endpoints": [node.nodes[one].address for one in sorted(leaders)]} if leaders else values


# Requests of producers with a transactional id.

_FIRST_WITH_FENCED = 2
"""The first version of most of these APIs whose clients have the code PRODUCER_FENCED."""


def numbers_of(body: Sent) -> Numbers:
    """The numbers of the producer that asks."""
    return Numbers(body.producer_id, body.producer_epoch)


def current(node: Node, body: Sent, transactional_id: str, numbers: Numbers) -> Transaction:
    """The transaction of a producer.

    Raises:
        Refused: another producer has its transactional id now, or another node coordinates it.
    """
    node.expect_coordinator(CoordinatorType.TRANSACTION, transactional_id)
    try:
        return node.producers.current(transactional_id, numbers)
    except Refused as error:
        raise in_version(error, body.VERSION, _FIRST_WITH_FENCED) from None


def in_version(error: Refused, version: int, first_with_fenced: int) -> Refused:
    """A refusal with a code that clients of a version have."""
    is_new = error.error == ErrorCode.PRODUCER_FENCED and version < first_with_fenced
    return Refused(ErrorCode.INVALID_PRODUCER_EPOCH) if is_new else error
