"""Which requests have no answer: those of Produce that ask for none, by `acks` of 0. Read without the rest of them."""

from __future__ import annotations

import struct

from kipwire.api_keys import PRODUCE_KEY
from kipwire.errors import DecodeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.messages import Message
    from kipwire.registry import Registry

_INT16 = struct.Struct(">h")
_UVARINT_BITS = 35


def is_answered(registry: Registry, frame: bytes, api_key: int, version: int) -> bool:
    """Whether a request wants an answer; one that cannot be read does.

    Args:
        registry: that of the package.
        frame: the request with its header.
        api_key: that of the request.
        version: that of the request.
    """
    if api_key != PRODUCE_KEY or not registry.has_request(api_key, version):
        return True
    cls = registry.request(api_key, version)
    try:
        header = registry.with_header("RequestHeader").message("RequestHeader", cls.HEADER_VERSION)
        return _acks(cls, frame, header.read(frame)[1]) != 0
    except (DecodeError, struct.error, IndexError):
        return True


def _acks(cls: type[Message], frame: bytes, at: int) -> int | None:
    """The number of acknowledgements that a Produce request asks for; None where its class has no such field."""
    number: int
    for field in cls.FIELDS:
        if field.name == "acks":
            (number,) = _INT16.unpack_from(frame, at)
            return number
        if field.element != "string" or field.tag is not None:
            return None
        at = _end_of_string(frame, at, field.compact)
    return None


def _end_of_string(frame: bytes, at: int, compact: bool) -> int:
    if not compact:
        (size,) = _INT16.unpack_from(frame, at)
        return at + _INT16.size + max(int(size), 0)
    size = shift = 0
    while shift < _UVARINT_BITS:
        size |= (frame[at] & 0x7F) << shift
        shift += 7
        at += 1
        if frame[at - 1] < 0x80:
            return at + max(size - 1, 0)
    return len(frame)  # where nothing can be read
