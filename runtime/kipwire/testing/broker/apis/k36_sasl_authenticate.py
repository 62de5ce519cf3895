"""SaslAuthenticate, versions 0 to 2: refused where it comes too late; listeners with users answer it before."""

from __future__ import annotations

from kafka_messages.enums import ErrorCode
from kipwire.connection import Request
from kipwire.testing.broker.apis.rows import Values
from kipwire.testing.broker.node import Node
from kipwire.testing.broker.state.refusals import Refused


def answer(node: Node, request: Request) -> Values:
    """Refuse it: no mechanism was agreed on, or the connection is authenticated."""
    raise Refused(ErrorCode.ILLEGAL_SASL_STATE)
