"""Walks through the values of one message, which know where they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, NoReturn, TypeVar

from kipwire.errors import EncodeError, JsonError, path_text
from kipwire.structs import Root

T = TypeVar("T")


class Visitor:
    """One walk: whoever goes into a field or an element adds it to the path, and takes it off again."""

    error: ClassVar[type[EncodeError | JsonError]] = EncodeError

    def __init__(self, message: type[Root]) -> None:
        self.message = message
        self.path: list[str | int] = []

    def each(self, elements: Iterable[T]) -> Iterator[T]:
        """One element after the other; while it is looked at, the path has its number."""
        for number, element in enumerate(elements):
            self.path.append(number)
            yield element
            self.path.pop()

    def expect(self, value: object, types: type | tuple[type, ...], wanted: str) -> Any:
        """The value, which must be of one of the types."""
        if not isinstance(value, types):
            self.fail(f"must be {wanted}, not {self.kind(value)}")
        return value

    def kind(self, value: object) -> str:
        """What a value is, in words."""
        return "None" if value is None else type(value).__name__

    def fail(self, reason: str) -> NoReturn:
        raise self.error(self.message.NAME, self.message.VERSION, path_text(self.path), reason)
