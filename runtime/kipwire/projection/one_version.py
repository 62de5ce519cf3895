"""Chosen fields of a message in one version.

Each method asks the kernel's projector first. None means that the kernel leaves these bytes or values to Python; then
the second half of the method, which is the definition, does the work: decode, choose or set, encode. So the kernel may
serve as little as it likes, and no error is made twice. `paths` checks the paths when a projection is made; `versions`
is the same over all versions of a message.
"""

from __future__ import annotations

from typing import Generic, TypeVarTuple

from kipwire import native
from kipwire.message.messages import Message, content_of, described
from kipwire.projection import python_engine
from kipwire.projection.paths import ProjectionError, selection_of, steps_to

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Unpack

    from typing_extensions import TypeVarTuple as WithDefault  # all type checkers bring it

    from kipwire._kernel import Projector
    from kipwire.projection.paths import FieldSelection

    Values = WithDefault("Values", default=Unpack[tuple[Any, ...]])
else:
    Values = TypeVarTuple("Values")


OWN_METHODS = frozenset(("decode", "read", "encode"))
"""Methods that a subclass may override; such classes bypass the kernel."""


class Projection(Generic[*Values]):
    """The chosen fields of a message: read without the rest, or replaced in its bytes.

    A value has the shape of the field's path. A field of the message itself, or of a struct in it, gives its value as
    `decode` does. Each array on the way gives a list: `topics.name` a list of texts, `topics.partitions.leader_id` a
    list of lists of numbers. A struct or an array on the way that is null gives None.
    """

    __slots__ = ("_projector", "_ways", "cls", "paths")

    cls: type[Message]
    """The class of the message."""
    paths: tuple[str, ...]
    """The paths of the fields, in the order of their values."""

    def __init__(self, cls: type[Message], *paths: str) -> None:
        """Choose fields.

        Args:
            cls: the generated class of a message in one version.
            paths: names of attributes joined by dots, such as `topics.partitions.leader_id`. A path to a struct, or to
                an array of structs, chooses the whole.

        Raises:
            ProjectionError: a path does not lead to a field, or leads into what another one chooses.
            TypeError: `cls` is not the class of a message.
        """
        if not (isinstance(cls, type) and issubclass(cls, Message)):
            raise TypeError(f"a projection chooses fields of the class of a message, not of {described(cls)}")
        self.cls = cls
        self.paths = paths
        self._ways = [steps_to(cls, path) for path in paths]
        self._projector = projector(cls, selection_of(paths, range(len(paths))), len(paths))

    def decode(self, data: bytes) -> tuple[*Values]:
        """Decode the chosen values of the message that the buffer holds, from its first to its last byte.

        Raises:
            DecodeError: as `Message.decode`, which checks no more.
        """
        if self._projector is not None and (values := self._projector.decode(data)) is not None:
            return values
        return python_engine.values_of(self.cls.decode(data), self._ways)

    def read(self, data: bytes, offset: int = 0) -> tuple[tuple[*Values], int]:
        """Decode the chosen values of the message at `offset` of a longer buffer: (values, offset after the message).

        Raises:
            DecodeError: as `Message.read`.
            ValueError: the offset is outside the buffer.
        """
        if self._projector is not None and (found := self._projector.read(data, offset)) is not None:
            return found
        message, end = self.cls.read(data, offset)
        return python_engine.values_of(message, self._ways), end

    def replace(self, data: bytes, values: tuple[*Values]) -> bytes:
        """Replace the chosen fields of the message that the buffer holds, and return the new bytes.

        The new bytes equal those from decoding the message, setting the values and encoding it.

        Args:
            data: the bytes of the message.
            values: one for each path, in the shape in which `decode` gives them.

        Raises:
            DecodeError: as `Message.decode`.
            EncodeError: a value does not fit its field, or does not have the shape of what it replaces.
            ProjectionError: there are more or fewer values than paths.
        """
        given = self._values_given(values)
        if self._projector is not None and (new := self._projector.replace(data, given, 0, True)) is not None:
            return new
        message = self.cls.decode(data)
        python_engine.assign(message, self._ways, given)
        return message.encode()

    def replace_at(self, data: bytes, offset: int, values: tuple[*Values]) -> bytes:
        """Replace the chosen fields of the message that starts at `offset` of a buffer; return all of the new buffer.

        What is before the message and after it, such as the header of a frame, is copied.

        Raises:
            DecodeError: as `Message.read`.
            EncodeError: as `replace`.
            ProjectionError: there are more or fewer values than paths.
            ValueError: the offset is outside the buffer.
        """
        given = self._values_given(values)
        if self._projector is not None and (new := self._projector.replace(data, given, offset, False)) is not None:
            return new
        content = content_of(data)
        message, end = self.cls.read(content, offset)
        python_engine.assign(message, self._ways, given)
        return content[:offset] + message.encode() + content[end:]

    def _values_given(self, values: Sequence[Any]) -> list[Any]:
        given = list(values)
        if len(given) != len(self.paths):
            raise ProjectionError(f"{len(given)} values for {len(self.paths)} chosen fields of {self._name}")
        return given

    @property
    def _name(self) -> str:
        return f"{self.cls.NAME} v{self.cls.VERSION}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Projection, (self.cls, *self.paths)

    def __repr__(self) -> str:
        return f"<Projection of {self._name}: {', '.join(self.paths)}>"


def projector(cls: type[Message], selection: FieldSelection, count: int) -> Projector | None:
    """Make the kernel's projector of chosen fields; None if the kernel is not in use or does not serve the fields."""
    if native.kernel is None or any(vars(base).keys() & OWN_METHODS for base in cls.__mro__ if base is not Message):
        return None
    return native.kernel.projector(cls, selection, count)  # type: ignore[no-any-return]
