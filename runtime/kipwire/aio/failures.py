"""Kinds of failures of a connection, each with its own class, and the addresses that they name."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterable
from typing import cast

from kipwire.model.errors import KipwireError, abbreviate, shorten
from kipwire.tools.text import printable_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.message.registry import Registry

Address = tuple[str, int]
"""Host and port."""
DEFAULT_PORT = 9092
_PORTS = 1 << 16


class Failure(KipwireError):
    """Base of every failure of a connection: one readable line, which begins with the address."""

    def __init__(self, address: Address, reason: str) -> None:
        reason = printable_line(shorten(reason))
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


def peer_of(registry: Registry) -> str:
    """Return the word for a peer that serves a package: a broker if it is Kafka's, or a fork's."""
    return "broker" if "MetadataRequest" in registry.names() else "server"


def tls_reason(error: ssl.SSLError) -> str:
    """Explain why TLS failed, and what would be right."""
    if isinstance(error, ssl.SSLCertVerificationError):
        why = error.verify_message.rstrip(".")
        right = "connect to a host name in the certificate"
        if "mismatch" not in why:
            right = "trust the authority that signed it"
        return f"cannot verify the broker's certificate: {why}; {right}"
    name, said = error.reason or "", openssl_says(error)
    if name in _NO_TLS:
        return f"the listener does not speak TLS ({said}); connect without TLS, or to the port of a TLS listener"
    if "CERTIFICATE" in name and "ALERT" in name:
        return f"the broker rejected the client certificate, or requires one: {said}"
    return f"TLS failed: {said}"


def openssl_says(error: ssl.SSLError) -> str:
    """Put an error of OpenSSL in words."""
    return error.reason.lower().replace("_", " ") if error.reason else str(error)


_NO_TLS = (
    "WRONG_VERSION_NUMBER",
    "RECORD_LAYER_FAILURE",
    "PACKET_LENGTH_TOO_LONG",
    "HTTP_REQUEST",
    "UNEXPECTED_EOF_WHILE_READING",
)
"""OpenSSL's reasons for bytes that are not TLS."""


def shown_address(address: Address) -> str:
    """Format an address as `parse_address` reads it; the host, which a peer may have sent, as one short line."""
    host, port = printable_line(shorten(address[0])), address[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def address_fault(address: Address) -> str | None:
    """Explain why no connection can be made to an address; None if one can be tried.

    Addresses come from brokers, too. The operating system is asked about no others: it takes an empty host for this
    machine, and reads a name up to NUL.
    """
    host, port = address
    if not host:
        return "the address has no host"
    if not host.isprintable():
        return "invalid host name"
    return None if 0 < port < _PORTS else f"invalid port {port}; ports are 1 to {_PORTS - 1}"


_ADDRESS = re.compile(
    r"""(?P<bare> [0-9a-fA-F]* : [0-9a-fA-F]* : [0-9a-fA-F:.]* (%\w+)? )       # IPv6, without a port
    | ( \[ (?P<ipv6> [0-9a-fA-F:.]+ (%\w+)? ) \] | (?P<host> [^\s\0:/@?\#\[\],]+ ) ) ( : (?P<port> [0-9]{1,5} ) )?""",
    re.VERBOSE,
)


def parse_address(text: str) -> Address:
    """Parse the host and port of an address such as `host:9092`, `[::1]:9092`, or `host`, which stands for port 9092.

    Raises:
        ValueError: the text is not an address.
    """
    host, port = parse_host(text)
    return host, DEFAULT_PORT if port is None else port


def parse_addresses(given: str | Address | Iterable[str | Address]) -> tuple[Address, ...]:
    """Parse the addresses of one or several brokers: texts such as `kafka-1:9092,[::1]:9092`, or host and port.

    Raises:
        ValueError: a text is not an address, or there is no address.
    """
    if isinstance(given, str):
        return tuple(parse_address(one.strip()) for one in given.split(","))
    is_one = isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], int)
    several = cast("Iterable[str | Address]", (given,) if is_one else given)
    found = [one for some in several for one in (parse_addresses(some) if isinstance(some, str) else (some,))]
    if not found:
        raise ValueError("the address of a broker is missing")
    return tuple(found)


def parse_host(text: str) -> tuple[str, int | None]:
    """Parse an address as `parse_address` does, with None for a port that is not given.

    Raises:
        ValueError: the text is not an address.
    """
    found = _ADDRESS.fullmatch(text)
    port = int(found["port"]) if found and found["port"] else None
    if found is None or (port is not None and not 0 < port < _PORTS):
        right = "use HOST or HOST:PORT, such as localhost:9092 or [::1]:9092"
        raise ValueError(f"{abbreviate(text)} is not a valid address; {right}")
    return found["bare"] or found["ipv6"] or found["host"], port


def expect_some(in_flight: int) -> None:
    """Check that a number of requests may be in flight.

    Raises:
        ValueError: the number is below 1.
    """
    if in_flight < 1:
        raise ValueError(f"in_flight must be 1 or more, not {in_flight}")
