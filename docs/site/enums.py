"""The page of the enums of `kafka_messages`: each number with its name and what it means."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from docs.site.navigation import Page
from docs.site.templating import render
from kafka_messages import enums
from kipwire.model.enums import ErrorNumber, MessageNumber, NamedNumber

PATH = "messages/enums.md"


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


def enum_page() -> Page:
    """Return the page of all enums."""
    found = [_enum(getattr(enums, name)) for name in enums.__all__]
    return Page(PATH, "Names for numbers", render("enums.md.j2", enums=found))


def _enum(cls: type[NamedNumber]) -> Enum:
    about = " ".join((inspect.getdoc(cls) or "").split())
    of_errors, of_messages = issubclass(cls, ErrorNumber), issubclass(cls, MessageNumber)
    return Enum(cls.__name__, about, of_errors, of_messages, tuple(map(_value, cls)))


def _value(one: NamedNumber) -> Value:
    retriable = isinstance(one, ErrorNumber) and one.retriable
    message = one.message if isinstance(one, MessageNumber) else ""
    versions = _text(one.versions) if isinstance(one, MessageNumber) else ""
    return Value(int(one), one.name, one.about, one.kip, retriable, message, versions)


def _text(versions: range) -> str:
    if not versions:
        return ""
    return str(versions[0]) if len(versions) == 1 else f"{versions[0]}-{versions[-1]}"
