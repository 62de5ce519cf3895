"""The listeners of the broker of `make test-broker`, with the certificates and users that they let in.

scripts/broker/broker.sh makes them.
"""

from __future__ import annotations

import base64
import json
import ssl
import time
from pathlib import Path
from typing import Any, NamedTuple

from kipwire.connection import OAuthBearer, Plain, Scram
from kipwire.connection.sasl import Mechanism
from tests.support.live.real_broker import HOST, PORT
from tests.support.places import ROOT

CERTIFICATES = ROOT / "build" / "broker" / "certificates"
CA = CERTIFICATES / "ca.pem"
"""Certificate of the authority that has signed the broker's certificate, for localhost, 127.0.0.1 and ::1."""
CLIENT = CERTIFICATES / "client.pem"
"""A client's certificate, with its key in the same file."""
OTHER_CA, OTHER_CLIENT = CERTIFICATES / "other-ca.pem", CERTIFICATES / "other-client.pem"
"""The same for an authority that the broker does not trust."""
USERNAME, PASSWORD = "alice", "secret-of-alice"
"""User in every mechanism."""
SESSION_MS = 3000
"""Longest life of the sessions of RENEWED (`connections.max.reauth.ms`)."""


class Listener(NamedTuple):
    """A listener."""

    address: str
    protocol: str
    """Kafka's name of its protocol, `security.protocol` of clients."""
    wants_certificate: bool = False

    @property
    def has_tls(self) -> bool:
        """True if it uses TLS."""
        return self.protocol.endswith("SSL")

    @property
    def has_sasl(self) -> bool:
        """True if it requires SASL."""
        return self.protocol.startswith("SASL")

    @property
    def ssl_context(self) -> ssl.SSLContext | None:
        """Context of its clients; None without TLS."""
        return context(CA, CLIENT if self.wants_certificate else None) if self.has_tls else None


def _at(number: int) -> str:
    return f"{HOST}:{PORT + number}"


CLEAR = Listener(_at(0), "PLAINTEXT")
TLS = Listener(_at(11), "SSL")
MUTUAL_TLS = Listener(_at(12), "SSL", wants_certificate=True)
SASL = Listener(_at(13), "SASL_PLAINTEXT")
SASL_TLS = Listener(_at(14), "SASL_SSL")
RENEWED = Listener(_at(15), "SASL_PLAINTEXT")
"""Its sessions are short, so that a client must authenticate again, but not within a second of the last time."""


def context(ca: Path = CA, client: Path | None = None) -> ssl.SSLContext:
    """Return a client's TLS context: the authority that it trusts, and its own certificate."""
    made = ssl.create_default_context(cafile=str(ca))
    if client is not None:
        made.load_cert_chain(client)
    return made


def token(username: str = USERNAME, seconds: float = 3600, **claims: Any) -> str:
    """Return a token without a signature, as Kafka's validator for tests takes it; it expires after so many seconds."""
    now = time.time()
    parts = ({"alg": "none"}, {"sub": username, "iat": now - 60, "exp": now + seconds, **claims})
    encoded = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return f"{'.'.join(encoded)}."


MECHANISMS: dict[str, Mechanism] = {
    one.name: one
    for one in (
        Plain(USERNAME, PASSWORD),
        Scram(USERNAME, PASSWORD, "SCRAM-SHA-256"),
        Scram(USERNAME, PASSWORD, "SCRAM-SHA-512"),
        OAuthBearer(token),
    )
}
"""Each way to be let in by a listener with SASL."""

WAYS: dict[str, tuple[Listener, Mechanism | None]] = {
    "PLAINTEXT": (CLEAR, None),
    "TLS": (TLS, None),
    "mutual TLS": (MUTUAL_TLS, None),
    **{f"SASL {name}": (SASL, mechanism) for name, mechanism in MECHANISMS.items()},
    **{f"SASL over TLS {name}": (SASL_TLS, mechanism) for name, mechanism in MECHANISMS.items()},
}
"""Each way to be let in by the broker."""

_LOGIN = {
    "PLAIN": f'plain.PlainLoginModule required username="{USERNAME}" password="{PASSWORD}";',
    "SCRAM": f'scram.ScramLoginModule required username="{USERNAME}" password="{PASSWORD}";',
    "OAUTHBEARER": f'oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="{USERNAME}";',
}


def client_properties(listener: Listener, mechanism: Mechanism | None = None) -> dict[str, str]:
    """Return the same as settings of Kafka's own clients and tools, as in their properties files."""
    found = {"bootstrap.servers": listener.address, "security.protocol": listener.protocol}
    if listener.has_tls:
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(CA)}
    if listener.wants_certificate:
        found |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(CLIENT)}
    if mechanism is not None:
        module = _LOGIN[mechanism.name.partition("-")[0]]
        jaas = f"org.apache.kafka.common.security.{module}"
        found |= {"sasl.mechanism": mechanism.name, "sasl.jaas.config": jaas}
    return found
