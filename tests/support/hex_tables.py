"""Bytes as tests write them down: by hand, each with what it is."""

from __future__ import annotations

import pytest

from kipwire import DecodeError, Message
from kipwire.codec.checksums import crc32


def octets(table: str) -> bytes:
    """Return the bytes of a table: each line has hex digits, and a comment after #."""
    return bytes.fromhex("".join(line.partition("#")[0] for line in table.splitlines()))


def raw(text: str) -> bytes:
    """Bytes from hex digits; spaces and bars are for the reader."""
    return bytes.fromhex(text.replace("|", " "))


def with_crc(data: bytes) -> bytes:
    """Return the same entry of a message set, or set of the draft of KIP-98, with a checksum that is right."""
    return data[:12] + crc32(data[16:]).to_bytes(4, "big") + data[16:]


def expect_fault(cls: type[Message], data: bytes, at: int, patch: str, path: str, offset: int) -> None:
    """Check that the bytes, overwritten from `at` on with hex digits, are refused at that location."""
    wrong = bytes.fromhex(patch)
    with pytest.raises(DecodeError) as caught:
        cls.decode(data[:at] + wrong + data[at + len(wrong) :])
    assert (caught.value.path, caught.value.offset) == (path, offset), caught.value
