"""SaslHandshake, version 1: refused where it comes too late; listeners with users answer it before.

Unlike Kafka:

* Clients never authenticate again (`connections.max.reauth.ms`).
* OAUTHBEARER and GSSAPI are not served.
"""

from kafka_messages.enums import ErrorCode
from kipwire.testing.broker.apis.api import Node, Refused, Sent, Values

VERSIONS = range(1, 2)


def answer(node: Node, body: Sent) -> Values:
    """Refuse it: the connection has no SASL, or is authenticated."""
    raise Refused(ErrorCode.ILLEGAL_SASL_STATE)
