"""The text of a DecodeError, and bounds on the time and memory that hostile input costs before it is refused."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
import uuid
from typing import Any

import pytest

import kafka_messages
from kipwire import DecodeError, Message, Struct
from tests.support import property_checks
from tests.support.cases import of_each
from tests.support.cost import MUCH, cost_of_refusing
from tests.support.hex_tables import raw

EVERY_LATEST = [(name, versions[-1]) for name in kafka_messages.names() if (versions := kafka_messages.versions(name))]
EVERY_FIRST = [(name, versions[0]) for name in kafka_messages.names() if (versions := kafka_messages.versions(name))]

BEFORE_TOPICS = "00000000 01 00 ffffffff 02"
BROKER = "00000001 02 68 00002384 00 00"
PARTITION = "0000 00000007 00000001 ffffffff 01 01 01 00"
TOPIC_HEAD = "0000 02 74" + "00" * 16 + "00"
TOPIC_TAIL = "80000000 00"


def failure(name: str, version: int, data: bytes) -> DecodeError:
    with pytest.raises(DecodeError) as caught:
        kafka_messages.message(name, version).decode(data)
    return caught.value


MESSAGES = [
    (
        "a number in nested arrays, cut short",
        f"00000000 | 01 | 00 | ffffffff | 02 {TOPIC_HEAD} 03 {PARTITION} 0000 00000008 0000",
        "topics[0].partitions[1].leader_id at byte 57: need 4 bytes, but only 2 are left",
    ),
    (
        "text that is not UTF-8",
        f"00000000 | 03 {BROKER} 00000002 04 61ff62 00000000 00 00",
        "brokers[1].host at byte 23: not UTF-8: invalid start byte",
    ),
    (
        "text that ends amid a character",
        "00000000 | 02 00000001 03 61c3 00000000 00 00",
        "brokers[0].host at byte 11: not UTF-8: unexpected end of data",
    ),
    (
        "null where none is allowed",
        "00000000 | 02 00000001 00",
        "brokers[0].host at byte 9: null, but this string must not be null in this version",
    ),
    (
        "null for an array",
        "00000000 | 00",
        "brokers at byte 4: null, but this array must not be null in this version",
    ),
    (
        "a bool that is none",
        f"00000000 | 01 | 00 | ffffffff | 02 {TOPIC_HEAD[:-2]} 07",
        "topics[0].is_internal at byte 31: bool is 7; it must be 0 or 1",
    ),
    (
        "more elements than bytes",
        f"00000000 | 01 | 00 | ffffffff | 02 {TOPIC_HEAD} 02 0000 00000007 00000001 ffffffff 05 00000001",
        "topics[0].partitions[0].replica_nodes at byte 48: need 16 bytes, but only 4 are left",
    ),
    (
        "a length in needlessly many bytes",
        "00000000 | 02 00000001 8200 6800",
        "brokers[0].host at byte 9: length of the string is a varint with redundant trailing bytes",
    ),
    (
        "a length beyond 31 bits",
        "00000000 | ffffffff0f",
        "brokers at byte 4: length of the array is a varint of more than 31 bits",
    ),
    (
        "a text that is too long",
        "00000000 | 02 00000001 818002" + "61" * 32768 + "00000000 00 00",
        "brokers[0].host at byte 9: string of 32768 bytes; the limit is 32767",
    ),
    (
        "tags in the wrong order",
        f"00000000 | 02 {BROKER[:-3]} 02 0500 0300",
        "brokers[0] at byte 19: tag 3 follows tag 5; tags must ascend",
    ),
    (
        "an unknown tagged field, cut short",
        f"00000000 | 02 {BROKER[:-3]} 01 0505 aabb",
        "brokers[0].<tag 5> at byte 19: need 5 bytes, but only 2 are left",
    ),
    (
        "a message that goes on",
        "00000000 | 01 | 00 | ffffffff | 01 | 00 | aabb",
        "message at byte 12: 2 trailing bytes after the message",
    ),
    (
        "nothing at all",
        "",
        "throttle_time_ms at byte 0: need 4 bytes, but none are left",
    ),
]


@pytest.mark.parametrize(("data", "text"), [case[1:] for case in MESSAGES], ids=[case[0] for case in MESSAGES])
def test_error_says_path_offset_and_reason(data: str, text: str) -> None:
    error = failure("MetadataResponse", 12, raw(data))
    assert str(error) == f"MetadataResponse v12: {text}"
    place, _, reason = text.partition(": ")
    path, _, offset = place.partition(" at byte ")
    assert (error.message, error.version) == ("MetadataResponse", 12)
    assert (error.path or "message", error.offset, error.reason) == (path, int(offset), reason)


def fetch_request(tags: str) -> tuple[bytes, int]:
    """Return a FetchRequest v17 with this tag section, and the position of the section."""
    body = kafka_messages.message("FetchRequest", 17)().encode()[:-1]
    return body + raw(tags), len(body)


@pytest.mark.parametrize(
    ("tags", "path", "offset", "reason"),
    [
        ("01 | 00 02 | 03 78 79", "cluster_id", 2, "declares 2 bytes, but the value takes 3"),
        ("01 | 00 04 | 03 78 79 00", "cluster_id", 2, "declares 4 bytes, but the value takes 3"),
        ("01 | 00 03 | 03 78 ff", "cluster_id", 5, "not UTF-8: invalid start byte"),
        ("01 | 00 7f", "cluster_id", 3, "need 127 bytes, but none are left"),
        ("02 | 00 02 02 78 | 00 02 02 78", "", 5, "tag 0 follows tag 0; tags must ascend"),
        (
            "01 | 01 0d 00000005 0000000000000007 02 0500 0400",
            "replica_state",
            18,
            "tag 4 follows tag 5; tags must",
        ),
        ("01 | 01 05 00000005 00", "replica_state.replica_epoch", 7, "need 8 bytes, but only 1 is left"),
        ("ffffffff07", "", 5, "need 1 byte, but none are left"),
        ("ffffffff0f", "", 0, "count of tagged fields is a varint of more than 31 bits"),
        ("01 | ffffffff0f 00", "", 1, "tag is a varint of more than 31 bits"),
        ("01 | 2a ffffffff0f", "<tag 42>", 2, "size of a tagged field is a varint of more than 31 bits"),
        ("01 | 2a ffffffff07", "<tag 42>", 7, "need 2147483647 bytes, but none are left"),
    ],
)
def test_error_within_a_tag_section(tags: str, path: str, offset: int, reason: str) -> None:
    data, start = fetch_request(tags)
    error = failure("FetchRequest", 17, data)
    assert (error.path, error.offset - start) == (path, offset)
    assert error.reason.startswith(reason)


@pytest.mark.parametrize("marker", ["00", "02", "7f", "80", "fe"])
def test_error_at_the_marker_of_a_nullable_struct(marker: str) -> None:
    cls: Any = kafka_messages.message("ConsumerGroupHeartbeatResponse", 0)
    data = cls(assignment=None).encode()
    assert data[-2:] == raw("ff 00")
    error = failure("ConsumerGroupHeartbeatResponse", 0, data[:-2] + raw(marker) + b"\0")
    assert (error.path, error.offset) == ("assignment", len(data) - 2)
    assert error.reason == f"marker of a nullable struct is {int(marker, 16)}; it must be 1 or 255 (-1)"


def test_error_within_a_nullable_struct_names_its_field() -> None:
    cls: Any = kafka_messages.message("ConsumerGroupHeartbeatResponse", 0)
    data = cls(assignment=None).encode()
    error = failure("ConsumerGroupHeartbeatResponse", 0, data[:-2] + raw("01 02") + bytes(15))
    assert (error.path, error.offset) == ("assignment.topic_partitions[0].topic_id", len(data))


@pytest.mark.parametrize("offset", [0, 1, 100])
def test_offsets_count_from_the_start_of_the_buffer(offset: int) -> None:
    cls = kafka_messages.message("MetadataResponse", 12)
    data = raw("00000000 | 02 00000001 00")
    with pytest.raises(DecodeError) as caught:
        cls.read(b"\xff" * offset + data, offset)
    assert (caught.value.path, caught.value.offset) == ("brokers[0].host", offset + 9)


@pytest.mark.parametrize("offset", [-1, 13, 2**40])
def test_offset_outside_the_buffer_is_refused(offset: int) -> None:
    data = raw("00000000 | 01 | 00 | ffffffff | 01 | 00")
    with pytest.raises(ValueError, match="is outside the buffer of 12 bytes"):
        kafka_messages.message("MetadataResponse", 12).read(data, offset)


def test_errors_can_be_copied_and_sent_to_other_processes() -> None:
    error = failure("MetadataResponse", 12, raw("00000000 | 02 00000001 00"))
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is DecodeError
        assert vars(other) == vars(error)
        assert str(other) == str(error)
    assert isinstance(error, ValueError)


@pytest.mark.parametrize("data", ["text", None, 12, [1, 2], object()])
def test_what_is_not_a_buffer_is_not_a_message(data: Any) -> None:
    with pytest.raises((TypeError, DecodeError)):
        kafka_messages.message("MetadataResponse", 12).decode(data)


# Hostile input.

EXAMPLES: dict[str, Any] = {
    **dict.fromkeys(("int8", "int16", "uint16", "int32", "uint32", "int64"), 1),
    **dict.fromkeys(("bytes", "records"), b"ab"),
    "bool": True,
    "float64": 1.0,
    "string": "ab",
    "uuid": uuid.UUID(int=1),
}


def filled(cls: type[Struct]) -> Any:
    """Return a struct with one element in each array, and nothing null."""
    values: dict[str, Any] = {}
    for field in cls.ATTRIBUTES:
        inner: Any = filled(field.struct) if field.struct is not None else EXAMPLES[field.element]
        values[field.name] = [inner] if field.array else inner
    return cls(**values)


STEPS_OF_FEW_BYTES = 2000
"""Steps of Python that refusing a few bytes may take, regardless of declared lengths; and for each byte of many:"""
STEPS_OF_A_BYTE = 100

HOSTILE = [
    ("structs, classic", "MetadataResponse", 0, "7fffffff 0000000000"),
    ("structs, compact", "MetadataResponse", 12, "00000000 ffffffff07"),
    ("structs, compact, nullable", "MetadataRequest", 12, "ffffffff07 00 00 00"),
    ("small structs, classic", "MetadataRequest", 0, "7fffffff 0000 0000"),
    ("numbers, classic", "UpdateFeaturesResponse", 0, "00000000 0000 00 7fffffff"),
    (
        "numbers of 4 bytes",
        "MetadataResponse",
        12,
        f"{BEFORE_TOPICS} {TOPIC_HEAD} 02 {PARTITION[:-11]} ffffffff07",
    ),
    ("uuids", "MetadataRequest", 12, "ffffffff07" + "00" * 40),
    ("texts, classic", "DescribeGroupsRequest", 0, "7fffffff 0000 0000"),
    ("texts, compact", "DescribeGroupsRequest", 5, "ffffffff07 01 01"),
    ("a long text", "DescribeGroupsRequest", 0, "00000001 7fff"),
    ("long bytes, classic", "SaslAuthenticateRequest", 0, "7fffffff 00"),
    ("long bytes, compact", "SaslAuthenticateRequest", 2, "ffffffff07 00"),
    ("unknown tags", "SaslAuthenticateRequest", 2, "01 ffffffff07"),
    ("a long unknown tag", "SaslAuthenticateRequest", 2, "01 01 05 ffffffff07"),
    ("long records", "ProduceRequest", 9, "00 0000 00000000 02 01 02 00000000 ffffffff07"),
    ("no bytes", "MetadataResponse", 12, ""),
]


@pytest.mark.parametrize(("name", "version", "data"), [case[1:] for case in HOSTILE], ids=[case[0] for case in HOSTILE])
def test_few_bytes_that_promise_billions_of_elements_cost_little(name: str, version: int, data: str) -> None:
    cls = kafka_messages.message(name, version)
    cost = cost_of_refusing(cls, raw(data))
    assert cost.steps < STEPS_OF_FEW_BYTES
    assert cost.memory < 100_000
    with pytest.raises(DecodeError) as caught:
        cls.decode(raw(data))
    property_checks.check_decode_error(caught.value, cls, raw(data))


@pytest.mark.parametrize(
    ("name", "version", "head", "unit"),
    [
        ("MetadataRequest", 0, "7fffffff", "0000"),
        ("DescribeGroupsRequest", 0, "7fffffff", "0000"),
        ("DescribeGroupsRequest", 5, "ffffffff07", "01"),
        ("MetadataResponse", 12, "00000000 ffffffff07", "00000001 01 00000002 00 00"),
        ("SaslAuthenticateRequest", 2, "01 ffffffff07", "05 00"),
        ("SaslAuthenticateRequest", 0, "7fffffff", "00"),
        ("OffsetFetchRequest", 8, "ffffffff07", "01 00 00"),
    ],
)
def test_cost_of_refusing_much_grows_no_faster_than_the_input(name: str, version: int, head: str, unit: str) -> None:
    cls, repeated = kafka_messages.message(name, version), raw(unit)
    data = raw(head) + repeated * (MUCH // len(repeated))
    cost = cost_of_refusing(cls, data)
    assert cost.steps < STEPS_OF_A_BYTE * len(data)
    assert cost.memory < 100 * len(data) + 100_000


def memory_of_trying(cls: type[Message], data: bytes) -> int:
    """Return the memory, as `tracemalloc` sees it, of decoding that may fail; an error must be within the data."""
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    try:
        cls.decode(data)
    except DecodeError as error:
        assert 0 <= error.offset <= len(data)
    return tracemalloc.get_traced_memory()[1] - before


@of_each("name, version", sorted({*EVERY_LATEST, *EVERY_FIRST}), together=lambda name, version: name)
def test_enormous_lengths_anywhere_in_a_message_cost_little(name: str, version: int) -> None:
    cls = kafka_messages.message(name, version)
    data = filled(cls).encode()
    tracemalloc.start()
    try:
        for at in range(len(data)):
            for enormous in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07", b"\x7f\xff"):
                hostile = data[:at] + enormous + data[at + len(enormous) :]
                most = 100 * len(hostile) + 100_000
                assert any(memory_of_trying(cls, hostile) < most for _ in range(3)), "other threads take some, too"
    finally:
        tracemalloc.stop()
