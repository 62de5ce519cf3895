"""Errors in single messages of a column."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from kipwire import DecodeError, UnsupportedVersionError
from kipwire.logs.internal_topics import UnknownRecordError

ERROR_TYPE = pa.struct(
    [
        ("message", pa.string()),
        ("version", pa.int16()),
        ("path", pa.string()),
        ("offset", pa.int32()),
        ("reason", pa.string()),
        ("is_unknown", pa.bool_()),
    ]
)


class RowError(NamedTuple):
    """The error of bytes that are not the expected message."""

    message: str
    """Name of the message, as in its spec."""
    version: int | None
    """None if the bytes do not include a valid version."""
    path: str
    """Field path with indexes; "" for the message itself."""
    offset: int
    """Offset in the given bytes."""
    reason: str
    is_unknown: bool = False
    """True if the bytes may be intact: their type or version is not known, as of a later Kafka, or they have none."""

    def __str__(self) -> str:
        version = "" if self.version is None else f" v{self.version}"
        return f"{self.message}{version}: {self.path or 'message'} at byte {self.offset}: {self.reason}"


def row_error_of(error: DecodeError, start: int) -> RowError:
    """Convert a decode error to a row error, in bytes whose message begins at `start`."""
    is_unknown = isinstance(error, (UnsupportedVersionError, UnknownRecordError))
    return RowError(error.message, error.version, error.path, start + error.offset, error.reason, is_unknown)


def by_row_of_column(errors: dict[int, RowError], rows: pa.Array) -> dict[int, RowError]:
    """Return the errors of some rows of a column, by their numbers in the column.

    Args:
        errors: by index among those rows.
        rows: the numbers of those rows in the column.
    """
    if not errors:
        return {}
    numbers = rows.to_pylist()
    return {numbers[row]: error for row, error in errors.items()}


def error_array(errors: dict[int, RowError], count: int) -> pa.StructArray:
    """Return the errors by row as a column of `count` rows."""
    if not errors:
        return pa.nulls(count, ERROR_TYPE)
    return pa.array([errors[row]._asdict() if row in errors else None for row in range(count)], ERROR_TYPE)
