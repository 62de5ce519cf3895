"""Checks of chosen fields of any message: reading equals decoding, and replacing equals encoding a changed message."""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from kipwire import Message, Struct
from kipwire.projection import python_engine
from kipwire.projection.paths import selection_of, steps_to
from tests.support import native_checks
from tests.support.native_checks import PYTHON, content, result


def every_path(cls: type[Struct]) -> list[str]:
    """Return the path of each field, at any depth."""
    found = []
    for field in cls.ATTRIBUTES:
        found.append(field.name)
        if field.struct is not None:
            found += [f"{field.name}.{path}" for path in every_path(field.struct)]
    return found


def some_paths(cls: type[Struct], chance: random.Random) -> tuple[str, ...]:
    """Return a few paths in any order, none of them part of another."""
    chosen: list[str] = []
    paths = every_path(cls)
    chance.shuffle(paths)
    for path in paths[: chance.choice((1, 2, 3, 8))]:
        if not any(f"{path}.".startswith(f"{one}.") or f"{one}.".startswith(f"{path}.") for one in chosen):
            chosen.append(path)
    return tuple(chosen)


def projector(kernel: ModuleType, cls: type[Message], paths: Sequence[str]) -> Any:
    """Return the kernel's projector for paths; None for classes and fields that it leaves to Python."""
    try:
        return kernel.Projector(cls, selection_of(paths, range(len(paths))), len(paths))
    except kernel.NotServed:
        return None


def check_read(kernel: ModuleType, cls: type[Message], data: bytes, paths: Sequence[str]) -> tuple[Any, ...] | None:
    """Check that the kernel reads the same values as Python, and none where there is no message.

    Return the values. The kernel must be `alone`.
    """
    ways = [steps_to(cls, path) for path in paths]
    message = result(PYTHON["decode"], cls, data)
    expected = None if message is None else python_engine.values_of(message, ways)
    if (served := projector(kernel, cls, paths)) is None:
        return expected
    assert content(served.decode(data)) == content(expected), f"{cls.NAME} v{cls.VERSION} {paths}: {data.hex()}"
    before, after = b"\x01" * 3, b"\x00\x01"
    longer = result(PYTHON["read"], cls, before + data + after, 3)
    found = served.read(before + data + after, 3)
    assert (found is None) == (longer is None)
    if found is not None:
        assert content(found) == content((python_engine.values_of(longer[0], ways), longer[1]))
    return expected


def check_replace(
    kernel: ModuleType, cls: type[Message], data: bytes, paths: Sequence[str], values: Sequence[Any], *, usual: bool
) -> None:
    """Check that the kernel returns the same bytes as Python by decoding, setting values and encoding, or gives up.

    Args:
        kernel: the compiled module, which must be `alone`.
        cls: the class of the message.
        data: the bytes of a message.
        paths: the chosen fields.
        values: of any shape.
        usual: True if the bytes come from encoding, and values have exactly their types: then it must not give up.
    """
    if (served := projector(kernel, cls, paths)) is None:
        return
    before = content(values)
    found = served.replace(data, list(values), 0, True)
    surrounded = served.replace(b"\x01" * 3 + data + b"\x00", list(values), 3, False)
    assert content(values) == before
    expected = result(_replaced_by_python, cls, data, paths, values)
    what = f"{cls.NAME} v{cls.VERSION} {paths}: {data.hex()}, {values!r}"
    if found is None:
        assert not usual or expected is None, f"the kernel gave up on {what}"
        return
    assert found == expected, what
    assert surrounded is None or surrounded == b"\x01" * 3 + found + b"\x00", what


def other_values(values: Sequence[Any], others: Sequence[Any], chance: random.Random) -> list[Any]:
    """Return values of the same shape, with some of the innermost ones taken from values of another message."""
    return [_mixed(one, _leaves(other), chance) for one, other in zip(values, others, strict=True)]


def spoilt_values(values: Sequence[Any], chance: random.Random) -> list[Any]:
    """Return values of which one, at some depth, is something else, is missing or is there twice."""
    spoilt: Any = copy.deepcopy(list(values))
    level = spoilt
    while True:
        at = chance.randrange(len(level))
        if not isinstance(level[at], list) or not level[at] or chance.random() < 0.2:
            break
        level = level[at]
    kind = chance.randrange(6)
    if kind == 0 and level is not spoilt:
        del level[at]
    elif kind == 1 and level is not spoilt:
        level.insert(at, level[at])
    elif kind == 2 and isinstance(level[at], list):
        level[at] = tuple(level[at])
    else:
        level[at] = chance.choice(native_checks.ODD)
    return list(spoilt)


def _replaced_by_python(cls: type[Message], data: bytes, paths: Sequence[str], values: Sequence[Any]) -> bytes:
    message = PYTHON["decode"](cls, data)
    python_engine.assign(message, [steps_to(cls, path) for path in paths], values)
    return bytes(PYTHON["encode"](message))


def _leaves(value: Any) -> list[Any]:
    """Return a value and all values in its lists, but no null: a null may stand for the struct around a field."""
    found = [value] if value is not None else []
    for element in value if isinstance(value, list) else ():
        found += _leaves(element)
    return found


def _mixed(value: Any, candidates: list[Any], chance: random.Random) -> Any:
    if isinstance(value, list) and value and chance.random() < 0.9:
        return [_mixed(element, candidates, chance) for element in value]
    fitting = [one for one in candidates if type(one) is type(value)]
    return copy.deepcopy(chance.choice(fitting)) if fitting and chance.random() < 0.6 else value
