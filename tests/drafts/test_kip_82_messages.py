"""KIP-82's Produce and Fetch, version 3: the fields of version 2, with messages that may have headers."""

from __future__ import annotations

from typing import Any

import pytest

import kafka_messages
from kipwire import Message, Struct, UnsupportedVersionError
from kipwire.drafts import proposals
from kipwire.drafts.proposals.kip82_fetch_request import v3 as fetch_request
from kipwire.drafts.proposals.kip82_fetch_response import v3 as fetch_response
from kipwire.drafts.proposals.kip82_produce_request import v3 as produce_request
from kipwire.drafts.proposals.kip82_produce_response import v3 as produce_response
from kipwire.records import partitions, read_batches
from tests.support.hex_tables import octets

MESSAGE = octets("""
    0000000000000000 0000002f  # Offset 0, MessageSize 47
    76f87884 02 10             # Crc, MagicByte, Attributes: headers
    0000000000000001           # Timestamp 1
    00000001 6b                # Key "k"
    00000013                   # HeadersLength 19
    00000001 00000002 6162     # header 1: "ab"
    00100010 00000001 78       # header 0x00100010: "x"
    00000001 76                # Value "v"
""")
PRODUCE = octets("""
    ffff 00000064              # Acks -1, TimeoutMs 100
    00000001 0001 74           # one topic: "t"
    00000001 00000005          # one partition: 5
    0000003b                   # 59 bytes of messages follow
""")
PRODUCED = octets("""
    00000001 0001 74           # one topic: "t"
    00000001 00000005 0000     # one partition: 5, no error
    0000000000000007           # BaseOffset 7
    ffffffffffffffff           # LogAppendTimeMs -1
    00000009                   # ThrottleTimeMs 9
""")
FETCH = octets("""
    ffffffff 00000064 00000001 # ReplicaId -1, MaxWaitMs 100, MinBytes 1
    00000001 0001 74           # one topic: "t"
    00000001 00000005          # one partition: 5
    0000000000000007 00001000  # FetchOffset 7, PartitionMaxBytes 4096
""")
FETCHED = octets("""
    00000009                   # ThrottleTimeMs 9
    00000001 0001 74           # one topic: "t"
    00000001 00000005 0000     # one partition: 5, no error
    0000000000000008           # HighWatermark 8
    0000003b                   # 59 bytes of messages follow
""")
MESSAGES: dict[str, tuple[Message, bytes]] = {
    "ProduceRequest": (
        produce_request.Kip82ProduceRequest(
            acks=-1,
            timeout_ms=100,
            topic_data=[
                produce_request.TopicProduceData(
                    name="t", partition_data=[produce_request.PartitionProduceData(index=5, records=MESSAGE)]
                )
            ],
        ),
        PRODUCE + MESSAGE,
    ),
    "ProduceResponse": (
        produce_response.Kip82ProduceResponse(
            responses=[
                produce_response.TopicProduceResponse(
                    name="t",
                    partition_responses=[produce_response.PartitionProduceResponse(index=5, base_offset=7)],
                )
            ],
            throttle_time_ms=9,
        ),
        PRODUCED,
    ),
    "FetchRequest": (
        fetch_request.Kip82FetchRequest(
            max_wait_ms=100,
            min_bytes=1,
            topics=[
                fetch_request.FetchTopic(
                    topic="t",
                    partitions=[fetch_request.FetchPartition(partition=5, fetch_offset=7, partition_max_bytes=4096)],
                )
            ],
        ),
        FETCH,
    ),
    "FetchResponse": (
        fetch_response.Kip82FetchResponse(
            throttle_time_ms=9,
            responses=[
                fetch_response.FetchableTopicResponse(
                    topic="t",
                    partitions=[fetch_response.PartitionData(partition_index=5, high_watermark=8, records=MESSAGE)],
                )
            ],
        ),
        FETCHED + MESSAGE,
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_produce_and_fetch_have_the_bytes_derived_by_hand(name: str) -> None:
    message, data = MESSAGES[name]
    assert message.encode().hex(" ") == data.hex(" ")
    assert type(message).decode(data) == message
    assert message.NAME.removeprefix("Kip82") == name
    assert message.VERSION == 3


@pytest.mark.parametrize("name", MESSAGES)
def test_version_3_has_the_fields_of_kafkas_version_2(name: str) -> None:
    ours, kafkas = type(MESSAGES[name][0]), kafka_messages.message(name, 2)
    assert ours.API_KEY == kafkas.API_KEY
    assert shape(ours) == shape(kafkas)
    assert kafkas.decode(MESSAGES[name][1]).encode() == MESSAGES[name][1]


def shape(cls: type[Struct]) -> list[Any]:
    return [
        (field.name, field.element, field.array, field.nullable, field.default, field.struct and shape(field.struct))
        for field in cls.FIELDS
    ]


@pytest.mark.parametrize(
    ("request_", "response"), [("ProduceRequest", "ProduceResponse"), ("FetchRequest", "FetchResponse")]
)
def test_frames_of_version_3_are_found_by_their_api_key(request_: str, response: str) -> None:
    asked, answer = MESSAGES[request_][0], MESSAGES[response][0]
    assert asked.API_KEY is not None
    frame = proposals.encode_request(asked, 7, "me")
    head = asked.API_KEY.to_bytes(2, "big") + octets("0003 00000007 0002 6d65")  # version 3, correlation id 7, "me"
    assert frame == head + MESSAGES[request_][1]
    assert proposals.decode_request(frame).body == asked
    frame = proposals.encode_response(answer, 7)
    assert frame == octets("00000007") + MESSAGES[response][1]
    assert proposals.decode_response(frame, asked.API_KEY, 3).body == answer
    assert type(asked).RESPONSE is type(answer)  # type: ignore[attr-defined]


def test_the_proposal_has_these_apis_in_version_3_only() -> None:
    for api_key in (0, 1):
        with pytest.raises(UnsupportedVersionError, match="unknown version 2 of Kip82"):
            proposals.request(api_key, 2)


@pytest.mark.parametrize("name", ["ProduceRequest", "FetchResponse"])
def test_messages_with_headers_are_found_in_what_carries_them(name: str) -> None:
    (part,) = partitions(MESSAGES[name][0])
    assert (part.topic, part.partition, part.records) == ("t", 5, MESSAGE)
    (batch,) = read_batches(part.records, magic_2="kip-82")
    assert batch.records[0].headers == [("0x00000001", b"ab"), ("0x00100010", b"x")]
