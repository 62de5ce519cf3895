"""Bytes of the specs in data/forms."""

from __future__ import annotations

from kipwire import Message


def uvarint(value: int) -> bytes:
    """Return an unsigned varint, made the way KIP-482 explains it."""
    groups = []
    while True:
        groups.append(value % 128)
        value //= 128
        if not value:
            return bytes([*(group + 128 for group in groups[:-1]), groups[-1]])


def is_written_and_read(message: Message, data: bytes) -> bool:
    """True if the message is written as these bytes, and read from them."""
    assert message.encode() == data
    assert message.encoded_size() == len(data)
    read = type(message).decode(data)
    assert read == message
    return read.encode() == data


def int32(number: int) -> bytes:
    return number.to_bytes(4, "big")
