"""The location of a batch, errors with it, its limits, and reading a batch with or without its checksum."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from kipwire.codec.checksums import crc32, crc32c
from kipwire.errors import DecodeError
from kipwire.messages import Message

M = TypeVar("M", bound=Message)

MAX_DECOMPRESSED_SIZE = 64 * 1024 * 1024
"""Bytes that a batch may decompress to by default: 64 times what Java's producer puts into one by default,
since its `max.request.size` of 1 MiB holds before compression."""
MAX_ITEMS = 2**20
"""Records and headers together that a batch may have by default: twice what 1 MiB can hold, of the
smallest headers."""


Location = tuple[int, int, str | None]
"""A batch in its buffer or file: the number of batches before it, its first byte, and the name of the file."""


def error_at(location: Location, magic: int, path: str, offset: int, reason: str) -> DecodeError:
    """What is wrong with a batch; the path and the offset are within it."""
    number, start, file = location
    where = f"batches[{number}]" + (f".{path}" if path else "")
    in_file = f" (in {file})" if file else ""
    return DecodeError("RecordBatch", magic, where, start + offset, reason + in_file)


class Limits(NamedTuple):
    """What the records of one batch may be at most, since few bytes of compressed data can expand to very many."""

    decompressed_size: int
    """Bytes of them when they are decompressed; `max_decompressed_size` of those who read."""
    items: int
    """Records and headers, counted together; `max_items` of those who read."""

    @property
    def too_many(self) -> str:
        """What is said of a batch that has more items."""
        return f"the batch has more than {self.items:,} records and headers (max_items)"


DEFAULT_LIMITS = Limits(MAX_DECOMPRESSED_SIZE, MAX_ITEMS)


def wrong_checksum(given: int, right: int) -> str:
    """What is said of a batch with a wrong checksum."""
    return f"is 0x{given:08x}, but the bytes after it have 0x{right:08x}"


def decode(cls: type[M], data: bytes, *, check_crcs: bool) -> M:
    """The batch that the bytes are, in its generated class; its checksum is checked only if asked for.

    Raises:
        DecodeError: the bytes are not one batch of that format; its path and its offset are within them.
    """
    try:
        return cls.decode(data)
    except DecodeError as error:
        if error.path != "crc":
            raise
        at = error.offset
        checksum = _checksum(cls)
        right = checksum(data[at + 4 :])
        if check_crcs:
            reason = wrong_checksum(int.from_bytes(data[at : at + 4], "big"), right)
            raise DecodeError(error.message, error.version, error.path, at, reason) from None
    return cls.decode(data[:at] + right.to_bytes(4, "big") + data[at + 4 :])


def _checksum(cls: type[Message]) -> Callable[[bytes], int]:
    """What computes the checksum of a format."""
    algorithm = next(field.algorithm for field in cls.FIELDS if field.role == "checksum")
    return crc32c if algorithm == "crc32c" else crc32
