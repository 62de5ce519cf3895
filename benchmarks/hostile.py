"""Costs of hostile input: the worst memory and processor time for a byte that structured attacks find.

    python -m benchmarks.hostile [PACKAGE ...]

An attack is a message that has only the smallest elements of one of its arrays. Each of them has content that takes
more memory than bytes: empty arrays, single elements, unknown tagged fields. It is valid, since decoding stops at an
error.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

from benchmarks.options import parsed, parser_of
from kipwire import EncodeError, Message, Struct, native
from kipwire.model.structs import Field
from kipwire.tools.io import no_garbage_collection

SIZE = 2000
"""Bytes of an attack, about: so many that the fixed costs of a message do not matter."""
PACKAGES = ("kafka_messages", "kafka_records", "kipwire.drafts.proposals")

Make = Callable[[type[Struct], int], Struct]
"""Makes a struct at a depth."""


class Attack(NamedTuple):
    """A message that takes much memory or time for its bytes."""

    name: str
    data: bytes


class Cost(NamedTuple):
    """Costs of decoding an attack."""

    attack: Attack
    cls: type[Message]
    memory: float
    """Bytes for a byte, at the peak."""
    time: float
    """Microseconds of the processor for a byte."""


def attacks(cls: type[Message]) -> Iterator[Attack]:
    """Yield attacks by the fields of a class; messages that cannot be written are left out."""
    for kind, make in _MAKES.items():
        for path in _array_paths(cls):
            size = max(len(_filled(cls, path, 11, make)) - len(_filled(cls, path, 1, make)), 10) / 10
            data = _filled(cls, path, max(1, int(SIZE / size)), make)
            if data:
                yield Attack(f"{'.'.join(path)} of {kind}", data)
    if cls.FLEXIBLE:
        message: Any = _smallest(cls, 0)
        message.unknown_tagged_fields = {10_000 + tag: b"" for tag in range(SIZE // 3)}
        yield Attack("unknown tagged fields", message.encode())


def _array_paths(cls: type[Struct], before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for field in cls.ATTRIBUTES:
        if field.array:
            yield (*before, field.name)
        if field.struct is not None and len(before) < 5:
            yield from _array_paths(field.struct, (*before, field.name))


def _filled(cls: type[Message], path: tuple[str, ...], count: int, make: Make) -> bytes:
    """Write a message with `count` elements in one of its arrays; empty if that is not possible."""
    try:
        message: Any = _smallest(cls, 0)
        item = message
        for name in path[:-1]:
            field = _field(item, name)
            assert field.struct is not None
            inner = _smallest(field.struct, 0)
            setattr(item, name, [inner] if field.array else inner)
            item = inner
        field = _field(item, path[-1])
        setattr(item, path[-1], [_element(field, make)] * count)
        data: bytes = message.encode()
        return data
    except EncodeError:
        return b""


def _field(item: Struct, name: str) -> Field:
    return next(field for field in item.ATTRIBUTES if field.name == name)


def _element(field: Field, make: Make) -> Any:
    if field.struct is not None:
        return make(field.struct, 0)
    return Field(field.name, field.spec_name, field.element, default=_ZERO.get(field.element, 0)).default_value()


_ZERO: dict[str, Any] = {"string": "", "bytes": b"", "records": b"", "bool": False, "float64": 0.0}


def _smallest(cls: type[Struct], depth: int) -> Struct:
    """Make a struct of few bytes: fields are null if they may be, else empty."""
    return _made(cls, depth, lambda field: None if field.nullable else _empty(field, depth, _smallest))


def _with_empty(cls: type[Struct], depth: int) -> Struct:
    """Make a struct with empty arrays and texts rather than null."""
    return _made(cls, depth, lambda field: _empty(field, depth, _with_empty))


def _with_one(cls: type[Struct], depth: int) -> Struct:
    """Make a struct that has an element in each of its arrays."""

    def value(field: Field) -> Any:
        if not field.array or depth > 3:
            return _empty(field, depth, _with_one)
        return [_element(field, lambda inner, _: _with_one(inner, depth + 1))]

    return _made(cls, depth, value)


def _with_unknown(cls: type[Struct], depth: int) -> Struct:
    """Make a struct with an unknown tagged field."""
    item: Any = _smallest(cls, depth)
    if cls.FLEXIBLE:
        item.unknown_tagged_fields = {99: b""}
    return item  # type: ignore[no-any-return]


def _made(cls: type[Struct], depth: int, value: Callable[[Field], Any]) -> Struct:
    return cls(**{field.name: value(field) for field in cls.ATTRIBUTES if field.tag is None})


def _empty(field: Field, depth: int, make: Make) -> Any:
    if field.array:
        return []
    if field.struct is not None:
        return make(field.struct, depth + 1)
    return _ZERO.get(field.element, field.default_value())


_MAKES: dict[str, Make] = {
    "smallest elements": _smallest,
    "elements with empty arrays": _with_empty,
    "elements with one element each": _with_one,
    "elements with an unknown tagged field": _with_unknown,
}


def memory_of(cls: type[Message], data: bytes) -> float:
    """Measure the bytes that are allocated at the peak of decoding, for each byte."""
    cls.decode(data)
    with no_garbage_collection():
        tracemalloc.start()
        kept = cls.decode(data)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    del kept
    return peak / len(data)


def time_of(cls: type[Message], data: bytes) -> float:
    """Measure the microseconds of the processor that decoding takes for each byte; the best of three."""
    taken = []
    for _ in range(3):
        start = time.process_time_ns()
        cls.decode(data)
        taken.append(time.process_time_ns() - start)
    return min(taken) / 1000 / len(data)


def classes(package: str) -> list[type[Message]]:
    """Return the classes of a package that differ: of versions with the same format, the first."""
    module = import_module(package)
    found: dict[object, type[Message]] = {}
    for name in module.names():
        for version in module.versions(name):
            cls = module.message(name, version)
            found.setdefault((name, repr([_shape(field) for field in cls.ATTRIBUTES]), cls.FLEXIBLE), cls)
    return list(found.values())


def _shape(field: Field) -> object:
    inner = [_shape(one) for one in field.struct.ATTRIBUTES] if field.struct else None
    return field.name, field.element, field.array, field.nullable, field.tag, field.compact, inner


def main() -> None:
    """Run the command line."""
    parser = parser_of(__doc__)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", default=PACKAGES, help="packages of classes")
    options = parsed(parser, packages=["kafka_records"])
    engine = "the compiled kernel" if native.in_use else "Python"
    for package in options.packages:
        costs = [
            Cost(attack, cls, memory_of(cls, attack.data), time_of(cls, attack.data))
            for cls in classes(package)
            for attack in attacks(cls)
        ]
        print(f"{package} by {engine}: {len(costs):,} attacks")
        for what, worst in (
            ("bytes", max(costs, key=lambda it: it.memory)),
            ("us of processor time", max(costs, key=lambda it: it.time)),
        ):
            figure = worst.memory if what == "bytes" else worst.time
            print(f"  {figure:.3g} {what} a byte: {worst.cls.NAME} v{worst.cls.VERSION}, {worst.attack.name}")


if __name__ == "__main__":
    main()
