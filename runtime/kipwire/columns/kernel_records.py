"""Columns of records through the compiled kernel, for batches of magic 2."""

from __future__ import annotations

import pyarrow as pa

from kipwire import _kernel
from kipwire.columns.errors import too_large_a_number, too_much
from kipwire.columns.kernel_engine import array_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kipwire.records import RecordBatch


class KernelRecords:
    """Records on their way into columns, which the kernel fills."""

    def __init__(self, header_keys: bool = False) -> None:
        self._header_keys = header_keys
        self.table = _kernel.RecordTable(header_keys)

    @property
    def rows(self) -> int:
        """How many records there are."""
        return self.table.count

    @property
    def size(self) -> int:
        """Bytes of all keys and values, also of headers, of whose keys those of the text count."""
        return self.table.size

    def add(self, number: int, batch: RecordBatch) -> None:
        """Add the records of a batch of magic 2, which has this number.

        Raises:
            DecodeError: the batch is broken.
            ColumnError: a column would hold more than 2 GiB, or a number has more than 64 bits.
        """
        assert batch._section is not None and batch.records_count is not None
        append_time = batch.max_timestamp if batch.timestamp_type == "LogAppendTime" else None
        section = batch._section(batch._source)
        try:
            is_good = self.table.add(
                number, section, batch.records_count, batch.base_offset, batch.base_timestamp, append_time
            )
        except OverflowError:
            raise too_much() from None
        if not is_good:
            batch._decode(batch._source)  # which says what is wrong
            raise too_large_a_number(batch)

    def take(self, schema: pa.Schema) -> pa.RecordBatch:
        """All records as columns; none are left then."""
        columns = self.table.take()
        if self._header_keys:  # of which the kernel makes fields of the headers
            count, buffers, [(headers, validity, fields)] = columns.pop()
            columns += [(count, buffers, [(headers, validity, fields[:2])]), (count, buffers, fields[2:])]
        arrays = [array_of(field.type, parts) for field, parts in zip(schema, columns, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
