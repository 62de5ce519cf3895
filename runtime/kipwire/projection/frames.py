"""Chosen fields of the message in a frame: a header, its body, and sometimes bytes after it.

Among them are the names of topics, groups and the like, wherever a message has them: fields of one `entityType`.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, NamedTuple

from kipwire.message.frames import class_of_answer
from kipwire.projection.paths import ProjectionError
from kipwire.projection.versions import VersionedProjection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, TypeVarTuple

    from kipwire.message.messages import Message
    from kipwire.message.registry import Registry
    from kipwire.model.structs import Struct

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
    end: int = registry.header_class(name, cls).read(frame)[1]
    return end


def _expect_of(projection: VersionedProjection[*Values], body: Body) -> None:
    if projection.name != body.cls.NAME:
        raise ProjectionError(f"a projection of {projection.name} does not fit {body.cls.NAME} v{body.cls.VERSION}")


# Names.

EntityType = Literal["topicName", "groupId", "transactionalId"]
"""The kind of entity that a text names, as the specs call it."""


@cache
def names_in(registry: Registry, name: str, entity_type: EntityType) -> VersionedProjection | None:
    """Project the fields of a message that have names of a type of entity; None if no version has one.

    Args:
        registry: the registry of the package.
        name: the name of the message.
        entity_type: the type of entity that is named.
    """
    paths = dict.fromkeys(
        path for version in registry.versions(name) for path in _paths(registry.message(name, version), entity_type)
    )
    return VersionedProjection(registry, name, *paths) if paths else None


def _paths(cls: type[Message] | type[Struct], entity_type: EntityType, path: str = "") -> Iterator[str]:
    for field in cls.ATTRIBUTES:
        if field.entity_type == entity_type:
            yield path + field.name
        elif field.struct is not None:
            yield from _paths(field.struct, entity_type, f"{path}{field.name}.")


def change_names(value: Any, change: Callable[[str], str]) -> Any:
    """Change the names in the values of such fields; null stays null."""
    if isinstance(value, (list, tuple)):
        return type(value)([change_names(one, change) for one in value])
    return None if value is None else change(value)
