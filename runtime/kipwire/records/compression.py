"""The codecs of record batches, over whole sections of bytes. Reading is bounded in memory.

gzip is the standard library's zlib; the others are cramjam's, in the frames that Kafka puts around them. A section may
have several parts, one after the other, where Kafka's Java classes read them: members of gzip, frames of zstd, streams
of snappy-java. The limit holds for all parts together. Other bytes after a part are an error, which Java often ignores.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from struct import Struct as Packer
from struct import error as StructError  # noqa: N812
from types import ModuleType
from typing import Literal

from kipwire.model.errors import KipwireError
from kipwire.model.extras import missing_extra
from kipwire.tools.text import leftover_reason

Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]

COMPRESSIONS: tuple[Compression, ...] = ("none", "gzip", "snappy", "lz4", "zstd")
"""The names of the codecs; a codec's index is its number in the attributes of a batch."""

_GZIP = 31
"""zlib's word for: a window of 32 KiB, and gzip's header and trailer around it."""
_GZIP_MAGIC = b"\x1f\x8b"
_LEAST_CHUNK, _MOST_CHUNK = 1 << 7, 1 << 16
"""Bytes of a further member of gzip that are decompressed at once."""
_uint32 = Packer(">I")
_uint32_little = Packer("<I")


class CompressedDataError(KipwireError):
    """Compressed bytes that are broken, or that decompress to more than was allowed."""


def compress(compression: Compression, data: bytes) -> bytes:
    """Compress bytes; return them as they are for "none".

    Raises:
        MissingExtraError: the codec needs cramjam, which is not installed; the text says how to install it.
    """
    return _CODECS[compression][0](data)


def decompress(compression: Compression, data: bytes, max_size: int) -> bytes:
    """Decompress bytes, never to more than `max_size` bytes; return them as they are for "none".

    Raises:
        CompressedDataError: the bytes are broken, or hold more than `max_size` bytes.
        MissingExtraError: the codec needs cramjam, which is not installed; the text says how to install it.
    """
    return _CODECS[compression][1](data, max_size)


def _cramjam() -> ModuleType:
    try:
        import cramjam  # here, since it takes longer to import than all of kipwire
    except ImportError as failure:
        raise missing_extra("snappy, lz4 and zstd need", "cramjam", "records") from failure
    return cramjam


def _too_much(codec: str, max_size: int) -> CompressedDataError:
    return CompressedDataError(f"the {codec} data decompresses to more than {max_size:,} bytes (max_decompressed_size)")


def _fill(codec: str, data: bytes, bound: int, max_size: int) -> bytes:
    """Decompress a frame that cannot hold more than `bound` bytes by the sizes of its blocks."""
    cramjam = _cramjam()
    space = bytearray(min(bound, max_size))
    try:
        size = getattr(cramjam, codec).decompress_into(data, space)
    except cramjam.DecompressionError as failure:
        if "whole buffer" not in str(failure):
            raise CompressedDataError(f"the {codec} data cannot be decompressed: {failure}") from failure
        if max_size < bound:
            raise _too_much(codec, max_size) from failure
        raise CompressedDataError(f"the {codec} data is broken: it holds more than its blocks can") from failure
    return bytes(memoryview(space)[:size])


# gzip


def _compress_gzip(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=_GZIP)
    return stream.compress(data) + stream.flush()


def _decompress_gzip(data: bytes, max_size: int) -> bytes:
    stream = zlib.decompressobj(_GZIP)
    try:
        plain = stream.decompress(data, max_size + 1)
    except zlib.error as failure:
        raise CompressedDataError(f"the gzip data is broken: {failure}") from failure
    if len(plain) > max_size:
        raise _too_much("gzip", max_size)
    if not stream.eof:
        raise CompressedDataError("the gzip data is cut short")
    if stream.unused_data:
        return b"".join([plain, *_more_members(data, len(data) - len(stream.unused_data), max_size, len(plain))])
    return plain


def _more_members(data: bytes, pos: int, max_size: int, size: int) -> Iterator[bytes]:
    """Decompress the members from a position on, after members of `size` bytes; zeros may follow the last one."""
    while pos < len(data):
        if not data.startswith(_GZIP_MAGIC, pos):
            if data.count(0, pos) < len(data) - pos:
                raise CompressedDataError(leftover_reason(len(data) - pos, "the gzip data"))
            return
        stream = zlib.decompressobj(_GZIP)
        chunk = _LEAST_CHUNK
        while not stream.eof:
            if pos >= len(data):
                raise CompressedDataError("the gzip data is cut short in its last member")
            end = min(pos + chunk, len(data))
            try:
                plain = stream.decompress(data[pos:end], max_size - size + 1)
            except zlib.error as failure:
                raise CompressedDataError(f"the gzip data is broken: {failure}") from failure
            size += len(plain)
            if size > max_size:
                raise _too_much("gzip", max_size)
            yield plain
            pos, chunk = end - len(stream.unused_data), min(2 * chunk, _MOST_CHUNK)  # what is unused is a copy


# snappy: blocks after the header of snappy-java ("xerial"), as Java's clients write them, with further headers between
# the blocks; other clients write one block.

_XERIAL = bytes.fromhex("82534e4150505900") + _uint32.pack(1) + _uint32.pack(1)
"""The header: a magic, and the version and the lowest compatible one of the form."""
_XERIAL_MAGIC = _XERIAL[:8]
_XERIAL_BLOCK = 32 * 1024
"""Bytes that snappy-java puts into a block."""


def _compress_snappy(data: bytes) -> bytes:
    compress_raw = _cramjam().snappy.compress_raw
    parts = [_XERIAL]
    for start in range(0, len(data), _XERIAL_BLOCK):
        block = bytes(compress_raw(data[start : start + _XERIAL_BLOCK]))
        parts += (_uint32.pack(len(block)), block)
    return b"".join(parts)


def _decompress_snappy(data: bytes, max_size: int) -> bytes:
    cramjam = _cramjam()
    snappy = cramjam.snappy
    try:
        if not data.startswith(_XERIAL_MAGIC):
            if snappy.decompress_raw_len(data) > max_size:
                raise _too_much("snappy", max_size)
            return bytes(snappy.decompress_raw(data))
        if sum(map(snappy.decompress_raw_len, _xerial_blocks(data))) > max_size:
            raise _too_much("snappy", max_size)
        return b"".join(filter(None, (bytes(snappy.decompress_raw(block)) for block in _xerial_blocks(data))))
    except cramjam.DecompressionError as failure:
        raise CompressedDataError(f"the snappy data is broken: {failure}") from failure


def _xerial_blocks(data: bytes) -> Iterator[bytes]:
    pos = 0
    while pos < len(data):
        if data.startswith(_XERIAL_MAGIC, pos):
            if len(data) - pos < len(_XERIAL):
                raise CompressedDataError("the snappy data is cut short in its header")
            if pos and data[pos + 8 : pos + 12] == bytes(4):
                raise CompressedDataError("the snappy data has a header of version 0; it is 1 or higher")
            pos += len(_XERIAL)
            continue
        try:
            (size,) = _uint32.unpack_from(data, pos)
        except StructError:
            raise CompressedDataError("the snappy data is cut short in the size of a block") from None
        pos += 4
        if size > len(data) - pos:
            raise CompressedDataError(f"a snappy block of {size} bytes is cut short: {len(data) - pos} are left")
        yield data[pos : pos + size]
        pos += size


# lz4: one frame, with the options that Java's client writes. Java's reader leaves out what follows, and refuses blocks
# that depend on the one before, which other clients may write.

_LZ4_HEADER = bytes.fromhex("04224d18604082")
"""Magic; version 1 with independent blocks; blocks of at most 64 KiB; checksum."""
_LZ4_HEADER_OF_MAGIC_0 = _LZ4_HEADER[:6] + b"\x1a"
_LZ4_BLOCK = 64 * 1024
_LZ4_STORED = 1 << 31
"""Set in the size of a block that is not compressed, since it would have grown."""
_LZ4_MAX_RATIO = 255


def _compress_lz4(data: bytes) -> bytes:
    compress_block = _cramjam().lz4.compress_block
    parts = [_LZ4_HEADER]
    for start in range(0, len(data), _LZ4_BLOCK):
        plain = data[start : start + _LZ4_BLOCK]
        block = bytes(compress_block(plain, store_size=False))
        if len(block) < len(plain):
            parts += (_uint32_little.pack(len(block)), block)
        else:
            parts += (_uint32_little.pack(len(plain) | _LZ4_STORED), plain)
    return b"".join(parts) + bytes(4)


def _decompress_lz4(data: bytes, max_size: int) -> bytes:
    try:
        bound, end = _lz4_bound(data)
    except (StructError, IndexError):
        raise CompressedDataError("the lz4 data is cut short") from None
    if end < len(data) and data.startswith(_LZ4_HEADER[:4]):
        raise CompressedDataError(f"{leftover_reason(len(data) - end, 'the lz4 data')}: Kafka reads one frame of lz4")
    return _fill("lz4", data, bound, max_size)


def _lz4_header_size(data: bytes) -> int:
    flags = data[4]
    return 7 + (8 if flags & 0x08 else 0) + (4 if flags & 0x01 else 0)  # content size, dictionary


def _lz4_bound(data: bytes) -> tuple[int, int]:
    """Compute an upper bound of the content of the frame by the sizes of its blocks, and the position of its end."""
    block_bound = 1 << 2 * (data[5] >> 4 & 7) + 8
    pos = _lz4_header_size(data)
    bound = 0
    while True:
        (size,) = _uint32_little.unpack_from(data, pos)
        if not size:
            return bound, pos + 4 + (4 if data[4] & 0x04 else 0)  # checksum of the content
        size &= _LZ4_STORED - 1
        bound += min(block_bound, size * _LZ4_MAX_RATIO)
        pos += 4 + size + (4 if data[4] & 0x10 else 0)  # checksum of the block


def lz4_from_magic_0(data: bytes) -> bytes:
    """Put the header's checksum right in an lz4 frame of a message of magic 0.

    Kafka's first lz4 computed it over the frame's magic too (KIP-57); no reader of such messages relies on it.

    Raises:
        CompressedDataError: the frame is cut short in its header.
    """
    if len(data) < 7 or len(data) < _lz4_header_size(data):
        raise CompressedDataError("the lz4 data is cut short")
    end = _lz4_header_size(data) - 1
    checksum = _short_xxh32(data[4:end]) >> 8 & 0xFF
    return data[:end] + bytes((checksum,)) + data[end + 1 :]


def lz4_to_magic_0(data: bytes) -> bytes:
    """Change an lz4 frame of `compress` to the frame that messages of magic 0 carry; see `lz4_from_magic_0`."""
    return _LZ4_HEADER_OF_MAGIC_0 + data[len(_LZ4_HEADER) :]


def _short_xxh32(data: bytes) -> int:
    """Compute the xxHash-32 of less than 16 bytes, with seed 0; a header is never longer."""
    value = 374761393 + len(data)
    whole = len(data) // 4 * 4
    for start in range(0, whole, 4):
        value = _rotate(value + int.from_bytes(data[start : start + 4], "little") * 3266489917, 17) * 668265263
    for byte in data[whole:]:
        value = _rotate(value + byte * 374761393, 11) * 2654435761
    value &= 0xFFFFFFFF
    value = (value ^ value >> 15) * 2246822519 & 0xFFFFFFFF
    value = (value ^ value >> 13) * 3266489917 & 0xFFFFFFFF
    return value ^ value >> 16


def _rotate(value: int, bits: int) -> int:
    value &= 0xFFFFFFFF
    return value << bits | value >> 32 - bits


# zstd: frames, also empty ones and those to be skipped (RFC 8878).

_ZSTD_MAGIC = bytes.fromhex("28b52ffd")
_ZSTD_SKIPPED = bytes.fromhex("2a4d18")
"""Magic of a frame to be skipped, after a byte from 0x50 to 0x5f."""
_ZSTD_BLOCK = 128 * 1024
"""Bytes that a compressed block can hold at most."""


def _compress_zstd(data: bytes) -> bytes:
    return bytes(_cramjam().zstd.compress(data))


def _decompress_zstd(data: bytes, max_size: int) -> bytes:
    if not data.startswith(_ZSTD_MAGIC) and not _is_skipped(data, 0):
        raise CompressedDataError(f"not zstd data: it starts with {data[:4].hex()} instead of {_ZSTD_MAGIC.hex()}")
    bound = pos = 0
    try:
        while pos < len(data):
            if data.startswith(_ZSTD_MAGIC, pos):
                of_frame, pos = _zstd_bound(data, pos)
                bound += of_frame
            elif _is_skipped(data, pos):
                (size,) = _uint32_little.unpack_from(data, pos + 4)
                pos += 8 + size
            else:
                raise CompressedDataError(leftover_reason(len(data) - pos, "the zstd data"))
    except (IndexError, StructError):
        raise CompressedDataError("the zstd data is cut short") from None
    if pos > len(data):
        raise CompressedDataError("the zstd data is cut short")
    return _fill("zstd", data, bound, max_size)


def _is_skipped(data: bytes, pos: int) -> bool:
    """True if a frame to be skipped is at a position, perhaps cut short."""
    return data.startswith(_ZSTD_SKIPPED, pos + 1) and data[pos] & 0xF0 == 0x50


def _zstd_bound(data: bytes, start: int) -> tuple[int, int]:
    """Compute an upper bound of the content of a frame by the sizes of its blocks, and the position of its end."""
    flags = data[start + 4]
    one_segment = flags >> 5 & 1
    content_size = (one_segment, 2, 4, 8)[flags >> 6]
    pos = start + 5 + (1 - one_segment) + (0, 1, 2, 4)[flags & 3] + content_size  # window, dictionary, content size
    bound = 0
    last = 0
    while not last:
        header = data[pos] | data[pos + 1] << 8 | data[pos + 2] << 16
        last, kind, size = header & 1, header >> 1 & 3, header >> 3
        pos += 3 + (1 if kind == 1 else size)  # a block of kind 1 is one byte, to be repeated
        bound += size if kind < 2 else _ZSTD_BLOCK
    return bound, pos + (4 if flags & 4 else 0)  # checksum of the content


_CODECS: dict[Compression, tuple[Callable[[bytes], bytes], Callable[[bytes, int], bytes]]] = {
    "none": (lambda data: data, lambda data, max_size: data),
    "gzip": (_compress_gzip, _decompress_gzip),
    "snappy": (_compress_snappy, _decompress_snappy),
    "lz4": (_compress_lz4, _decompress_lz4),
    "zstd": (_compress_zstd, _decompress_zstd),
}
"""The function that compresses, and the one that decompresses up to a limit of bytes."""
