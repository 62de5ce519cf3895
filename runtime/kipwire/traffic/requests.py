"""The headers of requests, as far as needed to find the client, and which response belongs to which request."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache
from struct import Struct
from typing import NamedTuple

from kipwire import KipwireError, UnsupportedVersionError
from kipwire.connection.events import CORRELATION_ID, HEAD
from kipwire.message.combined import combine
from kipwire.message.frames import LARGEST_FRAME, SIZE_BYTES
from kipwire.message.registry import KAFKA_PACKAGE, Registry, registry_of

SMALLEST_REQUEST = HEAD.size
"""The fewest bytes of a request frame: API key, version and correlation id."""
SMALLEST_RESPONSE = CORRELATION_ID.size
"""The fewest bytes of a response frame: the correlation id."""

_CLIENT_ID_SIZE = Struct(">h")
_SIZED_HEADER = Struct(">ihhih")
_FIELDS_OF_HEAD = 3
"""The client id is the next field, unless a protocol has other headers than Kafka."""
_NEARLY = 8
"""Number of versions beyond the known ones that are accepted, for newer and older peers."""
_HIGHEST_VERSION = 255
"""No message has more than 20 versions after 14 years."""


class Likeness(IntEnum):
    """Degrees to which a frame is like a request: responses with small correlation ids have the head of one."""

    NONE = 0
    POSSIBLE = 1
    """It has the head of a request, and the rest says nothing."""
    LIKELY = 2
    """It is valid to its last byte, but names no client; or it names one, and is incomplete."""
    SURE = 3
    """It names its client, and is valid to its last byte."""


class Request(NamedTuple):
    """The header of a request."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    """Client id; also None if it was not captured, is not UTF-8, or is not in the header."""


def kafka() -> Registry:
    """Return the registry of Kafka's messages, which captures are read with unless others are given."""
    return registry_of(KAFKA_PACKAGE)


def beside_kafka(packages: Iterable[str]) -> Registry:
    """Return the registry of Kafka's messages and of other packages.

    Raises:
        PackageError: there is no such package, or two have an API key in common.
    """
    return combine(kafka(), *map(registry_of, packages))


def request_of(frame: bytes, registry: Registry | None = None) -> Request | None:
    """Decode the header of a request frame, or of its beginning; None if there are too few bytes.

    Args:
        frame: the bytes.
        registry: of the protocol, here and below; by default Kafka's.
    """
    registry = registry or kafka()
    if len(frame) < HEAD.size:
        return None
    api_key, api_version, correlation_id = HEAD.unpack_from(frame)
    client_id = _client_id(frame) if _names_client(registry, api_key, api_version) else None
    return Request(api_key, api_version, correlation_id, client_id)


def begins_request(data: bytes, registry: Registry | None = None) -> bool | None:
    """True if bytes from anywhere in what a client sends begin with a request; None if there are too few to decide.

    A client id of printable text is enough. Without one, which is what zeros within other content look like, or with
    any other, the request must be complete and valid to its last byte; only null is accepted before the rest is there.
    """
    registry = registry or kafka()
    if len(data) < _SIZED_HEADER.size:
        return None
    size, *_, client_id_size = _SIZED_HEADER.unpack_from(data)
    likeness = likeness_of(data[SIZE_BYTES : max(size, 0) + SIZE_BYTES], size, registry)
    if likeness is not Likeness.POSSIBLE:
        return likeness is not Likeness.NONE
    return _names_itself(data, registry) or client_id_size < 0 or len(data) >= size + SIZE_BYTES


def may_begin_request(data: bytes, registry: Registry | None = None) -> bool | None:
    """True if bytes of either side may begin with a request, which the rest must show; None as for `begins_request`."""
    if len(data) < _SIZED_HEADER.size:
        return None
    size, *_ = _SIZED_HEADER.unpack_from(data)
    return likeness_of(data[SIZE_BYTES : max(size, 0) + SIZE_BYTES], size, registry) is not Likeness.NONE


def opens_with_request(data: bytes, registry: Registry | None = None) -> bool | None:
    """True if the first bytes that a client sends begin with a request; None if there are too few to decide.

    Any client id is accepted, unless the request is complete and not valid. An unknown API or version, such as of a
    newer client, must name its client in printable text.
    """
    registry = registry or kafka()
    if len(data) < _SIZED_HEADER.size:
        return None
    if is_of_unknown_api(data, registry):
        return _names_itself(data, registry) and why_no_request(data, registry, is_known=True) is None
    return why_no_request(data, registry) is None and (
        _has_plain_client(data, registry) or _is_decoded(data, registry) is not False
    )


def is_of_unknown_api(data: bytes, registry: Registry | None = None) -> bool:
    """True if bytes begin with the API key and version of no request that is known, but such as a request can have."""
    registry = registry or kafka()
    _, api_key, version, _, _ = _SIZED_HEADER.unpack_from(data)
    return api_key >= 0 and 0 <= version <= _HIGHEST_VERSION and not _is_known(registry, api_key, version)


def likeness_of(frame: bytes, size: int, registry: Registry | None = None) -> Likeness:
    """Estimate if a frame of unknown direction is a request.

    Args:
        frame: its bytes, or the first of them.
        size: the number of bytes of the whole frame.
        registry: of the protocol; by default Kafka's.
    """
    registry = registry or kafka()
    if not 0 <= size <= LARGEST_FRAME:
        return Likeness.NONE
    data = size.to_bytes(SIZE_BYTES) + frame
    if len(data) < _SIZED_HEADER.size or why_no_request(data, registry) is not None:
        return Likeness.NONE
    is_named = _names_itself(data, registry)
    if not _exists(registry, *_SIZED_HEADER.unpack_from(data)[1:3]):
        return Likeness.POSSIBLE if is_named else Likeness.NONE
    if len(frame) < size:
        return Likeness.LIKELY if is_named else Likeness.POSSIBLE
    if not _is_decoded(data, registry):
        return Likeness.POSSIBLE if is_named else Likeness.NONE
    if _client_id(frame):
        return Likeness.SURE
    # Zeros alone can as well be a response without content.
    return Likeness.LIKELY if any(frame[HEAD.size + _CLIENT_ID_SIZE.size :]) else Likeness.POSSIBLE


def why_no_request(data: bytes, registry: Registry | None = None, *, is_known: bool = False) -> str | None:
    """Explain why bytes cannot be the size of a request frame and its header; None if they can, or are too few.

    A client id may have any bytes, as for brokers, also such as are no text; but not a zero byte. No client written in
    C can send one, and other protocols that begin with a size have them where the client id would be.

    Args:
        data: the bytes.
        registry: of the protocol; by default Kafka's.
        is_known: True to take any API key and version for a known one.
    """
    registry = registry or kafka()
    if len(data) < _SIZED_HEADER.size:
        return None
    size, api_key, version, _, client_id_size = _SIZED_HEADER.unpack_from(data)
    rest = size + SIZE_BYTES - _SIZED_HEADER.size
    if not 0 <= rest <= LARGEST_FRAME:
        return f"no request has a size of {size:,}"
    if not is_known and not _is_known(registry, api_key, version):
        return f"no request has API key {api_key} and version {version}"
    if not _names_client(registry, api_key, version):
        return None
    if not -1 <= client_id_size <= rest:
        return f"no client id has {client_id_size:,} bytes in a request of {size:,}"
    if 0 in data[_SIZED_HEADER.size :][: max(client_id_size, 0)]:
        return "no client id has a zero byte"
    return None


def _has_plain_client(data: bytes, registry: Registry) -> bool:
    """True if the client id, as far as it is there, is printable text, or there is none."""
    _, api_key, version, _, size = _SIZED_HEADER.unpack_from(data)
    if not _names_client(registry, api_key, version):
        return True
    return data[_SIZED_HEADER.size :][: max(size, 0)].decode("utf-8", "replace").isprintable()


def _names_itself(data: bytes, registry: Registry) -> bool:
    """True if the client id, as far as it is there, is printable text, and not empty."""
    _, api_key, version, _, size = _SIZED_HEADER.unpack_from(data)
    return (
        size > 0
        and len(data) > _SIZED_HEADER.size
        and _names_client(registry, api_key, version)
        and _has_plain_client(data, registry)
    )


def _is_decoded(data: bytes, registry: Registry) -> bool | None:
    """True if bytes begin with a request valid to its last byte; None if it is incomplete, or of an unknown version."""
    size, api_key, version, _, client_id_size = _SIZED_HEADER.unpack_from(data)
    end = size + SIZE_BYTES
    if len(data) < end or not _exists(registry, api_key, version):
        return None
    frame = data[SIZE_BYTES:end]
    if _names_client(registry, api_key, version):  # which may be no text
        frame = frame[: HEAD.size] + _CLIENT_ID_SIZE.pack(-1) + data[_SIZED_HEADER.size + max(client_id_size, 0) : end]
    try:
        registry.decode_request(frame)
    except KipwireError:
        return False
    return True


def is_request(frame: bytes, registry: Registry | None = None) -> bool:
    """True if a frame can be a request, and nothing else that follows a size."""
    return begins_request(len(frame).to_bytes(4) + frame, registry) is True


@lru_cache(maxsize=4096)
def _is_known(registry: Registry, api_key: int, version: int) -> bool:
    """True if there is a request of that key in about that version."""
    return version >= 0 and any(
        _exists(registry, api_key, one) for one in range(version - _NEARLY, version + _NEARLY + 1)
    )


@lru_cache(maxsize=4096)
def _names_client(registry: Registry, api_key: int, version: int) -> bool:
    """True if the header of a request has a client id, which only the oldest lack."""
    if not _exists(registry, api_key, version):
        return True
    header = registry.request_header_class(api_key, version)
    fourth = header.FIELDS[_FIELDS_OF_HEAD] if len(header.FIELDS) > _FIELDS_OF_HEAD else None
    return fourth is not None and fourth.name == "client_id" and not fourth.compact


@lru_cache(maxsize=16384)
def _exists(registry: Registry, api_key: int, version: int) -> bool:
    try:
        registry.request_header_version(api_key, version)
    except UnsupportedVersionError:
        return False
    return True


def _client_id(frame: bytes) -> str | None:
    if len(frame) < HEAD.size + _CLIENT_ID_SIZE.size:
        return None
    (size,) = _CLIENT_ID_SIZE.unpack_from(frame, HEAD.size)
    start = HEAD.size + _CLIENT_ID_SIZE.size
    if not 0 <= size <= len(frame) - start:
        return None
    try:
        return frame[start : start + size].decode()
    except UnicodeDecodeError:
        return None
