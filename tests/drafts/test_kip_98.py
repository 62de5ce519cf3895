"""The KIP-98 draft: message sets and messages byte by byte, refusals, and its table of sizes."""

from __future__ import annotations

import gzip
import zlib
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from benchmarks import space
from benchmarks.reporting import report
from kipwire import DecodeError, EncodeError
from kipwire.drafts.kip_98 import read_head, read_set
from kipwire.drafts.proposals.compressed_message_set.v2 import CompressedMessageSet
from kipwire.drafts.proposals.control_message_key.v0 import ControlMessageKey
from kipwire.drafts.proposals.message_set import v2 as message_set
from kipwire.drafts.proposals.messages.v2 import Message, Messages
from kipwire.records import Record, read_batches, write_batch
from kipwire.records.producer_sequence import next_draft_epoch, next_epoch, next_sequence
from tests.support.cases import of_each
from tests.support.hex_tables import octets, with_crc

KEY_AND_VALUE = octets("""
    11 00                # Length 17, Attributes
    0000000000000001 00  # Timestamp 1, OffsetDelta 0
    01 6b 76             # KeyLen 1, Key "k", Value "v"
    0cb96360             # CRC
""")
MESSAGES = {
    "key and value": (Message(timestamp=1, key=b"k", value=b"v"), KEY_AND_VALUE),
    "null key": (
        Message(timestamp=1, key=None, value=b"v"),
        octets("""
            0f 01                # Length 15, Attributes: null key
            0000000000000001 00  # Timestamp 1, OffsetDelta 0
            76                   # Value "v"
            12add012             # CRC
        """),
    ),
    "null value": (
        Message(timestamp=1, key=b"k", value=None),
        octets("""
            0f 02                # Length 15, Attributes: null value
            0000000000000001 00  # Timestamp 1, OffsetDelta 0
            6b                   # Key "k", without a size
            e849daca             # CRC
        """),
    ),
    "null key and null value": (
        Message(timestamp=1, key=None, value=None),
        octets("""
            0e 03                # Length 14, Attributes: null key, null value
            0000000000000001 00  # Timestamp 1, OffsetDelta 0
            11a6e234             # CRC
        """),
    ),
}
SET = octets("""
    0000000000000000 00000033  # Offset 0, Length 51
    872982b7 02 0000           # CRC, Magic, Attributes
    00000001                   # OffsetDelta 1
    0000000000000001           # MaxTimestamp 1
    0000000000000009           # PID 9
    0000 00000000              # Epoch 0, Sequence 0
""") + KEY_AND_VALUE


def a_set(**values: Any) -> message_set.MessageSet:
    messages = [message_set.Message(timestamp=1, key=b"k", value=b"v")]
    return message_set.MessageSet(**{"offset_delta": 1, "max_timestamp": 1, "pid": 9, "messages": messages, **values})


def message_with_crc(message: bytes) -> bytes:
    """Return the same message with a CRC that is right; its Length takes one byte."""
    return message[:-4] + zlib.crc32(message[1:-4]).to_bytes(4, "big")


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_have_the_bytes_of_the_text(name: str) -> None:
    message, data = MESSAGES[name]
    assert message_with_crc(data) == data, "the table itself is wrong"
    messages = Messages(messages=[message])
    assert messages.encode().hex(" ") == data.hex(" ")
    assert messages.encoded_size() == len(data)
    assert Messages.decode(data) == messages
    assert Messages.from_json(messages.to_json()) == messages


def test_a_set_has_the_bytes_of_the_text() -> None:
    assert with_crc(SET) == SET, "the table itself is wrong"
    assert a_set().encode().hex(" ") == SET.hex(" ")
    assert a_set().encoded_size() == len(SET)
    assert message_set.MessageSet.decode(SET) == a_set()
    assert message_set.MessageSet.from_json(a_set().to_json()) == a_set()


def test_a_set_holds_any_number_of_messages() -> None:
    assert a_set(messages=[]).encoded_size() == 45
    assert message_set.MessageSet.decode(a_set(messages=[]).encode()).messages == []
    every = [message for message, _ in MESSAGES.values()]
    data = b"".join(golden for _, golden in MESSAGES.values())
    assert Messages(messages=every).encode() == data
    assert Messages.decode(data).messages == every


def test_sets_come_one_after_the_other_as_in_a_log() -> None:
    first, end = message_set.MessageSet.read(SET + SET, 0)
    assert message_set.MessageSet.read(SET + SET, end) == (first, 2 * len(SET))


SIZES = (None, b"", b"k", bytes(127), bytes(128), bytes(20000))


@of_each(
    "key, value, offset_delta",
    product(SIZES, SIZES, [0, 127, 128, 2**31 - 1]),
    together=lambda key, value, offset_delta: f"offset delta {offset_delta}",
    label=lambda key, value, offset_delta: f"a key and a value of {key and len(key)} and {value and len(value)} bytes",
)
def test_lengths_that_are_left_out_are_found_again(key: bytes | None, value: bytes | None, offset_delta: int) -> None:
    messages = Messages(messages=[Message(timestamp=-1, offset_delta=offset_delta, key=key, value=value)] * 2)
    data = messages.encode()
    assert len(data) == messages.encoded_size()
    assert Messages.decode(data) == messages


@pytest.mark.parametrize(
    ("values", "attributes"),
    [
        ({}, "0000"),
        ({"timestamp_type": True}, "0008"),
        ({"is_transactional": True}, "0010"),
        ({"timestamp_type": True, "is_transactional": True}, "0018"),
    ],
)
def test_attributes_of_a_set_are_named_bits(values: dict[str, Any], attributes: str) -> None:
    data = a_set(**values).encode()
    assert data[17:19].hex() == attributes
    assert message_set.MessageSet.decode(data) == a_set(**values)
    for codec in range(8):
        compressed = CompressedMessageSet(compression_type=codec, **values)
        assert compressed.encode()[17:19].hex() == attributes[:3] + f"{int(attributes[3], 16) + codec:x}"
        assert CompressedMessageSet.decode(compressed.encode()) == compressed


@pytest.mark.parametrize("codec", range(1, 8))
def test_plain_messages_under_a_compression_type_are_refused(codec: int) -> None:
    with pytest.raises(DecodeError, match=f"bits 0x{codec:x} are set") as caught:
        message_set.MessageSet.decode(with_crc(SET[:18] + bytes([codec]) + SET[19:]))
    assert (caught.value.path, caught.value.offset) == ("attributes", 17)
    with pytest.raises(TypeError, match="compression_type"):
        a_set(compression_type=codec)


def test_a_compressed_set_carries_its_messages_as_bytes() -> None:
    section = Messages(messages=[message for message, _ in MESSAGES.values()])
    compressed = CompressedMessageSet(
        compression_type=1, offset_delta=4, pid=9, compressed_messages=gzip.compress(section.encode(), mtime=0)
    )
    decoded = CompressedMessageSet.decode(compressed.encode())
    assert decoded == compressed
    assert Messages.decode(gzip.decompress(decoded.compressed_messages)) == section


def test_an_uncompressed_set_is_the_same_in_both_forms() -> None:
    opaque = CompressedMessageSet.decode(SET)
    assert opaque.compressed_messages == KEY_AND_VALUE
    assert opaque.encode() == SET


def test_control_messages_have_a_key_that_says_their_type() -> None:
    commit, abort = ControlMessageKey(control_message_type=0), ControlMessageKey(control_message_type=1)
    assert commit.encode() == bytes.fromhex("0000 0000")
    assert abort.encode() == bytes.fromhex("0000 0001")
    data = Messages(messages=[Message(is_control=True, key=abort.encode())]).encode()
    assert data[1] == 0b110, "control message without a value"
    (message,) = Messages.decode(data).messages
    assert message.is_control
    assert message.key is not None
    assert ControlMessageKey.decode(message.key) == abort


@pytest.mark.parametrize("value", [None, b"", b"v"])
def test_a_control_message_without_a_key_is_refused(value: bytes | None) -> None:
    table = {None: "0e 07 0000000000000000 00", b"": "0e 05 0000000000000000 00", b"v": "0f 05 0000000000000000 00 76"}
    with pytest.raises(EncodeError) as unwritten:
        Messages(messages=[Message(is_control=True, value=value)]).encode()
    assert (unwritten.value.path, unwritten.value.reason) == (
        "messages[0].key",
        "is null, but is_control is set; give a value",
    )
    with pytest.raises(DecodeError) as unread:
        Messages.decode(message_with_crc(bytes.fromhex(table[value]) + bytes(4)))
    assert (unread.value.path, unread.value.offset) == ("messages[0].key", 11)
    assert unread.value.reason == "is null, but is_control is set"


def test_a_negative_delta_is_left_to_what_reads_and_writes_whole_sets() -> None:
    """The language has no range of a number; docs/record-formats.md says so."""
    messages = Messages(messages=[Message(offset_delta=-1)])
    assert messages.encode()[:-4] == bytes.fromhex("12 03 0000000000000000 ffffffff0f")
    with pytest.raises(DecodeError, match="offset_delta"):
        read_set(a_set(messages=[message_set.Message(offset_delta=-1)]).encode())


WRONG_MESSAGES = {
    "a wrong CRC": (KEY_AND_VALUE[:-1] + b"\x61", "messages[0].crc", 14),
    "a bit without a meaning": (message_with_crc(b"\x11\x08" + KEY_AND_VALUE[2:]), "messages[0].attributes", 1),
    "a key beyond the message": (
        message_with_crc(KEY_AND_VALUE[:11] + b"\x7f" + KEY_AND_VALUE[12:]),
        "messages[0].key",
        12,
    ),
    "a key into the CRC": (
        message_with_crc(KEY_AND_VALUE[:11] + b"\x03" + KEY_AND_VALUE[12:]),
        "messages[0].value",
        15,
    ),
    "a length that is too long": (b"\x12" + KEY_AND_VALUE[1:], "messages[0].length", 0),
    "a length without room for the message": (message_with_crc(b"\x09" + bytes(9)), "messages[0].offset_delta", 10),
    "a length longer than needed": (b"\x91\x00" + KEY_AND_VALUE[1:], "messages[0].length", 0),
    "a second message cut short": (KEY_AND_VALUE + b"\x11\x00", "messages[1].length", 18),
}


@pytest.mark.parametrize("name", WRONG_MESSAGES)
def test_wrong_messages_are_refused_with_their_place(name: str) -> None:
    data, path, offset = WRONG_MESSAGES[name]
    with pytest.raises(DecodeError) as caught:
        Messages.decode(data)
    assert (caught.value.path, caught.value.offset) == (path, offset), caught.value
    with pytest.raises(DecodeError) as caught:
        message_set.MessageSet.decode(with_crc(SET[:8] + (33 + len(data)).to_bytes(4, "big") + SET[12:45] + data))
    assert (caught.value.path, caught.value.offset) == (path, 45 + offset), caught.value


WRONG_SETS = {
    "another magic byte": (with_crc(SET[:16] + b"\x01" + SET[17:]), "magic", 16),
    "a bit without a meaning": (with_crc(SET[:18] + b"\x20" + SET[19:]), "attributes", 17),
    "a wrong CRC": (SET[:15] + b"\xb6" + SET[16:], "crc", 12),
    "a length without room for the header": (with_crc(SET[:8] + b"\0\0\0\x20" + SET[12:44]), "sequence", 41),
    "a length below nothing": (SET[:8] + b"\xff" + SET[9:], "length", 8),
}


@pytest.mark.parametrize("name", WRONG_SETS)
@pytest.mark.parametrize("cls", [message_set.MessageSet, CompressedMessageSet])
def test_wrong_sets_are_refused_with_their_place(name: str, cls: Any) -> None:
    data, path, offset = WRONG_SETS[name]
    with pytest.raises(DecodeError) as caught:
        cls.decode(data)
    assert (caught.value.path, caught.value.offset) == (path, offset), caught.value


def test_every_changed_bit_but_those_of_the_offset_is_noticed() -> None:
    for bit in range(8 * 8, 8 * len(SET)):
        damaged = bytearray(SET)
        damaged[bit // 8] ^= 0x80 >> bit % 8
        with pytest.raises(DecodeError):
            message_set.MessageSet.decode(bytes(damaged))


def test_sets_cut_short_are_refused() -> None:
    for end in range(len(SET)):
        with pytest.raises(DecodeError):
            message_set.MessageSet.decode(SET[:end])


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ({"epoch": 2**15}, "epoch"),
        ({"sequence": 2**31}, "sequence"),
        ({"messages": [message_set.Message(key="k")]}, "messages[0].key"),  # type: ignore[arg-type]
        ({"messages": None}, "messages"),
    ],
)
def test_wrong_values_are_refused_with_their_place(values: dict[str, Any], path: str) -> None:
    with pytest.raises(EncodeError) as caught:
        a_set(**values).encode()
    assert caught.value.path == path, caught.value


@pytest.mark.parametrize(
    ("sequence", "count", "follows"),
    [(0, 1, 1), (7, 0, 7), (2**31 - 2, 1, 2**31 - 1), (2**31 - 1, 1, 0), (2**31 - 3, 10, 7), (5, 2**31, 5)],
)
def test_sequence_numbers_start_again_after_the_highest(sequence: int, count: int, follows: int) -> None:
    assert next_sequence(sequence, count) == follows


def test_the_next_sequence_number_follows_from_the_offset_delta_of_a_compacted_set() -> None:
    """Two of five messages are left."""
    kept = [message_set.Message(offset_delta=1), message_set.Message(offset_delta=2)]
    head = read_head(a_set(messages=kept, offset_delta=5, sequence=2**31 - 2).encode())
    assert next_sequence(2**31 - 2, head.offset_delta) == head.next_sequence == 3
    batch = write_batch(
        [Record(offset=1), Record(offset=2)],
        base_offset=0,
        last_offset_delta=4,
        producer_id=9,
        producer_epoch=0,
        base_sequence=2**31 - 2,
    )
    (released,) = read_batches(batch)
    assert next_sequence(released.base_sequence, released.last_offset_delta + 1) == 3
    assert next_sequence(released.last_sequence, 1) == 3


def test_epochs_start_again_in_the_draft_alone() -> None:
    assert [next_draft_epoch(epoch) for epoch in (0, 32766, 32767)] == [1, 32767, 0]
    assert [next_epoch(epoch) for epoch in (0, 32766, 32767)] == [1, 32767, None]
    assert [next_epoch(epoch, is_transactional=True) for epoch in (0, 32765, 32766, 32767)] == [1, 32766, None, None]


@pytest.mark.parametrize("number", [-1, 2**31])
def test_what_is_not_a_number_has_no_successor(number: int) -> None:
    with pytest.raises(ValueError, match=f"^{number} is not a sequence number"):
        next_sequence(number, 1)
    with pytest.raises(ValueError, match=f"^{number} is not an epoch"):
        next_epoch(number)
    with pytest.raises(ValueError, match=f"^{number} is not an epoch"):
        next_draft_epoch(number)
    with pytest.raises(ValueError, match="-1 records"):
        next_sequence(0, -1)


@pytest.mark.parametrize("count", space.DRAFT_TABLE)
def test_sizes_are_those_of_the_drafts_table(count: int) -> None:
    old, new = space.DRAFT_TABLE[count]
    assert space.old_overhead(count) == old == 34 * count
    assert space.draft_overhead(count) == new == 45 + 17 * count


def test_sizes_are_those_of_the_written_bytes() -> None:
    """The table counts without encoding; this encodes."""
    messages = [message_set.Message(key=space.KEY, value=space.VALUE, offset_delta=number) for number in range(3)]
    assert len(a_set(messages=messages).encode()) == 3 * 1024 + space.DRAFT_TABLE[3][1]


def test_the_size_table_is_printed_beside_the_drafts(capsys: pytest.CaptureFixture[str]) -> None:
    report.show([space.table()])
    lines = capsys.readouterr().out.replace("│", " ").splitlines()
    rows = [line.split()[:5] for line in lines if line.split()[:1] and line.split()[0] in {"1", "3", "10", "50", "100"}]
    assert rows[-1] == ["100", "3,400", "3,400", "1,745", "1,745"]
    assert len(rows) == len(space.DRAFT_TABLE)


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_the_sizes_can_be_drawn(suffix: str, tmp_path: Path) -> None:
    first, second = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    space.draw(first)
    space.draw(second)
    assert first.stat().st_size > 5000
    assert first.read_bytes() == second.read_bytes()
