"""The checksums that record formats carry. Both take bytes and give a number from 0 to 2^32-1."""

from __future__ import annotations

from functools import cache
from zlib import crc32

from kipwire.errors import MissingExtraError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["crc32", "crc32c"]


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli), the checksum of record batches of magic 2.

    Raises:
        MissingExtraError: google-crc32c is not installed; it says how to get it.
    """
    return _google_crc32c()(data)


@cache
def _google_crc32c() -> Callable[[bytes], int]:
    try:
        from google_crc32c import value  # here, since few of the programs that import a layout need it
    except ImportError as failure:
        raise MissingExtraError("CRC-32C needs google-crc32c: pip install kipwire[records]") from failure
    function: Callable[[bytes], int] = value
    return function
