"""Conversion of messages or rows, as users give them, to the few forms that the rest works on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from kipwire.columns.errors import ColumnError
from kipwire.columns.soundness import arrow_errors_of, expect_few, expect_sound

Buffer = bytes | bytearray | memoryview
Messages: TypeAlias = pa.Array | pa.ChunkedArray | Sequence[bytes | None]
"""Messages as `decode` takes them; anything with Arrow's C data interface will do, such as a column of polars."""
Rows: TypeAlias = pa.StructArray | pa.ChunkedArray | pa.RecordBatch | pa.Table
"""Rows as `encode` takes them; anything with Arrow's C data interface will do, such as a table of polars."""


def split(buffer: Buffer | pa.Buffer, offsets: Sequence[int] | pa.Array) -> pa.Array:
    """Split a buffer of messages that follow each other into an array for `decode`; nothing is copied.

    Args:
        buffer: the bytes of the messages.
        offsets: where each message starts, then where the last one ends: one more than there are messages. An
            Arrow array of int32 or int64 is taken as it is.

    Raises:
        ColumnError: the offsets descend or lie outside the buffer.

    Example:
        decode(HeartbeatRequest, split(data, [0, 67, 134]))
    """
    ends: Any = offsets if isinstance(offsets, pa.Array) else pa.array(offsets, pa.int64())
    kinds = {pa.int32(): pa.binary(), pa.int64(): pa.large_binary()}
    if ends.type not in kinds or ends.null_count or not len(ends):
        raise ColumnError(f"offsets must be one or more int32 or int64 without null, not {len(ends)} {ends.type}")
    data = buffer if isinstance(buffer, pa.Buffer) else pa.py_buffer(buffer)
    buffers = [None, ends.buffers()[1], data]
    try:
        array = pa.Array.from_buffers(kinds[ends.type], len(ends) - 1, buffers, offset=ends.offset)
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        raise ColumnError(f"invalid offsets: {error}") from error
    return array


def as_messages(data: Messages) -> pa.Array | pa.ChunkedArray:
    """Bring messages to an array, or chunks, of type `binary` or `large_binary`; the caller has to check the offsets.

    Raises:
        ColumnError: the data is not bytes, or is damaged.
    """
    given = _as_arrow(data, "messages")
    if given is None:
        try:
            return pa.array(data, pa.large_binary())
        except (pa.ArrowException, TypeError) as error:
            raise ColumnError(f"messages must be an Arrow array or a list of bytes: {error}") from error
    types = pa.types
    is_usual = types.is_binary(given.type) or types.is_large_binary(given.type)
    expect_sound(given, "messages", values=not is_usual)
    expect_few(given)
    if is_usual:
        return given
    if types.is_binary_view(given.type) or types.is_fixed_size_binary(given.type) or given.type == pa.null():
        with arrow_errors_of("messages"):
            return given.cast(pa.large_binary())
    raise ColumnError(f"messages must be of type binary or large_binary, not {given.type}")


def as_rows(rows: Rows) -> pa.StructArray | pa.ChunkedArray:
    """Convert rows to an array, or chunks, of structs, without a check that offsets and texts in them make sense.

    Raises:
        ColumnError: the rows are not structs, or are damaged.
    """
    given: Any
    if isinstance(rows, (pa.RecordBatch, pa.Table)):
        given = rows
    else:
        given = _as_arrow(rows, "rows")
        if given is None:
            kind = type(rows).__name__
            raise ColumnError(f"rows must be an Arrow array of structs, a record batch or a table, not {kind}")
        if not pa.types.is_struct(given.type):
            raise ColumnError(f"rows must be of a struct type, not {given.type}")
    expect_sound(given, "rows", values=False)
    if isinstance(given, (pa.RecordBatch, pa.Table)):
        with arrow_errors_of("rows"):
            given = given.to_struct_array()
    expect_few(given)
    return given


def _as_arrow(data: Any, what: str) -> pa.Array | pa.ChunkedArray | None:
    """Import an object with Arrow's C data interface as array or chunks; None for anything else.

    Raises:
        ColumnError: the data is damaged, by pyarrow's checks.
    """
    if isinstance(data, (pa.Array, pa.ChunkedArray)):
        return data
    with arrow_errors_of(what):
        if hasattr(data, "__arrow_c_stream__"):
            return pa.chunked_array(data)
        if hasattr(data, "__arrow_c_array__"):
            return pa.array(data)
    return None
