"""An example of each message, with the meaning of each byte: a real one, or one of plain values where there is none."""

from __future__ import annotations

from collections.abc import Iterable

from docs.site.real_messages import RealMessage
from kipgen.commands.docs.example import Example, lines_of
from kipgen.commands.docs.plain_message import plain_message
from kipwire import Field, Message
from kipwire.message.registry import Registry

_GOOD_SIZE = 240
"""Bytes: the most that an example should have, if there is one of so few."""


def examples(found: Iterable[RealMessage], registry: Registry) -> dict[str, Example]:
    """Choose an example of every message that has a version, by name.

    A real one has the newest version with real messages: the shortest that shows enough.

    Args:
        found: real messages.
        registry: the registry of their package.
    """
    best: dict[str, RealMessage] = {}
    for one in found:
        best[one.name] = max(best.get(one.name, one), one, key=_rank)
    result = {}
    for name in registry.names():
        if name in best:
            cls = registry.message(name, best[name].version)
            result[name] = example_of(best[name].data, cls, best[name].source)
        elif versions := registry.versions(name):
            message = plain_message(registry.message(name, versions[-1]))
            result[name] = example_of(message.encode(), type(message))
    return result


def _rank(one: RealMessage) -> tuple[int, bool, int]:
    """Higher for newer versions, then for the longer of those that are not too long; texts are rather plain ASCII."""
    fits = len(one.data) <= _GOOD_SIZE
    odd = 2 * sum(byte >= 0x80 for byte in one.data)
    return one.version, fits, (len(one.data) if fits else -len(one.data)) - odd


def example_of(data: bytes, cls: type[Message], source: str = "") -> Example:
    """Return the bytes of one message as an example.

    Args:
        data: the message, without its header.
        cls: its class.
        source: where a real one was found.

    Raises:
        DecodeError: they are not a message of that class.
    """
    return Example(cls.decode(data), data, lines_of(cls, data, _name_of), source)


def _name_of(field: Field, number: int) -> str:
    return ", ".join(one.label for one in field.named(number))
