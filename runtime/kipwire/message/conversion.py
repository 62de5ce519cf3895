"""From another version or from plain values to a message, by the rule of Kafka's writers: what may be dropped is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar, overload

from kipwire.description.fields import Visitor, fields_of_other_versions, in_version, is_required
from kipwire.description.values import out_of_range
from kipwire.message.messages import Message
from kipwire.model.errors import ConversionError, UnsupportedVersionError, path_text
from kipwire.model.structs import DEFAULT, Field, Root, Struct
from kipwire.model.types import ENCODINGS, TYPES
from kipwire.tools.text import did_you_mean

M = TypeVar("M", bound="Message")


@overload
def convert(message: Message, version: int) -> Message: ...
@overload
def convert(message: Message, version: type[M]) -> M: ...
def convert(message: Message, version: int | type[Message]) -> Message:
    """The message in another version; the given one stays as it is, nothing is shared between the two.

    A field that the other version does not have is dropped if it has its default value or is ignorable (the spec's
    `ignorable`). Fields that only the other version has get their defaults. Unknown tagged fields are kept if the
    other version is flexible.

    Args:
        message: in any version.
        version: the other version's number, or its class.

    Raises:
        ConversionError: something would be lost: a field that may not be dropped, a null where the other version
            allows none, a number that its narrower encoding there does not hold, unknown tagged fields. Everything that
            would be lost is named.
        UnsupportedVersionError: the message has no such version, or the class is that of another message.
    """
    if isinstance(version, int):
        target = in_version(type(message), version)
    elif version.NAME == message.NAME:
        target = version
    else:
        raise UnsupportedVersionError(f"{message.NAME} cannot become {version.NAME}, which is another message")
    conversion = _Conversion(target)
    result: Message = conversion.whole(conversion.struct(message, target), message.VERSION)
    return result


def build(cls: type[M], values: Mapping[str, Any]) -> M:
    """A message of plain values: numbers, texts, lists, and for structs a mapping each or an instance of any version.

    A value whose field only other versions have is dropped by the rule of `convert`: if it is the field's default or
    the field is ignorable. Fields without a value get their defaults; a required field has none. What a value is is not
    checked until the message is encoded.

    Args:
        cls: the class of the message.
        values: by the names of attributes, as in `{"topics": [{"name": "orders"}]}`.

    Raises:
        ConversionError: something would be lost (all of it is named), no version has a field of some name, or a
            required field has no value.
    """
    conversion = _Conversion(cls)
    result: M = conversion.whole(conversion.struct(values, cls), cls.VERSION)
    return result


class _Conversion(Visitor):
    """One conversion: where it is, and what it would lose."""

    def __init__(self, target: type[Root]) -> None:
        super().__init__(target)
        self.lost: list[tuple[str, str]] = []

    def lose(self, why: str) -> None:
        self.lost.append((path_text(self.path), why))

    def whole(self, result: Any, version: int) -> Any:
        """The result, if nothing is lost.

        Raises:
            ConversionError: something is.
        """
        if not self.lost:
            return result
        reason = "; ".join(f"{path}: {why}" for path, why in self.lost)
        raise ConversionError(
            self.message.NAME, version, self.lost[0][0], f"cannot become version {self.message.VERSION}: {reason}"
        )

    def struct(self, item: Struct | Mapping[str, Any], target: type[Struct]) -> Any:
        targets = {field.spec_name: field for field in target.ATTRIBUTES}
        values = {}
        for name, field, value in self.given(item, target):
            self.path.append(name)
            other = targets.get(field.spec_name) if field is not None else None
            if value is DEFAULT and field is not None:
                # What nobody has asked for is not made: it is the default here, and dropped where there is none.
                if other is not None and not other.is_lazy:
                    values[other.name] = self.field(other, field.default_value())
            elif other is not None:
                values[other.name] = self.field(other, value)
            elif field is None:
                self.lose(
                    f"no version has a field of this name{did_you_mean(name, [one.name for one in target.ATTRIBUTES])}"
                )
            elif not field.ignorable and not self.is_default(field, value):
                self.lose(f"version {self.message.VERSION} has no such field, and it is not ignorable")
            self.path.pop()
        for narrow in _narrow_fields(target):  # type: ignore[arg-type]  # mypy asks its instances for a hash
            self.numbers(narrow, values.get(narrow.name))
        for field in _required_fields(target):  # type: ignore[arg-type]  # likewise
            if field.name not in values:
                self.path.append(field.name)
                self.lose("a value is required, since the field has no default")
                self.path.pop()
                values[field.name] = None
        result = target(**values)
        unknown = _unknown_tagged_fields(item)
        if unknown:
            self.unknown(unknown, target, result)
        return result

    def given(self, item: Struct | Mapping[str, Any], target: type[Struct]) -> Iterator[tuple[str, Field | None, Any]]:
        """The values of a struct, by name, each with its field in any version; None where no version has one."""
        if isinstance(item, Struct):
            for field in item.ATTRIBUTES:
                yield field.name, field, DEFAULT if field.is_unmade(item) else getattr(item, field.name)
            return
        fields = {field.name: field for field in target.ATTRIBUTES}
        for name, value in item.items():
            if name != "unknown_tagged_fields":
                yield name, fields.get(name) or self.foreign(name, target), value

    def foreign(self, name: str, target: type[Struct]) -> Field | None:
        """The field of that name in the nearest of the other versions that have one."""
        return next((field for _, field in fields_of_other_versions(self.message, target) if field.name == name), None)

    def is_default(self, field: Field, value: Any) -> bool:
        """Whether a value that is to be dropped is the default of its field, plain or as a message has it."""
        if field.struct is not None and not field.array and isinstance(value, Mapping):
            value = _Conversion(self.message).struct(value, field.struct)
        return field.is_default(value)

    def unknown(self, fields: dict[int, bytes], target: type[Struct], result: Any) -> None:
        self.path.append("unknown_tagged_fields")
        if target.FLEXIBLE:
            result.unknown_tagged_fields = dict(fields)
        else:
            self.lose(f"version {self.message.VERSION} is not flexible and has no tagged fields")
        self.path.pop()

    def field(self, other: Field, value: Any) -> Any:
        if value is None:
            if not other.nullable:
                self.lose(f"null, which version {self.message.VERSION} does not allow here")
            return None
        if other.struct is None:
            return list(value) if other.array and isinstance(value, (list, tuple)) else value
        if not other.array:
            return self.element(value, other.struct)
        if not isinstance(value, (list, tuple)):
            return value
        return [self.element(element, other.struct) for element in self.each(value)]

    def numbers(self, other: Field, value: Any) -> None:
        """Note the numbers of a field that its narrower form does not hold; anything else fails when it is encoded."""
        self.path.append(other.name)
        if not other.array:
            self.number(other, value)
        elif isinstance(value, (list, tuple)):
            for number in self.each(value):
                self.number(other, number)
        self.path.pop()

    def number(self, other: Field, value: Any) -> None:
        if isinstance(value, int) and (why := out_of_range(other, value)):
            self.lose(why)

    def element(self, value: Any, target: type[Struct]) -> Any:
        """A struct; what is none stays as it is, and is refused when the message is encoded."""
        return self.struct(value, target) if isinstance(value, (Struct, Mapping)) else value


@lru_cache(maxsize=1024)
def _narrow_fields(target: type[Struct]) -> tuple[Field, ...]:
    """The fields of a class that hold fewer numbers than their types; most classes have none, and lose no time."""
    return tuple(field for field in target.ATTRIBUTES if _is_narrow(field))


@lru_cache(maxsize=1024)
def _required_fields(target: type[Struct]) -> tuple[Field, ...]:
    """The fields of a class that have no default; most classes have none, and lose no time."""
    return tuple(filter(is_required, target.ATTRIBUTES))


def _is_narrow(field: Field) -> bool:
    """Whether a field is written with fewer bits than its type has."""
    if field.encoding is None:
        return field.bits is not None
    return ENCODINGS[field.encoding].bits < TYPES[field.element].bits


def _unknown_tagged_fields(item: Struct | Mapping[str, Any]) -> dict[int, bytes] | None:
    if isinstance(item, Struct):
        return item._unknown_tagged_fields if item.FLEXIBLE else None
    return item.get("unknown_tagged_fields")
