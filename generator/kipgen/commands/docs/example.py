"""An example of a message, with the meaning of each byte."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kipwire.cli.values import bytes_hex, value_text
from kipwire.description.trace import Element, trace
from kipwire.model.structs import Field, Root

NameOf = Callable[[Field, int], str]
"""Names a number of a field; returns "" where it has no name."""


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

    message: Root
    data: bytes
    lines: tuple[Line, ...]
    source: str = ""
    """Path in the repository of a real message's file; "" for a message of plain values."""


def lines_of(cls: type[Root], data: bytes, name_of: NameOf) -> tuple[Line, ...]:
    """Explain the bytes of one message, without its header.

    Args:
        cls: its class.
        data: the bytes.
        name_of: finds the name of a number.

    Raises:
        DecodeError: they are not a message of that class.
    """
    found: list[Line] = []

    def add(it: Element) -> None:
        text = value_text(it.value)
        if it.role == "value" and it.field is not None and type(it.value) is int:
            text = f"{text} {name_of(it.field, it.value)}".rstrip()
        found.append(Line(it.start, bytes_hex(data[it.start : it.end]), it.path or "message", it.kind, it.role, text))

    trace(cls, data, 0, add)
    return tuple(found)
