"""Every class of kafka_records has golden bytes of Java's, and writes just these again, also from JSON."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import kafka_records
from tests.support.golden_data import lines

SHORT = 1024
"""Longer entries have nothing that shorter ones do not have."""


def golden_bytes() -> Iterator[tuple[str, int, bytes]]:
    """Yield the class and the bytes of each batch, of the records in it, and of each entry of a message set."""
    for line in lines("record-batches"):
        data, magic = bytes.fromhex(line["hex"]), line["magic"]
        while data:
            size = 12 + int.from_bytes(data[8:12], "big")
            yield ("RecordBatch" if magic == 2 else "MessageAndOffset"), magic, data[:size]
            data = data[size:]
        for batch in line["batches"] if line["kind"] == "record_batches" else [line]:
            if magic == 2:
                yield "Records", magic, bytes.fromhex(batch["fields"]["recordsSectionUncompressedHex"])


CASES = [case for case in golden_bytes() if 0 < len(case[2]) <= SHORT]
CLASSES = {(name, version) for name in kafka_records.names() for version in kafka_records.versions(name)}


def test_there_are_bytes_of_every_class() -> None:
    assert {(name, version) for name, version, _ in CASES} == CLASSES
    assert len(CLASSES) == 4


@pytest.mark.parametrize(("name", "version"), sorted(CLASSES))
def test_bytes_are_javas(name: str, version: int) -> None:
    cls = kafka_records.message(name, version)
    for data in (data for *case, data in CASES if case == [name, version]):
        message = cls.decode(data)
        assert message.encode() == data
        assert message.encoded_size() == len(data)
        assert cls.from_json(message.to_json()).encode() == data
