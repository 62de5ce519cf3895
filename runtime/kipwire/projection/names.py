"""Names of topics, groups and the like, wherever messages have them: fields of one `entityType` of the specs."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from kipwire.projection.versions import VersionedProjection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kipwire.message.messages import Message
    from kipwire.message.registry import Registry
    from kipwire.model.structs import Struct

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
