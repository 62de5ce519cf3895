"""Chosen fields of the message in a frame: a header, its body, and sometimes bytes after it."""

from __future__ import annotations

from typing import NamedTuple

from kipwire.message.frames import class_of_answer
from kipwire.projection.paths import ProjectionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVarTuple

    from kipwire.message.messages import Message
    from kipwire.message.registry import Registry
    from kipwire.projection.versions import VersionedProjection

    Values = TypeVarTuple("Values")


class Body(NamedTuple):
    """The message in a frame."""

    cls: type[Message]
    at: int
    """The byte offset at which the message begins."""


def body_of_request(registry: Registry, frame: bytes, api_key: int, version: int) -> Body:
    """Find the body of a request.

    Raises:
        DecodeError: the header is broken.
        UnsupportedVersionError: the package has no such request.
    """
    cls = registry.request(api_key, version)
    return Body(cls, _end_of_header(registry, "RequestHeader", cls, frame))


def body_of_response(registry: Registry, frame: bytes, api_key: int, version: int) -> Body:
    """Find the body of a response by the request that it answers.

    Raises:
        DecodeError: the header is broken.
        UnsupportedVersionError: the package has no such response.
    """
    asked = registry.response(api_key, version)
    at = _end_of_header(registry, "ResponseHeader", asked, frame)
    return Body(class_of_answer(asked, frame, at), at)


def project(projection: VersionedProjection[*Values], frame: bytes, body: Body) -> tuple[*Values]:
    """Decode the chosen values of the message in a frame.

    Raises:
        DecodeError: the message is broken.
        ProjectionError: the projection belongs to another message.
    """
    _expect_of(projection, body)
    return projection.read(frame, body.cls.VERSION, body.at)[0]


def replaced(projection: VersionedProjection, frame: bytes, body: Body, values: tuple[Any, ...]) -> bytes:
    """Return the frame with other values in the chosen fields of its message.

    Raises:
        DecodeError: the message is broken.
        EncodeError: a value does not fit its field.
        ProjectionError: the projection belongs to another message, or there are more or fewer values than paths.
    """
    _expect_of(projection, body)
    return projection.replace_at(frame, body.cls.VERSION, body.at, values)


def _end_of_header(registry: Registry, name: str, cls: type[Message], frame: bytes) -> int:
    header = registry.with_header(name).message(name, cls.HEADER_VERSION)
    return header.read(frame)[1]


def _expect_of(projection: VersionedProjection[*Values], body: Body) -> None:
    if projection.name != body.cls.NAME:
        raise ProjectionError(f"a projection of {projection.name} does not fit {body.cls.NAME} v{body.cls.VERSION}")
