"""Common parts of the fuzzers: the command line, the kernel built with sanitizers, and messages to begin with.

    python -m tests.fuzz.FUZZER FOLDER --target NAME [--seconds 60] [--seed 0]

The folder has the built kernel, and the packages `forms_of_every_kind` and `layouts_of_every_kind` that were generated
from tests/data. The last line has the number of inputs. A difference between the kernel and Python ends the run
with exit status 1; a report of AddressSanitizer or UBSan ends the process before that line.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import importlib.util
import os
import random
import sys
import time
import traceback
import uuid
from collections.abc import Callable, Iterator
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType
from typing import Any

os.environ["KIPWIRE_NATIVE"] = "0"  # the kernel of the package is another one

import kafka_messages
import kafka_records
from kipwire import Message, Struct
from kipwire.description.values import field_range
from kipwire.drafts import proposals
from kipwire.model.types import KINDS
from kipwire.testing.strategies import arranged
from tests.support import golden_data, native_checks

Target = Callable[[ModuleType, random.Random], Iterator[None]]
"""Checks one input after the other, for ever; an AssertionError is a difference."""

EDGES = (0, 1, 127, 128, 16383, 16384, 32766, 32767, 32768, 32769, 65534, 65535, 65536)
"""Numbers of bytes at which some form of a size ends, or takes a byte more."""


def main(description: str | None, targets: dict[str, Target]) -> int:
    """Run the command line; the exit status."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="of the built kernel and the generated packages")
    parser.add_argument("--target", choices=targets, required=True)
    parser.add_argument("--seconds", type=float, default=60, help="how long (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers (default: %(default)s)")
    options = parser.parse_args()
    faulthandler.enable()
    inputs, differences, end = 0, 0, 0.0
    try:
        for _ in targets[options.target](load(options.folder), random.Random(options.seed)):
            end = end or time.monotonic() + options.seconds  # after the slow start, at the first input
            inputs += 1
            if time.monotonic() >= end:
                break
    except Exception:  # one that no check expects is one that only one of both ways raises
        traceback.print_exc()
        differences = 1
    print(f"{options.target}: {inputs} inputs, 0 reports, {differences} differences")
    return differences


def load(folder: Path) -> ModuleType:
    """Load the kernel that a folder has for this Python."""
    spec = importlib.util.spec_from_file_location("_kernel", folder / f"_kernel{EXTENSION_SUFFIXES[0]}")
    assert spec is not None and spec.loader is not None
    kernel = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernel)
    return kernel


@cache
def classes() -> list[type[Message]]:
    """Return every class of messages and of layouts that the kernel serves, but Kafka's messages."""
    generated = map(importlib.import_module, ("forms_of_every_kind", "layouts_of_every_kind"))
    return [
        package.message(name, version)
        for package in (kafka_records, proposals, *generated)
        for name in package.names()
        for version in package.versions(name)
        if (package.__name__, name, version) not in native_checks.LEFT_TO_PYTHON
    ]


def layouts() -> list[type[Message]]:
    """Return every class that has a layout."""
    return [cls for cls in classes() if cls.TYPE == "layout"]


def seeds() -> list[tuple[type[Message], bytes]]:
    """Return messages to damage: Kafka's golden ones, and one of defaults of every other class."""
    found = [
        (kafka_messages.message(name, version), bytes.fromhex(line["hex"]))
        for (name, version), lines in golden_data.messages().items()
        for line in lines
    ]
    for cls in classes():
        if cls.TYPE != "layout":
            found += 20 * [(cls, cls().encode())]
    return found


def filled(cls: type[Struct], chance: random.Random, depth: int = 0) -> Any:
    """Return a struct with values of the very types of its fields, some of them at or beyond the range of a size."""
    values = {field.name: _value(field, chance, depth) for field in cls.ATTRIBUTES}
    return cls(**arranged(cls, values))


def _value(field: Any, chance: random.Random, depth: int) -> Any:
    if field.nullable and chance.random() < 0.2:
        return None
    if not field.array:
        return _element(field, chance, depth)
    count = chance.choice((128, 300, 32768)) if depth < 2 and chance.random() < 0.002 else chance.randrange(4)
    few = [_element(field, chance, depth + 1) for _ in range(min(count, 4))]
    return (few * (count // 4 + 1))[:count]


def _element(field: Any, chance: random.Random, depth: int) -> Any:
    kind = field.element
    if field.struct is not None:
        return filled(field.struct, chance, depth + 1)
    if KINDS.get(kind) == "integer":
        lowest, highest = field_range(field)
        return chance.choice((lowest, highest, min(highest, 1), 0, chance.randint(lowest, highest)))
    if kind in ("string", "bytes", "records"):
        size = chance.choice(EDGES) if chance.random() < 0.05 else chance.randrange(8)
        return "a" * size if kind == "string" else b"a" * size
    return {"bool": True, "float64": -0.0, "uuid": uuid.UUID(int=chance.randrange(2**128))}[kind]


def run(description: str | None, targets: dict[str, Target]) -> None:
    """Run the command line and end the process."""
    sys.exit(main(description, targets))
