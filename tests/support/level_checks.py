"""Packages kept for each level of generated code: as kipgen made them at that level, with their behaviour then.

`python -m tests.support.level_checks` keeps one for the level of this checkout, once: after a
release it is never made again, since users' code is not made again either. Its specs must be in the folder before.
"""

from __future__ import annotations

import base64
import inspect
import json
import pickle
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import given, settings

from kipgen.language.names import RUNTIME_NAMES
from kipwire import DecodeError, EncodeError, Field, Message, Struct
from kipwire.message.registry import Entry, Registry, registry_of
from kipwire.model.abi import LEVEL
from kipwire.testing import messages
from tests.support.places import DATA
from tests.support.spec_package import write_package

MOST_CUTS = 12
NO_VALUE = 1j
"""Value that no field can have."""


def folder(level: int) -> Path:
    """Return the folder of a level: `specs`, the package `level_N` and `kept.json`."""
    return DATA / f"generated_level_{level}"


def kept(level: int) -> dict[str, Any]:
    """Return the behaviour of a level's package when it was made: `messages`, and `needs`, its use of the runtime."""
    found: dict[str, Any] = json.loads((folder(level) / "kept.json").read_text())
    return found


def classes(level: int) -> Iterator[type[Message]]:
    """Yield every class of the package of a level, whose folder must be on the path."""
    registry = registry_of(f"level_{level}")
    for name in registry.names():
        for version in registry.versions(name):
            yield registry.message(name, version)


def needs() -> dict[str, list[str]]:
    """Return generated code's use of the runtime: names by module, and arguments of the classes that it calls."""
    arguments = {made.__qualname__: sorted(inspect.signature(made).parameters) for made in (Field, Entry, Registry)}
    return {module: sorted(names) for module, names in RUNTIME_NAMES.items()} | arguments


def behaviour(cls: type[Message], data: bytes) -> dict[str, Any]:
    """Return the behaviour of a class with the bytes of a message, as plain data."""
    message = cls.decode(data)
    return {
        "bytes": message.encode().hex(),
        "size": message.encoded_size(),
        "json": message.to_json(),
        "repr": repr(message),
        "unreadable": [[length, *_fault(cls, data[:length])] for length in _cuts(data)],
        "left over": _fault(cls, data + b"\0"),
        "unwritable": [[path, _refused_at(cls, data, path)] for path in _places(message)],
    }


def _cuts(data: bytes) -> range:
    return range(0, len(data), max(1, -(-len(data) // MOST_CUTS)))


def _fault(cls: type[Message], data: bytes) -> list[str | int]:
    """Return the path and the offset of the error; [] if the bytes are a message."""
    try:
        cls.decode(data)
    except DecodeError as error:
        return [error.path, error.offset]
    return []


def _places(message: Struct, before: str = "") -> Iterator[str]:
    """Yield the paths of all values of a message; in arrays of structs, only of the first element."""
    for field in message.ATTRIBUTES:
        path = f"{before}{field.name}"
        yield path
        value = getattr(message, field.name)
        if field.struct is not None and value:
            inner, step = (value[0], f"{path}[0].") if field.array else (value, f"{path}.")
            yield from _places(inner, step)


def _refused_at(cls: type[Message], data: bytes, path: str) -> str | None:
    """Return the path of the error after the value at a path was replaced by one that its field cannot have."""
    message: Any = cls.decode(data)
    *outer, name = path.replace("[0]", ".0").split(".")
    item = message
    for step in outer:
        item = item[0] if step == "0" else getattr(item, step)
    setattr(item, name, NO_VALUE)
    try:
        message.encode()
    except EncodeError as error:
        return error.path
    return None


def _examples(cls: type[Message]) -> list[Message]:
    found = [cls()]

    @settings(max_examples=6, derandomize=True, database=None, deadline=None)
    @given(messages(cls, long=False))
    def collect(message: Message) -> None:
        found.append(message)

    collect()
    return found


def keep() -> None:
    """Make the package of this level, and write down what it does."""
    place = folder(LEVEL)
    package = place / f"level_{LEVEL}"
    if package.exists():
        sys.exit(f"{package} is kept already: if no release has this level, remove it and kept.json; else raise LEVEL")
    if not (place / "specs").exists():
        shutil.copytree(folder(LEVEL - 1) / "specs", place / "specs")
    write_package(place / "specs", package)
    sys.path.insert(0, str(place))
    done = [
        {
            "name": cls.NAME,
            "version": cls.VERSION,
            "pickle": base64.b64encode(pickle.dumps(example)).decode(),
            **behaviour(cls, example.encode()),
        }
        for cls in classes(LEVEL)
        for example in _examples(cls)
    ]
    lines = ",\n".join(f"    {json.dumps(one)}" for one in done)
    text = f'{{\n  "needs": {json.dumps(needs())},\n  "messages": [\n{lines}\n  ]\n}}\n'
    (place / "kept.json").write_text(text)


if __name__ == "__main__":
    keep()
