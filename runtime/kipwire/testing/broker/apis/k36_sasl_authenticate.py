"""SaslAuthenticate, versions 0 to 2: refused where it comes too late; listeners with users answer it before."""

from kipwire.testing.broker.apis.api import ErrorCode, Node, Refused, Sent, Values


def answer(node: Node, body: Sent) -> Values:
    raise Refused(ErrorCode.ILLEGAL_SASL_STATE)
