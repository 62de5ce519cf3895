"""From a column of messages to a column of bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa

from kipspark.arrow import pc
from kipspark.errors import BrokenMessageError, JobError
from kipspark.messages.all_versions import VERSION
from kipspark.messages.framing import write_lead
from kipspark.messages.lossy import kept_type, lossy_rows
from kipspark.messages.selection import Selection
from kipspark.messages.tag_defaults import with_tag_defaults
from kipwire import EncodeError, Message, columns
from kipwire.model.errors import unknown_version


class Encoded(NamedTuple):
    """A column of bytes."""

    data: pa.Array
    """Null where the row was, and where it cannot be written."""
    errors: dict[int, str]
    """Why rows cannot be written, by row."""


def encode(selection: Selection, rows: pa.StructArray) -> Encoded:
    """The bytes of a column of messages; rows that cannot be written are null, with an error.

    With a version, the bytes are the messages alone. Without one, each row has its own version, and the bytes start
    with
    what stored messages have before them to say their version.

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
            lead = pa.scalar(write_lead(classes[version]), data.type)
            row_numbers.append(here)
            parts.append(pc.binary_join_element_wise(lead, data, pa.scalar(b"", data.type)))
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
    """The bytes of a column of messages.

    Raises:
        BrokenMessageError: for the first row that cannot be written; the text has the field's path.
        KipwireError: as `encode`.
    """
    data, errors = encode(selection, rows)
    if errors:
        raise BrokenMessageError(errors[min(errors)])
    return data


def _encode(cls: type[Message], rows: pa.StructArray, versions: tuple[type[Message], ...]) -> Encoded:
    """The bytes of messages of one class; a row that fails is null, and encoding continues after it.

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
