"""Decode a column of bytes to a column of messages, and check a user's arguments before Spark starts any task."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa

from kipwire import DecodeError, columns
from kipwire.tables.arrow import pc
from kipwire.tables.errors import MODES, BrokenMessageError, JobError, Mode
from kipwire.tables.messages.framing import Group, group_by_version
from kipwire.tables.messages.row_errors import RowError, by_row_of_column, row_error_of
from kipwire.tables.messages.selection import VERSION, VERSION_TYPE, Selection, all_versions_type, fields_of
from kipwire.tools.text import count_of

_BYTES_SHOWN = 48


class Decoded(NamedTuple):
    """A column of messages."""

    rows: pa.StructArray
    """Messages; null if the bytes are null or broken."""
    errors: dict[int, RowError]
    """Errors of broken messages, by row."""


def decode(selection: Selection, data: pa.Array) -> Decoded:
    """Decode the messages of a column; broken ones are null, with an error.

    Raises:
        JobError: such messages cannot be a column.
        KipwireError: as `Selection.classes`.
    """
    groups, errors = group_by_version(selection, data)
    parts = [decode_group(selection, group) for group in groups]
    for group, part in zip(groups, parts, strict=True):
        errors.update(by_row_of_column(part.errors, group.rows))
    return Decoded(scatter(len(data), all_versions_type(selection), groups, [part.rows for part in parts]), errors)


def decode_strictly(selection: Selection, data: pa.Array) -> pa.StructArray:
    """Decode the messages of a column, and stop at the first broken one.

    Raises:
        BrokenMessageError: for the first broken message; the text has its location and its bytes.
        KipwireError: as `decode`.
    """
    rows, errors = decode(selection, data)
    raise_first(errors, data)
    return rows


def raise_first(errors: dict[int, RowError], data: pa.Array) -> None:
    """Raise the error of the first row that has one, if any.

    Raises:
        BrokenMessageError: that one.
    """
    if errors:
        row = min(errors)
        content = data[row].as_py()
        shown = content[:_BYTES_SHOWN].hex() + ("..." if len(content) > _BYTES_SHOWN else "")
        size = count_of(len(content), "byte")
        raise BrokenMessageError(f"{errors[row]} (of {size}: {shown})" if content else str(errors[row]))


def decode_group(selection: Selection, group: Group) -> Decoded:
    """Decode the messages of one class to rows of the type for all versions; errors are by index in the group."""
    rows = columns.decode(group.cls, group.bodies, fields_of(selection, group.cls), mode="null")
    errors = _errors(group, rows)
    whole = all_versions_type(selection)
    if selection.version == group.cls.VERSION:
        return Decoded(rows.cast(whole), errors)
    validity = rows.is_valid().buffers()[1] if rows.null_count else None
    children = [_child(field, rows, group.cls.VERSION) for field in whole]
    return Decoded(pa.Array.from_buffers(whole, len(rows), [validity], children=children), errors)


def group_errors(group: Group) -> dict[int, RowError]:
    """Return the errors of broken messages of one class, by index in the group, as `decode_group` finds them."""
    return _errors(group, columns.decode(group.cls, group.bodies, [], mode="null"))


def _errors(group: Group, rows: pa.StructArray) -> dict[int, RowError]:
    errors = {}
    if rows.null_count:
        for index in pc.indices_nonzero(rows.is_null()).to_pylist():
            try:
                group.cls.decode(group.bodies[index].as_py())
            except DecodeError as error:
                errors[index] = row_error_of(error, group.start(index))
    return errors


def _child(field: pa.Field, rows: pa.StructArray, version: int) -> pa.Array:
    if field.name == VERSION:
        return _versions(version, len(rows))
    if rows.type.get_field_index(field.name) < 0:
        return pa.nulls(len(rows), field.type)
    child = rows.field(field.name)
    return child if child.type == field.type else child.cast(field.type)


@lru_cache(maxsize=4)
def _versions(version: int, count: int) -> pa.Array:
    """Return a column that repeats a version; cached, since nearly all of Spark's batches have equally many rows."""
    return pa.repeat(pa.scalar(version, VERSION_TYPE), count)


def scatter(count: int, type_: pa.DataType, groups: list[Group], parts: list[pa.Array]) -> pa.Array:
    """Return a column of `count` rows: the rows of groups at their row numbers, and null elsewhere."""
    if len(groups) == 1 and len(groups[0].rows) == count:
        return parts[0]
    if not groups:
        return pa.nulls(count, type_)
    order = pc.index_in(pa.array(range(count), pa.uint64()), pa.concat_arrays([group.rows for group in groups]))
    return pa.concat_arrays(parts).take(order)


def check_selection(package: str, message: str, version: int | None, fields: Iterable[str] | None) -> Selection:
    """Check the arguments of a selection, and return it.

    Raises:
        JobError: the package cannot be imported, a field does not exist, or the bytes do not include a version.
        UnsupportedVersionError: there is no such message, or not in that version.
    """
    if isinstance(fields, str):
        raise JobError(f"fields must be a list of paths, not a string: [{fields!r}]")
    selection = Selection(package, message, version, None if fields is None else tuple(fields))
    all_versions_type(selection)
    decode(selection, pa.array([], pa.binary()))
    return selection


def check_mode(mode: str) -> Mode:
    """Return the mode with a name, given in any case.

    Raises:
        JobError: there is no such mode; the text lists them.
    """
    for known in MODES:
        if mode.upper() == known:
            return known
    raise JobError(f"mode must be {' or '.join(MODES)}, not {mode!r}")
