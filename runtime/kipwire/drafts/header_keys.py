"""The key space of KIP-82's version 43, whose headers have numbers for keys, and the users of its ranges.

Registers, which name the keys, are classes of generated packages, such as `KafkaHeaderKeys` of
`kipwire.drafts.proposals.enums`. The released form of headers has texts for keys and needs none of this.
"""

from __future__ import annotations

from typing import NamedTuple

from kipwire.model.enums import HeaderKey


class KeySpace(NamedTuple):
    """A range of keys that are set aside for one use."""

    first: int
    last: int
    """The range's last key; it belongs to the range."""
    area: str
    """Owner of the keys: `Kafka open source`, `local use` (each organisation), `open use` (without coordination),
    `testing`, or `reserved`.
    """
    category: str | None
    """Purpose of the header within the area; None where the area has no such division."""
    is_reserved: bool
    """True if the KIP keeps the range for later, so that its keys may not be used yet."""


HIGHEST_KEY = 0xFFFFFFFF

_CATEGORIES = ("infrastructure", "client", "stack/middleware", "application", "user")


def _divide(first: int, area: str) -> tuple[KeySpace, ...]:
    """Divide an area of 2^20 keys: 2^16 for each category, the others reserved."""
    used = tuple(
        KeySpace(start, start + 0xFFFF, area, category, False)
        for start, category in zip(range(first, first + 0x50000, 0x10000), _CATEGORIES, strict=True)
    )
    return (*used, KeySpace(first + 0x50000, first + 0xFFFFF, area, None, True))


KEY_SPACES = (
    KeySpace(0x00000000, 0x0000FFFF, "Kafka open source", None, False),
    KeySpace(0x00010000, 0x000FFFFF, "Kafka open source", None, True),
    *_divide(0x00100000, "local use"),
    *_divide(0x00200000, "open use"),
    *_divide(0x00300000, "testing"),
    KeySpace(0x00400000, HIGHEST_KEY, "reserved", None, True),
)
"""All ranges, in ascending order and without gaps."""


def key_space(key: int) -> KeySpace:
    """Find the range that a key lies in.

    Raises:
        TypeError: the key is not a whole number.
        ValueError: the key is negative or has more than 32 bits.
    """
    if not isinstance(key, int) or isinstance(key, bool):
        raise TypeError(f"{key!r} is not a header key; write a whole number, 0 to {HIGHEST_KEY:#010x}")
    if not 0 <= key <= HIGHEST_KEY:
        raise ValueError(f"{key} is not a header key; the range is 0 to {HIGHEST_KEY:#010x}")
    return next(space for space in KEY_SPACES if key <= space.last)


def key_name(key: int, *registers: type[HeaderKey]) -> str | None:
    """Find the name of the header with that key in the first of the registers that has it; None where none has.

    Raises:
        TypeError: the key is not a whole number.
        ValueError: the key is negative or has more than 32 bits.
    """
    key_space(key)
    return next((row.header for register in registers if (row := register.find(key)) is not None), None)


def key_of(name: str, *registers: type[HeaderKey]) -> HeaderKey | None:
    """Find the key of the header with that name in the first of the registers that has it; None where none has."""
    return next((row for register in registers if (row := register.of_header(name)) is not None), None)
