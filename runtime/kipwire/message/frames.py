"""Frames: a header and the body that it announces, without the size that precedes them on a connection.

A frame is read in two steps: the first bytes give API key and version, and API key and version give the classes of
header and body. For a response frame its request gives both. The one exception is the answer to ApiVersions, which may
be of version 0 whatever was asked for (KIP-511): both versions are tried, and the version that ends with the frame
counts. Each package has its own classes of headers; `RequestHeader` and `ResponseHeader` here are for type checkers,
which take the headers of every package for instances of these two.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct as Packer
from typing import ClassVar, Generic, NamedTuple, Protocol, TypeVar

from kipwire.description.fields import in_version
from kipwire.message.messages import Message
from kipwire.model.api_keys import UNSUPPORTED_VERSION, VERSIONS_ANSWER
from kipwire.model.errors import (
    DecodeError,
)
from kipwire.tools.text import count_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LARGEST_FRAME = 100 * 1024 * 1024
"""Bytes; the largest request that brokers accept by default (`socket.request.max.bytes`)."""

SIZE_BYTES = 4
"""Bytes of the size before a frame on a connection: an int32, which does not count itself."""

_KEY_AND_VERSION = Packer(">hh")


class _ByName(type):
    """A metaclass for descriptions of headers: the headers of every package are instances, by their name."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Message) and cls.__name__ == instance.NAME


class RequestHeader(Message, metaclass=_ByName):
    """Request header for type checkers. Real headers are instances of the package's own class."""

    if not TYPE_CHECKING:
        __slots__ = ()
    else:
        request_api_key: int
        request_api_version: int
        correlation_id: int
        client_id: str | None
        """Missing in version 0 of the header."""
        unknown_tagged_fields: dict[int, bytes]
        """Missing in inflexible versions of the header."""


class ResponseHeader(Message, metaclass=_ByName):
    """Response header for type checkers. Real headers are instances of the package's own class."""

    if not TYPE_CHECKING:
        __slots__ = ()
    else:
        correlation_id: int
        unknown_tagged_fields: dict[int, bytes]
        """Missing in inflexible versions of the header."""


H = TypeVar("H", bound=Message)
B = TypeVar("B", bound=Message)


class AnsweredBy(Protocol[B]):
    """A request that has a response of this type, for type checkers: `def ask(request: AnsweredBy[M]) -> M`.

    Every generated request is an `AnsweredBy[M]`, and its class is a `type[AnsweredBy[M]]`.
    """

    RESPONSE: ClassVar[type[B]]  # pyright: ignore[reportGeneralTypeIssues] - nothing else matches class and instance


class Frame(NamedTuple, Generic[H, B]):
    """A frame that was read to its last byte."""

    header: H
    body: B


class FrameAndRest(NamedTuple, Generic[H, B]):
    """A frame that was read as far as its message goes."""

    header: H
    body: B
    rest: bytes
    """The bytes after the body; usually empty."""


def class_of_answer(asked: type[Message], frame: bytes, body_at: int) -> type[Message]:
    """Choose the class of the body of a response: the version of the request, with one exception.

    A broker that does not know the version of an ApiVersions request answers in version 0, with the error code
    UNSUPPORTED_VERSION (KIP-511). Bytes with this code are of the version that ends with the frame, and
    of the asked version if both do.

    Args:
        asked: the class of the response in the version of the request.
        frame: the bytes.
        body_at: where the body begins.
    """
    if not may_answer_in_version_0(asked) or not _has_the_code(frame, body_at):
        return asked
    candidates = (asked, in_version(asked, 0))
    ends = [_end(one, frame, body_at) for one in candidates]  # differs from the frame's end if bytes are left over
    if len(frame) in ends:
        return candidates[ends.index(len(frame))]
    return asked if ends[0] is not None else candidates[1]


def may_answer_in_version_0(response: type[Message]) -> bool:
    """True if a response may be answered in version 0 although a higher version was asked for (KIP-511)."""
    return response.NAME == VERSIONS_ANSWER and response.MIN_VERSION == 0 and lists_versions(response)


def lists_versions(response: type[Message]) -> bool:
    """True for an answer to ApiVersions: Kafka's, or another protocol's of its name and form, under any key."""
    cls: Any = response  # a class can be hashed; mypy asks its instances
    return response.NAME == VERSIONS_ANSWER and response.TYPE == "response" and _has_form_of_kafkas(cls)


@lru_cache(maxsize=64)
def _has_form_of_kafkas(response: type[Message]) -> bool:
    fields = {field.name: field.struct for field in response.ATTRIBUTES}
    row = fields.get("api_keys")
    names = () if row is None else (field.name for field in row.ATTRIBUTES)
    return next(iter(fields), "") == "error_code" and {"api_key", "min_version", "max_version"}.issubset(names)


def is_refused_version(frame: bytes, header: type[Message]) -> bool:
    """True if the answer to an ApiVersions request says that the broker does not support the requested version.

    Args:
        frame: the bytes.
        header: the class of the header of the frame.
    """
    end = _end(header, frame, 0)
    return end is not None and _has_the_code(frame, end)


def key_and_version(frame: bytes) -> tuple[int, int]:
    """Read the API key and the version that a request frame begins with.

    Raises:
        DecodeError: the frame is too short.
    """
    if len(frame) < _KEY_AND_VERSION.size:
        reason = f"a frame of {count_of(len(frame), 'byte')} is too short for a header"
        raise DecodeError(RequestHeader.__name__, 0, "", len(frame), reason)
    return _KEY_AND_VERSION.unpack_from(frame)


def as_sent(response: type[Message], version: int | None) -> type[Message]:
    """Find the class of a response as it comes, by the version of the request; by default the class itself.

    Raises:
        UnsupportedVersionError: the response has no such version.
    """
    return response if version is None else in_version(response, version)


def _has_the_code(frame: bytes, body_at: int) -> bool:
    code = UNSUPPORTED_VERSION.to_bytes(2, "big")
    return frame[body_at : body_at + len(code)] == code


def _end(cls: type[Message], frame: bytes, start: int) -> int | None:
    try:
        return cls.read(frame, start)[1]
    except DecodeError:
        return None
