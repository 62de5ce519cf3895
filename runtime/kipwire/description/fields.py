"""Fields apart from their bytes: the path to a value, a class in other versions, and conditions on values.

Conditions are what record formats demand of values beyond their types. Reading, writing and test strategies share them;
generated code has the same conditions as expressions, from `kipgen.python.pymodel`. A condition looks at how long
values are (how many elements an array has, how many bytes anything else), or whether they are null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar, NamedTuple, NoReturn, TypeVar

from kipwire.model.errors import (
    EncodeError,
    JsonError,
    UnsupportedVersionError,
    expect_version,
    path_text,
    unknown_version,
)
from kipwire.model.structs import Field, Root, Struct
from kipwire.model.types import ENCODINGS, TYPES

T = TypeVar("T")


class Visitor:
    """One pass over a message: a method that enters a field or an element adds it to the path, and removes it after."""

    error: ClassVar[type[EncodeError | JsonError]] = EncodeError

    def __init__(self, message: type[Root]) -> None:
        self.message = message
        self.path: list[str | int] = []

    def each(self, elements: Iterable[T]) -> Iterator[T]:
        """Yield one element after the other; while it is looked at, the path has its number."""
        for number, element in enumerate(elements):
            self.path.append(number)
            yield element
            self.path.pop()

    def expect(self, value: object, types: type | tuple[type, ...], wanted: str) -> Any:
        """Check that a value is of one of the types, and return it."""
        if not isinstance(value, types):
            self.fail(f"must be {wanted}, not {self.kind(value)}")
        return value

    def kind(self, value: object) -> str:
        """Describe a value in words."""
        return "None" if value is None else type(value).__name__

    def fail(self, reason: str) -> NoReturn:
        raise self.error(self.message.NAME, self.message.VERSION, path_text(self.path), reason)


R = TypeVar("R", bound=Root)


def _module(cls: type[Root], version: int) -> ModuleType:
    return import_module(f"{_generated_class(cls).__module__.rpartition('.')[0]}.v{version}")


def _generated_class(cls: type[R]) -> type[R]:
    """Find the generated class of a message: the class itself, or the base that a user's subclass is derived from."""
    return next(base for base in cls.__mro__ if "VERSION" in vars(base))


def in_version(cls: type[R], version: int) -> type[R]:
    """Find the class of the same message in another version.

    Raises:
        UnsupportedVersionError: the message has no such version.
    """
    if type(version) is not int:
        version = expect_version(version)
    if version == cls.VERSION:
        return cls
    if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
        known = range(cls.MIN_VERSION, cls.MAX_VERSION + 1)
        raise UnsupportedVersionError(unknown_version(version, known, cls.NAME))
    found: type[R] = getattr(_module(cls, version), _generated_class(cls).__name__)
    return found


def fields_of_other_versions(message: type[Root], struct: type[Struct]) -> Iterator[tuple[int, Field]]:
    """Yield the attributes of a struct in the message's other versions: first the later ones, then the earlier ones."""
    later = range(message.VERSION + 1, message.MAX_VERSION + 1)
    earlier = range(message.VERSION - 1, message.MIN_VERSION - 1, -1)
    for version in (*later, *earlier):
        other = getattr(_module(message, version), struct.__name__, None)
        for field in other.ATTRIBUTES if other is not None else ():
            yield version, field


class Fault(NamedTuple):
    """A wrong value, and what would be right."""

    what: str
    right: str
    """The remedy, as an instruction."""


def is_required(field: Field) -> bool:
    """True if an attribute has no default, so that the constructor needs a value."""
    return field.is_attribute and field.default is None and not field.nullable


def is_narrow(field: Field) -> bool:
    """True if a field is written with fewer bits than its type has."""
    if field.encoding is None:
        return field.bits is not None
    return ENCODINGS[field.encoding].bits < TYPES[field.element].bits


def fault(field: Field, length: int, length_of: Callable[[str], int | None]) -> Fault | None:
    """Find the fault of a value that is not null, if any.

    `length_of` gives the length of another attribute of the struct; None if the attribute is null.
    """
    if (other := field.same_length_as) and length != (theirs := length_of(other)):
        there = "is null" if theirs is None else f"has {theirs}"
        return Fault(f"array of {length} elements, but {other} {there}", "both must have the same length")
    return None


def fault_of_null(field: Field, is_set: Callable[[str], Any]) -> Fault | None:
    """Find the fault of a null, if any; `is_set` returns the value of a bit of the struct, by its name."""
    if (bit := field.required_if) and is_set(bit):
        return Fault(f"is null, but {bit} is set", "give a value")
    return None


def meet_conditions(cls: type[Struct], values: dict[str, Any]) -> None:
    """Shorten values of a struct, and clear bits that need one, until they meet the conditions."""
    first: dict[str, str] = {}
    for field in cls.FIELDS:
        if field.required_if and values[field.name] is None:
            values[field.required_if] = False
        if field.same_length_as:
            first[field.name] = first.get(field.same_length_as, field.same_length_as)
    for one in set(first.values()):
        alike = [one, *(name for name in first if first[name] == one)]
        count = min(len(values[name]) for name in alike)
        for name in alike:
            values[name] = values[name][:count]
