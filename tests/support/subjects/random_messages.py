"""Random messages of a class, the same for the same seed, with limits of ranges and lengths more often than by chance.

Strategies of `kipwire.testing` shrink what fails; these are for thousands of messages and rows in one test.
"""

from __future__ import annotations

from random import Random
from typing import Any, TypeVar
from uuid import UUID

from kipwire import Field, Struct
from kipwire.description.values import field_range
from kipwire.model.types import KINDS

S = TypeVar("S", bound=Struct)

_TEXTS = ("", "a", "topic-1", "é", "日本語", "\U0001d11e", "\0", "x" * 126, "x" * 127, "y" * 128, "null")
_BLOBS = (b"", b"\0", b"\xff" * 127, b"\x80" * 128, b"bytes")
_FLOATS = (0.0, -0.0, 1.5, -2.25e300, 5e-324, float("inf"), float("-inf"))
_DEEPEST = 6
"""The deepest nesting of structs; further down all arrays are empty."""


def random_message(cls: type[S], random: Random, *, unknown: bool, depth: int = 0) -> S:
    """Return a random struct of a class, in which limits of ranges and lengths are more frequent than by chance.

    Args:
        cls: a generated class, of a message or of a struct in one; not of a record format.
        random: the source of randomness.
        unknown: true if flexible structs may have tagged fields that no version defines.
        depth: the number of structs around it.
    """
    item = cls(
        **{field.name: _value(field, random, unknown, depth) for field in cls.ATTRIBUTES if _is_set(field, random)}
    )
    if unknown and cls.FLEXIBLE and random.random() < 0.3:
        tags = [tag for tag in random.sample(range(200), 2) if tag not in cls.DECLARED_TAGS]
        item._unknown_tagged_fields = {tag: random.choice(_BLOBS) for tag in sorted(tags)}
    return item


def _is_set(field: Field, random: Random) -> bool:
    """Decide whether to set a field: tagged ones are left at their defaults now and then."""
    return field.tag is None or random.random() < 0.7


def _value(field: Field, random: Random, unknown: bool, depth: int) -> Any:
    if field.nullable and random.random() < 0.2:
        return None
    if not field.array:
        return _element(field, random, unknown, depth)
    count = 0 if depth >= _DEEPEST else random.choice((0, 1, 1, 2, 3))
    return [_element(field, random, unknown, depth) for _ in range(count)]


def _element(field: Field, random: Random, unknown: bool, depth: int) -> Any:
    if field.struct is not None:
        return random_message(field.struct, random, unknown=unknown, depth=depth + 1)
    kind = KINDS.get(field.element, "struct")
    if kind == "integer":
        return _integer(random, *field_range(field))
    if kind == "text":
        return random.choice(_TEXTS)
    if kind == "blob":
        return random.choice(_BLOBS)
    if kind == "uuid":
        return UUID(int=random.choice((0, 1, random.getrandbits(128))))
    return random.random() < 0.5 if kind == "bool" else random.choice(_FLOATS)


def _integer(random: Random, lowest: int, highest: int) -> int:
    if random.random() < 0.5:
        return random.randint(lowest, highest)
    bits = random.randint(0, highest.bit_length())
    edge = random.choice((lowest, highest, 0, -1, 1 << bits, (1 << bits) - 1, -(1 << bits)))
    return min(max(edge, lowest), highest)
