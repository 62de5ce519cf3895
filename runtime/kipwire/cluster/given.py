"""Options about brokers, as given, before any file is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple


class Sasl(StrEnum):
    """The mechanisms that there are."""

    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"
    OAUTHBEARER = "OAUTHBEARER"


@dataclass(frozen=True)
class Given:
    """Options of the login."""

    sasl: Sasl | None = None
    user: str | None = None
    password_file: Path | None = None
    token_file: Path | None = None
    token_command: str | None = field(default=None, repr=False)


NO_LOGIN = Given()


@dataclass(frozen=True)
class Certificates:
    """Options of certificates."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    key_password_file: Path | None = None
    insecure: bool = False
    """True if any certificate of a broker is accepted."""


NO_CERTIFICATES = Certificates()


class Target(NamedTuple):
    """Words for the brokers that a request is for, such as `leader:orders/0`."""

    kind: str
    """`controller`, `leader`, `group`, `txn`, `node` or `all`."""
    name: str = ""
    """Name of the topic, the group or the transactional id."""
    number: int = -1
    """Number of the partition or the node."""
