"""Records of internal topics are the messages that Kafka put into them."""

from __future__ import annotations

import pytest

from kafka_messages.offset_commit_key.v0 import OffsetCommitKey
from kafka_messages.offset_commit_value.v4 import OffsetCommitValue
from kafka_messages.topic_record.v0 import TopicRecord
from kipwire import DecodeError
from kipwire.message.registry import registry_of
from kipwire.records import Record
from kipwire.records.internal_topics import (
    COORDINATORS,
    ENVELOPE_SIZES,
    METADATA,
    METADATA_FRAME,
    internal_record,
    pack_envelope,
    unpack_envelope,
)

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
        (METADATA, None, b"\1\2\7", "TopicRecord v7: version at byte 0: unknown version 7; known version is 0"),
    ],
)
def test_what_is_no_such_record_is_a_decode_error(
    topic: str, key: bytes | None, value: bytes | None, wrong: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        internal_record(topic, Record(offset=0, key=key, value=value))
    assert wrong in str(caught.value)


def test_the_bytes_before_every_stored_message_say_its_type_and_version() -> None:
    registry = registry_of("kafka_messages")
    for name in registry.names():
        for version in registry.versions(name):
            cls = registry.message(name, version)
            envelope = pack_envelope(cls)
            assert (envelope is None) == (cls.TYPE not in ENVELOPE_SIZES)
            if envelope is not None:
                assert len(envelope) == ENVELOPE_SIZES[cls.TYPE]
                type_id, version_read, frame = unpack_envelope(cls.TYPE, envelope + b"more")
                assert type_id in (cls.API_KEY, None)
                assert version_read == cls.VERSION
                assert frame == (METADATA_FRAME if cls.TYPE == "metadata" else None)


def test_all_types_of_kafka_have_a_value() -> None:
    registry = registry_of("kafka_messages")
    for types in COORDINATORS.values():
        for one in types:
            assert registry.versions(one.message.removesuffix("Key") + "Value")
