"""Records as Kafka converts them, and the contents of batches, to compare compressed ones."""

from __future__ import annotations

import zlib
from typing import Any

from kafka_records.message_and_offset import v0, v1
from kafka_records.record_batch.v2 import RecordBatch
from kipwire.records import read_batches
from kipwire.records.compression import decompress, lz4_from_magic_0
from tests.support.golden_data import lines

_LAYOUTS = (v0.MessageAndOffset, v1.MessageAndOffset, RecordBatch)
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_ENOUGH = 1 << 24


def golden_conversions() -> list[dict[str, Any]]:
    """Return the lines, each with the bytes of both sides; None for what Java refused."""
    return [
        {**line, "from": bytes.fromhex(line["from"]), "to": None if "refused" in line else bytes.fromhex(line["hex"])}
        for line in lines("record-conversion")
    ]


def is_plain(data: bytes) -> bool:
    """True if nothing in the bytes is compressed."""
    return all(batch.compression == "none" for batch in read_batches(data))


def contents(data: bytes) -> list[dict[str, Any]]:
    """Return all fields of each batch, with compressed bytes as what they decompress to.

    Sizes and checksums depend on the compressed bytes, so they are left out.
    """
    found = []
    for batch in read_batches(data):
        whole = data[batch.position : batch.position + batch.size]
        layout = _LAYOUTS[batch.magic].decode(whole)
        fields = layout.to_json()
        name = "records" if batch.magic == 2 else "value"
        compressed = getattr(layout, name)
        if batch.compression == "lz4" and batch.magic == 0:
            assert compressed[:7].hex() == "04224d1860401a", "not the header's checksum of magic 0"
            compressed = lz4_from_magic_0(compressed)
        if batch.compression != "none":
            fields[name] = decompress(batch.compression, compressed, _ENOUGH).hex()
        found.append({"magic": batch.magic, "codec": _CODECS.index(batch.compression), **fields})
    return found


def with_crcs(data: bytes) -> bytes:
    """Entries of a message set, with their checksums put in."""
    parts = []
    while data:
        end = 12 + int.from_bytes(data[8:12], "big")
        parts.append(data[:12] + zlib.crc32(data[16:end]).to_bytes(4, "big") + data[16:end])
        data = data[end:]
    return b"".join(parts)
