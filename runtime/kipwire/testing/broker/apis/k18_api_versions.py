"""ApiVersions, versions 0 to 5: what is served."""

from __future__ import annotations

from typing import Any

import kafka_messages
from kipwire.connection import Request, versions_answer
from kipwire.testing.broker.apis.rows import Values
from kipwire.testing.broker.node import Node


def answer(node: Node, request: Request) -> Values:
    """What is served. Requests in other versions do not get here: they are answered in version 0 (KIP-511)."""
    answer: Any = versions_answer(kafka_messages.REGISTRY, request.api_version, node.served)
    return {"api_keys": answer.api_keys}
