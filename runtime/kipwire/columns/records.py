"""The records of batches as columns: the schema, and gathering batch after batch."""

from __future__ import annotations

import pyarrow as pa

from kipwire import native
from kipwire.columns.record_rows import RecordRows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from kipwire.columns.record_kernel import KernelRecords
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
"""The columns of records: which of the batches a record is from, counted from 0, and what `Record` has. Timestamps are
milliseconds since 1970, or -1."""


def decode_records(batches: Iterable[RecordBatch]) -> pa.RecordBatch:
    """The records of batches as rows with the columns of `RECORD_SCHEMA`: what `batch.records` has, without objects.

    Records are always those that the bytes tell of; the batches keep nothing of them.

    Args:
        batches: of any formats, such as `read_segment` gives them.

    Raises:
        DecodeError: a batch is broken, as `batch.records` tells it.
        ColumnError: a column would hold more than 2 GiB, or a number has more than 64 bits.
        ImportError: a codec needs cramjam, which is not installed.
    """
    columns = RecordColumns()
    for batch in batches:
        columns.add(batch)
    return columns.take()


class RecordColumns:
    """Gathers the records of batches one by one: for logs that are too large to be decoded at once."""

    def __init__(self) -> None:
        self._clear()

    @property
    def rows(self) -> int:
        """How many records there are."""
        return self._rows_before + (self._parts[-1].rows if self._parts else 0)

    @property
    def size(self) -> int:
        """Bytes of all keys and values, also of headers."""
        return self._size_before + (self._parts[-1].size if self._parts else 0)

    def add(self, batch: RecordBatch) -> None:
        """Add the records of a batch. If that fails, it is as if the batch had not been there.

        Raises:
            DecodeError: the batch is broken, as `batch.records` tells it.
            ColumnError: a column would hold more than 2 GiB, or a number has more than 64 bits.
            ImportError: the codec needs cramjam, which is not installed.
        """
        self._part_for(batch).add(self._batches, batch)
        self._batches += 1

    def take(self) -> pa.RecordBatch:
        """The records of all batches since the last time, as rows with the columns of `RECORD_SCHEMA`.

        Raises:
            ColumnError: a column would hold more than 2 GiB.
        """
        parts = [part.take(RECORD_SCHEMA) for part in self._parts]
        self._clear()
        if len(parts) == 1:
            return parts[0]
        return pa.concat_batches(parts) if parts else pa.RecordBatch.from_pylist([], RECORD_SCHEMA)

    def _clear(self) -> None:
        self._parts: list[RecordRows | KernelRecords] = []
        self._batches = 0
        self._rows_before = self._size_before = 0  # of all parts but the last

    def _part_for(self, batch: RecordBatch) -> RecordRows | KernelRecords:
        """What takes this batch, and those of its kind that follow."""
        kind = _kind_for(batch)
        if not self._parts or type(self._parts[-1]) is not kind:
            self._rows_before, self._size_before = self.rows, self.size
            self._parts.append(kind())
        return self._parts[-1]


def _kind_for(batch: RecordBatch) -> type[RecordRows | KernelRecords]:
    if not native.in_use or batch._section is None:
        return RecordRows
    from kipwire.columns.record_kernel import KernelRecords

    return KernelRecords
