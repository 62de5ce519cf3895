"""Records of internal topics are the messages that Kafka put into them."""

from __future__ import annotations

from random import Random

import pytest

from kafka_messages.offset_commit_key.v0 import OffsetCommitKey
from kafka_messages.offset_commit_value.v4 import OffsetCommitValue
from kafka_messages.remote_log_segment_metadata_record.v0 import RemoteLogSegmentMetadataRecord
from kafka_messages.topic_record.v0 import TopicRecord
from kipwire import DecodeError
from kipwire.codec.wire import write_varint
from kipwire.logs.internal_topics import (
    COORDINATORS,
    ENVELOPES,
    METADATA,
    UnknownRecordError,
    internal_record,
    pack_envelope,
    unpack_envelope,
)
from kipwire.message.registry import registry_of
from kipwire.records import Record, read_batches
from tests.support.places import DATA

KEY = OffsetCommitKey(group="g", topic="t", partition=3)


def test_a_record_of_a_coordinator_is_its_key_and_its_value() -> None:
    value = OffsetCommitValue(offset=7)
    record = Record(offset=0, key=b"\0\1" + KEY.encode(), value=b"\0\4" + value.encode())
    assert internal_record("__consumer_offsets", record) == ("OffsetCommit", 1, KEY, value)
    record.value = None
    assert internal_record("__consumer_offsets", record) == ("OffsetCommit", 1, KEY, None)


def test_a_record_of_the_metadata_log_is_its_value() -> None:
    value = TopicRecord(name="t")
    record = Record(offset=0, value=b"\1\2\0" + value.encode())
    assert internal_record(METADATA, record) == ("TopicRecord", 2, None, value)


def test_a_record_of_tiered_storage_is_its_value() -> None:
    (batch,) = read_batches(
        (DATA / "cases/remote-log-metadata/__remote_log_metadata-0" / ("0" * 20 + ".log")).read_bytes()
    )
    (record,) = batch.records
    found = internal_record("__remote_log_metadata", record)
    assert isinstance(found.value, RemoteLogSegmentMetadataRecord)
    assert (found.type, found.type_id, found.key) == ("RemoteLogSegmentMetadataRecord", 0, None)
    assert (found.value.end_offset, found.value.segment_size_in_bytes) == (9, 700)
    with pytest.raises(UnknownRecordError, match="__remote_log_metadata has no type 4"):
        internal_record("__remote_log_metadata", Record(offset=0, value=b"\1\4\0"))


@pytest.mark.parametrize(
    ("topic", "key", "value", "wrong"),
    [
        ("__consumer_offsets", None, None, "key at byte 0: is null, but every record of a coordinator has a key"),
        ("__consumer_offsets", b"\0", None, "key.type at byte 0: need 2 bytes, but only 1 is left"),
        ("__consumer_offsets", b"\0\x63", None, "key.type at byte 0: __consumer_offsets has no type 99"),
        ("__consumer_offsets", b"\0\1" + KEY.encode(), b"\0", "version at byte 0: need 2 bytes, but only 1 is left"),
        ("__consumer_offsets", b"\0\1" + KEY.encode(), b"\0\5", "unknown version 5; known versions are 0 to 4"),
        ("__consumer_offsets", b"\0\1" + KEY.encode()[:-1], None, "OffsetCommitKey v0: partition at byte"),
        ("__share_group_state", b"\0\2", None, "__share_group_state has no type 2"),
        (METADATA, None, None, "need 3 bytes, but none are left"),
        (METADATA, None, b"\0\2\0", "value.frame_version at byte 0: is 0; only 1 is known"),
        (METADATA, None, b"\1\x63\0", "value.type at byte 1: __cluster_metadata has no type 99"),
        (METADATA, None, b"\1\xf5\3\0", "value.type at byte 1: __cluster_metadata has no type 501"),
        (METADATA, None, b"\1\2\7", "TopicRecord v7: version at byte 2: unknown version 7; known version is 0"),
        (METADATA, None, b"\1\2\xac\2", "TopicRecord v300: version at byte 2: unknown version 300"),
        (METADATA, None, b"\xac\2\2\0", "value.frame_version at byte 0: is 300; only 1 is known"),
        (METADATA, None, b"\1\xf5\3", "value.version at byte 3: need 1 byte, but none are left"),
        (METADATA, None, b"\1\2\xf5", "value.version at byte 2: is a varint without its last byte"),
        (METADATA, None, b"\1\x82\0\0", "value.type at byte 1: is a varint of more than 31 bits, or longer than"),
        (METADATA, None, b"\1" + b"\xff" * 9, "value.type at byte 1: is a varint of more than 31 bits"),
    ],
)
def test_what_is_no_such_record_is_a_decode_error(
    topic: str, key: bytes | None, value: bytes | None, wrong: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        internal_record(topic, Record(offset=0, key=key, value=value))
    assert wrong in str(caught.value)
    # Only the key that is cut short has a type and a version that are known.
    assert isinstance(caught.value, UnknownRecordError) == ("partition" not in wrong)


def _kafkas_varint(data: bytes, at: int) -> tuple[int, int] | None:
    """Read a varint as the protocol guide says, in its shortest form and of at most 31 bits."""
    value = 0
    for count, byte in enumerate(data[at : at + 5]):
        value += (byte % 128) * 128**count
        if byte < 128:
            is_short = byte > 0 or count == 0
            return (value, at + count + 1) if is_short and value < 2**31 else None
    return None


def _random_number(random: Random) -> int:
    return random.choice((0, 1, 2, 127, 128, 501, 16384, 2**31 - 1, random.randrange(2 ** random.randrange(1, 32))))


def _random_envelope(random: Random) -> bytes:
    numbers = [random.choice((1, 1, 1, _random_number(random))), _random_number(random), _random_number(random)]
    data = bytearray(b"".join(map(write_varint, numbers)))
    for _ in range(random.choice((0, 0, 1, 2))):  # broken varints
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(data[: random.choice((len(data), random.randrange(len(data) + 1)))]) + random.choice((b"", b"more"))


def test_the_envelope_of_a_metadata_record_is_three_varints_as_the_protocol_says() -> None:
    random = Random(501)
    known = unknown = 0
    for _ in range(2_000):
        data = _random_envelope(random)
        position = 0
        numbers: list[int] = []
        while len(data) >= 3 and len(numbers) < 3 and (found := _kafkas_varint(data, position)) is not None:
            number, position = found
            numbers.append(number)
        if len(numbers) == 3 and numbers[0] == 1:
            type_id, version, _, size = unpack_envelope("metadata", data)
            assert (type_id, version, size) == (*numbers[1:], position), data.hex()
            known += 1
        else:
            with pytest.raises(UnknownRecordError):
                unpack_envelope("metadata", data)
            unknown += 1
    assert known > 300 and unknown > 300


def test_the_bytes_before_every_stored_message_say_its_type_and_version() -> None:
    registry = registry_of("kafka_messages")
    for name in registry.names():
        for version in registry.versions(name):
            cls = registry.message(name, version)
            envelope = pack_envelope(cls)
            assert (envelope is None) == (cls.TYPE not in ENVELOPES)
            if envelope is not None:
                type_id, version_read, _, size = unpack_envelope(cls.TYPE, envelope + b"more")
                assert type_id in (cls.API_KEY, None)
                assert (version_read, size) == (cls.VERSION, len(envelope))


def test_all_types_of_kafka_have_a_value() -> None:
    registry = registry_of("kafka_messages")
    for types in COORDINATORS.values():
        for one in types:
            assert registry.versions(one.message.removesuffix("Key") + "Value")
