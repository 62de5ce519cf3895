"""Inspecting layouts: computed parts, named bits and forms of sizes are shown, and every byte has one meaning."""

from __future__ import annotations

import json
from typing import Any

import pytest

import kafka_records
from kafka_records.message_and_offset.v1 import MessageAndOffset
from kafka_records.records.v2 import Record, RecordHeader, Records
from kipwire import Message
from kipwire.console.inspect.html import page
from kipwire.console.inspect.json import inspection_json
from kipwire.console.inspect.text import text_lines
from kipwire.console.inspect.tree import Inspection, inspect_message
from kipwire.drafts import proposals
from kipwire.drafts.proposals.messages.v2 import Message as DraftMessage
from kipwire.drafts.proposals.messages.v2 import Messages
from kipwire.testing import messages
from tests.support import property_checks

LAYOUTS = [
    cls
    for package in (kafka_records, proposals)
    for name in package.names()
    for version in package.versions(name)
    if (cls := package.message(name, version)).TYPE == "layout"
]


def lines_of(inspection: Inspection) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in text_lines(inspection)]


def rows(inspection: Inspection) -> list[tuple[str, str, str, object]]:
    """Path, role, type and value of every piece."""
    return [(piece.path, piece.role, piece.kind, piece.value) for piece in inspection.pieces]


@pytest.mark.parametrize("cls", LAYOUTS, ids=lambda cls: f"{cls.NAME}-{cls.VERSION}")
def test_every_byte_has_one_meaning_and_attributes_are_shown(cls: type[Message]) -> None:
    def is_shown(message: Any) -> None:
        inspection = inspect_message(cls, message.encode())
        assert inspection.error is None
        ends = [0, *(piece.end for piece in inspection.pieces)]
        assert [piece.start for piece in inspection.pieces] == ends[:-1]
        assert ends[-1] == len(inspection.data)
        values = {piece.path: piece.value for piece in inspection.pieces if piece.role == "value"}
        for field in cls.ATTRIBUTES:
            value = getattr(message, field.name)
            if field.struct is None and not field.array and value is not None:
                assert values.get(field.name, field.default_value()) == value
        assert page(inspection)
        assert json.dumps(inspection_json(inspection))

    property_checks.for_all(is_shown, messages(cls))


def test_sizes_checksums_constants_and_bits_are_distinguished() -> None:
    data = MessageAndOffset(offset=7, compression_type=2, timestamp_type=True, key=b"k", value=None).encode()
    assert rows(inspect_message(MessageAndOffset, data)) == [
        ("offset", "value", "int64", 7),
        ("message_size", "size", "rest size int32", 23),
        ("crc", "checksum", "crc32", int.from_bytes(data[12:16])),
        ("magic", "constant", "constant int8", 1),
        ("attributes", "bits", "bits int8", 0b1010),
        ("compression_type", "value", "bits 0-2", 2),
        ("timestamp_type", "value", "bit 3", True),
        ("unused_bits", "value", "bits 4-7", 0),
        ("timestamp", "value", "int64", -1),
        ("key", "length", "bytes length int32", 1),
        ("key", "value", "bytes", b"k"),
        ("value", "length", "bytes length int32", None),
    ]


def test_forms_of_sizes_and_counts_are_reported() -> None:
    record = Record(key=b"k", headers=[RecordHeader(key=b"h")])
    assert rows(inspect_message(Records, Records(records=[record]).encode())) == [
        ("records[0].length", "size", "rest size int32 packed32", 10),
        ("records[0].attributes", "value", "int8", 0),
        ("records[0].timestamp_delta", "value", "int64 packed64", 0),
        ("records[0].offset_delta", "value", "int32 packed32", 0),
        ("records[0].key", "length", "bytes length varint", 1),
        ("records[0].key", "value", "bytes", b"k"),
        ("records[0].value", "length", "bytes length varint", None),
        ("records[0].headers", "count", "count varint", 1),
        ("records[0].headers[0].key", "length", "bytes length varint", 1),
        ("records[0].headers[0].key", "value", "bytes", b"h"),
        ("records[0].headers[0].value", "length", "bytes length varint", None),
    ]


def test_bits_that_say_what_is_there_are_markers() -> None:
    data = Messages(messages=[DraftMessage(key=b"k", is_control=True)]).encode()
    shown = {path: (role, kind, value) for path, role, kind, value in rows(inspect_message(Messages, data))}
    assert shown["messages[0].null_key"] == ("marker", "bit 0", False)
    assert shown["messages[0].null_value"] == ("marker", "bit 1", True)
    assert shown["messages[0].is_control"] == ("value", "bit 2", True)
    assert shown["messages[0].key"] == ("value", "bytes", b"k")
    assert "messages[0].value" not in shown


def test_wrong_checksum_is_the_error_even_if_the_damage_did_more() -> None:
    data = bytearray(MessageAndOffset(key=b"k", value=b"v").encode())
    data[26] = 0x7F  # the size of the key
    inspection = inspect_message(MessageAndOffset, bytes(data))
    assert inspection.error is not None
    assert (inspection.error.path, inspection.error.offset) == ("crc", 12)
    assert [piece.path for piece in inspection.pieces] == ["offset", "message_size", "crc"]
    assert inspection.rest == 12
    assert lines_of(inspection)[-3] == f"error: {inspection.error}"
