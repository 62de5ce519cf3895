"""Messages of the specs in data/layouts, and parts of their bytes."""

from __future__ import annotations

from typing import Any

# Worked examples.

NULLABLE = ("text", "text_int16", "text_int32", "text_varint", "blob", "blob_int16", "blob_int32", "blob_varint")
NO_BITS = "0000 0000 00000000 00000000 0000000000000000"
FRAME = "03 0001 78 | 01 01 04 6162 | 0007 0001 00000005 6e"
PAIRS = "06 02 01 6b 76 0000 | 04 00 6b 0001 | 04 03 76 0000 | 03 01 0000 | 03 00 0000"


def nulls(it: Any) -> Any:
    return it.Prefixes(**dict.fromkeys(NULLABLE))


def pairs(it: Any) -> Any:
    values = [("k", b"v", 0), ("k", b"", 1), (None, b"v", 0), (None, b"", 0), ("", b"", 0)]
    return it.Pairs(pairs=[it.Pair(key=key, value=value, end=end) for key, value, end in values])
