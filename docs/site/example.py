"""An example of each message: golden bytes of its newest version, with the meaning of each."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kipgen.inspect import Inspection, inspect_message
from kipgen.inspect_values import bytes_hex, piece_text
from kipwire import Message
from kipwire.registry import Registry

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
    """A message that Kafka's Java classes wrote."""

    message: Message
    data: bytes
    lines: tuple[Line, ...]


def examples(files: Iterable[Path], registry: Registry) -> dict[str, Example]:
    """The most telling short example of each message's newest version, by the message's name.

    Args:
        files: golden data of messages, as tests/golden/README.md describes it.
        registry: that of the package whose messages they are.
    """
    best: dict[str, bytes] = {}
    for name, version, data in _golden_messages(files):
        if (versions := registry.versions(name)) and version == versions[-1]:
            best[name] = max(best.get(name, data), data, key=_rank)
    return {name: example_of(data, registry.message(name, registry.versions(name)[-1])) for name, data in best.items()}


def _golden_messages(files: Iterable[Path]) -> Iterator[tuple[str, int, bytes]]:
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in map(json.loads, lines):
                # Unknown tagged fields show how a proxy works, not what the message is.
                if not line.get("unknown"):
                    yield line["message"], line["version"], bytes.fromhex(line["hex"])


def _rank(data: bytes) -> tuple[bool, int]:
    """Higher for the longer of those that are not too long, then for the shorter; texts are rather in plain ASCII."""
    fits = len(data) <= _GOOD_SIZE
    odd = 2 * sum(byte >= 0x80 for byte in data)
    return fits, (len(data) if fits else -len(data)) - odd


def example_of(data: bytes, cls: type[Message]) -> Example:
    """The bytes of one message as an example.

    Raises:
        DecodeError: they are not a message of that class.
    """
    return Example(cls.decode(data), data, tuple(_lines(inspect_message(cls, data))))


def _lines(inspection: Inspection) -> Iterator[Line]:
    for piece in inspection.pieces:
        data = bytes_hex(inspection.data[piece.start : piece.end])
        yield Line(piece.start, data, piece.path or "message", piece.kind, piece.role, piece_text(piece))
