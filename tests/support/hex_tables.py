"""Bytes as tests write them down: by hand, each with what it is."""

from __future__ import annotations

import pytest

from kipwire import DecodeError, Message


def octets(table: str) -> bytes:
    """The bytes of a table: hex digits in each line, and after # what they are."""
    return bytes.fromhex("".join(line.partition("#")[0] for line in table.splitlines()))


def expect_fault(cls: type[Message], data: bytes, at: int, patch: str, path: str, offset: int) -> None:
    """The bytes, overwritten from `at` on with hex digits, are refused at that location."""
    wrong = bytes.fromhex(patch)
    with pytest.raises(DecodeError) as caught:
        cls.decode(data[:at] + wrong + data[at + len(wrong) :])
    assert (caught.value.path, caught.value.offset) == (path, offset), caught.value
