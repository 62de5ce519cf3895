"""Faults: errors in single messages of a column."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from kipwire import DecodeError

FAULT_TYPE = pa.struct(
    [
        ("message", pa.string()),
        ("version", pa.int16()),
        ("path", pa.string()),
        ("offset", pa.int32()),
        ("reason", pa.string()),
    ]
)


class Fault(NamedTuple):
    """Why bytes are not the message that they should be."""

    message: str
    """Name of the message, as in its spec."""
    version: int | None
    """None if the bytes do not include a valid version."""
    path: str
    """Field path with indexes; "" for the message itself."""
    offset: int
    """The byte offset in the given bytes."""
    reason: str

    def __str__(self) -> str:
        version = "" if self.version is None else f" v{self.version}"
        return f"{self.message}{version}: {self.path or 'message'} at byte {self.offset}: {self.reason}"


def fault_of(error: DecodeError, start: int) -> Fault:
    """An error as a fault, in bytes whose message begins at `start`."""
    return Fault(error.message, error.version, error.path, start + error.offset, error.reason)


def by_row_of_column(faults: dict[int, Fault], rows: pa.Array) -> dict[int, Fault]:
    """The faults of some rows of a column, by their numbers in the column.

    Args:
        faults: by index among those rows.
        rows: the numbers of those rows in the column.
    """
    if not faults:
        return {}
    numbers = rows.to_pylist()
    return {numbers[row]: fault for row, fault in faults.items()}


def fault_array(faults: dict[int, Fault], count: int) -> pa.StructArray:
    """The faults by row as a column of `count` rows."""
    if not faults:
        return pa.nulls(count, FAULT_TYPE)
    return pa.array([faults[row]._asdict() if row in faults else None for row in range(count)], FAULT_TYPE)
