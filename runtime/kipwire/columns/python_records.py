"""Columns of records through `Record` objects: for every format, also without the kernel."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kipwire.columns.errors import too_large_a_number, too_much
from kipwire.records.model import bytes_of_key
from kipwire.tools.io import no_garbage_collection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.records import Record, RecordBatch

_OF_RECORD = ("offset", "timestamp", "key", "value", "headers")
_INT64 = range(-(2**63), 2**63)


class PythonRecords:
    """Records on their way into columns, a list for each column."""

    def __init__(self, header_keys: bool = False) -> None:
        self._header_keys = header_keys
        self._clear()

    def _clear(self) -> None:
        self.columns: dict[str, list[Any]] = {name: [] for name in ("batch", *_OF_RECORD, "header_keys")}
        self.rows = 0
        """How many records there are."""
        self.size = 0
        """Bytes of all keys and values, also of headers, of whose keys those of the text count."""

    def add(self, number: int, batch: RecordBatch) -> None:
        """Add the records of a batch, which has this number.

        Raises:
            DecodeError: the batch is broken.
            ColumnError: a number has more than 64 bits.
        """
        with no_garbage_collection():
            records = batch._decode(batch._source)
            if any(record.offset not in _INT64 or record.timestamp not in _INT64 for record in records):
                raise too_large_a_number(batch)
            self.columns["batch"].extend([number] * len(records))
            for name in _OF_RECORD:
                self.columns[name].extend([getattr(record, name) for record in records])
            if self._header_keys:
                self.columns["header_keys"].extend(
                    [[bytes_of_key(key) for key, _ in record.headers] for record in records]
                )
        self.rows += len(records)
        self.size += sum(map(_size, records))

    def take(self, schema: pa.Schema) -> pa.RecordBatch:
        """All records as columns; none are left then.

        Raises:
            ColumnError: a column would hold more than 2 GiB.
        """
        arrays = [pa.array(self.columns[field.name], field.type) for field in schema]
        self._clear()
        if any(isinstance(array, pa.ChunkedArray) for array in arrays):  # which is what Arrow makes of too many bytes
            raise too_much()
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _size(record: Record) -> int:
    size = len(record.key or b"") + len(record.value or b"")
    return size + sum(len(key.encode()) + len(value or b"") for key, value in record.headers)
