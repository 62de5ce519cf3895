"""Checks of the compiled kernel against the Python methods that it replaces; tests and the fuzzer run them."""

from __future__ import annotations

import inspect
import random
import struct
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

from kipwire import KipwireError, Message, Struct, convert, native
from kipwire.records import RawHeaderKey, Record, RecordBatch, reading, sections

PYTHON = native.PYTHON
PYTHON_CONVERT = inspect.unwrap(convert)
LEFT_TO_PYTHON = {
    ("kipwire.drafts.proposals", "MessageSet", 2): {"required_if"},
    ("kipwire.drafts.proposals", "Messages", 2): {"required_if"},
}
"""The classes that the kernel does not serve, by package, name and version, each with the properties of its fields that
the kernel does not know: `requiredIf`, which only the KIP-98 draft has."""


class GaveUpError(Exception):
    """The kernel would have called the Python function."""


def give_up(*_: object, **__: object) -> Any:
    raise GaveUpError


@contextmanager
def alone(kernel: ModuleType, *names: str) -> Iterator[None]:
    """Make the kernel raise `GaveUpError` where it would call a Python function of these names, by default any."""
    bind_all(kernel)
    for name in names or PYTHON:
        if hasattr(kernel, name) or name == "batches_from":  # to which it leaves batches, one by one
            kernel.bind(name, give_up)
    try:
        yield
    finally:
        bind_all(kernel)


def bind_all(kernel: ModuleType) -> None:
    """Give a kernel all of Python that the kernel in use has."""
    for name, given in PYTHON.items():
        kernel.bind(name, given)


def check_decode(kernel: ModuleType, cls: type[Message], data: bytes) -> Message | None:
    """Check that kernel and Python decode the bytes to the same message, or refuse them. Return the message, or None.

    The kernel must be `alone`.
    """
    expected = result(PYTHON["decode"], cls, data)
    found = result(kernel.decode, cls, data)
    _expect_same(found, expected, f"{cls.NAME} v{cls.VERSION}: {data.hex()}")
    before, after = b"\x01" * 3, b"\x00\x01"
    expected_read = result(PYTHON["read"], cls, before + data + after, 3)
    found_read = result(kernel.read, cls, before + data + after, 3)
    _expect_same(found_read, expected_read, f"read {cls.NAME} v{cls.VERSION}: {data.hex()}")
    return found if isinstance(found, Message) else None


def check_encode(kernel: ModuleType, message: Message, *, usual: bool) -> None:
    """Check that kernel and Python have the same bytes and size, and change no message. The kernel must be `alone`.

    Args:
        kernel: the compiled module.
        message: any, also one that cannot be written.
        usual: whether all values have exactly the types of their attributes; then the kernel must serve them.
    """
    before = content(message)
    data, size = result(kernel.encode, message), result(kernel.encoded_size, message)
    assert content(message) == before
    assert (data is None) == (size is None)
    expected = result(PYTHON["encode"], message)
    if data is None:
        assert not usual or expected is None, f"the kernel gave up on {message!r}"
        return
    assert type(data) is bytes
    assert data == expected, f"{message!r}"
    assert size == len(data) == PYTHON["encoded_size"](message)


def check_convert(kernel: ModuleType, message: Message, target: type[Message], *, usual: bool) -> None:
    """Check that kernel and Python convert to the same message, and keep the given one. The kernel must be `alone`.

    Args:
        kernel: the compiled module.
        message: any, also one that cannot be written.
        target: the class of the message in another version.
        usual: whether all values have exactly the types of their attributes; then the kernel converts what it serves.
    """
    before = content(message)
    found = result(kernel.convert, message, target)
    assert content(message) == before
    expected = result(
        PYTHON_CONVERT, message, target, errors=(AttributeError, TypeError)
    )  # from values of spoilt messages
    if found is None:
        assert not usual or expected is None, f"the kernel gave up on {before} to version {target.VERSION}"
    elif expected is not None:
        _expect_same(found, expected, f"{message.NAME} v{message.VERSION} to version {target.VERSION}")


def check_read_records(kernel: ModuleType, data: bytes, base_offset: int, base_timestamp: int) -> list[Record] | None:
    """Check that kernel and Python read the same records, unless numbers exceed 64 bits. Return the kernel's."""
    with alone(kernel):
        found: list[Record] | None = result(kernel.read_records, data, base_offset, base_timestamp)
    with without_kernel():
        expected = result(sections.read_by_classes, data, base_offset, base_timestamp)
    plain = sections.read_plainly(data, base_offset, base_timestamp)
    assert content_of(plain) == content_of(expected), data.hex()
    if found is None:
        assert expected is None or any(
            not -(2**63) <= number < 2**63
            for one in expected
            for number in (base_offset, base_timestamp, one.offset, one.timestamp)
        ), data.hex()
    else:
        assert content_of(found) == content_of(expected), data.hex()
    return found


def check_write_records(
    kernel: ModuleType, records: list[Record], base_offset: int, base_timestamp: int
) -> bytes | None:
    """Check that the kernel writes the same as Python, and finds no order where there is none. Return its bytes."""
    before = [slots(one) for one in records]
    with alone(kernel):
        found: bytes | None = result(kernel.write_records, records, base_offset, base_timestamp)
        in_order = result(kernel.ordered_records, records, 2)
    with without_kernel():
        # Callers have checked the types of their arguments.
        expected = result(sections.write_by_classes, records, base_offset, base_timestamp, errors=ODD_ERRORS)
        plain = sections.write_plainly(records, base_offset, base_timestamp)
        ordered = result(PYTHON["ordered_records"], records, 2, errors=ODD_ERRORS)
    assert [slots(one) for one in records] == before
    assert found is None or (type(found) is bytes and found == expected), f"{records!r}"
    assert plain is None or (type(plain) is bytes and plain == expected), f"{records!r}"
    assert plain is not None or found is None, f"{records!r}"
    assert in_order is None or in_order == ordered == records, f"{records!r}"
    return found


def spoil_records(records: list[Record], chance: random.Random) -> None:
    """Change or delete a part of a record or of a header; the result may still be valid."""
    at = chance.randrange(len(records))
    name = chance.choice(Record.__slots__)
    kind = chance.randrange(10)
    if kind == 0:
        records[at] = chance.choice(ODD)
    elif kind == 1:
        delattr(records[at], name)
    elif kind < 5:
        odd = chance.choice(ODD)
        headers: list[Any] = [(odd, b""), ("key", odd), ["key", b""], ("key",), odd]
        records[at].headers = [chance.choice(headers)]
    else:
        setattr(records[at], name, chance.choice(ODD))


@contextmanager
def without_kernel() -> Iterator[None]:
    """Let Python read and write records: its functions are back where the kernel's stood in for them."""
    places = _places_of_the_kernel(frozenset(name for name in sys.modules if name.startswith(("kipwire.", "tests."))))
    for owner, name, own in places:
        setattr(owner, name, inspect.unwrap(own))
    reading.rules_of.cache_clear()  # which has functions in it
    kernel, native.kernel = native.kernel, None
    records = RecordBatch.records
    setattr(RecordBatch, "records", property(PYTHON["records_of_batch"]))  # noqa: B010
    try:
        yield
    finally:
        setattr(RecordBatch, "records", records)  # noqa: B010
        native.kernel = kernel
        reading.rules_of.cache_clear()
        for owner, name, own in places:
            setattr(owner, name, own)


@cache
def _places_of_the_kernel(modules: frozenset[str]) -> list[tuple[Any, str, Any]]:
    """Find the functions of modules that are the kernel's: the owner of each, its name, and the kernel's."""
    if native.kernel is None:
        return []
    kind = type(native.kernel.bind)
    names = [(sys.modules[module], *one) for module in modules for one in vars(sys.modules[module]).items()]
    return [(owner, name, own) for owner, name, own in names if type(own) is kind and hasattr(own, "__wrapped__")]


def content_of(records: list[Record] | None) -> object:
    """Return all that is in records, for comparing; None for none."""
    return None if records is None else [slots(one) for one in records]


def slots(record: object) -> object:
    """Return all that is in a record, each with its very type; the value itself if it is none."""
    if not isinstance(record, Record):
        return content(record)
    return [content(getattr(record, name, "nothing there")) for name in Record.__slots__]


def content(value: object) -> object:
    """Return a value with all that is in it, slot by slot, each with its very type: for comparing."""
    if isinstance(value, Struct):
        slots = [slot for base in type(value).__mro__ for slot in getattr(base, "__slots__", ())]
        return type(value), [content(getattr(value, slot, "nothing there")) for slot in slots]
    if isinstance(value, (list, tuple)):
        return type(value), [content(element) for element in value]
    if isinstance(value, dict):
        return type(value), [(content(key), content(element)) for key, element in value.items()]
    if isinstance(value, float):
        return float, struct.pack(">d", value)
    if isinstance(value, uuid.UUID):
        return uuid.UUID, value.int, value.is_safe
    if isinstance(value, RawHeaderKey):
        return type(value), str(value), value.raw
    return type(value), value


def spoil(message: Message, chance: random.Random) -> None:
    """Change or delete a value at any depth; the result may still be valid."""
    item = chance.choice(list(structs_in(message)))
    names = [field.name for field in item.ATTRIBUTES] + ["_unknown_tagged_fields"] * item.FLEXIBLE
    if not names:
        return
    name = chance.choice(names)
    value = getattr(item, name)
    if isinstance(value, list) and value and chance.random() < 0.6:
        value[chance.randrange(len(value))] = chance.choice(ODD)
    elif chance.random() < 0.1:
        delattr(item, name if name in _own_slots(item) else f"_lazy_{name}")
    else:
        setattr(item, name, chance.choice(ODD))


def damage(data: bytes, chance: random.Random) -> bytes:
    """Return the bytes with one to three faults, or none where a fault changes nothing."""
    result = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        at = chance.randint(0, len(result))
        kind = chance.randrange(5)
        if kind == 0:
            del result[at:]
        elif kind == 1:
            result[at : at + 1] = bytes([chance.randrange(256)])
        elif kind == 2:
            result[at:at] = chance.randbytes(chance.randint(1, 5))
        elif kind == 3:
            del result[at : at + chance.randint(1, 5)]
        else:
            enormous = chance.choice(_ENORMOUS)
            result[at : at + len(enormous)] = enormous
    return bytes(result)


_ENORMOUS = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07", b"\xff" * 10, b"\x80" * 9 + b"\1", b"\x7f\xff", b"\x80\0")


class _Int(int):
    """A subclass of a field's type."""


class Text(str):
    """A subclass of a field's type."""


class _List(list[Any]):
    """A subclass of a field's type."""


class Index:
    """Not an integer, but usable as one."""

    def __index__(self) -> int:
        return 5


ODD: tuple[Any, ...] = (
    *(None, False, True, 0, 1, -1, 127, -128, 128, 2**15, 2**16 - 1, 2**31 - 1, 2**31, -(2**31) - 1, 2**63 - 1, 2**63),
    *(_Int(7), Index(), 0.0, -0.0, 1.5, float("nan"), float("inf"), 10**400),
    *("", "a", "é" * 200, "\ud800", "a" * 32767, "a" * 32768, Text("text"), RawHeaderKey(b"\xff")),
    *(b"", b"ab", b"x" * 70000, bytearray(b"b"), memoryview(b"c")),
    *([], [None], [1, 2], [1, "a"], [2**40], ["a", ""], [b"a"], [0.5], [True], (), (1, 2), _List([1]), set(), object()),
    *({}, {5: b"a"}, {-1: b""}, {0: b""}, {2**31: b""}, {9: b"", 8: b"y" * 200}, {True: b""}, {7: "t"}, {1.0: b""}),
    *(dict.fromkeys(range(300, 0, -1), b""), {99: bytearray(b"z")}),
    *(uuid.UUID(int=0), uuid.UUID(int=2**128 - 1), uuid.uuid4()),
)
"""Values of many types; most fields cannot carry them."""


ODD_ERRORS = (AttributeError, TypeError, ValueError)


def result(function: Callable[..., Any], *arguments: object, errors: tuple[type[Exception], ...] = ()) -> Any:
    """Return the function's result; None if the kernel does not serve it, or one of kipwire's errors is raised.

    Any other is a defect, unless it is one of `errors`.
    """
    try:
        return function(*arguments)
    except (GaveUpError, KipwireError):
        return None
    except errors:
        return None


def _expect_same(found: object, expected: object, what: str) -> None:
    assert content(found) == content(expected), f"{what}\nkernel {found!r}\nPython {expected!r}"


def structs_in(item: Struct) -> Iterator[Struct]:
    """Yield the struct and all structs in it."""
    yield item
    for field in item.ATTRIBUTES:
        value = getattr(item, field.name)
        for element in value if isinstance(value, list) else [value]:
            if isinstance(element, Struct):
                yield from structs_in(element)


def _own_slots(item: Struct) -> set[str]:
    return {slot for base in type(item).__mro__ for slot in getattr(base, "__slots__", ())}
