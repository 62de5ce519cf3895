"""Bytes as tests write them down: by hand, each with what it is."""

from __future__ import annotations


def octets(table: str) -> bytes:
    """The bytes of a table: hex digits in each line, and behind # what they are."""
    return bytes.fromhex("".join(line.partition("#")[0] for line in table.splitlines()))
