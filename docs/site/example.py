"""An example of each message, with the meaning of each byte: a real one, or one of plain values where there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from docs.site.real_messages import RealMessage
from kipgen.commands.docs.plain_message import plain_message
from kipwire import Message
from kipwire.console.inspect.text import bytes_hex, piece_text
from kipwire.console.inspect.tree import Inspection, inspect_message
from kipwire.message.registry import Registry

_GOOD_SIZE = 240
"""Bytes: the most that an example should have, if there is one of so few."""


@dataclass(frozen=True, slots=True)
class Line:
    """Some bytes and what they mean."""

    offset: int
    data: str
    path: str
    kind: str
    role: str
    value: str


@dataclass(frozen=True, slots=True)
class Example:
    """A message of one version."""

    message: Message
    data: bytes
    lines: tuple[Line, ...]
    source: str
    """Path in the repository of a real message's file; "" for a message of plain values."""


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
    return Example(cls.decode(data), data, tuple(_lines(inspect_message(cls, data))), source)


def _lines(inspection: Inspection) -> Iterator[Line]:
    for piece in inspection.pieces:
        data = bytes_hex(inspection.data[piece.start : piece.end])
        yield Line(piece.start, data, piece.path or "message", piece.kind, piece.role, piece_text(piece))
