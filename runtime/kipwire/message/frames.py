"""Frames: a header and the body that it announces, without the size that precedes them on a connection.

A frame is read in two steps: the first bytes give API key and version, these the classes of header and body. For a
response only its request gives them. The one exception is the answer to ApiVersions, which may be of version 0 whatever
was asked for (KIP-511): both versions are tried, and the one that ends with the frame counts. Each package has its own
classes of headers; `RequestHeader` and `ResponseHeader` here are for type checkers, which take all of them for these.
"""

from __future__ import annotations

from struct import Struct as Packer
from typing import ClassVar, Generic, NamedTuple, Protocol, TypeVar

from kipwire.description.fields import in_version
from kipwire.message import frame_hints
from kipwire.message.messages import Message, content_of, described
from kipwire.model.api_keys import UNSUPPORTED_VERSION, is_api_versions_response
from kipwire.model.errors import (
    DecodeError,
    EncodeError,
    FrameError,
    LeftOverError,
    UnknownApiKeyError,
    UnknownVersionError,
    UnsupportedVersionError,
)
from kipwire.tools.text import count_of, leftover_reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

LARGEST_FRAME = 100 * 1024 * 1024
"""Bytes; the largest request that brokers accept by default (`socket.request.max.bytes`)."""

_KEY_AND_VERSION = Packer(">hh")
_INT32 = Packer(">i")


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
        """Version 0 of the header does not have it."""
        unknown_tagged_fields: dict[int, bytes]
        """Only headers of flexible versions have them."""


class ResponseHeader(Message, metaclass=_ByName):
    """Response header for type checkers. Real headers are instances of the package's own class."""

    if not TYPE_CHECKING:
        __slots__ = ()
    else:
        correlation_id: int
        unknown_tagged_fields: dict[int, bytes]
        """Only headers of flexible versions have them."""


H = TypeVar("H", bound=Message)
B = TypeVar("B", bound=Message)


class AnsweredBy(Protocol[B]):
    """A request that has a response of this type, for type checkers: `def ask(request: AnsweredBy[M]) -> M`.

    Every generated request is one, and its class is a `type[AnsweredBy[M]]`.
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
    UNSUPPORTED_VERSION (KIP-511). Bytes of the asked version that have this code are read as such.

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
    is_answer = response.TYPE == "response" and is_api_versions_response(response.NAME, response.API_KEY)
    return is_answer and response.MIN_VERSION == 0


def is_refused_version(frame: bytes, header: type[Message]) -> bool:
    """True if the answer to an ApiVersions request says that the broker does not support the requested version.

    Args:
        frame: the bytes.
        header: the class of the header before it.
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


def unknown_request(frame: bytes, reason: str, *, is_api_known: bool) -> FrameError:
    """Make the error for a request frame that the package has no class for."""
    path, offset = ("request_api_version", 2) if is_api_known else ("request_api_key", 0)
    cls = UnknownVersionError if is_api_known else UnknownApiKeyError
    error = cls(RequestHeader.__name__, 0, path, offset, reason)
    api_key, version = key_and_version(frame)
    return error.of(api_key, version, _number_at(frame, _KEY_AND_VERSION.size))


def unknown_response(frame: bytes, reason: str, api_key: int, version: int, *, is_api_known: bool) -> FrameError:
    """Make the error for a response frame that the package has no class for."""
    cls = UnknownVersionError if is_api_known else UnknownApiKeyError
    return cls(ResponseHeader.__name__, 0, "", 0, reason).of(api_key, version, _number_at(frame, 0))


def refuse_body(body: object, due: str, package: str) -> NoReturn:
    """Raise the error about what cannot be the body of a frame.

    Args:
        body: it.
        due: what it should be: `request` or `response`.
        package: the package that was asked for the frame.

    Raises:
        EncodeError: it is a message of another type, or of another package.
        TypeError: it is no message.
    """
    if not isinstance(body, Message):
        raise TypeError(f"the body of a frame is a {due}, not {described(body)}")
    if due == body.TYPE:
        own = type(body).__module__.rsplit(".", 2)[0]
        reason = f"is not a message of {package}; use the registry of {own}"
    elif body.TYPE in ("request", "response"):
        reason = f"is a {body.TYPE}, not a {due}; use encode_{body.TYPE}"
    else:
        reason = f"is not a {due}; only requests and responses have frames"
    raise EncodeError(body.NAME, body.VERSION, "", reason)


def refuse_class(cls: type[Message], package: str) -> NoReturn:
    """Raise the error about a class that a package does not have.

    Raises:
        UnsupportedVersionError: always.
    """
    own = cls.__module__.rsplit(".", 2)[0]
    what = f"{cls.NAME} v{cls.VERSION} of {own} is not a message of {package}"
    raise UnsupportedVersionError(f"{what}; use the registry of {own}")


def as_sent(response: type[Message], version: int | None) -> type[Message]:
    """Find the class of a response as it comes, by the version of the request; by default the class itself.

    Raises:
        UnsupportedVersionError: the response has no such version.
    """
    return response if version is None else in_version(response, version)


def expect_header(header: Message, due: type[Message], body: Message) -> None:
    """Check that a header can precede a body.

    Args:
        header: it.
        due: the class that it must be of.
        body: what follows it.

    Raises:
        EncodeError: it is of another class, or a request's that names another API or version.
        TypeError: it is no message.
    """
    after = f"{body.NAME} v{body.VERSION}"
    if type(header) is not due:
        reason = f"cannot precede {after}, which needs {due.NAME} v{due.VERSION}"
        if not isinstance(header, Message):
            raise TypeError(f"{described(header)} {reason}")
        raise EncodeError(header.NAME, header.VERSION, "", reason)
    if isinstance(header, RequestHeader):
        for name, value in (("request_api_key", body.API_KEY), ("request_api_version", body.VERSION)):
            if (found := getattr(header, name)) != value:
                raise EncodeError(header.NAME, header.VERSION, name, f"is {found}; that of {after} is {value}")


def refuse_rest(body: Message, frame: bytes, rest: bytes, api_key: int, version: int, correlation_id: int) -> NoReturn:
    """Raise the error of a frame with bytes after its message."""
    end = len(content_of(frame)) - len(rest)
    error = LeftOverError(body.NAME, body.VERSION, "", end, leftover_reason(len(rest), "the message"))
    raise error.of(api_key, version, correlation_id)


def explain_request(error: DecodeError, frame: bytes) -> DecodeError:
    """Add what the frame seems to be to the error of a frame that was read as a request."""
    return _explain(error, frame_hints.wrong_request(frame, error.message == RequestHeader.__name__))


def explain_response(error: DecodeError, frame: bytes, api_key: int, version: int) -> DecodeError:
    """Add what the frame seems to be to the error of a frame that was read as a response."""
    return _explain(error, frame_hints.wrong_response(frame, api_key, version))


def _explain(error: DecodeError, hint: str) -> DecodeError:
    if not hint:
        return error
    found = type(error)(error.message, error.version, error.path, error.offset, f"{error.reason}; {hint}")
    if isinstance(found, FrameError) and isinstance(error, FrameError):
        found.of(error.api_key, error.api_version, error.correlation_id)
    return found


def _has_the_code(frame: bytes, body_at: int) -> bool:
    code = UNSUPPORTED_VERSION.to_bytes(2, "big")
    return frame[body_at : body_at + len(code)] == code


def _end(cls: type[Message], frame: bytes, start: int) -> int | None:
    try:
        return cls.read(frame, start)[1]
    except DecodeError:
        return None


def _number_at(frame: bytes, at: int) -> int | None:
    number: int
    if len(frame) < at + _INT32.size:
        return None
    (number,) = _INT32.unpack_from(frame, at)
    return number
