"""Settings of connections to brokers: options come before a client properties file, and that before the environment."""

from __future__ import annotations

import logging
import ssl
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kafka_messages
from kipwire.aio import Address, Connecting, connect
from kipwire.cluster.given import NO_CERTIFICATES, NO_LOGIN, Certificates, Given
from kipwire.cluster.logins import mechanism_of
from kipwire.cluster.properties import Properties, SettingsError, read_properties
from kipwire.cluster.tls import context_of
from kipwire.tools.text import did_you_mean

if TYPE_CHECKING:
    from kipwire.connection import Mechanism
    from kipwire.message.registry import Registry

log = logging.getLogger("kipwire.cluster")
"""Addresses that do not answer where others do, and settings without an effect."""

_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


NO_PROPERTIES = Properties(Path(), {})


@dataclass(frozen=True)
class Security:
    """Security of a connection."""

    tls: ssl.SSLContext | None
    """None: it is not encrypted."""
    sasl: Mechanism | None
    """None: it does not authenticate, or does so by its certificate."""


@dataclass(frozen=True)
class Settings:
    """Settings of connections to brokers.

    Files are read, and passwords asked for, by `prepare`, or else when the first connection needs them.
    """

    config: Path | None = None
    """A client properties file."""
    properties: Properties = NO_PROPERTIES
    """Properties used instead if there is no such file."""
    tls: bool | None = None
    """None: decided by the properties file, or True if any of the certificates is given."""
    certificates: Certificates = NO_CERTIFICATES
    login: Given = NO_LOGIN
    client_id: str = "kipwire"
    timeout: float = 30.0
    """Seconds: to connect, and for each request."""

    @cached_property
    def security(self) -> Security:
        """TLS and SASL, with certificates and passwords; found out once.

        Raises:
            SettingsError: a file cannot be read, or the settings do not fit together.
        """
        properties = self.properties if self.config is None else read_properties(self.config)
        if unread := properties.unread():
            log.warning("%s: ignored settings: %s", properties.path, ", ".join(unread))
        protocol = _protocol(properties)
        has_tls = protocol.endswith("SSL") if self.tls is None else self.tls
        if self.certificates != NO_CERTIFICATES:
            if self.tls is False:
                raise SettingsError("--no-tls cannot be used with --ca, --cert, --key or --insecure")
            has_tls = True
        return Security(
            context_of(self.certificates, properties) if has_tls else None,
            mechanism_of(self.login, properties, is_asked_for=protocol.startswith("SASL")),
        )

    def portable(self) -> Settings:
        """Return the same settings with the content of the properties file, for processes that may not have the file.

        Files that it or the other settings name are read where connections are made.

        Raises:
            SettingsError: the file cannot be read.
        """
        return self if self.config is None else replace(self, config=None, properties=read_properties(self.config))

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: the settings without what was found out by them, which has contexts of OpenSSL."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def prepare(self) -> None:
        """Read files and ask for passwords, before an event loop runs: there the first Ctrl-C would not end a prompt.

        Raises:
            SettingsError: see `security`.
        """
        _ = self.security

    def connect(self, address: str | Address, registry: Registry = kafka_messages.REGISTRY) -> Connecting:
        """Make a connection to one broker, with `kipwire.aio.connect`.

        Args:
            address: as in `localhost:9092`, or host and port.
            registry: the registry of the package of messages.

        Raises:
            SettingsError: see `security`.
        """
        security = self.security
        return connect(
            address,
            client_id=self.client_id if registry.has_client_ids() else None,
            ssl=security.tls,
            sasl=security.sasl,
            timeout=self.timeout,
            registry=registry,
        )


def _protocol(properties: Properties) -> str:
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in _PROTOCOLS:
        reason = f"unknown protocol {protocol!r}{did_you_mean(protocol, _PROTOCOLS)}"
        raise properties.error("security.protocol", f"{reason}; give one of {', '.join(_PROTOCOLS)}")
    return protocol
