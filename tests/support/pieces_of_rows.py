"""Pieces of work for processes that read, which import this module."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from kipwire import DecodeError
from kipwire.tables.errors import SourceError

SCHEMA = pa.schema([("process", pa.int64()), ("piece", pa.int64()), ("batch", pa.int64()), ("data", pa.binary())])


class Piece(NamedTuple):
    """Rows to make."""

    number: int
    batches: int = 3
    size: int = 10
    """Bytes of a row."""
    ends: str = ""
    """The way in which it ends, if not well."""


class OddError(Exception):
    """An error that cannot be copied."""

    def __init__(self, one: int, other: int) -> None:
        super().__init__(f"{one} and {other}")


def read(piece: Piece) -> Iterator[pa.RecordBatch]:
    """Yield batches of one row."""
    for number in range(piece.batches):
        data = (b"%d" % (piece.number * 1000 + number)).ljust(piece.size, b".")
        columns = [[os.getpid()], [piece.number], [number], [data]]
        yield pa.RecordBatch.from_arrays(
            [pa.array(*one) for one in zip(columns, SCHEMA.types, strict=True)], schema=SCHEMA
        )
    match piece.ends:
        case "warning":
            warnings.warn(f"some of {piece.number} is gone", RuntimeWarning, stacklevel=2)
        case "damaged":
            raise DecodeError("Message", 3, "topics[0].name", 17, "is null")
        case "not found":
            raise FileNotFoundError(2, "No such file or directory", "/there")
        case "source":
            raise SourceError("/there/x.log: cannot be read")
        case "odd":
            raise OddError(1, 2)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            sys.exit(3)


def rows_of(piece: Piece) -> list[tuple[int, int, bytes]]:
    """Return the rows that a piece has, but for the process."""
    made = range(piece.batches)
    return [(piece.number, one, (b"%d" % (piece.number * 1000 + one)).ljust(piece.size, b".")) for one in made]
