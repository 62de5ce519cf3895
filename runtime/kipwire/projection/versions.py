"""Chosen fields of a message in all of its versions.

A projection of each version is made when that version first comes, of those paths that it has; values of the others are
None, and must be None when they are replaced. A path that no version has must be misspelt, so it is an error at once.
`one_version` does all work on bytes.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVarTuple

from kipwire.message.registry import registry_of
from kipwire.model.errors import EncodeError, abbreviate
from kipwire.projection.one_version import Projection
from kipwire.projection.paths import ProjectionError, selection_of, steps_to

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Unpack

    from typing_extensions import TypeVarTuple as WithDefault  # all type checkers bring it

    from kipwire.message.messages import Message
    from kipwire.message.registry import Registry

    Values = WithDefault("Values", default=Unpack[tuple[Any, ...]])
else:
    Values = TypeVarTuple("Values")


class _Part(NamedTuple):
    """The chosen fields that one version has."""

    projection: Projection
    numbers: tuple[int, ...]
    """Indexes of the projection's paths among all paths."""


class VersionedProjection(Generic[*Values]):
    """The chosen fields of a message in any version, for programs with both old and new peers.

    Values are the same as for `Projection`, and None for a field that the version does not have.
    """

    __slots__ = ("_parts", "name", "paths", "registry")

    registry: Registry
    """The registry of the package that has the message."""
    name: str
    """The name of the message."""
    paths: tuple[str, ...]
    """The paths of the fields, in the order of their values."""

    def __init__(self, registry: Registry, name: str, *paths: str) -> None:
        """Choose fields.

        Args:
            registry: the registry of the package, such as `kafka_messages.REGISTRY`.
            name: the name of the message.
            paths: as `Projection` takes them; each must lead to a field in one version at least.

        Raises:
            ProjectionError: a path leads to a field in no version, or leads into what another one chooses.
            UnsupportedVersionError: the package has no message of that name.
        """
        self.registry = registry
        self.name = name
        self.paths = paths
        self._parts: dict[int, _Part] = {}
        selection_of(paths, range(len(paths)))
        for path in paths:
            self._expect_somewhere(path)

    def absent(self, version: int) -> tuple[str, ...]:
        """List the paths that a version does not have.

        Raises:
            UnsupportedVersionError: the message has no such version.
        """
        numbers = self._part(version).numbers
        return tuple([path for number, path in enumerate(self.paths) if number not in numbers])

    def decode(self, data: bytes, version: int) -> tuple[*Values]:
        """Decode the chosen values of the message that the buffer holds; see `Projection.decode`.

        Raises:
            DecodeError: the buffer is not exactly one message of this version.
            UnsupportedVersionError: the message has no such version.
        """
        part = self._part(version)
        return self._scatter(part, part.projection.decode(data))  # type: ignore[no-any-return]

    def read(self, data: bytes, version: int, offset: int = 0) -> tuple[tuple[*Values], int]:
        """Decode the chosen values of the message at `offset`: (values, offset after it); see `Projection.read`.

        Raises:
            DecodeError: there is no message of this version.
            UnsupportedVersionError: the message has no such version.
            ValueError: the offset is outside the buffer.
        """
        part = self._part(version)
        values, end = part.projection.read(data, offset)
        return self._scatter(part, values), end

    def replace(self, data: bytes, version: int, values: tuple[*Values]) -> bytes:
        """Replace the chosen fields of the message that the buffer holds; see `Projection.replace`.

        Raises:
            DecodeError: the buffer is not exactly one message of this version.
            EncodeError: a value does not fit its field, or is not None for a field that the version does not have.
            ProjectionError: there are more or fewer values than paths.
            UnsupportedVersionError: the message has no such version.
        """
        part = self._part(version)
        return part.projection.replace(data, self._gather(part, values))

    def replace_at(self, data: bytes, version: int, offset: int, values: tuple[*Values]) -> bytes:
        """Replace the chosen fields of the message that starts at `offset` of a buffer; see `Projection.replace_at`.

        Raises:
            DecodeError: there is no message of this version.
            EncodeError: as `replace`.
            ProjectionError: there are more or fewer values than paths.
            UnsupportedVersionError: the message has no such version.
            ValueError: the offset is outside the buffer.
        """
        part = self._part(version)
        return part.projection.replace_at(data, offset, self._gather(part, values))

    def _part(self, version: int) -> _Part:
        part = self._parts.get(version)
        if part is None:
            cls = self.registry.message(self.name, version)
            numbers = tuple([number for number, path in enumerate(self.paths) if _has(cls, path)])
            part = _Part(Projection(cls, *[self.paths[number] for number in numbers]), numbers)
            self._parts[version] = part
        return part

    def _expect_somewhere(self, path: str) -> None:
        """Check that a version has a field; the newest are looked at first, since they have most."""
        versions = self.registry.versions(self.name)
        if not any(_has(self.registry.message(self.name, version), path) for version in reversed(versions)):
            if not versions:
                raise ProjectionError(f"{self.name} is retired: it has no version with a field")
            steps_to(self.registry.message(self.name, versions[-1]), path)

    def _scatter(self, part: _Part, values: tuple[Any, ...]) -> Any:
        if len(values) == len(self.paths):
            return values
        every: list[Any] = [None] * len(self.paths)
        for number, value in zip(part.numbers, values, strict=True):
            every[number] = value
        return tuple(every)

    def _gather(self, part: _Part, values: Any) -> Any:
        given = tuple(values)
        if len(given) == len(self.paths) == len(part.numbers):
            return given
        cls = part.projection.cls
        if len(given) != len(self.paths):
            raise ProjectionError(f"{len(given)} values for {len(self.paths)} chosen fields of {cls.NAME}")
        for number, value in enumerate(given):
            if value is not None and number not in part.numbers:
                reason = f"is not in this version; the value must be None, not {abbreviate(value)}"
                raise EncodeError(cls.NAME, cls.VERSION, self.paths[number], reason)
        return tuple([given[number] for number in part.numbers])

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.registry.package, self.name, self.paths)

    def __repr__(self) -> str:
        return f"<VersionedProjection of {self.name}: {', '.join(self.paths)}>"


def _again(package: str, name: str, paths: tuple[str, ...]) -> VersionedProjection:
    return VersionedProjection(registry_of(package), name, *paths)


def _has(cls: type[Message], path: str) -> bool:
    try:
        steps_to(cls, path)
    except ProjectionError:
        return False
    return True
