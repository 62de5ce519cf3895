"""Validation of Arrow arrays from untrusted sources, such as IPC streams and other libraries.

All input passes through here before its buffers are read. An array that is not sound raises `ColumnError`, and so does
any other error of pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from kipwire.columns.errors import ColumnError, too_much

MAX_ROWS = 2**31 - 1
"""The most rows that Arrow's 32-bit offsets can address."""
MAX_ROWS_WITHOUT_BYTES = 2**24
"""Limit for rows that need no byte of any buffer, such as structs without columns. A few bytes can declare any number.
"""


def expect_sound(given: pa.Array | pa.ChunkedArray | pa.RecordBatch | pa.Table, what: str, *, values: bool) -> None:
    """Check that lengths, buffers and children fit each other, with pyarrow's checks.

    Args:
        given: any Arrow data.
        what: a noun for the error message.
        values: True to check the content of buffers as well, such as offsets, views and texts, which pyarrow trusts
            unchecked and the kernel does not.

    Raises:
        ColumnError: the data is damaged.
    """
    with arrow_errors_of(what):
        given.validate(full=values)
        if isinstance(given, (pa.RecordBatch, pa.Table)):
            for field in given.schema:
                _read_names(field)
        else:
            for number in range(given.type.num_fields):
                _read_names(given.type.field(number))


def _read_names(field: pa.Field) -> None:
    """Read the names of a field and of the fields in it, as pyarrow does on demand.

    Raises:
        UnicodeDecodeError: a name is not UTF-8.
    """
    _ = field.name
    for number in range(field.type.num_fields):
        _read_names(field.type.field(number))


def expect_few(given: pa.Array | pa.ChunkedArray) -> None:
    """Check that a sound array, and the arrays in it, have no more rows than their bytes can account for.

    Raises:
        ColumnError: an array has more.
    """
    for array in given.chunks if isinstance(given, pa.ChunkedArray) else [given]:
        _expect_few_at_once(array)
        for values in _lists_in(array):
            expect_few(values)


def _expect_few_at_once(array: pa.Array) -> None:
    rows = len(array)
    if rows > MAX_ROWS:
        raise too_much()
    if rows > MAX_ROWS_WITHOUT_BYTES and rows > MAX_ROWS_WITHOUT_BYTES + 8 * array.get_total_buffer_size():
        raise ColumnError(f"{rows} rows without bytes: take {MAX_ROWS_WITHOUT_BYTES} of them at a time")


def _lists_in(array: pa.Array) -> Iterator[pa.Array]:
    """Yield the elements of the lists in an array: only elements may be more than the rows of the array."""
    if pa.types.is_struct(array.type):
        for number in range(array.type.num_fields):
            if array.type.field(number).type.num_fields:
                yield from _lists_in(array.field(number))
    elif isinstance(array, _LISTS):
        yield array.values


_LISTS = (pa.ListArray, pa.LargeListArray, pa.ListViewArray, pa.LargeListViewArray, pa.FixedSizeListArray)


@contextmanager
def arrow_errors_of(what: str) -> Iterator[None]:
    """Turn errors of pyarrow into errors of columns."""
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise ColumnError(f"the array of {what} is damaged: {error}") from error
