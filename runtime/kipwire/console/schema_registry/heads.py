"""The head that serializers of a schema registry write before a value: the id of its schema, for protobuf the message.

    0, id (int32)                           before the value, by most serializers
    1, GUID (16 bytes)                      in the record header `__value_schema_id` or `__key_schema_id`
    count, index... (zigzag varints)        after either for protobuf: the path to the message in its file; 0 is [0]

Source: "Wire format" in Confluent's documentation of the schema registry; `SchemaId` of its clients.
"""

from __future__ import annotations

import struct
import uuid
from typing import Literal, NamedTuple

from kipwire.codec.wire import read_packed_array
from kipwire.model.errors import KipwireError, Malformed
from kipwire.records import Record
from kipwire.records.model import Header

Part = Literal["key", "value"]

_ID = struct.Struct(">xi")
_MAGIC, _MAGIC_OF_GUIDS = 0, 1
_GUID_SIZE = 16
_MOST_INDEXES = 100
"""Levels of nested messages: the same limit that libraries of protobuf have for reading them."""


class Context(NamedTuple):
    """Origin of bytes that a function decodes."""

    topic: str | None
    """Name of the topic; None if it is not in the name of the log's folder."""
    field: Part
    headers: list[Header]
    partition: int | None
    record: Record
    """All of the record, with the key and the value as bytes."""


class ValueFormError(KipwireError):
    """A value that is not as its schema, or the serializer, would have written it; the text is one line."""


class RegistryError(KipwireError):
    """A schema that the registry does not give, or that cannot be used; the text is one line without secrets."""


class Head(NamedTuple):
    """Identity of the schema of a value."""

    id: int | None
    """None if the value has a GUID."""
    guid: str | None = None
    indexes: tuple[int, ...] | None = None
    """Place of the message in its protobuf file: of the outermost, then within it; None if not read."""

    def __str__(self) -> str:
        return f"schema id {self.id}" if self.guid is None else f"schema {self.guid}"

    def shown(self) -> dict[str, object]:
        """Return the parts that there are, for JSON."""
        found = {"schema_id": self.id, "schema_guid": self.guid, "message_indexes": self.indexes}
        return {name: value for name, value in found.items() if value is not None}


def head_of(data: bytes, context: Context) -> tuple[Head, bytes]:
    """Split the id of the schema from a key or value.

    Args:
        data: the key or value.
        context: the record; its header comes before the first bytes, as in Confluent's deserializers.

    Returns:
        The head, without indexes, and the bytes after it.

    Raises:
        ValueFormError: there is no id.
    """
    name = f"__{context.field}_schema_id"
    for key, content in context.headers:
        if key == name and content is not None:
            return _head_of_header(name, content, data)
    if len(data) < _ID.size or data[0] != _MAGIC:
        found = f"the first byte is {data[0]}, not 0" if data and data[0] != _MAGIC else f"it has {len(data)} bytes"
        raise ValueFormError(f"no schema id, which is 5 bytes that begin with 0: {found}")
    return Head(_ID.unpack_from(data)[0]), data[_ID.size :]


def _head_of_header(name: str, content: bytes, data: bytes) -> tuple[Head, bytes]:
    if content[:1] == bytes([_MAGIC_OF_GUIDS]) and len(content) >= 1 + _GUID_SIZE:
        head, rest = Head(None, str(uuid.UUID(bytes=content[1 : 1 + _GUID_SIZE]))), content[1 + _GUID_SIZE :]
    elif content[:1] == bytes([_MAGIC]) and len(content) >= _ID.size:
        head, rest = Head(_ID.unpack_from(content)[0]), content[_ID.size :]
    else:
        raise ValueFormError(f"header {name} is neither 0 with an id of 4 bytes nor 1 with a GUID of 16")
    return (without_indexes(head, rest)[0] if rest else head), data


def without_indexes(head: Head, rest: bytes) -> tuple[Head, bytes]:
    """Split the message indexes from the bytes after an id of protobuf; they may have been in the header already.

    Raises:
        ValueFormError: they are cut off, or are none.
    """
    if head.indexes is not None:
        return head, rest
    try:
        (count,), at = read_packed_array(rest, 0, 1, 32)
        indexes, at = read_packed_array(rest, at, count, 32) if 0 <= count <= _MOST_INDEXES else ([], at)
    except (Malformed, IndexError):
        raise ValueFormError(f"{head}: the message indexes of protobuf, which follow the id, are cut off") from None
    if not 0 <= count <= _MOST_INDEXES or min(indexes, default=0) < 0:
        raise ValueFormError(f"{head}: no message indexes of protobuf follow the id; is the value of another format?")
    return head._replace(indexes=tuple(indexes) or (0,)), rest[at:]
