"""An API: the module that answers it; and the words that all modules are written in, beside `rows`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

import kafka_messages
from kafka_messages.enums import CoordinatorType, ErrorCode
from kipwire.aio import ClosedByHandler
from kipwire.connection import Request, refusal
from kipwire.message.messages import Message
from kipwire.message.registry import Registry
from kipwire.testing.broker.apis.rows import Sent, Values, answered, by_distinct_row, by_row
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state import Refused
from kipwire.testing.broker.state.producers import Numbers, Transaction

__all__ = ["Api", "CoordinatorType", "ErrorCode", "NoAnswer", "Node", "Refused", "Request", "Sent", "Values"]
__all__ += ["answered", "by_distinct_row", "by_row", "expect"]


class NoAnswer(ClosedByHandler):
    """The broker closes the connection instead of answering; the text says why, if nothing has asked for it."""


class Api(NamedTuple):
    """The handler of one API."""

    answer: Callable[[Node, Request], Values | Awaitable[Values]]
    refuse: Callable[[Sent, int], Message]
    """Answer a request with an error code; nothing else happens."""
    versions: range | None = None
    """The versions that are served; None is all that Kafka has."""


def api_of(module: ModuleType) -> Api:
    """Make the API that a module answers with its `answer`, or with `answer_request` if it needs the header, too."""
    on_request = getattr(module, "answer_request", lambda node, request: module.answer(node, request.body))

    def answer(node: Node, request: Request) -> Values | Awaitable[Values]:
        node.expire_transactions()
        found: Values | Awaitable[Values] = on_request(node, request)
        return found

    return Api(answer, getattr(module, "refuse", refusal), getattr(module, "VERSIONS", None))


def expect(holds: object, error: int, message: str = "") -> None:
    """Go on if something holds, and refuse the request, or its row, if not."""
    if not holds:
        raise Refused(error, message)


def api_key_of(api: int | type[Any], registry: Registry = kafka_messages.REGISTRY) -> int:
    """Return the key of an API that is given by its key or by a class of its requests, which a registry has.

    Raises:
        TypeError: it is given by neither.
        ValueError: the class is of another package.
    """
    key: int | None = api if isinstance(api, int) else getattr(api, "API_KEY", None)
    if key is None:
        raise TypeError(f"give an API by its key, as in ApiKey.METADATA, or by a class of its requests, not by {api!r}")
    if not isinstance(api, int) and not registry.has_class(api):
        name = f"{api.__module__}.{api.__qualname__}"
        raise ValueError(
            f"{name} is of another package; the fake broker has {registry.package}, and others as registry="
        )
    return key


# Requests of producers with a transactional id.


def numbers_of(body: Sent) -> Numbers:
    """Return the numbers of the producer that asks."""
    return Numbers(body.producer_id, body.producer_epoch)


def current(node: Node, body: Sent, transactional_id: str, numbers: Numbers) -> Transaction:
    """Find the transaction of a producer, if no other has its transactional id now, and this node coordinates it."""
    node.expect_coordinator(CoordinatorType.TRANSACTION, transactional_id)
    with known_codes(body):
        return node.producers.current(transactional_id, numbers)


@contextmanager
def known_codes(body: Sent, first_with_fenced: int = 2) -> Iterator[None]:
    """Refuse a producer with a code that clients of the asked version have: PRODUCER_FENCED is newer than most APIs."""
    try:
        yield
    except Refused as error:
        has_code = error.error != ErrorCode.PRODUCER_FENCED or first_with_fenced <= body.VERSION
        raise error if has_code else Refused(ErrorCode.INVALID_PRODUCER_EPOCH) from None
