"""Counts for `kipgen advise --tags`: bytes of lengths and of tag sections, and how often fields are at their defaults.

Every message is measured in its flexible form (KIP-482): compact lengths, and a tag section after each struct. For a
message of an earlier version that is the form that it would have. Sizes are summed up from the field metadata of
generated classes, apart from the generated code that writes messages, so tests can compare the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

from kipwire import Message
from kipwire.model.structs import DEFAULT, Field, Struct
from kipwire.model.types import ENCODINGS, TYPES

_LENGTH = {"int16": 2, "int32": 4}
"""Bytes of the lengths before KIP-482."""
_COUNT = 4
"""Bytes of an array's count before KIP-482."""
_MARKER = 1
"""Bytes that say if a nullable struct is there."""


@dataclass(slots=True)
class Forms:
    """Bytes of messages that KIP-482 saves and costs."""

    messages: int = 0
    bytes: int = 0
    """Bytes as they were sent, without headers."""
    lengths: int = 0
    """Bytes by which compact lengths are shorter than lengths of fixed width."""
    empty_sections: int = 0
    """Tag sections without a field, each of one byte."""
    other_sections: int = 0

    def add(self, other: Forms) -> None:
        """Add others."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class FieldUse:
    """Use of a field in all messages of one name."""

    values: int = 0
    at_default: int = 0
    default_bytes: int = 0
    """Bytes that the values at the default take in a plain field; in a tagged one they take none."""
    sent: dict[int, int] = field(default_factory=dict)
    """Other values, by the bytes of the size that each has before it in a tagged field."""

    def merged(self, other: FieldUse) -> FieldUse:
        """Add two uses up."""
        sent = {size: self.sent.get(size, 0) + other.sent.get(size, 0) for size in {*self.sent, *other.sent}}
        return FieldUse(
            self.values + other.values,
            self.at_default + other.at_default,
            self.default_bytes + other.default_bytes,
            sent,
        )

    def cost(self, tag: int) -> int:
        """Compute the bytes by which the values that are not at the default are longer with this tag."""
        return sum((uvarint_size(tag) + size) * count for size, count in self.sent.items())


class TagCounts:
    """Counts of the messages of one name, in any versions."""

    def __init__(self, message: str) -> None:
        self.message = message
        self.versions: dict[int, int] = {}
        """Number of messages by version."""
        self.flexible, self.others = Forms(), Forms()
        """Bytes of messages of flexible versions, and of others, which would save and cost as much."""
        self.fields: dict[str, FieldUse] = {}
        """Use of each field by its path in the names of the spec."""
        self._forms = Forms()
        """Bytes of the message that is counted now."""
        self._known: dict[int, bool] = {}
        """The structs of that message, by id: True for a struct of defaults."""

    def add(self, message: Message) -> None:
        """Count one more message, which must be one that can be encoded."""
        cls = type(message)
        self.versions[cls.VERSION] = self.versions.get(cls.VERSION, 0) + 1
        self._forms = Forms()
        self._known.clear()
        size = self._struct(message, _parts(cls, ""))  # type: ignore[arg-type]  # the class is hashable
        forms = self._forms
        forms.messages = 1
        forms.bytes = size if cls.FLEXIBLE else size + forms.lengths - forms.empty_sections
        (self.flexible if cls.FLEXIBLE else self.others).add(forms)

    def _struct(self, struct: Struct, parts: tuple[_Part, ...]) -> int:
        """Count a struct and all in it; return the bytes of its flexible form."""
        size = tagged = 0
        for part in parts:
            value = part.get(struct)
            use = self.fields.get(part.path)
            if use is None:
                use = self.fields[part.path] = FieldUse()
            use.values += 1
            is_default = self._is_default(part.field, value)
            if part.field.tag is not None and is_default:
                use.at_default += 1
                use.default_bytes += _unsent(part._replace(path=""))  # ways to a shared struct cost nothing more
                continue
            data = self._value(part, value)
            if is_default:
                use.at_default += 1
                use.default_bytes += data
            else:
                length = uvarint_size(data)
                use.sent[length] = use.sent.get(length, 0) + 1
                if part.field.tag is not None:
                    size += uvarint_size(part.field.tag) + length
                    tagged += 1
            size += data
        if type(struct).FLEXIBLE:
            for tag, unknown in (struct._unknown_tagged_fields or {}).items():
                size += uvarint_size(tag) + uvarint_size(len(unknown)) + len(unknown)
                tagged += 1
        if tagged:
            self._forms.other_sections += 1
        else:
            self._forms.empty_sections += 1
        return size + uvarint_size(tagged)

    def _is_default(self, field: Field, value: Any) -> bool:
        """Decide as `Field.is_default`, but look at each struct of a message once, however deep it is."""
        if value is DEFAULT:
            return True
        if field.struct is None or field.array or value is None or field.default is None:
            return field.is_default(value)
        known = self._known.get(id(value))
        if known is None:
            is_all = all(self._is_default(one, getattr(value, one.slot)) for one in value.ATTRIBUTES)
            known = is_all and not (value.FLEXIBLE and value._unknown_tagged_fields)
            self._known[id(value)] = known
        return known

    def _value(self, part: _Part, value: Any) -> int:
        """Count a field's value; return its bytes, with its length, count or marker."""
        if not part.field.array:
            if part.parts is None:
                return self._primitive(part, value)
            if value is None:
                return _MARKER
            return self._struct(value, part.inner()) + (_MARKER if part.field.nullable else 0)
        size = self._length(part, _COUNT, None if value is None else len(value))
        if value is None:
            return size
        if part.parts is not None:
            inner = part.inner()
            return size + sum([self._struct(one, inner) for one in value])
        return size + (len(value) * part.width if part.width else sum([self._primitive(part, one) for one in value]))

    def _primitive(self, part: _Part, value: Any) -> int:
        if part.width:
            return part.width
        if part.prefix:
            size = None if value is None else len(value.encode() if isinstance(value, str) else value)
            return self._length(part, part.prefix, size) + (size or 0)
        return varint_size(part.field.encoding or "", value)

    def _length(self, part: _Part, fixed: int, length: int | None) -> int:
        """Count a length or a count, of null too; return its bytes."""
        if part.is_classic:
            return fixed
        size = 1 if length is None else uvarint_size(length + 1)
        self._forms.lengths += fixed - size
        return size


class TagCounter:
    """Counts of the messages of several names."""

    def __init__(self) -> None:
        self.by_name: dict[str, TagCounts] = {}

    @property
    def messages(self) -> int:
        """Number of messages added."""
        return sum(one.flexible.messages + one.others.messages for one in self.by_name.values())

    def add_all(self, messages: Sequence[Message]) -> None:
        """Count messages."""
        for message in messages:
            name = message.NAME
            if name not in self.by_name:
                self.by_name[name] = TagCounts(name)
            self.by_name[name].add(message)


class _Part(NamedTuple):
    """A field of a class, with what decides about its bytes."""

    field: Field
    path: str
    get: Any
    parts: type[Struct] | None
    """The struct, or the struct of an array's elements."""
    width: int
    """Bytes of one value; 0 where they vary."""
    prefix: int
    """Bytes of the length of one value before KIP-482; 0 where it has none."""
    is_classic: bool
    """True if the field's own `flexibleVersions` keep its length as it was."""

    def inner(self) -> tuple[_Part, ...]:
        return _parts(self.parts, self.path)  # type: ignore[arg-type]  # the class is hashable


@lru_cache(maxsize=4096)
def _parts(cls: type[Struct], path: str) -> tuple[_Part, ...]:
    parts = []
    for one in cls.ATTRIBUTES:
        where = f"{path}.{one.spec_name}" if path else one.spec_name
        width = prefix = 0
        if one.struct is None:
            width = 0 if one.is_varint else TYPES[one.element].width
            if one.encoding is not None and not one.is_varint:
                width = ENCODINGS[one.encoding].bits // 8
            prefix = _LENGTH.get(TYPES[one.element].prefix, 0)
        # The slot, not the property: reading the property would make the struct of defaults.
        get = attrgetter(one.slot)
        parts.append(_Part(one, where, get, one.struct, width, prefix, cls.FLEXIBLE and one._compact is False))
    return tuple(parts)


@lru_cache(maxsize=4096)
def _unsent(part: _Part) -> int:
    """Compute the bytes that the default of a tagged field would take in a plain one."""
    return TagCounts("")._value(part, part.field.default_value())


def uvarint_size(number: int) -> int:
    """Compute the bytes of an unsigned varint."""
    return max(-(-number.bit_length() // 7), 1)


def varint_size(encoding: str, number: int) -> int:
    """Compute the bytes of an integer under a varint encoding of KIP-625."""
    packed = ENCODINGS[encoding]
    if packed.scheme == "packed":
        return uvarint_size((number << 1) ^ (number >> packed.bits))
    return uvarint_size(number & ((1 << packed.bits) - 1))
