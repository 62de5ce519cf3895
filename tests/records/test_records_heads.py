"""Positions of fields that are read without decoding the batch agree with the specs."""

from __future__ import annotations

import re
from struct import Struct as Packer

import pytest

from kafka_records.message_and_offset import v0, v1
from kafka_records.record_batch.v2 import RecordBatch
from kipwire import Message
from kipwire.console.inspect.tree import Piece, inspect_message
from kipwire.drafts.kip_98 import heads as kip_98
from kipwire.drafts.proposals.compressed_message_set.v2 import CompressedMessageSet
from kipwire.drafts.proposals.message_and_offset.v2 import Header, MessageAndOffset
from kipwire.records import heads
from tests.support.places import ROOT

KEY = b"a key"
SMALLEST: list[Message] = [v0.MessageAndOffset(), v1.MessageAndOffset(), RecordBatch()]
WITH_KEY: list[Message] = [v0.MessageAndOffset(key=KEY), v1.MessageAndOffset(key=KEY)]


OF_PROPOSALS: dict[str, Message] = {"kip-82": MessageAndOffset(), "kip-98 draft": CompressedMessageSet()}


def fields(message: Message) -> dict[str, Piece]:
    """Return the last piece of bytes of each field."""
    inspection = inspect_message(type(message), message.encode())
    assert inspection.error is None
    return {piece.path: piece for piece in inspection.pieces}


@pytest.mark.parametrize("message", SMALLEST, ids=lambda message: f"magic {message.VERSION}")
def test_heads_of_batches_are_where_the_specs_say(message: Message) -> None:
    found, format_ = fields(message), heads.FORMATS[message.VERSION]
    offset, size, _, magic = heads.HEAD.unpack_from(message.encode())
    assert (found["magic"].start, found["magic"].end, magic) == (heads.MAGIC, heads.HEAD.size, message.VERSION)
    assert (found[format_.size_name].start, found[format_.size_name].end) == (heads.SIZE, heads.SIZE_END)
    assert size == found[format_.size_name].value == format_.smallest
    assert offset == found["base_offset" if magic == 2 else "offset"].value
    assert (found["crc"].start, found["attributes"].start) == (format_.crc, format_.attributes)
    assert format_.crc + format_.crc_and_attributes.size == found["attributes"].end


@pytest.mark.parametrize("message", WITH_KEY, ids=lambda message: f"magic {message.VERSION}")
def test_keys_of_messages_are_where_the_specs_say(message: Message) -> None:
    assert message.encode()[heads.KEYS[message.VERSION] :].startswith(KEY)


def test_fields_of_record_batches_are_where_the_specs_say() -> None:
    found = fields(RecordBatch(last_offset_delta=7, records_count=9))
    assert found["last_offset_delta"].start == heads.LAST_OFFSET_DELTA
    assert found["records_count"].start == heads.RECORDS_COUNT
    assert found["records"].start == heads.RECORDS


def test_heads_of_record_batches_are_what_the_specs_say() -> None:
    batch = RecordBatch(
        base_offset=1,
        partition_leader_epoch=2,
        compression_type=3,
        last_offset_delta=4,
        base_timestamp=5,
        max_timestamp=6,
        producer_id=7,
        producer_epoch=8,
        base_sequence=9,
        records_count=10,
        records=b"some",
    )
    data, found = batch.encode(), fields(batch)
    positions = {piece.start: piece.value for path, piece in found.items() if "." not in path and path != "records"}
    expected = [positions[start] for start in sorted(positions)]
    assert list(heads.BATCH.unpack_from(data)) == expected
    assert heads.BATCH.size == heads.RECORDS == len(data) - len(b"some")
    assert heads.BATCH_START.size == heads.FORMATS[2].attributes
    assert heads.BATCH_START.pack(*expected[:5]) + heads.COVERED.pack(*expected[5:]) == data[: heads.RECORDS]
    assert heads.OF_RECORDS.unpack_from(data) == (1, 3, 5, 6, 10)


@pytest.mark.parametrize("message", SMALLEST, ids=lambda message: f"magic {message.VERSION}")
def test_checksum_and_attributes_are_read_from_their_fields(message: Message) -> None:
    found, format_ = fields(message), heads.FORMATS[message.VERSION]
    data = bytearray(message.encode())
    width = found["attributes"].end - format_.attributes
    Packer(">b" if width == 1 else ">h").pack_into(data, format_.attributes, 5)
    assert format_.crc_and_attributes.unpack_from(data, format_.crc) == (found["crc"].value, 5)


ATTRIBUTES: dict[str, dict[str, int]] = {
    "COMPRESSION": {"compression_type": 7},
    "LOG_APPEND_TIME": {"timestamp_type": 1},
    "TRANSACTIONAL": {"is_transactional": True},
    "CONTROL": {"is_control": True},
    "DELETE_HORIZON": {"has_delete_horizon": True},
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_bits_of_attributes_are_those_of_the_spec(name: str) -> None:
    batch = RecordBatch(**ATTRIBUTES[name])  # type: ignore[arg-type]
    assert fields(batch)["attributes"].value == getattr(heads, name)


def numbers_of_kernel() -> dict[str, int]:
    """Return the positions in a batch and the bits of its attributes that the kernel has, by their names there."""
    _, numbers, _ = (ROOT / "runtime/kernel/batches.pxi").read_text(encoding="utf-8").split("cdef enum:", 2)
    return {name: int(number, 0) for name, number in re.findall(r"^    (\w+) = (\w+)", numbers, re.MULTILINE)}


def test_the_kernel_has_each_field_of_a_batch_where_the_spec_has_it() -> None:
    numbers, found = numbers_of_kernel(), fields(RecordBatch(records=b"some"))
    positions = {name.removesuffix("_AT").lower(): at for name, at in numbers.items() if name.endswith("_AT")}
    positions["partition_leader_epoch"] = positions.pop("leader_epoch")
    assert positions == {name: found[name].start for name in positions}
    assert set(positions.values()) == {piece.start for piece in found.values()}


def test_the_kernel_has_the_bits_of_attributes_that_heads_have() -> None:
    numbers = numbers_of_kernel()
    numbers["COMPRESSION"] = numbers["CODEC"]
    assert {name: numbers[name] for name in ATTRIBUTES} == {name: getattr(heads, name) for name in ATTRIBUTES}


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_spans_of_batches_are_where_the_specs_say(magic: int) -> None:
    message = (v0.MessageAndOffset(), v1.MessageAndOffset(timestamp=7), RecordBatch(last_offset_delta=3))[magic]
    if isinstance(message, RecordBatch):
        message.base_timestamp, message.max_timestamp = 11, 13
    found, data = fields(message), message.encode()
    names = ((), ("timestamp",), ("last_offset_delta", "base_timestamp", "max_timestamp"))[magic]
    assert heads.SPANS[magic].unpack_from(data)[1:] == tuple(found[name].value for name in names)
    assert heads.SPANS[magic].size == max(found[name].end for name in names or ("attributes",))


@pytest.mark.parametrize("name", OF_PROPOSALS)
def test_heads_of_proposed_formats_stand_where_the_specs_say(name: str) -> None:
    message, format_ = OF_PROPOSALS[name], heads.MAGIC_2[name]
    found = fields(message)
    _, size, _, magic = heads.HEAD.unpack_from(message.encode())
    assert magic == message.VERSION == 2
    assert (found[format_.size_name].start, found[format_.size_name].value) == (heads.SIZE, size)
    assert size == format_.smallest
    assert (found["crc"].start, found["attributes"].start) == (format_.crc, format_.attributes)
    assert format_.crc + format_.crc_and_attributes.size == found["attributes"].end


def test_headers_of_kip_82_stand_after_the_key() -> None:
    data = MessageAndOffset(key=KEY, headers=[Header(key=7, value=b"x")]).encode()
    assert data[heads.MAGIC_2["kip-82"].attributes] == heads.HAS_HEADERS
    assert data[heads.KEYS[1] :].startswith(KEY + bytes.fromhex("00000009 00000007 00000001") + b"x")


def test_fields_of_the_drafts_sets_are_where_the_spec_says() -> None:
    found = fields(CompressedMessageSet(compressed_messages=b"x"))
    assert found["attributes"].start == kip_98.ATTRIBUTES
    assert found["offset_delta"].start == kip_98.OFFSET_DELTA
    assert found["max_timestamp"].start == kip_98.MAX_TIMESTAMP
    assert found["compressed_messages"].start == kip_98.MESSAGES
