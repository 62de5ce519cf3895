"""The records of batches as columns: the schema, and gathering batch after batch."""

from __future__ import annotations

import pyarrow as pa

from kipwire import native
from kipwire.columns.errors import too_much
from kipwire.columns.python_engine import PythonRecords

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kipwire.columns.kernel_engine import KernelRecords
    from kipwire.records import RecordBatch

_HEADER = pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())])

RECORD_SCHEMA = pa.schema(
    [
        pa.field("batch", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.int64(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", pa.list_(pa.field("item", _HEADER, nullable=False)), nullable=False),
    ]
)
"""The columns of records: the number of the batch that a record is from, counted from 0, and what `Record` has.
Timestamps are milliseconds since 1970, or -1. A key of a header that is not UTF-8 is the text that Java has."""

HEADER_KEYS = pa.field("header_keys", pa.list_(pa.field("item", pa.binary(), nullable=False)), nullable=False)
"""The column that is made only if it is asked for: the bytes of the keys in `headers`, in the same order."""


def decode_records(batches: Iterable[RecordBatch], *, header_keys: bool = False) -> pa.RecordBatch:
    """Decode the records of batches to rows of `RECORD_SCHEMA`: what `batch.records` has, without objects.

    Records always come from the bytes; the batches do not keep them.

    Args:
        batches: of any formats, such as `read_segment` gives them.
        header_keys: whether there is a last column `header_keys`, too: for each header the bytes of its key, of which
            `headers` has the text that Java makes of them.

    Raises:
        DecodeError: a batch is broken, as `batch.records` reports it.
        ColumnError: a column would hold more than 2 GiB, or a number has more than 64 bits.
        ImportError: a codec needs cramjam, which is not installed.
    """
    columns = RecordColumns(header_keys=header_keys)
    for batch in batches:
        columns.add(batch)
    return columns.take()


class RecordColumns:
    """Gathers the records of batches one by one: for logs that are too large to be decoded at once."""

    def __init__(self, *, header_keys: bool = False) -> None:
        """Start without any records; `header_keys` as for `decode_records`."""
        self._schema = RECORD_SCHEMA.append(HEADER_KEYS) if header_keys else RECORD_SCHEMA
        self._by_python = PythonRecords(header_keys)
        self._by_kernel: KernelRecords | None = None
        if native.in_use:
            from kipwire.columns.kernel_engine import KernelRecords

            self._by_kernel = KernelRecords(header_keys)
        self._filled: PythonRecords | KernelRecords = self._by_python
        """The columns that the last batch went into."""
        self._clear()

    @property
    def rows(self) -> int:
        """Number of records."""
        return self._rows_before + self._filled.rows

    @property
    def size(self) -> int:
        """Bytes of all keys and values, also of headers."""
        return self._size_before + self._filled.size

    def add(self, batch: RecordBatch) -> None:
        """Add the records of a batch. If that fails, it is as if the batch had not been there.

        Raises:
            DecodeError: the batch is broken, as `batch.records` reports it.
            ColumnError: a column would hold more than 2 GiB, or a number has more than 64 bits.
            ImportError: the codec needs cramjam, which is not installed.
            RuntimeError: another thread is adding a batch.
        """
        wanted = self._by_python if self._by_kernel is None or batch._section is None else self._by_kernel
        if wanted is not self._filled:
            self._put_by()
            self._filled = wanted
        wanted.add(self._batches, batch)
        self._batches += 1

    def take(self) -> pa.RecordBatch:
        """Take the records of all batches since the last time, as rows with the columns that `decode_records` has.

        Raises:
            ColumnError: a column would hold more than 2 GiB.
        """
        self._put_by()
        parts = self._parts or [pa.RecordBatch.from_pylist([], self._schema)]
        self._clear()
        return parts[0] if len(parts) == 1 else _join(parts)

    def _put_by(self) -> None:
        """Turn the gathered records into columns, before batches of another format."""
        self._rows_before, self._size_before = self.rows, self.size
        if self._filled.rows:
            self._parts.append(self._filled.take(self._schema))

    def _clear(self) -> None:
        self._parts: list[pa.RecordBatch] = []
        self._rows_before = self._size_before = 0
        """Number of records, and bytes, in the finished parts."""
        self._batches = 0


def _join(parts: list[pa.RecordBatch]) -> pa.RecordBatch:
    try:
        return pa.concat_batches(parts)
    except pa.ArrowInvalid as error:
        raise too_much() from error
