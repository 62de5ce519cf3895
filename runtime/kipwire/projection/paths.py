"""Paths of attributes, such as `topics.partitions.leader_id`, checked against the fields of a class."""

from __future__ import annotations

from typing import NamedTuple

from kipwire.model.errors import KipwireError
from kipwire.tools.text import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kipwire.message.messages import Message
    from kipwire.model.structs import Struct

    FieldSelection = dict[str, "int | FieldSelection"]


class ProjectionError(KipwireError):
    """A path that does not lead to a field, paths that overlap, or more or fewer values than paths."""


class PathStep(NamedTuple):
    """One attribute on the way to a chosen field."""

    name: str
    array: bool


def steps_to(cls: type[Message], path: str) -> tuple[PathStep, ...]:
    """Find the way to a chosen field.

    Raises:
        ProjectionError: the path does not lead to a field.
    """
    struct: type[Struct] | None = cls
    steps: list[PathStep] = []
    for name in path.split("."):
        where = f"{cls.NAME} v{cls.VERSION}"
        if struct is None:
            outer = ".".join(step.name for step in steps)
            raise ProjectionError(f"{where} has no field {path!r}: {outer} is not a struct")
        field = next((one for one in struct.ATTRIBUTES if one.name == name), None)
        if field is None:
            names = [one.name for one in struct.ATTRIBUTES]
            raise ProjectionError(f"{where} has no field {path!r}: {_missing(name, struct)}{did_you_mean(name, names)}")
        steps.append(PathStep(name, field.array))
        struct = field.struct
    return tuple(steps)


def selection_of(paths: Sequence[str], chosen: Sequence[int]) -> FieldSelection:
    """Arrange the numbers of chosen fields by name, with a dict for each inner struct.

    Args:
        paths: the paths.
        chosen: the numbers of the paths to arrange.

    Raises:
        ProjectionError: a path is given twice, or leads into what another one chooses.
    """
    selection: FieldSelection = {}
    for number in chosen:
        level = selection
        *outer, last = paths[number].split(".")
        for name in outer:
            inner = level.setdefault(name, {})
            if isinstance(inner, int):
                raise _overlap(paths[inner], paths[number])
            level = inner
        if last in level:
            raise _overlap(paths[_any_number(level[last])], paths[number])
        level[last] = number
    return selection


def _any_number(chosen: int | FieldSelection) -> int:
    while not isinstance(chosen, int):
        chosen = next(iter(chosen.values()))
    return chosen


def _overlap(one: str, other: str) -> ProjectionError:
    if one == other:
        return ProjectionError(f"{one!r} is chosen twice; give each path once")
    outer, inner = sorted((one, other), key=len)
    return ProjectionError(f"{inner!r} is part of {outer!r}; choose one of them")


def _missing(name: str, struct: type[Struct]) -> str:
    return f"{struct.__name__} has no {name!r}" if name else "a name is empty"
