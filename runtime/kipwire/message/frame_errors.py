"""Errors of frames: one text for each fault, with a hint at what the bytes are instead.

Hints recognise TLS, HTTP, text, and requests taken for responses or the reverse.
"""

from __future__ import annotations

import re

from kipwire.codec.wire import pack_h, unpack_i
from kipwire.message.frames import SIZE_BYTES, RequestHeader, ResponseHeader, key_and_version
from kipwire.message.messages import Message, content_of, described
from kipwire.model.errors import (
    DecodeError,
    EncodeError,
    FrameError,
    LeftOverError,
    UnknownApiKeyError,
    UnknownVersionError,
    UnsupportedVersionError,
)
from kipwire.tools.text import leftover_reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

_TLS = re.compile(rb"[\x14-\x17]\x03[\x00-\x04]", re.DOTALL)
_HTTP = re.compile(rb"GET |HEAD|POST|PUT |DELE|CONN|OPTI|TRAC|PATC|PRI |HTTP")
"""The first four bytes of HTTP's methods and responses, which are all that stand in place of a frame's size."""
_TEXT = re.compile(rb"[\x20-\x7e\r\n\t]{8}")
_SHOWN = 16


def unknown_request(frame: bytes, reason: str, *, is_api_known: bool) -> FrameError:
    """Make the error for a request frame that the package has no class for."""
    path, offset = ("request_api_version", 2) if is_api_known else ("request_api_key", 0)
    cls = UnknownVersionError if is_api_known else UnknownApiKeyError
    error = cls(RequestHeader.__name__, 0, path, offset, reason)
    api_key, version = key_and_version(frame)
    return error.of(api_key, version, _correlation_id_at(frame, 4))


def unknown_response(frame: bytes, reason: str, api_key: int, version: int, *, is_api_known: bool) -> FrameError:
    """Make the error for a response frame that the package has no class for."""
    cls = UnknownVersionError if is_api_known else UnknownApiKeyError
    return cls(ResponseHeader.__name__, 0, "", 0, reason).of(api_key, version, _correlation_id_at(frame, 0))


def _correlation_id_at(frame: bytes, at: int) -> int | None:
    """Read the correlation id at a position; None where the frame is too short to have one."""
    return unpack_i(frame, at)[0] if len(frame) >= at + 4 else None


def refuse_body(body: object, due: str, package: str) -> NoReturn:
    """Raise the error about what cannot be the body of a frame.

    Args:
        body: the object.
        due: the type that a body must have: `request` or `response`.
        package: the package that was asked for the frame.

    Raises:
        EncodeError: the body is a message of another type, or of another package.
        TypeError: the body is no message.
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


def refuse_client_id(header: type[Message], package: str) -> NoReturn:
    """Raise the error about a client id for a header that has none in any version.

    Raises:
        EncodeError: always.
    """
    reason = f"{package} has headers without it; leave it out, or give header="
    raise EncodeError(header.NAME, header.VERSION, "client_id", reason)


def expect_header(header: Message, due: type[Message], body: Message) -> None:
    """Check that a header can precede a body.

    Args:
        header: the header.
        due: the class that a header of this body has.
        body: the message after the header.

    Raises:
        EncodeError: the header is of another class, or is the header of a request and names another API or version.
        TypeError: the header is no message.
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
    return _explain(error, wrong_request(frame, error.message == RequestHeader.__name__))


def explain_response(error: DecodeError, frame: bytes, api_key: int, version: int) -> DecodeError:
    """Add what the frame seems to be to the error of a frame that was read as a response."""
    return _explain(error, wrong_response(frame, api_key, version))


def _explain(error: DecodeError, hint: str) -> DecodeError:
    if not hint:
        return error
    found = type(error)(error.message, error.version, error.path, error.offset, f"{error.reason}; {hint}")
    if isinstance(found, FrameError) and isinstance(error, FrameError):
        found.of(error.api_key, error.api_version, error.correlation_id)
    return found


def foreign_protocol(data: bytes) -> str:
    """Name the other protocol that the bytes belong to, and say what to do; "" if none is recognised."""
    if _TLS.match(data):
        return "the bytes begin as TLS does: decrypt the connection first, or connect to a listener without TLS"
    if _HTTP.match(data):
        return f"the bytes begin as HTTP does ({data[:_SHOWN]!r}): the peer does not speak Kafka's protocol"
    if _TEXT.match(data):
        return f"the bytes begin with text ({data[:_SHOWN]!r}): a frame is binary"
    return ""


def wrong_request(frame: bytes, in_header: bool) -> str:
    """Guess what a frame is that cannot be read as a request; "" without a guess.

    Args:
        frame: the bytes.
        in_header: True if the error is in the header.
    """
    found = size_first(frame) or foreign_protocol(frame)
    correlation_id = _correlation_id_at(frame, 0)
    if not found and in_header and frame[:2] == b"\0\0" and correlation_id is not None:
        found = f"is it a response, of correlation id {correlation_id}? decode_response reads those"
    return found


def wrong_response(frame: bytes, api_key: int, version: int) -> str:
    """Guess what a frame is that cannot be read as the response to a request; "" without a guess."""
    found = size_first(frame) or foreign_protocol(frame)
    if not found and frame[:4] == pack_h(api_key) + pack_h(version):
        found = f"the frame begins with API key {api_key} and version {version}: decode_request reads requests"
    return found


def size_first(frame: bytes) -> str:
    """Advise to leave out the size that a frame begins with; "" if the frame begins with something else."""
    size = len(frame) - SIZE_BYTES
    if size >= 0 and frame[:SIZE_BYTES] == size.to_bytes(SIZE_BYTES, "big"):
        return f"the frame begins with its own size ({size}), which is not part of it: leave out the first 4 bytes"
    return ""
