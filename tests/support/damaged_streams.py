"""Arrow arrays of IPC streams that have been damaged byte by byte, given to columns by the kernel and without it.

pyarrow may crash by itself on such a stream. So each is first read, checked and converted in a child process, by
pyarrow and the generated classes alone; only streams that child gets through are given to the kernel, in this process.
"""

from __future__ import annotations

import os
import pickle
import random
import struct
import traceback
from collections.abc import Callable

import pyarrow as pa

from kipwire import KipwireError, Message, columns, native

Check = Callable[[type[Message], pa.Array], object]
"""Function that converts an array of messages or rows, and returns its result as plain data."""

_POWERS = (28, 31, 32, 59, 60, 61, 62)
_NUMBERS = [2**power + less for power in _POWERS for less in (-1, 0)] + [2**63 - 1, -1, 0]
ENORMOUS = [struct.pack("<q", number) for number in _NUMBERS]


def varied(array: pa.Array, chance: random.Random) -> pa.Array:
    """Return the array, or a slice of it, or one of other types with the same values, or of types that are refused."""
    kind = chance.randrange(8)
    if kind == 0:
        return array.slice(chance.randrange(len(array)))
    if kind == 1 and not pa.types.is_struct(array.type):
        return array.cast(pa.binary_view())
    if kind == 2 and not pa.types.is_struct(array.type):
        return array.dictionary_encode()
    if kind == 3 and pa.types.is_struct(array.type):
        return pa.StructArray.from_arrays(
            [_other(array.field(number), chance) for number in range(array.type.num_fields)],
            [one.name for one in array.type],
            mask=array.is_null(),
        )
    return array


def _other(array: pa.Array, chance: random.Random) -> pa.Array:
    """Return a column as one of another type."""
    types = pa.types
    if types.is_fixed_size_binary(array.type):
        return pa.ExtensionArray.from_storage(pa.uuid(), array)
    if types.is_string(array.type):
        kind = chance.choice((pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())))
        return array.cast(kind)
    if types.is_list(array.type):
        return array.cast(pa.large_list(array.type.value_field))
    return array.cast(pa.int64()) if types.is_integer(array.type) else array


def stream_of(array: pa.Array, chance: random.Random) -> bytes:
    """Return a stream with one batch of one column."""
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([array], names=["column"])
    options = pa.ipc.IpcWriteOptions(compression="lz4" if chance.random() < 0.05 else None)
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream


def damage(stream: bytes, chance: random.Random) -> bytes:
    """Return the stream with some faults: any bytes, and enormous lengths, offsets and sizes in their positions."""
    result = bytearray(stream)
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3))):
        at = chance.randrange(len(result))
        if chance.random() < 0.7:
            at -= at % 8  # the positions of 64-bit numbers
            enormous = chance.choice(ENORMOUS)
            result[at : at + len(enormous)] = enormous
        else:
            result[at] = chance.choice(
                (0, 1, 127, 128, 255, chance.randrange(256), result[at] ^ 1 << chance.randrange(8))
            )
    if chance.random() < 0.3:  # one number, wherever it is: a count of rows, or the size of a buffer
        old = struct.pack("<q", chance.choice((1, 2, 3, 4, 9, 10, 16, 40)))
        result = result.replace(old, chance.choice(ENORMOUS))
    return bytes(result)


def check_decode(cls: type[Message], array: pa.Array) -> object:
    """Decode messages; return their rows and the error of each."""
    rows = columns.decode(cls, array, mode="null")
    rows.validate(full=True)
    return repr(rows.to_pylist()), columns.explain(cls, array, rows).to_pylist()


def check_encode(cls: type[Message], array: pa.Array) -> object:
    """Encode rows; return their bytes."""
    encoded = columns.encode(cls, array)
    encoded.validate(full=True)
    return encoded.to_pylist()


def check(convert: Check, cls: type[Message], stream: bytes) -> None:
    """Check that the kernel and the generated classes have the same result for a stream that pyarrow survives.

    Where the generated classes refuse an array for a fault in a place that no row refers to, the kernel may accept it.
    """
    expected = in_a_child(lambda: outcome(convert, cls, stream, by_kernel=False))
    if expected is None:
        return
    found = outcome(convert, cls, stream, by_kernel=True)
    assert len(found) == len(expected)
    for by_kernel, by_classes in zip(found, expected, strict=True):
        if by_classes != "ColumnError":
            assert by_kernel == by_classes, f"{cls.NAME} v{cls.VERSION}: {stream.hex()}"


def outcome(convert: Check, cls: type[Message], stream: bytes, *, by_kernel: bool) -> list[str]:
    """Return the results for a stream's columns; none if pyarrow does not read it.

    Errors that columns do not promise are raised.
    """
    native.in_use = by_kernel
    try:
        batch = pa.ipc.open_stream(stream).read_next_batch()
        arrays = [batch.column(number) for number in range(batch.num_columns)]  # this reads their names
    except (pa.ArrowException, OSError, StopIteration, ValueError, KeyError, UnicodeDecodeError, MemoryError):
        return []
    found = []
    for array in arrays:
        try:
            found.append(repr(convert(cls, array)))
        except KipwireError as error:
            found.append(type(error).__name__)
    return found


def in_a_child(work: Callable[[], list[str]]) -> list[str] | None:
    """Do some work in a child process and return its result; None if pyarrow crashes there or has no memory left.

    Raises:
        AssertionError: the work raised an unexpected error.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _work(work, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        given = pipe.read()
    os.waitpid(child, 0)
    if not given:
        return None
    found, fault = pickle.loads(given)
    assert fault is None, fault
    return list(found)


def _work(work: Callable[[], list[str]], pipe: int) -> None:
    """Be the child: write what the work gives, and end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # hides a sanitizer's reports of crashes of pyarrow
        given: tuple[list[str], str | None]
        try:
            given = work(), None
        except MemoryError:
            return
        except BaseException:
            given = [], traceback.format_exc()
        with os.fdopen(pipe, "wb") as file:
            file.write(pickle.dumps(given))
    finally:
        os._exit(0)
