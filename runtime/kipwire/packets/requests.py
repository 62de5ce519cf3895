"""The headers of requests, as far as needed to find the client, and which response belongs to which request."""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import NamedTuple

from kipwire import UnsupportedVersionError
from kipwire.captures import LARGEST_FRAME
from kipwire.connection.events import CORRELATION_ID, HEAD
from kipwire.registry import KAFKA_PACKAGE, registry_of

SMALLEST_REQUEST = HEAD.size
"""The fewest bytes of a request frame: API key, version and correlation id."""
SMALLEST_RESPONSE = CORRELATION_ID.size
"""The fewest bytes of a response frame: the correlation id."""

_CLIENT_ID_SIZE = Struct(">h")
_SIZED_HEADER = Struct(">ihhih")
_NEARLY = 8
"""How many versions beyond the known ones are accepted, for newer and older peers."""


class Request(NamedTuple):
    """The header of a request."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None
    """None too if it was not captured, is not UTF-8, or the header has none."""


def request_of(frame: bytes) -> Request | None:
    """The header of a request frame, or of its beginning; None if there are too few bytes."""
    if len(frame) < HEAD.size:
        return None
    api_key, api_version, correlation_id = HEAD.unpack_from(frame)
    client_id = _client_id(frame) if _names_client(api_key, api_version) else None
    return Request(api_key, api_version, correlation_id, client_id)


def begins_request(data: bytes) -> bool | None:
    """Whether bytes can be the size of a request frame and its header; None: there are too few to know."""
    if len(data) < _SIZED_HEADER.size:
        return None
    size, api_key, version, _, client_id_size = _SIZED_HEADER.unpack_from(data)
    rest = size + 4 - _SIZED_HEADER.size
    if not 0 <= rest <= LARGEST_FRAME or not _is_known(api_key, version):
        return False
    if not _names_client(api_key, version):
        return True
    if not -1 <= client_id_size <= rest:
        return False
    client_id = data[_SIZED_HEADER.size :][: max(client_id_size, 0)]
    return client_id.decode("utf-8", "replace").isprintable()


def is_request(frame: bytes) -> bool:
    """Whether a frame can be a request, and nothing else that follows a size."""
    return begins_request(len(frame).to_bytes(4) + frame) is True


@lru_cache(maxsize=4096)
def _is_known(api_key: int, version: int) -> bool:
    """Whether there is a request of that key in about that version."""
    return version >= 0 and any(_exists(api_key, one) for one in range(version - _NEARLY, version + _NEARLY + 1))


@lru_cache(maxsize=4096)
def _names_client(api_key: int, version: int) -> bool:
    """Whether the header of a request has a client id, as all but the oldest have."""
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
