"""From a class of one version to its counterparts in others."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import TypeVar

from kipwire.errors import UnsupportedVersionError
from kipwire.structs import Field, Root, Struct

R = TypeVar("R", bound=Root)


def _module(cls: type[Root], version: int) -> ModuleType:
    return import_module(f"{cls.__module__.rpartition('.')[0]}.v{version}")


def in_version(cls: type[R], version: int) -> type[R]:
    """The class of the same message in another version.

    Raises:
        UnsupportedVersionError: the message has no such version.
    """
    if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
        known = f"{cls.MIN_VERSION} to {cls.MAX_VERSION}"
        raise UnsupportedVersionError(f"there is no version {version} of {cls.NAME}; it has {known}")
    found: type[R] = getattr(_module(cls, version), cls.__name__)
    return found


def fields_of_other_versions(message: type[Root], struct: type[Struct]) -> Iterator[tuple[int, Field]]:
    """The attributes that a struct has in the message's other versions: first the later ones, then the earlier ones."""
    later = range(message.VERSION + 1, message.MAX_VERSION + 1)
    earlier = range(message.VERSION - 1, message.MIN_VERSION - 1, -1)
    for version in (*later, *earlier):
        other = getattr(_module(message, version), struct.__name__, None)
        for field in other.ATTRIBUTES if other is not None else ():
            yield version, field
