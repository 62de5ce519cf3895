"""Who may use which header key: the key space of KIP-82's version 43, whose headers have numbers for keys.

The released form of headers has texts for keys and needs none of this.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class KeySpace(NamedTuple):
    """A range of keys that are set aside for one use."""

    first: int
    last: int
    """The range's last key; it belongs to the range."""
    area: str
    """Who hands out the keys: `Kafka open source`, `local use` (each organisation), `open use` (anybody, without
    coordination), `testing`, or `reserved`."""
    category: str | None
    """What the header is used by within the area; None where the area has no such division."""
    is_reserved: bool
    """Whether the KIP keeps the range for later, so that nobody may use its keys yet."""


class RegisteredKey(NamedTuple):
    """A key that has been handed out."""

    key: int
    name: str
    description: str
    by: str
    """Who registered it."""


class KafkaHeaderKeys:
    """The keys that Kafka itself would use."""

    CLIENT_ID_KEY: Final = 1
    CLUSTER_ID_KEY: Final = 2
    CORRELATION_ID_KEY: Final = 3


HIGHEST_KEY = 0xFFFFFFFF

_CATEGORIES = ("infrastructure", "client", "stack/middleware", "application", "user")


def _divided(first: int, area: str) -> tuple[KeySpace, ...]:
    """An area of 2^20 keys: 2^16 for each category, the others reserved."""
    used = tuple(
        KeySpace(start, start + 0xFFFF, area, category, False)
        for start, category in zip(range(first, first + 0x50000, 0x10000), _CATEGORIES, strict=True)
    )
    return (*used, KeySpace(first + 0x50000, first + 0xFFFFF, area, None, True))


KEY_SPACES = (
    KeySpace(0x00000000, 0x0000FFFF, "Kafka open source", None, False),
    KeySpace(0x00010000, 0x000FFFFF, "Kafka open source", None, True),
    *_divided(0x00100000, "local use"),
    *_divided(0x00200000, "open use"),
    *_divided(0x00300000, "testing"),
    KeySpace(0x00400000, HIGHEST_KEY, "reserved", None, True),
)
"""All ranges, in ascending order and without gaps."""

OPEN_SOURCE_REGISTER = (
    RegisteredKey(KafkaHeaderKeys.CLIENT_ID_KEY, "client.id", "client id of the producer", "Apache Kafka"),
    RegisteredKey(KafkaHeaderKeys.CLUSTER_ID_KEY, "cluster.id", "cluster that the message came from", "Apache Kafka"),
    RegisteredKey(
        KafkaHeaderKeys.CORRELATION_ID_KEY, "correlation.id", "request that the message responds to", "Apache Kafka"
    ),
    RegisteredKey(2100001, "new.relic", "guid that links the parts of a transaction", "New Relic"),
    RegisteredKey(2100002, "appdynamics", "guid that links the parts of a transaction", "AppDynamics"),
)
"""The KIP's sample of a register that everybody shares."""

LOCAL_REGISTER = (
    RegisteredKey(1050000, "charge.tag", "whom the message is charged to", "IG"),
    RegisteredKey(1114000, "app.name", "the producing application", "IG"),
)
"""The KIP's sample of a register within one organisation."""


def key_space(key: int) -> KeySpace:
    """The range that a key lies in.

    Raises:
        ValueError: the key is none, since it is negative or has more than 32 bits.
    """
    if not 0 <= key <= HIGHEST_KEY:
        raise ValueError(f"{key} is not a header key; the range is 0 to {HIGHEST_KEY:#010x}")
    return next(space for space in KEY_SPACES if key <= space.last)
