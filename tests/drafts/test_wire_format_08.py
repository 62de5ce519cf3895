"""The 0.8 wire format proposal: its frames, made by hand from its text byte by byte, and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from kipwire import DecodeError, EncodeError
from kipwire.drafts import proposals
from kipwire.drafts.proposals.common_request_fields.v0 import CommonRequestFields
from kipwire.drafts.proposals.common_response_fields import v1 as common_response_v1
from kipwire.drafts.proposals.common_response_fields.v0 import CommonResponseFields
from kipwire.drafts.proposals.fetch_request import v0 as fetch_v0
from kipwire.drafts.proposals.fetch_request import v1 as fetch_v1
from kipwire.drafts.proposals.fetch_request_as_drawn import v0 as drawn_v0
from kipwire.drafts.proposals.fetch_response import v0 as fetched_v0
from kipwire.drafts.proposals.fetch_response import v1 as fetched_v1
from kipwire.drafts.proposals.hello import v0 as hello_v0
from kipwire.drafts.proposals.hello import v1 as hello_v1
from kipwire.drafts.proposals.hello_reply import v0 as hello_reply_v0
from kipwire.drafts.proposals.hello_reply import v1 as hello_reply_v1
from kipwire.drafts.proposals.produce_request import v0 as produce_v0
from kipwire.drafts.proposals.produce_response import v0 as produced_v0
from kipwire.drafts.proposals.produce_response import v1 as produced_v1
from kipwire.drafts.proposals.produce_response import v2 as produced_v2
from tests.support.hex_tables import expect_fault, octets

PRODUCE_REQUEST = octets("""
    00000021            # size 33
    0000 0000 00000007  # request_type_id 0, version_id 0, correlation_id 7
    0001 63             # client_id "c"
    01 000003e8         # required_acks 1, ack_timeout 1000
    0001 0001 74        # data: 1 topic: "t"
    0001 00000000       # partition_data: 1 partition: 0
    00000002 aabb       # messages: 2 bytes
""")
PRODUCE_RESPONSE = octets("""
    00000016 00000007 0000 0000  # size 22, correlation_id 7, version_id 0, error 0
    0001 0000                    # errors: 1: 0
    0001 0000000000000005        # offsets: 1: 5
""")
FETCH_REQUEST = octets("""
    00000028 0001 0000 00000007  # size 40, request_type_id 1, version_id 0, correlation_id 7
    0001 63                      # client_id "c"
    ffffffff 000003e8 00000400   # replica_id -1, max_wait 1000, min_bytes 1024
    0001 0001 74                 # topic_offsets: 1 topic: "t"
    0001 00000002                # partitions: 1: 2
    0001 00000005                # offsets: 1: 5
""")

FRAMES: dict[str, tuple[Any, bytes]] = {
    "ProduceRequest": (
        produce_v0.ProduceRequest(
            request_type_id=0,
            correlation_id=7,
            client_id="c",
            required_acks=1,
            ack_timeout=1000,
            data=[
                produce_v0.TopicData(
                    topic="t", partition_data=[produce_v0.PartitionData(partition=0, messages=b"\xaa\xbb")]
                )
            ],
        ),
        PRODUCE_REQUEST,
    ),
    "ProduceRequest for several partitions of two topics": (
        produce_v0.ProduceRequest(
            request_type_id=0,
            data=[
                produce_v0.TopicData(
                    topic="ab",
                    partition_data=[
                        produce_v0.PartitionData(partition=7, messages=b"\xaa"),
                        produce_v0.PartitionData(partition=1, messages=b""),
                    ],
                ),
                produce_v0.TopicData(topic="é", partition_data=[produce_v0.PartitionData(partition=-1)]),
            ],
        ),
        octets("""
            00000036 0000 0000 00000000  # size 54, request_type_id 0, version_id 0, correlation_id 0
            0000 00 00000000             # client_id "", required_acks 0, ack_timeout 0
            0002                         # data: 2 topics
            0002 6162                    # "ab"
            0002                         # partition_data: 2 partitions
            00000007 00000001 aa         # 7, messages: 1 byte
            00000001 00000000            # 1, no messages
            0002 c3a9                    # "é", two bytes of UTF-8
            0001                         # partition_data: 1 partition
            ffffffff 00000000            # -1, no messages
        """),
    ),
    "ProduceRequest without topics": (
        produce_v0.ProduceRequest(request_type_id=3, correlation_id=-1, required_acks=-1),
        octets("""
            00000011 0003 0000 ffffffff  # size 17, request_type_id 3, version_id 0, correlation_id -1
            0000                         # client_id ""
            ff 00000000 0000             # required_acks -1, ack_timeout 0, no data
        """),
    ),
    "ProduceResponse": (
        produced_v0.ProduceResponse(correlation_id=7, errors=[0], offsets=[5]),
        PRODUCE_RESPONSE,
    ),
    "ProduceResponse with acks": (
        produced_v1.ProduceResponse(correlation_id=7, errors=[0, 3], offsets=[5, -1], acks=[2, -1]),
        octets("""
            00000026 00000007 0001 0000             # size 38, correlation_id 7, version_id 1, error 0
            0002 0000 0003                          # errors: 2: 0, 3
            0002 0000000000000005 ffffffffffffffff  # offsets: 2: 5, -1
            0002 0002 ffff                          # acks: 2: 2, -1
        """),
    ),
    "ProduceResponse with pairs": (
        produced_v2.ProduceResponse(correlation_id=7, response_data=[produced_v2.MessageSetResult(offset=5, error=3)]),
        octets("""
            00000014 00000007 0002 0000   # size 20, correlation_id 7, version_id 2, error 0
            0001 0000000000000005 0003    # response_data: 1: offset 5, error 3
        """),
    ),
    "FetchRequest": (
        fetch_v0.FetchRequest(
            request_type_id=1,
            correlation_id=7,
            client_id="c",
            max_wait=1000,
            min_bytes=1024,
            topic_offsets=[fetch_v0.OffsetData(topic="t", partitions=[2], offsets=[5])],
        ),
        FETCH_REQUEST,
    ),
    "FetchRequest with fetch sizes": (
        fetch_v1.FetchRequest(
            request_type_id=1,
            correlation_id=7,
            client_id="c",
            replica_id=4,
            topic_offsets=[
                fetch_v1.OffsetData(
                    topic="t",
                    partition_offsets=[fetch_v1.PartitionOffsetData(partition=2, offset=5, fetch_size=65536)],
                )
            ],
        ),
        octets("""
            0000002a 0001 0001 00000007    # size 42, request_type_id 1, version_id 1, correlation_id 7
            0001 63                        # client_id "c"
            00000004 00000000 00000000     # replica_id 4, max_wait 0, min_bytes 0
            0001 0001 74                   # topic_offsets: 1 topic: "t"
            0001 00000002 00000005 00010000  # partitions: 1: partition 2, offset 5, fetch_size 65536
        """),
    ),
    "FetchRequest as drawn": (
        drawn_v0.FetchRequestAsDrawn(
            request_type_id=1,
            correlation_id=7,
            client_id="c",
            max_wait=1000,
            min_bytes=1024,
            topic_offsets=[drawn_v0.OffsetData(topic="t", partitions=[2], offsets=[5])],
        ),
        FETCH_REQUEST[:6] + octets("00000007 0000  # correlation_id 7, version_id 0") + FETCH_REQUEST[12:],
    ),
    "FetchResponse": (
        fetched_v0.FetchResponse(
            correlation_id=7,
            error=-1,
            data=[
                fetched_v0.TopicData(
                    topic="t", partition_data=[fetched_v0.PartitionData(partition=2, messages=b"\xaa\xbb")]
                )
            ],
        ),
        octets("""
            00000019 00000007 0000 ffff  # size 25, correlation_id 7, version_id 0, error -1
            0001 0001 74                 # data: 1 topic: "t"
            0001 00000002                # partition_data: 1 partition: 2
            00000002 aabb                # messages: 2 bytes
        """),
    ),
    "FetchResponse with errors of partitions": (
        fetched_v1.FetchResponse(
            correlation_id=7,
            global_error=-1,
            data=[
                fetched_v1.TopicData(
                    topic="t",
                    partition_data=[fetched_v1.PartitionData(partition=2, error=3, offset=5, messages=b"\xaa\xbb")],
                )
            ],
        ),
        octets("""
            00000025 ffff 00000007 0001         # size 37, error -1, correlation_id 7, version_id 1
            0001 0001 74                        # data: 1 topic: "t"
            0001 00000002                       # partition_data: 1 partition: 2
            00000003 0000000000000005           # error 3, offset 5
            00000002 aabb                       # messages: 2 bytes
        """),
    ),
    "Hello": (
        hello_v0.Hello(client_id="c", replica_id="r"),
        octets("0000 0001 63 0001 72  # version 0, client_id, replica_id"),
    ),
    "Hello with software version": (
        hello_v1.Hello(client_id="c", replica_id="", software_version="k 1"),
        octets("0001 0001 63 0000 0003 6b2031  # version 1, client_id, replica_id, softwareversion"),
    ),
    "HelloReply": (
        hello_reply_v0.HelloReply(broker_id="b"),
        octets("0001 62  # broker_id"),
    ),
    "HelloReply with software version": (
        hello_reply_v1.HelloReply(broker_id="b", software_version="k 1"),
        octets("0001 62 0003 6b2031  # broker_id, softwareversion"),
    ),
}


@pytest.mark.parametrize("name", FRAMES)
def test_frames_have_the_bytes_of_the_text(name: str) -> None:
    message, data = FRAMES[name]
    assert message.encode().hex(" ") == data.hex(" ")
    assert message.encoded_size() == len(data)
    assert type(message).decode(data) == message
    assert type(message).from_json(message.to_json()) == message


@pytest.mark.parametrize("name", FRAMES)
def test_frames_cut_short_are_refused(name: str) -> None:
    message, data = FRAMES[name]
    for end in range(len(data)):
        with pytest.raises(DecodeError):
            type(message).decode(data[:end])


@pytest.mark.parametrize("name", FRAMES)
def test_bytes_after_a_frame_are_refused_by_decode_and_left_by_read(name: str) -> None:
    message, data = FRAMES[name]
    with pytest.raises(DecodeError):
        type(message).decode(data + b"\0")
    assert type(message).read(b"xy" + data + b"\0", 2) == (message, 2 + len(data))


@pytest.mark.parametrize("name", [name for name in FRAMES if not name.startswith("Hello")])
@pytest.mark.parametrize("wrong", [-1, 1, 2**31 - 1 - 64])
def test_a_size_that_is_not_that_of_the_frame_is_refused(name: str, wrong: int) -> None:
    message, data = FRAMES[name]
    size = int.from_bytes(data[:4], "big") + wrong
    with pytest.raises(DecodeError):
        type(message).decode(size.to_bytes(4, "big") + data[4:])


def test_common_fields_of_a_request_say_which_class_reads_it() -> None:
    common = CommonRequestFields.decode(FETCH_REQUEST)
    assert (common.request_type_id, common.version_id, common.correlation_id) == (1, 0, 7)
    assert (common.client_id, common.body) == ("c", FETCH_REQUEST[15:])
    assert common.encode() == FETCH_REQUEST
    request: Any = proposals.message("FetchRequest", common.version_id)
    assert request.decode(FETCH_REQUEST).topic_offsets[0].offsets == [5]


def test_common_fields_of_a_response_say_which_request_it_answers() -> None:
    common = CommonResponseFields.decode(PRODUCE_RESPONSE)
    assert (common.correlation_id, common.version_id, common.error) == (7, 0, 0)
    assert common.body == PRODUCE_RESPONSE[12:]
    assert common.encode() == PRODUCE_RESPONSE

    first = common_response_v1.CommonResponseFields.decode(FRAMES["FetchResponse with errors of partitions"][1])
    assert (first.global_error, first.correlation_id, first.version_id) == (-1, 7, 1)


def test_a_client_without_an_id_gives_an_empty_one() -> None:
    request = produce_v0.ProduceRequest(request_type_id=3)
    assert request.client_id == ""
    assert request.encode()[12:14] == b"\0\0"
    with pytest.raises(EncodeError, match="client_id"):
        produce_v0.ProduceRequest(request_type_id=3, client_id=None).encode()  # type: ignore[arg-type]


@pytest.mark.parametrize("acks", [-1, 0, 1, 127])
def test_required_acks_has_one_byte_and_its_text_says_what_it_may_mean(acks: int) -> None:
    request = produce_v0.ProduceRequest(request_type_id=0, required_acks=acks)
    assert request.encode()[14:15] == acks.to_bytes(1, "big", signed=True)
    text = next(field.about for field in request.FIELDS if field.name == "required_acks")
    meanings = ("In the proposal: 0 is no", "In the comments: 0 is all", "In the answer to them: 0 is no")
    assert [text.count(meaning) for meaning in meanings] == [1, 1, 1]


WRONG_BYTES = {
    "another version": (PRODUCE_REQUEST, 7, "01", "version_id", 6),
    "a size below nothing": (PRODUCE_REQUEST, 0, "ffffffff", "size", 0),
    "a null client id": (PRODUCE_REQUEST, 12, "ffff", "client_id", 12),
    "a null list": (PRODUCE_REQUEST, 20, "ffff", "data", 20),
    "a list that cannot be there": (PRODUCE_REQUEST, 20, "7fff", "data[1]", 37),
    "messages beyond the frame": (PRODUCE_REQUEST, 31, "00000003", "data[0].partition_data[0].messages", 35),
    "fewer offsets than errors": (PRODUCE_RESPONSE, 16, "0000", "offsets", 16),
    "more offsets than errors": (PRODUCE_RESPONSE, 12, "0000 0001 0000", "offsets", 14),
    "fewer offsets than partitions": (FETCH_REQUEST, 38, "0000", "topic_offsets[0].offsets", 38),
}


@pytest.mark.parametrize("name", WRONG_BYTES)
def test_wrong_bytes_are_refused_with_their_place(name: str) -> None:
    data, at, patch, path, offset = WRONG_BYTES[name]
    cls = next(type(message) for message, golden in FRAMES.values() if golden == data)
    expect_fault(cls, data, at, patch, path, offset)


WRONG_VALUES: dict[str, tuple[Any, str]] = {
    "too many elements for an int16": (produced_v0.ProduceResponse(errors=[0] * 32768, offsets=[0] * 32768), "errors"),
    "fewer offsets than errors": (produced_v0.ProduceResponse(errors=[0, 0], offsets=[0]), "offsets"),
    "more acks than errors": (produced_v1.ProduceResponse(errors=[0], offsets=[0], acks=[1, 1]), "acks"),
    "more offsets than partitions": (
        fetch_v0.FetchRequest(
            request_type_id=1, topic_offsets=[fetch_v0.OffsetData(topic="t", partitions=[], offsets=[1])]
        ),
        "topic_offsets[0].offsets",
    ),
    "a client id too long for an int16": (hello_v0.Hello(client_id="c" * 32768), "client_id"),
    "an offset too large for the int32 of the text": (
        fetch_v0.FetchRequest(
            request_type_id=1, topic_offsets=[fetch_v0.OffsetData(topic="t", partitions=[0], offsets=[2**31])]
        ),
        "topic_offsets[0].offsets[0]",
    ),
    "no client id at all": (hello_v0.Hello(client_id=None), "client_id"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", WRONG_VALUES)
def test_wrong_values_are_refused_with_their_place(name: str) -> None:
    message, path = WRONG_VALUES[name]
    with pytest.raises(EncodeError) as caught:
        message.encode()
    assert caught.value.path == path, caught.value


def test_the_longest_list_of_an_int16_is_written_and_read() -> None:
    message = produced_v0.ProduceResponse(errors=[0] * 32767, offsets=[0] * 32767)
    assert produced_v0.ProduceResponse.decode(message.encode()) == message
