"""Kinds of failures of a connection, each with its own class, and the addresses that they name."""

from __future__ import annotations

import ssl
from urllib.parse import urlsplit

from kipwire.model.errors import KipwireError, bounded
from kipwire.tools.text import printable_line

Address = tuple[str, int]
"""Host and port."""
DEFAULT_PORT = 9092


class Failure(KipwireError):
    """Base of every failure of a connection: one readable line, which begins with the address."""

    def __init__(self, address: Address, reason: str) -> None:
        reason = printable_line(bounded(reason))
        super().__init__(address, reason)
        self.address = address
        """Host and port, as they were given."""
        self.reason = reason

    def __str__(self) -> str:
        return f"{shown_address(self.address)}: {self.reason}"


class Refused(Failure):
    """No connection could be opened: nothing listens there, or there is no such host."""


class TlsFailure(Failure):
    """The two sides do not agree on TLS: a certificate that one of them refuses, or a listener without TLS."""


class AuthenticationFailure(Failure):
    """The broker does not accept the credentials, or not their mechanism."""


class Closed(Failure):
    """The connection is closed: the broker closed it, or broke it off, or this program called `close`."""


class TimedOut(Failure):
    """Something took longer than its timeout."""


class ProtocolFailure(Failure):
    """The broker sent bytes that are not valid where they are; nothing can be read after them."""


def tls_reason(error: ssl.SSLError) -> str:
    """Why TLS failed, and what would be right."""
    if isinstance(error, ssl.SSLCertVerificationError):
        why = error.verify_message.rstrip(".")
        right = "connect to a name that the certificate has"
        if "mismatch" not in why:
            right = "give a context that trusts the certificate's authority as ssl="
        return f"the certificate of the broker is not accepted: {why}; {right}"
    name = error.reason or ""
    said = name.lower().replace("_", " ") or str(error)
    if name in _NO_TLS:
        return f"the listener does not speak TLS ({said}); connect without ssl=, or to the port of a listener with TLS"
    if "CERTIFICATE" in name and "ALERT" in name:
        return f"the broker does not accept the certificate of the client, or misses one: {said}"
    return f"TLS failed: {said}"


_NO_TLS = (
    "WRONG_VERSION_NUMBER",
    "RECORD_LAYER_FAILURE",
    "PACKET_LENGTH_TOO_LONG",
    "HTTP_REQUEST",
    "UNEXPECTED_EOF_WHILE_READING",
)
"""What OpenSSL says of bytes that are no TLS."""


def shown_address(address: Address) -> str:
    """An address as `parse_address` reads it."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_address(text: str) -> Address:
    """Host and port of an address such as `host:9092`, `[::1]:9092`, or `host`, which stands for port 9092.

    Raises:
        ValueError: it is none.
    """
    right = "give HOST or HOST:PORT, such as localhost:9092 or [::1]:9092"
    bare_ipv6 = text.count(":") > 1 and not text.startswith("[")
    try:
        parts = urlsplit(f"//[{text}]" if bare_ipv6 else f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        raise ValueError(f"{printable_line(text)!r} is not an address of a broker; {right}") from None
    is_whole = parts.netloc and not (parts.path or parts.query or parts.fragment or "@" in text)
    if not host or not is_whole or text.endswith(":") or port == 0 or any(one.isspace() for one in text):
        raise ValueError(f"{printable_line(text)!r} is not an address of a broker; {right}")
    return host, DEFAULT_PORT if port is None else port
