"""Progress of the embedded engine, as a line for users."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from kipwire.tables.processes import Readers
from kipwire.tables.sources.formats import Plan
from kipwire.tools.text import count_of

_MB = 1_000_000


class Progress:
    """Counts the files and bytes read so far of the table that is being read."""

    def __init__(self) -> None:
        self._noun = self._unit = ""
        self._files = 0
        self._size = 0
        self._files_done = 0
        self._size_done = 0

    def reading(self, plan: Plan, readers: Readers) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a plan, piece by piece, and count the files that are done."""
        work = list(plan.work())
        pieces = [list(plan.files(piece)) for piece in work]
        sizes = [sum(size for _, size in files) for files in pieces]
        whole = {path for files in pieces for path, _ in files}
        self._noun, self._files, self._size, self._unit = plan.noun, len(whole), sum(sizes), plan.unit
        self._files_done = self._size_done = 0
        done: set[str] = set()
        for rows, files, size in zip(readers.read(plan.read, work, sizes), pieces, sizes, strict=True):
            yield from rows
            done.update(path for path, _ in files)
            self._files_done, self._size_done = len(done), self._size_done + size
        self._files = 0

    def __str__(self) -> str:
        """Return the line, such as `reading 12 of 40 segments, 310 of 900 MB`."""
        if not self._files:
            return "computing ..."
        size = f", {self._size_done // _MB:,} of {self._size // _MB:,} {self._unit}" if self._size >= _MB else ""
        return f"reading {self._files_done:,} of {count_of(self._files, self._noun)}{size}"
