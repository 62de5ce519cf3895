"""Files of rows in four formats, written in bounded memory, and on the disk once they are closed."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from kipwire.tables.errors import JobError
from kipwire.tables.json_text import csv_head, csv_lines, json_lines

pq: Any = pyarrow.parquet

ROWS, BYTES = 1 << 17, 32 << 20
"""Rows and bytes that are gathered before they are written: small row groups are slow to read."""


class FileFormat(StrEnum):
    """A format, which the end of a file's name gives."""

    PARQUET = "parquet"
    CSV = "csv"
    JSONL = "jsonl"
    """A JSON object a line."""
    ARROW = "arrow"
    """Arrow's own file format, which some call Feather."""


def format_of(path: Path) -> FileFormat:
    """Return the format of a file by the end of its name.

    Raises:
        JobError: it has none of them.
    """
    try:
        return FileFormat(path.suffix.removeprefix(".").lower())
    except ValueError:
        ends = ", ".join(f".{one}" for one in FileFormat)
        raise JobError(f"{path}: the end of its name does not give a format; it must be one of {ends}") from None


class RowFile:
    """A file that rows are added to."""

    def __init__(self, path: Path, format_: FileFormat, schema: pa.Schema) -> None:
        """Make the file; one of that name is overwritten.

        Raises:
            OSError: it cannot be made.
        """
        self.path = path
        self.gathered = 0
        """Bytes that are not written yet."""
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0
        self._schema = schema
        self._file = path.open("wb")
        self._put, self._end = _writer(format_, self._file, schema)

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows.

        Raises:
            OSError: they cannot be written.
        """
        self._waiting.append(batch)
        self._rows += len(batch)
        self.gathered += batch.nbytes
        if self._rows >= ROWS or self.gathered >= BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what is gathered."""
        if self._waiting:
            with _named(self.path):
                self._put(pa.Table.from_batches(self._waiting, self._schema))
        self._waiting, self._rows, self.gathered = [], 0, 0

    def close(self) -> None:
        """Write the rest, and wait until all of it is on the disk."""
        self.flush()
        with _named(self.path):
            self._end()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()

    def discard(self) -> None:
        """Remove the file."""
        with suppress(OSError, ValueError, pa.ArrowException):
            self._end()
        with suppress(OSError):
            self._file.close()
        self.path.unlink(missing_ok=True)


def _writer(
    format_: FileFormat, file: io.BufferedWriter, schema: pa.Schema
) -> tuple[Callable[[pa.Table], object], Callable[[], object]]:
    """Return what writes rows, and what ends the file."""
    if format_ is FileFormat.PARQUET:
        parquet = pq.ParquetWriter(file, schema, compression="zstd")
        return parquet.write_table, parquet.close
    if format_ is FileFormat.ARROW:
        arrow = pa.ipc.new_file(file, schema, options=pa.ipc.IpcWriteOptions(compression="zstd"))
        return arrow.write_table, arrow.close
    if format_ is FileFormat.CSV:
        file.write(csv_head(schema).encode())
    lines = csv_lines if format_ is FileFormat.CSV else json_lines

    def put(table: pa.Table) -> None:
        for batch in table.to_batches():
            file.writelines(line.encode() for line in lines(batch))

    return put, lambda: None


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Name the file in errors of the system that do not."""
    try:
        yield
    except OSError as error:
        if error.filename is not None:
            raise
        raise type(error)(error.errno or errno.EIO, error.strerror or str(error), str(path)) from None
