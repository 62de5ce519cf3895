"""What a log file has as a whole."""

from __future__ import annotations

from collections import Counter

from kipwire.records import RecordBatch


class Summary:
    """The batches of a file, counted."""

    def __init__(self, size: int) -> None:
        self.size = size
        """Bytes of the file."""
        self.batches = self.control_batches = self.records = self.errors = 0
        self.first_offset = self.last_offset = -1
        self.first_timestamp = self.last_timestamp = -1
        """In milliseconds since 1970; -1 if no batch has one."""
        self.compressions: Counter[str] = Counter()
        """How many batches have each."""

    def add(self, batch: RecordBatch) -> None:
        """Count a batch.

        Raises:
            DecodeError: it is compressed, of magic 0 or 1, and broken.
        """
        base_offset = batch.base_offset
        self.records += len(batch.records) if batch.records_count is None else batch.records_count
        if not self.batches:
            self.first_offset = base_offset
        self.last_offset = batch.last_offset
        self.batches += 1
        self.control_batches += batch.is_control
        self.compressions[batch.compression] += 1
        first = batch.max_timestamp if batch.timestamp_type == "LogAppendTime" else batch.base_timestamp
        if first >= 0 and batch.delete_horizon is None:
            self.first_timestamp = first if self.first_timestamp < 0 else min(self.first_timestamp, first)
        self.last_timestamp = max(self.last_timestamp, batch.max_timestamp)
