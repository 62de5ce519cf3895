"""DeleteTopics."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kafka_messages.enums import ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.api import Values, outcome
from kipwire.testing.broker.apis.k19_create_topics import DUPLICATE
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused
from kipwire.testing.broker.state.topics import NO_ID


def answer(node: Node, request: Request) -> Values:
    """Delete topics, by name or by id."""

    def delete(asked: Any) -> Values:
        topic_id = getattr(asked, "topic_id", NO_ID)
        if (asked.name is None) == (topic_id == NO_ID):
            raise Refused(ErrorCode.INVALID_REQUEST, "name a topic by its name or by its id, not by both")
        if times[asked.name, topic_id] > 1:
            raise DUPLICATE
        topic = node.topic_of(asked)
        node.delete_topic(topic)
        return {"name": topic.name, "topic_id": topic.topic_id, "error_message": None}

    asked = _deleted(request.body)
    times = Counter((one.name, getattr(one, "topic_id", NO_ID)) for _, one in asked)
    distinct = {(one.name, getattr(one, "topic_id", NO_ID)): (identity, one) for identity, one in asked}.values()
    return {"responses": [{**identity, **outcome(delete, one)} for identity, one in distinct]}


class _Named:
    """A topic that a request has as a mere name."""

    def __init__(self, name: str) -> None:
        self.name = name


def _deleted(body: Any) -> list[tuple[Values, Any]]:
    """The topics of a request, each with what names it in the response."""
    if hasattr(body, "topic_names"):
        return [({"name": name}, _Named(name)) for name in body.topic_names]
    return [({"name": one.name, "topic_id": one.topic_id}, one) for one in body.topics]


def refuse(body: Any, error: int) -> Values:
    """An error for each topic."""
    return {"responses": [{**identity, "error_code": error} for identity, _ in _deleted(body)]}
