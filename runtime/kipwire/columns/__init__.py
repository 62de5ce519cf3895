"""Messages as Arrow columns, and columns as messages: many at once, without an object for each value.

    >>> import pyarrow as pa
    >>> from kafka_messages.offset_commit_value.v3 import OffsetCommitValue
    >>> from kipwire import columns
    >>> rows = columns.decode(OffsetCommitValue, pa.array([OffsetCommitValue(offset=7).encode()]))
    >>> rows.field("offset").to_pylist()
    [7]

`pip install 'kipwire[columns]'` brings pyarrow. The compiled kernel (see `kipwire.native`) makes this fast; without
the kernel, and for record formats, the generated classes do the work. See docs/columns.md.

`arrow_types` maps classes to columns, `inputs` takes the forms of input, `soundness` and `input_checks` validate it,
`kernel_engine` and `python_engine` convert, `records` gathers records. In the kernel, `columns.pxi` holds columns;
`column_reading.pxi`, `column_writing.pxi` and `record_columns.pxi` convert; `utf8.pxd` checks texts; `sizes.pxd` adds
sizes with overflow checks. On failure the kernel reports only the row; `decode` or `encode` of the class finds the
location. `make fuzz-native` runs it under AddressSanitizer.
"""

from __future__ import annotations

from typing import Literal

try:
    import pyarrow as pa
except ImportError as error:
    from kipwire.model.extras import missing_extra

    raise missing_extra("kipwire.columns needs", "pyarrow", "columns") from error

from collections.abc import Callable, Iterable
from types import ModuleType

from kipwire import native
from kipwire.columns import input_checks, python_engine
from kipwire.columns.arrow_types import StructColumns, columns_of, has_few_columns
from kipwire.columns.errors import ColumnError, RowDecodeError, RowEncodeError
from kipwire.columns.inputs import Messages, Rows, as_messages, as_rows, split
from kipwire.columns.records import RECORD_SCHEMA, RecordColumns, decode_records
from kipwire.columns.soundness import expect_sound
from kipwire.message.messages import Message
from kipwire.model.errors import DecodeError

__all__ = [
    "RECORD_SCHEMA",
    "ColumnError",
    "RecordColumns",
    "RowDecodeError",
    "RowEncodeError",
    "decode",
    "decode_records",
    "encode",
    "explain",
    "schema",
    "split",
]


def schema(cls: type[Message], fields: Iterable[str] | None = None) -> pa.Schema:
    """Return the columns of a message as an Arrow schema.

    Each field is a column of its attribute's name: structs are structs, arrays lists, uuids 16 bytes, and what may be
    null in this version is nullable. Flexible structs end with `unknown_tagged_fields`, a map from tag to content.

    Args:
        cls: the generated class of a message in one version.
        fields: only these, as paths such as `topics.partitions.leader_id`; a struct selects all of its fields.

    Raises:
        ColumnError: a path does not lead to a field, a struct contains itself, which no Arrow type can, or there would
            be more than 65,536 columns.
    """
    return pa.schema(list(columns_of(cls, fields).type))


def decode(
    cls: type[Message],
    data: Messages,
    fields: Iterable[str] | None = None,
    *,
    mode: Literal["strict", "null"] = "strict",
) -> pa.StructArray | pa.ChunkedArray:
    """Decode messages to rows: an array of structs with the columns of `schema`.

    Null gives a null row. All of a message is checked, also fields that were not selected; a broken message leaves
    nothing in any column.

    Args:
        cls: the generated class of a message in one version.
        data: an Arrow array of binary or large binary (also a slice; it is not copied), a chunked one, or a list of
            bytes; for messages in one buffer see `split`.
        fields: only these, as paths such as `topics.partitions.leader_id`; a struct selects all of its fields.
        mode: result for a broken message: an error with its row (`strict`), or a null row (`null`). `explain` finds its
            error; `rows.null_count` minus the data's null count is the number of broken messages.

    Returns:
        As many rows as there are messages, in chunks if the data is.

    Raises:
        RowDecodeError: the first message that is broken.
        ColumnError: `fields` or `data` is not valid, the bytes change while they are read, or a column
            would hold more than 2 GiB.
    """
    if mode not in ("strict", "null"):
        raise ValueError(f"mode must be 'strict' or 'null', not {mode!r}")
    struct = columns_of(cls, fields)
    strict = mode == "strict"
    return _by_chunk(
        as_messages(data), struct.type, lambda chunk, first: _read(cls, struct, chunk, first, strict=strict)
    )


def encode(cls: type[Message], rows: Rows) -> pa.BinaryArray | pa.ChunkedArray:
    """Encode messages that are given as rows, the reverse of `decode`; a null row gives null.

    Tagged fields at their defaults are left out, as `cls.encode` does.

    Args:
        cls: the generated class of a message in one version.
        rows: an array of structs, a chunked one, a record batch or a table. Columns are found by name; columns of
            tagged fields may be missing. A type may be another one that holds the same values.

    Returns:
        As many messages as there are rows, in chunks if the rows are.

    Raises:
        RowEncodeError: the first row with a value that cannot be written; the error has the path.
        EncodeError: a column is missing, is unknown or has a type that does not fit.
        ColumnError: the rows are not structs, are damaged, or have more than 2 GiB together.
    """
    given = as_rows(rows)
    struct = columns_of(cls)
    input_checks.check_columns(cls, struct, given.type)
    return _by_chunk(given, pa.binary(), lambda chunk, first: _write(cls, struct, chunk, first))


def explain(cls: type[Message], data: Messages, rows: pa.StructArray | pa.ChunkedArray) -> pa.StringArray:
    """Find the reasons why messages are broken, with the decoder of single messages.

    Args:
        cls: the class that `decode` was called with.
        data: the messages that `decode` was called with.
        rows: the rows that `decode` gave, with `mode="null"`.

    Returns:
        A text for each row that is null although there is a message: field path, byte offset and reason. Null for all
        other rows.

    Raises:
        ColumnError: there are not as many rows as messages.
    """
    messages = as_messages(data)
    expect_sound(messages, "messages", values=True)
    if len(messages) != len(rows):
        raise ColumnError(f"{len(rows)} rows do not come from {len(messages)} messages")
    texts: list[str | None] = [None] * len(rows)
    for row, is_null in enumerate(rows.is_null().to_pylist()):
        if is_null and messages[row].is_valid:
            try:
                cls.decode(messages[row].as_py())
            except DecodeError as error:
                texts[row] = str(error)
    return pa.array(texts, pa.string())


def _by_chunk(
    given: pa.Array | pa.ChunkedArray, type_: pa.DataType, convert: Callable[[pa.Array, int], pa.Array]
) -> pa.Array | pa.ChunkedArray:
    """Convert an array, or each chunk of several; `convert` gets a chunk and the number of its first row."""
    if isinstance(given, pa.Array):
        return convert(given, 0)
    chunks, first = [], 0
    for chunk in given.chunks:
        chunks.append(convert(chunk, first))
        first += len(chunk)
    return pa.chunked_array(chunks, type_)


def _kernel_for(cls: type[Message]) -> ModuleType | None:
    """Return the kernel engine, if it is in use and serves the class with all fields, chosen or not."""
    if not native.in_use:
        return None
    from kipwire.columns import kernel_engine

    serves = kernel_engine.serves(cls) and has_few_columns(cls)  # type: ignore[arg-type]  # the class is hashable
    return kernel_engine if serves else None


def _read(cls: type[Message], struct: StructColumns, messages: pa.Array, first: int, *, strict: bool) -> pa.StructArray:
    kernel = _kernel_for(cls)
    if kernel is None:
        expect_sound(messages, "messages", values=True)
        return python_engine.read(cls, struct, messages, first, strict=strict)
    broken, rows = kernel.read(cls, struct, messages, strict=strict)
    if broken >= 0:
        again = pa.array([messages[broken].as_py()], pa.binary())
        python_engine.read(cls, struct, again, first + broken, strict=True)  # which says what is wrong
        if kernel.read(cls, struct, again, strict=True)[0] < 0:
            raise ColumnError(
                f"row {first + broken}: its bytes changed while they were read; give bytes that do not change"
            )
        raise AssertionError(f"{cls.NAME} v{cls.VERSION}: the kernel refused what its class accepts")
    return rows


def _write(cls: type[Message], struct: StructColumns, rows: pa.StructArray, first: int) -> pa.BinaryArray:
    kernel = _kernel_for(cls)
    if kernel is not None and (written := kernel.write(cls, struct, rows)) is not None:
        return written
    return python_engine.write(cls, struct, rows, first)
