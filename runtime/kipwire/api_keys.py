"""The API keys that the rules of frames and connections depend on, in every package of messages."""

from __future__ import annotations

PRODUCE_KEY = 0
"""The one API whose requests may go without an answer."""
CONTROLLED_SHUTDOWN_KEY = 7
"""The API by which a broker of a cluster with ZooKeeper said that it would stop; version 0 has the oldest header."""
SASL_HANDSHAKE_KEY = 17
"""After whose version 0 tokens of SASL come without headers."""
API_VERSIONS_KEY = 18
"""The API by which a client asks what a broker understands."""
