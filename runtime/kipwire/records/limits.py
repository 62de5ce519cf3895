"""Limits on the size of a decompressed batch, since few bytes of compressed data can expand to very many."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """What the records of one batch may be at most."""

    decompressed_size: int
    """Bytes of them when they are decompressed; `max_decompressed_size` of those who read."""
    items: int
    """Records and headers, counted together; `max_items` of those who read."""

    @property
    def too_many(self) -> str:
        """What is said of a batch that has more items."""
        return f"the batch has more than {self.items:,} records and headers (max_items)"
