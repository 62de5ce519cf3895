"""The engine of columns that uses the compiled kernel: Arrow's buffers go in and come out as they are.

The kernel is given buffers and gives buffers, and checks every number in them: a wrong offset is an error, and then
Arrow's own full check names it. The kernel serves the columns of a class as a whole or not at all (`serves`). For rows
that the kernel does not write, `write` returns None. `python_engine` defines the result and makes the errors. Both
engines give equal columns, and tests compare them.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kipwire import _kernel
from kipwire.columns import input_checks
from kipwire.columns.arrow_types import UNKNOWN_TYPE, Column, StructColumns
from kipwire.columns.errors import ColumnError, too_large_a_number, too_much
from kipwire.columns.soundness import expect_sound
from kipwire.message.messages import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.records import RecordBatch


Names = tuple[tuple[str, "Names | None"], ...]
"""The columns of a struct in their order: the name of each, and the same for the struct in it."""

serves = _kernel.serves_columns


class _UnusualError(Exception):
    """Rows that the kernel does not write; the generated code may write them."""


def read(
    cls: type[Message], struct: StructColumns, messages: pa.Array, *, strict: bool
) -> tuple[int, pa.StructArray | None]:
    """Decode messages: (-1, rows), or (number of the broken message, None) where strict reading stopped at one.

    The kernel looks at each offset as it gets there; so where it does not get to the last one, Arrow looks at all.

    Raises:
        ColumnError: a column would outgrow its offsets, or the array of messages is damaged.
    """
    large = pa.types.is_large_binary(messages.type)
    _, offsets, content = messages.buffers()
    if not len(messages):
        return -1, pa.array([], struct.type)
    try:
        buffers = (_validity(messages), offsets, content or b"")
        failed, parts = _kernel.read_columns(
            cls, names_of(struct), buffers, large, messages.offset, len(messages), strict
        )
    except OverflowError:
        expect_sound(messages, "messages", values=True)
        raise too_much() from None
    except ValueError as error:
        expect_sound(messages, "messages", values=True)
        raise ColumnError(f"the array of messages is damaged: {error}") from error
    if failed >= 0:
        expect_sound(messages, "messages", values=True)
    return failed, None if parts is None else array_of(struct.type, parts)


def write(cls: type[Message], struct: StructColumns, rows: pa.StructArray) -> pa.BinaryArray | None:
    """Encode rows; None if the generated code has to look at them.

    Raises:
        ColumnError: all rows together have too many bytes, or the array of rows is damaged.
    """
    try:
        failed, offsets, content = _kernel.write_columns(cls, names_of(struct, rows.type), kernel_input(struct, rows))
    except OverflowError:
        raise too_much() from None
    except (_UnusualError, pa.ArrowException):  # or a value does not fit the type of its column
        return None
    except ValueError as error:
        raise ColumnError(f"the array of rows is damaged: {error}") from error
    if failed >= 0:
        return None
    validity = rows.is_valid().buffers()[1] if rows.null_count else None
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(content)]
    return pa.Array.from_buffers(pa.binary(), len(rows), buffers)


def names_of(struct: StructColumns, given: pa.StructType | None = None) -> Names:
    """List the names of the columns, or of the given columns."""
    names = []
    for column in struct.columns:
        if given is None or given == pa.null():
            names.append((column.name, column.struct and names_of(column.struct)))
        elif given.get_field_index(column.name) >= 0:
            type_ = given.field(column.name).type
            inner = type_.value_type if input_checks.is_any_list(type_) else type_
            names.append((column.name, column.struct and names_of(column.struct, inner)))
    return tuple(names)


def array_of(type_: pa.DataType, parts: tuple[int, list[Any], list[Any]]) -> pa.Array:
    """Build an array of the kernel's parts: the number of values, the buffers, and the parts of the arrays in it."""
    count, buffers, children = parts
    return pa.Array.from_buffers(
        type_,
        count,
        [None if buffer is None else pa.py_buffer(buffer) for buffer in buffers],
        children=[array_of(type_.field(number).type, child) for number, child in enumerate(children)],
    )


# An array for the kernel: number of values, number of the first in its buffers, buffers, and the same for the arrays in
# it. Arrays of other types with the same values are cast to the schema's types first.

Given = tuple[int, int, list[Any], list[Any]]


def _validity(array: pa.Array) -> pa.Buffer | None:
    """Return the bits of values that are not null; None if pyarrow counts no null, even if there are bits."""
    return array.buffers()[0] if array.null_count else None


def _cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Cast an array to another type; first check that it is sound, since pyarrow trusts its lengths and offsets."""
    if array.type == type_:
        return array
    expect_sound(array, "rows", values=True)
    return array.cast(type_)


def kernel_input(struct: StructColumns, rows: pa.StructArray) -> Given:
    """Collect the parts of the rows for the kernel: their columns, as far as the struct has such columns.

    Raises:
        _UnusualError: an array has null where the schema has no null; `python_engine` explains the error.
    """
    children = []
    for column in struct.columns:
        number = rows.type.get_field_index(column.name)
        if number >= 0:
            children.append(_column_input(column, rows.field(number)))
    return len(rows), rows.offset, [_validity(rows)], children


def _column_input(column: Column, array: pa.Array) -> Given:
    if column.field is None:
        return _unknown_tags_input(array)
    if not column.field.array:
        return _element_input(column, array, column.type)
    lists = _as_lists(array, column.type)
    elements = _element_input(column, lists.values, column.type.value_type)
    return len(lists), lists.offset, [_validity(lists), lists.buffers()[1]], [elements]


def _as_lists(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Convert an array of any kind of lists, or of nothing but null, to an array of lists or maps."""
    if array.type == pa.null():
        return _cast(array, type_)
    if pa.types.is_list(array.type) or pa.types.is_map(array.type):
        return array
    return _cast(array, pa.list_(array.type.value_field))


def _element_input(column: Column, array: pa.Array, type_: pa.DataType) -> Given:
    """Collect the values of a field, or the elements if the field is an array."""
    if column.struct is not None:
        if array.type == pa.null():
            array = _cast(array, type_)
        if column.field is not None and column.field.array and array.null_count:
            raise _UnusualError
        return kernel_input(column.struct, array)
    if array.type == pa.uuid():
        array = array.storage
    array = _cast(array, type_)
    return len(array), array.offset, [_validity(array), *array.buffers()[1:]], []


def _unknown_tags_input(array: pa.Array) -> Given:
    """Collect unknown tagged fields: maps or, from readers that have none, lists of structs."""
    lists = _as_lists(array, UNKNOWN_TYPE)
    entries = lists.values
    tags, contents = _cast(entries.field(0), UNKNOWN_TYPE.key_type), _cast(entries.field(1), UNKNOWN_TYPE.item_type)
    if entries.null_count or tags.null_count:
        raise _UnusualError
    inner: list[Given] = [(len(one), one.offset, [_validity(one), *one.buffers()[1:]], []) for one in (tags, contents)]
    buffers = [_validity(lists), lists.buffers()[1]]
    return len(lists), lists.offset, buffers, [(len(entries), entries.offset, [None], inner)]


class KernelRecords:
    """Records on their way into columns, which the kernel fills."""

    def __init__(self, header_keys: bool = False) -> None:
        self._header_keys = header_keys
        self.table = _kernel.RecordTable(header_keys)

    @property
    def rows(self) -> int:
        """Number of records."""
        return self.table.count

    @property
    def size(self) -> int:
        """Bytes of all keys and values, including headers; only text keys of headers count."""
        return self.table.size

    def add(self, number: int, batch: RecordBatch) -> None:
        """Add the records of a batch of magic 2, which has this number.

        Raises:
            DecodeError: the batch is broken.
            ColumnError: a column would hold more than 2 GiB, or a number has more than 64 bits.
        """
        assert batch._section is not None and batch.records_count is not None
        append_time = batch.max_timestamp if batch.timestamp_type == "LogAppendTime" else None
        section = batch._section(batch._source)
        try:
            is_good = self.table.add(
                number, section, batch.records_count, batch.base_offset, batch.base_timestamp, append_time
            )
        except OverflowError:
            raise too_much() from None
        if not is_good:
            batch._decode(batch._source)  # which says what is wrong
            raise too_large_a_number(batch)

    def take(self, schema: pa.Schema) -> pa.RecordBatch:
        """Take all records as columns; none are left then."""
        columns = self.table.take()
        if self._header_keys:  # of which the kernel makes fields of the headers
            count, buffers, [(headers, validity, fields)] = columns.pop()
            columns += [(count, buffers, [(headers, validity, fields[:2])]), (count, buffers, fields[2:])]
        arrays = [array_of(field.type, parts) for field, parts in zip(schema, columns, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
