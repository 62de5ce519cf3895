"""Encode a column of messages to a column of bytes.

Stored messages lack tagged fields that a later release of the specs added: such a column is null for what was stored
before. A message that leaves a tagged field out has its default, so null means the default wherever null is not a value
itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple
from uuid import UUID

import pyarrow as pa

from kipwire import EncodeError, Message, columns
from kipwire.description.column_order import UNKNOWN
from kipwire.model.errors import unknown_version
from kipwire.model.structs import Field, Struct
from kipwire.tables.arrow import pc
from kipwire.tables.errors import BrokenMessageError, JobError
from kipwire.tables.messages.framing import write_envelope
from kipwire.tables.messages.lossy import kept_type, lossy_rows
from kipwire.tables.messages.selection import VERSION, Selection


class Encoded(NamedTuple):
    """A column of bytes."""

    data: pa.Array
    """Bytes; null if the row was null, or cannot be written."""
    errors: dict[int, str]
    """Errors of the rows that cannot be written, by row."""


def encode(selection: Selection, rows: pa.StructArray) -> Encoded:
    """Encode a column of messages; rows that cannot be written are null, with an error.

    With a version, the bytes are the messages alone. Without one, each row has its own version, and the bytes start
    with the prefix that gives the version of stored messages; of requests they are the bodies, without headers.

    Raises:
        JobError: the rows have no version, or such messages are stored without one.
        EncodeError: a column is missing, or is of a type that does not fit.
        KipwireError: as `Selection.classes`.
    """
    versions = replace(selection, version=None).classes
    if selection.version is not None:
        return _encode(selection.classes[0], rows, versions)
    if rows.type.get_field_index(VERSION) < 0:
        raise JobError(f"the rows of {selection.message} have no column {VERSION}; give a version")
    classes = {cls.VERSION: cls for cls in versions}
    row_versions = pc.struct_field(rows, VERSION)
    row_numbers, parts = [], []
    errors: dict[int, str] = {}
    for version in row_versions.unique().to_pylist():
        chosen = pc.is_null(row_versions) if version is None else pc.fill_null(pc.equal(row_versions, version), False)
        here = pc.indices_nonzero(pc.and_(chosen, rows.is_valid()))
        if version in classes:
            data, wrong = _encode(classes[version], rows.take(here), versions)
            envelope = pa.scalar(write_envelope(classes[version]), data.type)
            row_numbers.append(here)
            parts.append(pc.binary_join_element_wise(envelope, data, pa.scalar(b"", data.type)))
            at = here.to_pylist() if wrong else []
            errors.update({at[index]: text for index, text in wrong.items()})
        else:
            reason = unknown_version(version, sorted(classes))
            errors.update(dict.fromkeys(here.to_pylist(), f"{selection.message}: {VERSION}: {reason}"))
    if not parts:
        return Encoded(pa.nulls(len(rows), pa.binary()), errors)
    order = pc.index_in(pa.array(range(len(rows)), pa.uint64()), pa.concat_arrays(row_numbers))
    return Encoded(pa.concat_arrays(parts).take(order), errors)


def encode_strictly(selection: Selection, rows: pa.StructArray) -> pa.Array:
    """Encode a column of messages, and stop at the first row that cannot be written.

    Raises:
        BrokenMessageError: for the first row that cannot be written; the text has the field's path.
        KipwireError: as `encode`.
    """
    data, errors = encode(selection, rows)
    if errors:
        raise BrokenMessageError(errors[min(errors)])
    return data


def _encode(cls: type[Message], rows: pa.StructArray, versions: tuple[type[Message], ...]) -> Encoded:
    """Encode messages of one class; a row that fails is null, and encoding continues after it.

    Args:
        cls: the class.
        rows: messages, which may have the columns of other versions.
        versions: the classes of all versions.
    """
    kept = kept_type(rows.type, pa.struct(list(columns.schema(cls))))
    errors = {
        row: f"{cls.NAME} v{cls.VERSION}: {path}: this version has no such field"
        for row, path in lossy_rows(rows, kept, versions)
    }
    narrow = with_tag_defaults(rows.cast(kept), cls)
    if errors:
        good = pa.array([row not in errors for row in range(len(rows))])
        narrow = pc.if_else(good, narrow, pa.scalar(None, kept))
    parts, start = [], 0
    while start < len(narrow):
        try:
            parts.append(columns.encode(cls, narrow.slice(start)))
            break
        except columns.RowEncodeError as error:
            parts += [columns.encode(cls, narrow.slice(start, error.row)), pa.nulls(1, pa.binary())]
            errors[start + error.row] = EncodeError.__str__(error)
            start += error.row + 1
    return Encoded(pa.concat_arrays(parts) if parts else pa.array([], pa.binary()), errors)


def with_tag_defaults(array: pa.Array, cls: type[Struct]) -> pa.Array:
    """Replace nulls in columns of tagged fields by the field's default, unless null is a value of the field.

    Args:
        array: structs with columns of the class, or lists of them.
        cls: the class of the structs.
    """
    if pa.types.is_list(array.type):
        before = array.values
        elements = with_tag_defaults(before, cls)
        if elements is before:
            return array
        return pa.Array.from_buffers(
            array.type, len(array), array.buffers()[:2], offset=array.offset, children=[elements]
        )
    if not pa.types.is_struct(array.type):  # not the type of the field, which is an error later
        return array
    fields = {field.name: field for field in cls.ATTRIBUTES}
    children = [array.field(number) for number in range(array.type.num_fields)]
    after = [_fill_nulls(child, fields.get(column.name)) for child, column in zip(children, array.type, strict=True)]
    if all(new is old for new, old in zip(after, children, strict=True)):
        return array
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(after, fields=list(array.type), mask=mask)


def _fill_nulls(child: pa.Array, field: Field | None) -> pa.Array:
    if field is None:
        return child
    if field.tag is not None and not field.nullable and child.null_count:
        try:
            child = pc.fill_null(child, pa.scalar(_default_of(field, child.type), child.type))
        except (TypeError, pa.ArrowException):  # the column does not have the field's type
            return child
    return child if field.struct is None else with_tag_defaults(child, field.struct)


def _default_of(field: Field, type_: pa.DataType) -> Any:
    """Return the default of a field, as a value for a column of a type."""
    if field.array:
        return []
    if field.struct is not None:
        inner = {one.name: one for one in field.struct.ATTRIBUTES}
        return {
            column.name: _default_of(inner[column.name], column.type) if column.name in inner else []
            for column in type_
            if column.name in inner or column.name == UNKNOWN
        }
    default = field.default_value()
    return default.bytes if isinstance(default, UUID) else default
