"""The records of a log that are wanted."""

from __future__ import annotations

from typing import NamedTuple

from kipwire.records import MAX_DECOMPRESSED_SIZE, Bounds


class Wanted(NamedTuple):
    """The records to read, and how to read them."""

    first_offset: int | None = None
    end_offset: int | None = None
    """Records from this offset on are left out."""
    first_timestamp: int | None = None
    """In milliseconds since 1970, as are the timestamps of records."""
    end_timestamp: int | None = None
    """Records of this timestamp or a later one are left out."""
    control: bool = False
    """Whether control records are records too."""
    check_crcs: bool = True
    permissive: bool = False
    """Whether a broken batch is one row with the error, instead of an exception."""
    tail: bool = False
    """True if the bytes after the last whole batch of a log are one row with an error, too."""
    max_decompressed_size: int = MAX_DECOMPRESSED_SIZE
    """Bytes that the records of one batch may decompress to."""

    @property
    def bounds(self) -> Bounds:
        """The offsets and times."""
        return Bounds(self.first_offset, self.end_offset, self.first_timestamp, self.end_timestamp)

    @property
    def is_bounded(self) -> bool:
        """True if offsets or times are bounded, so that batches may be passed over by their heads."""
        return any(bound is not None for bound in self.bounds)

    def between(self, first: int, end: int | None) -> Wanted:
        """Those of these records from one offset on, and before another one, if there is one."""
        ends = [one for one in (self.end_offset, end) if one is not None]
        return self._replace(first_offset=max(self.first_offset or 0, first), end_offset=min(ends, default=None))
