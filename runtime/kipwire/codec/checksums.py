"""The checksums that record formats carry. Both take bytes and give a number from 0 to 2^32-1."""

from __future__ import annotations

from functools import cache
from struct import iter_unpack
from zlib import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["crc32", "crc32c"]

_POLYNOMIAL = 0x82F63B78


def crc32c(data: bytes, value: int = 0) -> int:
    """Compute CRC-32C (Castagnoli), the checksum of record batches of magic 2, by google-crc32c if installed.

    Args:
        data: the bytes.
        value: the checksum of the bytes before them, as for `zlib.crc32`.
    """
    return fastest_crc32c()(value, data)


@cache
def fastest_crc32c() -> Callable[[int, bytes], int]:
    """Choose the fastest function for CRC-32C; its arguments are the checksum of the bytes before, and the bytes."""
    try:
        from google_crc32c import extend  # here, since few of the programs that import a layout need it
    except ImportError:
        return crc32c_of_tables
    function: Callable[[int, bytes], int] = extend
    return function


def crc32c_of_tables(value: int, data: bytes) -> int:
    """Compute CRC-32C in plain Python, eight bytes a step: slow, but it needs no library."""
    t0, t1, t2, t3, t4, t5, t6, t7 = _tables()
    crc = value ^ 0xFFFFFFFF
    view = memoryview(data).cast("B")
    whole = len(view) & ~7
    for (word,) in iter_unpack("<Q", view[:whole]):
        word ^= crc
        crc = (
            t7[word & 255]
            ^ t6[word >> 8 & 255]
            ^ t5[word >> 16 & 255]
            ^ t4[word >> 24 & 255]
            ^ t3[word >> 32 & 255]
            ^ t2[word >> 40 & 255]
            ^ t1[word >> 48 & 255]
            ^ t0[word >> 56]
        )
    for byte in view[whole:]:
        crc = crc >> 8 ^ t0[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


@cache
def _tables() -> tuple[list[int], ...]:
    """Compute the remainders of each byte that is followed by 0 to 7 zero bytes."""
    first = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (_POLYNOMIAL if crc & 1 else 0)
        first.append(crc)
    tables = [first]
    for _ in range(7):
        tables.append([crc >> 8 ^ first[crc & 255] for crc in tables[-1]])
    return tuple(tables)
