"""Base classes of the names for numbers in the module `enums` of a generated package.

Values in messages stay plain ints, since peers may send numbers without a name here. Generated classes declare such an
attribute as `Status | int`: the enum for readers and editors, the int for the numbers without a name. mypy takes the
union for `int`, and pyright each for the other, also within lists; to a plain `int` pyright would not let members of
an enum with arguments be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from functools import lru_cache
from importlib import import_module
from typing import Any, Self, TypeVar

N = TypeVar("N", bound="NamedNumber")

MODULE = "enums"
"""The module of a generated package that has its enums."""


def number(value: int, *facts: object) -> int:
    """Give a member of an enum its number and its other facts; type checkers take the member for such an int.

    Args:
        value: the number.
        facts: the further arguments of the `__new__` of the enum.
    """
    return (value, *facts)  # type: ignore[return-value]  # what enums pass on as arguments


def _member(cls: type[N], value: int, about: str, kip: int | None) -> N:
    """Make a member with the attributes of every enum; a function, since enums replace their `__new__` by a look-up."""
    member = int.__new__(cls, value)
    member._value_ = value
    member.about = about
    member.kip = kip
    return member


class NamedNumber(IntEnum):
    """A number that has a name. A message takes a named number wherever it takes an int."""

    about: str
    """Meaning of the member."""
    kip: int | None
    """The number of the KIP that introduced the member; None if there is none, or none is known."""

    def __new__(cls, value: int, about: str = "", kip: int | None = None) -> Self:
        return _member(cls, value, about, kip)

    @classmethod
    def find(cls, number: int) -> Self | None:
        """Find the member with that number; None where there is none, so that any number may be asked for."""
        found = cls._value2member_map_.get(number)
        return found if isinstance(found, cls) else None

    @classmethod
    def of_bits(cls, number: int) -> tuple[Self, ...]:
        """Find the members whose bits are set in a number: bit n stands for the member with number n.

        Bits without a member are left out, since peers may set bits without a name here.
        """
        return tuple(one for one in cls if one >= 0 and number >> one & 1)

    @classmethod
    def text(cls, number: int) -> str:
        """Format the number with its name, as in `25 UNKNOWN_MEMBER_ID`; the number alone where it has none."""
        found = cls.find(number)
        return str(int(number)) if found is None else f"{int(number)} {found.label}"

    @classmethod
    def literal(cls, value: object) -> str:
        """Format a value as `repr` does, but numbers with a name as constants, as in `ErrorCode.NONE`.

        Args:
            value: a number or several; or anything else, since attributes take any value.
        """
        if isinstance(value, list):
            return f"[{', '.join(map(cls.literal, value))}]"
        found = cls.find(value) if isinstance(value, int) and not isinstance(value, bool) else None
        return repr(value) if found is None else f"{cls.__name__}.{found.name}"

    @property
    def label(self) -> str:
        """Name of the member in output."""
        return self.name


class ErrorNumber(NamedNumber):
    """The number of an error."""

    retriable: bool
    """True if the same request may succeed when it is sent again."""

    def __new__(cls, value: int, retriable: bool = False, about: str = "", kip: int | None = None) -> Self:
        member = _member(cls, value, about, kip)
        member.retriable = retriable
        return member


class MessageNumber(NamedNumber):
    """The number that a message is found by."""

    message: str
    """Name of the message in the package; for an API, the name of its request."""
    versions: range
    """The versions that the package has classes for; empty where the message is retired."""

    def __new__(cls, value: int, message: str = "", lowest: int = 0, highest: int = -1) -> Self:
        member = _member(cls, value, "", None)
        member.message = message
        member.versions = range(lowest, highest + 1)
        return member


class HeaderKey(NamedNumber):
    """A row of a register of header keys, as KIP-82 has them in its version 43; the member's name is the constant."""

    header: str
    """The name of the header, such as `client.id`."""
    by: str
    """The party that registered the key."""
    url: str | None
    """Address of the header's documentation."""
    notes: str | None
    """Other notes of the register on the key."""

    def __new__(
        cls,
        value: int,
        header: str = "",
        about: str = "",
        by: str = "",
        url: str | None = None,
        notes: str | None = None,
    ) -> Self:
        member = _member(cls, value, about, None)
        member.header, member.by, member.url, member.notes = header, by, url, notes
        return member

    @classmethod
    def of_header(cls, name: str) -> Self | None:
        """Find the key of the header of that name; None where the register has none."""
        return next((one for one in cls if one.header == name), None)

    @property
    def label(self) -> str:
        """The name of the header."""
        return self.header


def enum_of(owner: type, attribute: str) -> type[NamedNumber] | None:
    """Find the enum that names the numbers of an attribute, or of its elements; None if the package has no such enum.

    Args:
        owner: the generated class that has the attribute.
        attribute: its name.
    """
    return _find_enum(owner, attribute, "FIELDS")


def enum_of_bits(owner: type, attribute: str) -> type[NamedNumber] | None:
    """Find the enum whose numbers are the positions of an attribute's bits; None if the package has no such enum.

    Args:
        owner: the generated class that has the attribute.
        attribute: its name.
    """
    return _find_enum(owner, attribute, "BITS")


def named(owner: type, attribute: str, number: int) -> tuple[NamedNumber, ...]:
    """Name a number by the enum of an attribute: one member, one for each bit that is set, or none.

    Args:
        owner: the generated class that has the attribute.
        attribute: its name.
        number: its value.
    """
    if (bits := enum_of_bits(owner, attribute)) is not None:
        return bits.of_bits(number)
    enum = enum_of(owner, attribute)
    found = None if enum is None else enum.find(number)
    return () if found is None else (found,)


def literals(struct: Any) -> dict[str, str]:
    """Format the attributes of a struct that have enums, as `repr` would with constants, by name of the attribute."""
    enums = _named_attributes(type(struct))  # type: ignore[arg-type]  # mypy takes classes of anything for unhashable
    return {name: enum.literal(getattr(struct, name)) for name, enum in enums if hasattr(struct, name)}


@lru_cache(maxsize=4096)
def _named_attributes(owner: type) -> tuple[tuple[str, type[NamedNumber]], ...]:
    """Find the attributes of a generated class whose numbers an enum names, each with the enum."""
    fields: Iterable[Any] = getattr(owner, "ATTRIBUTES", ())
    found = ((field.name, enum_of(owner, field.name)) for field in fields)
    return tuple((name, enum) for name, enum in found if enum is not None)


def _find_enum(owner: type, attribute: str, table: str) -> type[NamedNumber] | None:
    package, _, module = owner.__module__.rpartition(".")[0].rpartition(".")
    if not package:  # no generated class
        return None
    return _fields(package, table).get(f"{module}.{owner.__name__}.{attribute}")


@lru_cache(maxsize=64)
def _fields(package: str, table: str) -> Mapping[str, type[NamedNumber]]:
    """Load the enums of the fields of a package, by module, class and attribute."""
    name = f"{package}.{MODULE}"
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in (name, package):
            raise
        return {}
    found: Mapping[str, type[NamedNumber]] = getattr(module, table, {})  # packages of earlier releases have no bits
    return found
