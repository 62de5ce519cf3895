"""From one version of a message to another, by the rule of Kafka's writers: only what may be dropped is dropped."""

from __future__ import annotations

from typing import Any

from kipwire.errors import ConversionError, path_text
from kipwire.paths import Visitor
from kipwire.versions import in_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.messages import Message
    from kipwire.structs import Field, Struct


def convert(message: Message, version: int) -> Message:
    """The message in another version; the given one stays as it is, nothing is shared between the two.

    A field that the other version does not have is dropped if it has its default value or is ignorable (the spec's
    `ignorable`). Fields that only the other version has get their defaults. Unknown tagged fields are kept if the
    other version is flexible.

    Raises:
        ConversionError: something would be lost: a field that may not be dropped, a null where the other version
            allows none, unknown tagged fields. Everything that would be lost is named.
        UnsupportedVersionError: the message has no such version.
    """
    target = in_version(type(message), version)
    conversion = _Conversion(target)
    result = conversion.struct(message, target)
    if conversion.lost:
        paths = [path for path, _ in conversion.lost]
        reason = "; ".join(f"{path}: {why}" for path, why in conversion.lost)
        raise ConversionError(message.NAME, message.VERSION, paths[0], f"cannot become version {version}: {reason}")
    return result  # type: ignore[no-any-return]


class _Conversion(Visitor):
    """One conversion: where it is, and what it would lose."""

    def __init__(self, target: type[Message]) -> None:
        super().__init__(target)
        self.lost: list[tuple[str, str]] = []

    def lose(self, why: str) -> None:
        self.lost.append((path_text(self.path), why))

    def struct(self, item: Struct, target: type[Any]) -> Any:
        targets = {field.spec_name: field for field in target.ATTRIBUTES}
        values = {}
        for field in item.ATTRIBUTES:
            value = getattr(item, field.name)
            self.path.append(field.name)
            other = targets.get(field.spec_name)
            if other is not None:
                values[other.name] = self.field(field, other, value)
            elif not field.ignorable and not field.is_default(value):
                self.lose(f"version {self.message.VERSION} has no such field, and it is not ignorable")
            self.path.pop()
        result = target(**values)
        if unknown := item.FLEXIBLE and item._unknown_tagged_fields:
            if target.FLEXIBLE:
                result.unknown_tagged_fields = dict(unknown)
            else:
                self.path.append("unknown_tagged_fields")
                self.lose(f"version {self.message.VERSION} is not flexible and has no tagged fields")
                self.path.pop()
        return result

    def field(self, field: Field, other: Field, value: Any) -> Any:
        if value is None:
            if not other.nullable:
                self.lose(f"null, which version {self.message.VERSION} does not allow here")
            return None
        if other.struct is None:
            return list(value) if field.array else value
        if not field.array:
            return self.struct(value, other.struct)
        return [self.struct(element, other.struct) for element in self.each(value)]
