"""The APIs of Kafka that the rules of frames and connections depend on.

A package of another protocol may have any API key. So a rule makes an exception for a message only if the message has
both Kafka's key and Kafka's name.
"""

from __future__ import annotations

PRODUCE_KEY = 0
"""The one API whose requests may go without an answer."""
METADATA_KEY = 3
"""The API by which a client learns brokers and topics, with the names and the ids of topics."""
CONTROLLED_SHUTDOWN_KEY = 7
"""The API by which a broker of a cluster with ZooKeeper said that it would stop."""
SASL_HANDSHAKE_KEY = 17
"""After whose version 0 tokens of SASL come without headers."""
API_VERSIONS_KEY = 18
"""The API by which a client asks what a broker understands."""
UNSUPPORTED_VERSION = 35
"""Error code of an answer to a request whose version the broker does not support."""
UNKNOWN_SERVER_ERROR = -1
"""Error code of an answer to a request on which the server failed."""
VERSIONS_ANSWER = "ApiVersionsResponse"
"""Name of the answer that lists versions: in any package, under any key, if it has the form of Kafka's."""


def is_api_versions_response(name: str, api_key: int | None) -> bool:
    """True for Kafka's response to ApiVersions, which has the oldest header in all versions (KIP-511).

    When it arrives, the client has not yet learnt the versions of the broker, and a broker that does not support the
    requested version answers in version 0.
    """
    return (name, api_key) == ("ApiVersionsResponse", API_VERSIONS_KEY)


def is_controlled_shutdown_request(name: str, api_key: int | None) -> bool:
    """True for Kafka's request of ControlledShutdown, whose version 0 has a header without a client id."""
    return (name, api_key) == ("ControlledShutdownRequest", CONTROLLED_SHUTDOWN_KEY)
