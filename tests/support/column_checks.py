"""Checks of columns against rows, for both ways to make columns; tests and the fuzzer run them."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa

from kipwire import DecodeError, EncodeError, Message, Struct, columns
from kipwire.columns import python_engine
from kipwire.columns.arrow_types import StructColumns, columns_of


class Way(NamedTuple):
    """One of the two ways to columns and back."""

    name: str
    read: Callable[[type[Message], StructColumns, pa.Array], pa.StructArray]
    """The rows of messages; broken ones are null."""
    write: Callable[[type[Message], StructColumns, pa.StructArray], pa.BinaryArray]


def _read_python(cls: type[Message], struct: StructColumns, messages: pa.Array) -> pa.StructArray:
    return python_engine.read(cls, struct, messages, 0, strict=False)


def _write_python(cls: type[Message], struct: StructColumns, rows: pa.StructArray) -> pa.BinaryArray:
    return python_engine.write(cls, struct, rows, 0)


BY_PYTHON = Way("python", _read_python, _write_python)


def by_kernel() -> Way:
    """Return the way through the compiled kernel, which must be there."""
    from kipwire.columns import kernel_engine

    def read(cls: type[Message], struct: StructColumns, messages: pa.Array) -> pa.StructArray:
        return kernel_engine.read(cls, struct, messages, strict=False)[1]

    return Way("kernel", read, kernel_engine.write)


def check_columns(way: Way, cls: type[Message], data: list[bytes | None]) -> None:
    """Check that every message has the same values, verdict and bytes as by itself, whatever its neighbours are."""
    expected, written = [], []
    for one in data:
        message = _decoded(cls, one)
        expected.append(None if message is None else plain(message))
        written.append(None if message is None else message.encode())
    struct = columns_of(cls)
    rows = way.read(cls, struct, pa.array(data, pa.binary()))
    rows.validate(full=True)
    assert bits(rows.to_pylist()) == bits(expected)
    assert holds_nothing_else(rows)
    encoded = way.write(cls, struct, rows)
    encoded.validate(full=True)
    assert encoded.to_pylist() == written


def check_errors(cls: type[Message], data: list[bytes | None]) -> None:
    """Check that the first broken message is an error with the text of the row decoder; `explain` has all of them."""
    texts = [None if one is None else _fault(cls, one) for one in data]
    array = pa.array(data, pa.binary())
    broken = [row for row, text in enumerate(texts) if text is not None]
    rows = columns.decode(cls, array, mode="null")
    assert rows.null_count - array.null_count == len(broken)
    assert columns.explain(cls, array, rows).to_pylist() == texts
    try:
        assert columns.decode(cls, array).null_count == array.null_count
        assert not broken
    except columns.RowDecodeError as error:
        assert str(error) == f"row {broken[0]}: {texts[broken[0]]}"
        assert error.row == broken[0]


def check_choices(way: Way, cls: type[Message], data: list[bytes | None]) -> None:
    """Whatever is chosen has the values that it has among all columns."""
    array = pa.array(data, pa.binary())
    everything = bits(way.read(cls, columns_of(cls), array).to_pylist())
    for path in paths(columns_of(cls)):
        chosen = way.read(cls, columns_of(cls, [path]), array)
        chosen.validate(full=True)
        assert bits(chosen.to_pylist()) == [only(row, path.split(".")) for row in everything]


def only(value: Any, path: list[str]) -> Any:
    """Return plain values reduced to one path."""
    if value is None or not path:
        return value
    if isinstance(value, list):
        return [only(element, path) for element in value]
    return {path[0]: only(value[path[0]], path[1:])}


def paths(struct: StructColumns) -> list[str]:
    """Return the paths of all columns, at any depth."""
    found = []
    for column in struct.columns:
        found.append(column.name)
        if column.struct is not None:
            found += [f"{column.name}.{path}" for path in paths(column.struct)]
    return found


def plain(message: Struct) -> dict[str, Any]:
    """Return the values of a message as Arrow's arrays return them."""
    values = {field.name: _plain(getattr(message, field.name)) for field in message.ATTRIBUTES}
    if message.FLEXIBLE:
        values["unknown_tagged_fields"] = list((message._unknown_tagged_fields or {}).items())
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return plain(value)
    if isinstance(value, list):
        return [_plain(element) for element in value]
    return value.bytes if isinstance(value, uuid.UUID) else value


def bits(value: Any) -> Any:
    """Return the value with floats as their bits, so that NaN can be compared and -0.0 is not 0.0."""
    if isinstance(value, float):
        return struct.pack(">d", value)
    if isinstance(value, list):
        return [bits(element) for element in value]
    return {name: bits(one) for name, one in value.items()} if isinstance(value, dict) else value


def holds_nothing_else(array: pa.Array) -> bool:
    """True if no array within has elements beyond its offsets, such as elements of a broken message."""
    if pa.types.is_struct(array.type):
        return all(
            len(child) == len(array) and holds_nothing_else(child)
            for child in (array.field(number) for number in range(array.type.num_fields))
        )
    if pa.types.is_list(array.type) or pa.types.is_map(array.type):
        return array.offsets[-1].as_py() == len(array.values) and holds_nothing_else(array.values)
    return True


def _decoded(cls: type[Message], data: bytes | None) -> Message | None:
    try:
        return None if data is None else cls.decode(data)
    except DecodeError:
        return None


def _fault(cls: type[Message], data: bytes) -> str | None:
    try:
        cls.decode(data)
    except DecodeError as error:
        return str(error)
    return None


def check_values(message: Message) -> None:
    """Check that a message of any values is written or refused as a row as by itself, if a row can have its values."""
    cls = type(message)
    try:
        rows = pa.array([plain(message)], columns_of(cls).type)
    except (pa.ArrowException, TypeError, ValueError, AttributeError, OverflowError):
        return
    if repr(rows.to_pylist()) != repr([plain(message)]):  # Arrow has converted a value to another one
        return
    try:
        expected: object = message.encode()
    except EncodeError as error:
        expected = f"row 0: {error}"
    try:
        found: object = columns.encode(cls, rows)[0].as_py()
    except columns.RowEncodeError as error:
        found = str(error)
    assert found == expected
