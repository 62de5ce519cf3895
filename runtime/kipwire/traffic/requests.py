"""The headers of requests, as far as needed to find the client, and which response belongs to which request."""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import NamedTuple

from kipwire import KipwireError, UnsupportedVersionError
from kipwire.connection.events import CORRELATION_ID, HEAD
from kipwire.message.frames import LARGEST_FRAME
from kipwire.message.registry import KAFKA_PACKAGE, registry_of

SMALLEST_REQUEST = HEAD.size
"""The fewest bytes of a request frame: API key, version and correlation id."""
SMALLEST_RESPONSE = CORRELATION_ID.size
"""The fewest bytes of a response frame: the correlation id."""

_SIZE_BYTES = 4
_CLIENT_ID_SIZE = Struct(">h")
_SIZED_HEADER = Struct(">ihhih")
_NEARLY = 8
"""Number of versions beyond the known ones that are accepted, for newer and older peers."""


class Request(NamedTuple):
    """The header of a request."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    """Client id; also None if it was not captured, is not UTF-8, or is not in the header."""


def request_of(frame: bytes) -> Request | None:
    """Decode the header of a request frame, or of its beginning; None if there are too few bytes."""
    if len(frame) < HEAD.size:
        return None
    api_key, api_version, correlation_id = HEAD.unpack_from(frame)
    client_id = _client_id(frame) if _names_client(api_key, api_version) else None
    return Request(api_key, api_version, correlation_id, client_id)


def begins_request(data: bytes) -> bool | None:
    """True if bytes from anywhere in a connection begin with a request; None if there are too few to decide.

    A client id of printable text is enough. With any other, which is more frequent in other bytes than in requests, the
    request must be complete and valid to its last byte.
    """
    if len(data) < _SIZED_HEADER.size:
        return None
    return why_no_request(data) is None and (_has_plain_client(data) or _is_decoded(data) is True)


def opens_with_request(data: bytes) -> bool | None:
    """True if the first bytes that a client sends begin with a request; None if there are too few to decide.

    Any client id is accepted, unless the request is complete and not valid.
    """
    if len(data) < _SIZED_HEADER.size:
        return None
    return why_no_request(data) is None and (_has_plain_client(data) or _is_decoded(data) is not False)


def why_no_request(data: bytes) -> str | None:
    """Explain why bytes cannot be the size of a request frame and its header; None if they can, or are too few.

    A client id may have any bytes, as for brokers, also such as are no text; but not a zero byte. No client written in
    C can send one, and other protocols that begin with a size have them where the client id would be.
    """
    if len(data) < _SIZED_HEADER.size:
        return None
    size, api_key, version, _, client_id_size = _SIZED_HEADER.unpack_from(data)
    rest = size + _SIZE_BYTES - _SIZED_HEADER.size
    if not 0 <= rest <= LARGEST_FRAME:
        return f"no request has a size of {size:,}"
    if not _is_known(api_key, version):
        return f"no request has API key {api_key} and version {version}"
    if not _names_client(api_key, version):
        return None
    if not -1 <= client_id_size <= rest:
        return f"no client id has {client_id_size:,} bytes in a request of {size:,}"
    if 0 in data[_SIZED_HEADER.size :][: max(client_id_size, 0)]:
        return "no client id has a zero byte"
    return None


def _has_plain_client(data: bytes) -> bool:
    """True if the client id, as far as it is there, is printable text, or there is none."""
    _, api_key, version, _, size = _SIZED_HEADER.unpack_from(data)
    if not _names_client(api_key, version):
        return True
    return data[_SIZED_HEADER.size :][: max(size, 0)].decode("utf-8", "replace").isprintable()


def _is_decoded(data: bytes) -> bool | None:
    """True if bytes begin with a request valid to its last byte; None if it is incomplete, or of an unknown version."""
    size, api_key, version, _, client_id_size = _SIZED_HEADER.unpack_from(data)
    end = size + _SIZE_BYTES
    if len(data) < end or not _exists(api_key, version):
        return None
    head, rest = data[_SIZE_BYTES:][: HEAD.size], data[_SIZED_HEADER.size + max(client_id_size, 0) : end]
    try:
        registry_of(KAFKA_PACKAGE).decode_request(head + _CLIENT_ID_SIZE.pack(-1) + rest)
    except KipwireError:
        return False
    return True


def is_request(frame: bytes) -> bool:
    """True if a frame can be a request, and nothing else that follows a size."""
    return begins_request(len(frame).to_bytes(4) + frame) is True


@lru_cache(maxsize=4096)
def _is_known(api_key: int, version: int) -> bool:
    """True if there is a request of that key in about that version."""
    return version >= 0 and any(_exists(api_key, one) for one in range(version - _NEARLY, version + _NEARLY + 1))


@lru_cache(maxsize=4096)
def _names_client(api_key: int, version: int) -> bool:
    """True if the header of a request has a client id, which only the oldest lack."""
    return not _exists(api_key, version) or registry_of(KAFKA_PACKAGE).request_header_version(api_key, version) > 0


@lru_cache(maxsize=16384)
def _exists(api_key: int, version: int) -> bool:
    try:
        registry_of(KAFKA_PACKAGE).request_header_version(api_key, version)
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
