"""SaslHandshake, version 1: refused where it comes too late; listeners with users answer it before.

Unlike Kafka:

* SaslHandshake has no version 0, after which tokens come without headers.
* Clients never have to authenticate again (`connections.max.reauth.ms`), and OAUTHBEARER and GSSAPI are not served.
"""

from kipwire.testing.broker.apis.api import ErrorCode, Node, Refused, Sent, Values

VERSIONS = range(1, 2)


def answer(node: Node, body: Sent) -> Values:
    raise Refused(ErrorCode.ILLEGAL_SASL_STATE)
