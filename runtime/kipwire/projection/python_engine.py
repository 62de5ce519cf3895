"""Projections without the kernel: values chosen from decoded messages, and put into them."""

from __future__ import annotations

from kipwire.model.errors import EncodeError, abbreviate, path_text
from kipwire.tools.text import count_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from kipwire.message.messages import Message
    from kipwire.model.structs import Struct
    from kipwire.projection.paths import PathStep

    Steps = Sequence[PathStep]


def values_of(message: Message, ways: Sequence[Steps]) -> tuple[Any, ...]:
    """Read the chosen values of a message."""
    return tuple([_value(message, steps) for steps in ways])


def assign(message: Message, ways: Sequence[Steps], values: Sequence[Any]) -> None:
    """Give a message other values.

    Raises:
        EncodeError: values do not have the shape of those that the message has.
    """
    for steps, value in zip(ways, values, strict=True):
        _assign(message, message, steps, value, [])


def _value(struct: Struct, steps: Steps) -> Any:
    (name, array), *rest = steps
    value = getattr(struct, name)
    if not rest or value is None:
        return value
    return [_value(element, rest) for element in value] if array else _value(value, rest)


def _assign(message: Message, struct: Struct, steps: Steps, value: Any, path: list[Any]) -> None:
    (name, array), *rest = steps
    path = [*path, name]
    if not rest:
        setattr(struct, name, value)
        return
    inner = getattr(struct, name)
    if inner is None:
        if value is not None:
            raise _error(message, path, f"is null, so the value must be None, not {abbreviate(value)}")
    elif not array:
        _assign(message, inner, rest, value, path)
    elif not isinstance(value, (list, tuple)):
        raise _error(message, path, f"must be given a list of {count_of(len(inner), 'value')}, not {abbreviate(value)}")
    elif len(value) != len(inner):
        raise _error(message, path, f"has {count_of(len(inner), 'element')}, but {count_of(len(value), 'value')} given")
    else:
        for index, (element, one) in enumerate(zip(inner, value, strict=True)):
            _assign(message, element, rest, one, [*path, index])


def _error(message: Message, path: list[Any], reason: str) -> EncodeError:
    return EncodeError(message.NAME, message.VERSION, path_text(path), reason)
