"""The engine of columns that uses the generated classes, one message at a time; it serves every class.

This engine defines what columns are: the kernel's engine has to give the same columns. Values go from messages to
columns field by field, `ROWS_AT_A_TIME` at a time, because a message as objects takes many times its bytes. The garbage
collector is off meanwhile, as it is most of the cost of many nested objects. Where a column would outgrow its offsets,
Arrow makes chunks, which is an error here.
"""

from __future__ import annotations

import uuid
from itertools import accumulate
from typing import Any

import pyarrow as pa

from kipwire.columns.arrow_types import Column, StructColumns
from kipwire.columns.errors import RowDecodeError, RowEncodeError, too_large_a_number, too_much
from kipwire.columns.soundness import expect_sound
from kipwire.description.fields import Visitor
from kipwire.message.messages import Message
from kipwire.model.errors import DecodeError, EncodeError
from kipwire.model.structs import Struct
from kipwire.records.model import bytes_of_key
from kipwire.tools.io import no_garbage_collection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.records import Record, RecordBatch


ROWS_AT_A_TIME = 1024
"""The most rows that exist as Python objects at the same time."""


# From bytes to columns.


def read(cls: type[Message], struct: StructColumns, messages: pa.Array, first: int, *, strict: bool) -> pa.StructArray:
    """Decode messages to rows; a broken one is null, or an error.

    Args:
        cls: the class of the messages.
        struct: the columns to make.
        messages: an array of binary or large binary, which is sound.
        first: the number of the first row.
        strict: whether a broken message is an error.

    Raises:
        RowDecodeError: the first broken message.
        ColumnError: a column would outgrow its offsets.
    """
    parts = []
    for start in range(0, len(messages), ROWS_AT_A_TIME):
        with no_garbage_collection():
            items: list[Message | None] = []
            for row, data in enumerate(messages.slice(start, ROWS_AT_A_TIME).to_pylist(), first + start):
                try:
                    items.append(None if data is None else cls.decode(data))
                except DecodeError as error:
                    if strict:
                        raise RowDecodeError(row, *error.args) from None
                    items.append(None)
            parts.append(_structs(struct, items, nullable=True))
    try:
        return pa.concat_arrays(parts) if parts else pa.array([], struct.type)
    except pa.ArrowInvalid as error:
        raise too_much() from error


def _structs(struct: StructColumns, items: list[Any], *, nullable: bool) -> pa.StructArray:
    children = [_values(column, items) for column in struct.columns]
    return pa.Array.from_buffers(struct.type, len(items), [_validity(items, nullable)], children=children)


def _values(column: Column, items: list[Struct | None]) -> pa.Array:
    """Build one column of structs. Some may be null; then the value does not matter."""
    field = column.field
    if field is None:
        return _unknown(column.type, [{} if item is None else item._unknown_tagged_fields or {} for item in items])
    nothing: Any = None if column.nullable or column.struct is not None else _BLANKS.get(field.element, 0)
    if field.array:
        nothing = None if column.nullable else []
    values = [nothing if item is None else getattr(item, column.name) for item in items]
    if field.array:
        elements = [element for value in values if value for element in value]
        if column.struct is not None:
            made = _structs(column.struct, elements, nullable=False)
        else:
            made = _primitives(column.type.value_type, elements)
        offsets = _offsets([0 if value is None else len(value) for value in values])
        buffers = [_validity(values, column.nullable), offsets]
        return pa.Array.from_buffers(column.type, len(values), buffers, children=[made])
    if column.struct is not None:
        return _structs(column.struct, values, nullable=column.nullable)
    return _primitives(column.type, values)


def _primitives(type_: pa.DataType, values: list[Any]) -> pa.Array:
    if pa.types.is_fixed_size_binary(type_):
        values = [value if value is None else value.bytes for value in values]
    made = pa.array(values, type_)
    if isinstance(made, pa.ChunkedArray):  # which is what Arrow makes of too many bytes
        raise too_much()
    return made


def _unknown(type_: pa.MapType, values: list[dict[int, bytes]]) -> pa.MapArray:
    tags = pa.array([tag for value in values for tag in value], type_.key_type)
    contents = pa.array([content for value in values for content in value.values()], type_.item_type)
    entries = pa.StructArray.from_arrays([tags, contents], fields=[type_.key_field, type_.item_field])
    return pa.Array.from_buffers(type_, len(values), [None, _offsets([*map(len, values)])], children=[entries])


def _validity(values: list[Any], nullable: bool) -> pa.Buffer | None:
    return pa.array([value is not None for value in values], pa.bool_()).buffers()[1] if nullable else None


def _offsets(sizes: list[int]) -> pa.Buffer:
    return pa.array([0, *accumulate(sizes)], pa.int32()).buffers()[1]


_BLANKS = {"string": "", "bytes": b"", "records": b"", "bool": False, "uuid": uuid.UUID(int=0)}
"""The value to store if there is none and the column is not nullable; for numbers it is 0."""


# From columns to bytes.


def write(cls: type[Message], struct: StructColumns, rows: pa.StructArray, first: int) -> pa.BinaryArray:
    """Encode rows; a null row gives null.

    Args:
        cls: the class of the messages.
        struct: all of its columns.
        rows: structs whose columns `input_checks.check_columns` has accepted.
        first: the number of the first row.

    Raises:
        RowEncodeError: the first row with a value that cannot be written.
        ColumnError: the array is damaged, or its rows together have more bytes than offsets can address.
    """
    expect_sound(rows, "rows", values=True)
    encoded: list[bytes | None] = []
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        with no_garbage_collection():
            for row, value in enumerate(rows.slice(start, ROWS_AT_A_TIME).to_pylist(), first + start):
                try:
                    encoded.append(None if value is None else _Maker(cls).struct(struct, value).encode())
                except EncodeError as error:
                    raise RowEncodeError(row, *error.args) from None
    made = pa.array(encoded, pa.large_binary())
    try:
        return made.cast(pa.binary())
    except pa.ArrowInvalid as error:
        raise too_much() from error


class _Maker(Visitor):
    """Makes one message of the plain values that Arrow gives."""

    def struct(self, struct: StructColumns, values: dict[str, Any]) -> Any:
        made = {}
        for column in struct.columns:
            if column.name in values:  # a tagged field may be missing
                self.path.append(column.name)
                made[column.name] = self.value(column, values[column.name])
                self.path.pop()
        unknown = made.pop("unknown_tagged_fields", None)
        item = struct.cls(**made)
        item._unknown_tagged_fields = unknown
        return item

    def value(self, column: Column, value: Any) -> Any:
        if value is None:
            return None
        if column.field is None:
            return self.unknown(value)
        if not column.field.array:
            return self.element(column, value)
        return [self.element(column, element) for element in self.each(value)]

    def element(self, column: Column, value: Any) -> Any:
        if column.struct is not None and value is not None:
            return self.struct(column.struct, value)
        if isinstance(value, bytes) and column.field is not None and column.field.element == "uuid":
            if len(value) != 16:
                self.fail(f"a uuid has 16 bytes, not {len(value)}")
            return uuid.UUID(bytes=value)
        return value

    def unknown(self, pairs: list[Any]) -> dict[int, bytes]:
        """Collect unknown tagged fields, which come as pairs or, from readers that have no maps, as dicts."""
        made: dict[int, bytes] = {}
        for pair in pairs:
            if pair is None:
                self.fail("its entries must not be null")
            tag, content = pair.values() if isinstance(pair, dict) else pair
            if tag in made:
                self.fail(f"tag {tag} appears twice")
            made[tag] = content
        return made


_OF_RECORD = ("offset", "timestamp", "key", "value", "headers")
_INT64 = range(-(2**63), 2**63)


class PythonRecords:
    """Records on their way into columns, a list for each column."""

    def __init__(self, header_keys: bool = False) -> None:
        self._header_keys = header_keys
        self._clear()

    def _clear(self) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in ("batch", *_OF_RECORD, "header_keys")}
        self.rows = 0
        """Number of records."""
        self.size = 0
        """Bytes of all keys and values, including headers; only text keys of headers count."""

    def add(self, number: int, batch: RecordBatch) -> None:
        """Add the records of a batch, which has this number.

        Raises:
            DecodeError: the batch is broken.
            ColumnError: a number has more than 64 bits.
        """
        with no_garbage_collection():
            records = batch._decode(batch._source)
            if any(record.offset not in _INT64 or record.timestamp not in _INT64 for record in records):
                raise too_large_a_number(batch)
            self.columns["batch"].extend([number] * len(records))
            for name in _OF_RECORD:
                self.columns[name].extend([getattr(record, name) for record in records])
            if self._header_keys:
                self.columns["header_keys"].extend(
                    [[bytes_of_key(key) for key, _ in record.headers] for record in records]
                )
        self.rows += len(records)
        self.size += sum(map(_size, records))

    def take(self, schema: pa.Schema) -> pa.RecordBatch:
        """Take all records as columns; none are left then.

        Raises:
            ColumnError: a column would hold more than 2 GiB.
        """
        arrays = [pa.array(self.columns[field.name], field.type) for field in schema]
        self._clear()
        if any(isinstance(array, pa.ChunkedArray) for array in arrays):  # which is what Arrow makes of too many bytes
            raise too_much()
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _size(record: Record) -> int:
    size = len(record.key or b"") + len(record.value or b"")
    return size + sum(len(key.encode()) + len(value or b"") for key, value in record.headers)
