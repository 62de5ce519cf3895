"""The enums of a package as tables: each number with its name and what it means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kipgen.language.versions import Versions
from kipgen.python.render import RegistryEntry
from kipgen.python.render_enums import message_number_name, numbered_messages
from kipgen.reading.enum_spec import EnumSpec, EnumValue


@dataclass(frozen=True, slots=True)
class Value:
    """A number with its name."""

    number: int
    name: str
    about: str
    kip: int | None
    retriable: bool
    message: str
    versions: str
    """Such as `0-18`; "" where the message is retired."""


@dataclass(frozen=True, slots=True)
class Enum:
    """A table of numbers."""

    name: str
    about: str
    of_errors: bool
    of_messages: bool
    values: tuple[Value, ...]

    @property
    def has_kips(self) -> bool:
        """True if any value has the KIP that introduced it."""
        return any(one.kip is not None for one in self.values)


def enum_tables(enums: Sequence[EnumSpec], entries: Sequence[RegistryEntry]) -> list[Enum]:
    """Make the table of each enum.

    Args:
        enums: the enums of a package, without problems.
        entries: its messages, from which some enums have their values.
    """
    return [_enum(one, entries) for one in enums]


def _enum(enum: EnumSpec, entries: Sequence[RegistryEntry]) -> Enum:
    if enum.values_from is not None:
        numbered = numbered_messages(enum.values_from, entries)
        return Enum(enum.name, enum.about, False, True, tuple(map(_message_value, numbered)))
    of_errors = any(one.retriable is not None for one in enum.values)
    return Enum(enum.name, enum.about, of_errors, False, tuple(map(_value, enum.values)))


def _value(one: EnumValue) -> Value:
    return Value(one.number, one.name, one.about, one.kip, bool(one.retriable), "", "")


def _message_value(one: RegistryEntry) -> Value:
    versions = str(Versions(one.lowest, one.highest)) if one.lowest <= one.highest else ""
    return Value(one.api_key or 0, message_number_name(one), "", None, False, one.name, versions)
