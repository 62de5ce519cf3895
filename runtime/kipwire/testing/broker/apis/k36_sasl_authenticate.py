"""SaslAuthenticate, versions 0 to 2: refused where it comes too late; listeners with users answer it before."""

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.apis.api import Node, Refused, Sent, Values


def answer(node: Node, body: Sent) -> Values:
    """Refuse it: no mechanism was agreed on, or the connection is authenticated."""
    raise Refused(ErrorCode.ILLEGAL_SASL_STATE)
