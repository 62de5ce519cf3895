"""Suggestions in the comments on the 0.8 wire format: their frames, made by hand from the texts byte by byte."""

from __future__ import annotations

import zlib
from typing import Any

import pytest

from kipwire import DecodeError, EncodeError
from kipwire.drafts import proposals
from kipwire.drafts.proposals.common_request_fields_after_hello import v0 as common_hello_v0
from kipwire.drafts.proposals.common_request_fields_after_hello import v1 as common_hello_v1
from kipwire.drafts.proposals.common_request_fields_without_correlation_id import v0 as common_without_v0
from kipwire.drafts.proposals.common_response_fields_after_hello import v1 as common_answer_hello_v1
from kipwire.drafts.proposals.common_response_fields_with_request_id import v0 as common_answer_id_v0
from kipwire.drafts.proposals.common_response_fields_without_correlation_id import v0 as common_answer_without_v0
from kipwire.drafts.proposals.fetch_request_after_hello import v0 as fetch_hello_v0
from kipwire.drafts.proposals.fetch_request_after_hello import v1 as fetch_hello_v1
from kipwire.drafts.proposals.fetch_request_with_flag import v0 as fetch_flag_v0
from kipwire.drafts.proposals.fetch_request_without_correlation_id import v0 as fetch_without_v0
from kipwire.drafts.proposals.fetch_request_without_min_bytes import v0 as fetch_delay_v0
from kipwire.drafts.proposals.fetch_response_after_hello import v1 as fetched_hello_v1
from kipwire.drafts.proposals.fetch_response_with_request_id import v0 as fetched_id_v0
from kipwire.drafts.proposals.fetch_response_without_correlation_id import v0 as fetched_without_v0
from kipwire.drafts.proposals.multi_producer_request_data import v0 as multi_v0
from kipwire.drafts.proposals.notation_example import v0 as notation_v0
from kipwire.drafts.proposals.produce_request import v0 as produce_v0
from kipwire.drafts.proposals.produce_request_after_hello import v0 as produce_hello_v0
from kipwire.drafts.proposals.produce_request_after_hello import v1 as produce_hello_v1
from kipwire.drafts.proposals.produce_request_with_set_ids import v0 as set_ids_v0
from kipwire.drafts.proposals.produce_request_without_correlation_id import v0 as produce_without_v0
from kipwire.drafts.proposals.produce_response_after_hello import v1 as produced_hello_v1
from kipwire.drafts.proposals.produce_response_with_error_first import v0 as produced_first_v0
from kipwire.drafts.proposals.produce_response_with_request_id import v0 as produced_id_v0
from kipwire.drafts.proposals.produce_response_with_set_ids import v0 as produced_set_ids_v0
from kipwire.drafts.proposals.produce_response_without_correlation_id import v0 as produced_without_v0
from kipwire.records import Record, read_batches, write_message_set
from tests.support.hex_tables import octets

# 5 bytes and 17: the fields of a ProduceRequest after the common ones.
ACKS = octets("01 000003e8  # required_acks 1, ack_timeout 1000")
DATA = octets("""
    0001 0001 74                 # data: 1 topic: "t"
    0001 00000002 00000002 aabb  # partition_data: 1 partition: 2, messages: 2 bytes
""")
# 14: the fields of a ProduceResponse after the common ones.
RESULTS = octets("0001 0003 0001 0000000000000005  # errors: 1: 3; offsets: 1: 5")
# 17: the last field of a FetchRequest.
TOPICS = octets("""
    0001 0001 74                       # topic_offsets: 1 topic: "t"
    0001 00000002 0001 00000005        # partitions: 1: 2; offsets: 1: 5
""")
LONG_POLL = octets("000003e8 00000400          # max_wait 1000, min_bytes 1024")


def data(module: Any) -> list[Any]:
    """Return the topics of `DATA`, in the classes of a module."""
    partition = module.PartitionData(partition=2, messages=b"\xaa\xbb")
    return [module.TopicData(topic="t", partition_data=[partition])]


def topics(module: Any) -> list[Any]:
    """Return the topics of `TOPICS`, in the classes of a module."""
    return [module.OffsetData(topic="t", partitions=[2], offsets=[5])]


def produce(cls: Any, module: Any, **values: Any) -> Any:
    return cls(request_type_id=3, required_acks=1, ack_timeout=1000, data=data(module), **values)


def fetch(cls: Any, module: Any, **values: Any) -> Any:
    return cls(request_type_id=4, max_wait=1000, topic_offsets=topics(module), **values)


FRAMES: dict[str, tuple[Any, bytes]] = {
    "ProduceRequest after an optional Hello": (
        produce(produce_hello_v0.ProduceRequestAfterHello, produce_hello_v0, correlation_id=7),
        octets("0000001e 0003 0000 00000007  # size 30, request_type_id 3, version_id 0, correlation_id 7")
        + ACKS
        + DATA,
    ),
    "ProduceRequest after a required Hello": (
        produce(produce_hello_v1.ProduceRequestAfterHello, produce_hello_v1, correlation_id=7),
        octets("0000001c 0003 00000007       # size 28, request_type_id 3, correlation_id 7") + ACKS + DATA,
    ),
    "ProduceRequest without correlation id": (
        produce(produce_without_v0.ProduceRequestWithoutCorrelationId, produce_without_v0, client_id="c"),
        octets("0000001d 0003 0000 0001 63   # size 29, request_type_id 3, version_id 0, client_id") + ACKS + DATA,
    ),
    "ProduceResponse after a required Hello": (
        produced_hello_v1.ProduceResponseAfterHello(correlation_id=7, error=6, errors=[3], offsets=[5]),
        octets("00000014 00000007 0006       # size 20, correlation_id 7, error 6") + RESULTS,
    ),
    "ProduceResponse with its error first": (
        produced_first_v0.ProduceResponseWithErrorFirst(correlation_id=7, error=6, errors=[3], offsets=[5]),
        octets("00000016 0006 00000007 0000  # size 22, error 6, correlation_id 7, version_id 0") + RESULTS,
    ),
    "ProduceResponse without correlation id": (
        produced_without_v0.ProduceResponseWithoutCorrelationId(error=6, errors=[3], offsets=[5]),
        octets("00000012 0000 0006           # size 18, version_id 0, error 6") + RESULTS,
    ),
    "ProduceResponse with the request's id": (
        produced_id_v0.ProduceResponseWithRequestId(request_type_id=3, error=6, errors=[3], offsets=[5]),
        octets("00000014 0003 0000 0006      # size 20, request_type_id 3, version_id 0, error 6") + RESULTS,
    ),
    "ProduceRequest with ids of its message sets": (
        set_ids_v0.ProduceRequestWithSetIds(
            request_type_id=3,
            correlation_id=7,
            client_id="c",
            required_acks=1,
            ack_timeout=1000,
            data=[
                set_ids_v0.TopicData(
                    topic="t",
                    partition_data=[set_ids_v0.PartitionData(partition=2, set_id=258, messages=b"\xaa\xbb")],
                )
            ],
        ),
        octets("00000025 0003 0000 00000007 0001 63  # size 37, request_type_id 3, version_id 0, correlation_id 7")
        + ACKS
        + octets(
            """
            0001 0001 74                          # data: 1 topic: "t"
            0001 00000002 00000102 00000002 aabb  # partition_data: 1 partition: 2, set_id 258, messages: 2 bytes
        """
        ),
    ),
    "ProduceResponse with ids of message sets": (
        produced_set_ids_v0.ProduceResponseWithSetIds(
            correlation_id=7, error=6, set_ids=[258], errors=[3], offsets=[5]
        ),
        octets("""
            0000001c 00000007 0000 0006  # size 28, correlation_id 7, version_id 0, error 6
            0001 00000102                # set_ids: 1: 258
        """) + RESULTS,
    ),
    "FetchRequest after an optional Hello": (
        fetch(fetch_hello_v0.FetchRequestAfterHello, fetch_hello_v0, correlation_id=7, min_bytes=1024),
        octets("""
            00000025 0004 0000 00000007  # size 37, request_type_id 4, version_id 0, correlation_id 7
            ffffffff                     # replica_id -1
        """) + LONG_POLL + TOPICS,
    ),
    "FetchRequest after a required Hello": (
        fetch(fetch_hello_v1.FetchRequestAfterHello, fetch_hello_v1, correlation_id=7, min_bytes=1024, replica_id=9),
        octets("00000023 0004 00000007 00000009  # size 35, request_type_id 4, correlation_id 7, replica_id 9")
        + LONG_POLL
        + TOPICS,
    ),
    "FetchRequest without correlation id": (
        fetch(fetch_without_v0.FetchRequestWithoutCorrelationId, fetch_without_v0, client_id="c", min_bytes=1024),
        octets("""
            00000024 0004 0000 0001 63   # size 36, request_type_id 4, version_id 0, client_id
            ffffffff                     # replica_id -1
        """) + LONG_POLL + TOPICS,
    ),
    "FetchRequest with a flag": (
        fetch(
            fetch_flag_v0.FetchRequestWithFlag,
            fetch_flag_v0,
            correlation_id=7,
            client_id="c",
            is_replica=1,
            min_bytes=1024,
        ),
        octets("""
            00000025 0004 0000 00000007  # size 37, request_type_id 4, version_id 0, correlation_id 7
            0001 63 01                   # client_id, flag 1
        """) + LONG_POLL + TOPICS,
    ),
    "FetchRequest without min_size": (
        fetch(fetch_delay_v0.FetchRequestWithoutMinBytes, fetch_delay_v0, correlation_id=7, client_id="c"),
        octets("""
            00000024 0004 0000 00000007  # size 36, request_type_id 4, version_id 0, correlation_id 7
            0001 63 ffffffff 000003e8    # client_id, replica_id -1, max_wait 1000
        """) + TOPICS,
    ),
    "FetchResponse after a required Hello": (
        fetched_hello_v1.FetchResponseAfterHello(correlation_id=7, error=-1, data=data(fetched_hello_v1)),
        octets("00000017 00000007 ffff       # size 23, correlation_id 7, error -1") + DATA,
    ),
    "FetchResponse without correlation id": (
        fetched_without_v0.FetchResponseWithoutCorrelationId(error=-1, data=data(fetched_without_v0)),
        octets("00000015 0000 ffff           # size 21, version_id 0, error -1") + DATA,
    ),
    "FetchResponse with the request's id": (
        fetched_id_v0.FetchResponseWithRequestId(request_type_id=4, error=-1, data=data(fetched_id_v0)),
        octets("00000017 0004 0000 ffff      # size 23, request_type_id 4, version_id 0, error -1") + DATA,
    ),
    "the old list": (
        multi_v0.MultiProducerRequestData(
            entries=[
                multi_v0.TopicPartitionMessages(topic="t", partition=0, messages=b"\xaa\xbb"),
                multi_v0.TopicPartitionMessages(topic="t", partition=258, messages=b"\xcc"),
            ]
        ),
        octets("""
            0002                            # 2 entries
            0001 74 00000000 00000002 aabb  # topic "t", partition 0, messages: 2 bytes
            0001 74 00000102 00000001 cc    # topic "t", partition 258, messages: 1 byte
        """),
    ),
    "the example for the notation": (
        notation_v0.NotationExample(records=[notation_v0.Record(id=1, name="é"), notation_v0.Record(id=-1, name="")]),
        octets("""
            0002                # 2 records
            00000001 0002 c3a9  # id 1, name of 2 bytes of UTF-8
            ffffffff 0000       # id -1, no name
        """),
    ),
}


@pytest.mark.parametrize("name", FRAMES)
def test_alternatives_have_the_bytes_of_the_text(name: str) -> None:
    message, data = FRAMES[name]
    assert message.encode().hex(" ") == data.hex(" ")
    assert message.encoded_size() == len(data)
    assert type(message).decode(data) == message
    assert type(message).from_json(message.to_json()) == message


@pytest.mark.parametrize("name", FRAMES)
def test_alternatives_cut_short_or_with_bytes_after_them_are_refused(name: str) -> None:
    message, data = FRAMES[name]
    for wrong in (*(data[:end] for end in range(len(data))), data + b"\0"):
        with pytest.raises(DecodeError):
            type(message).decode(wrong)


COMMON: dict[str, tuple[Any, str, dict[str, int | str]]] = {
    "request after an optional Hello": (
        common_hello_v0.CommonRequestFieldsAfterHello,
        "ProduceRequest after an optional Hello",
        {"request_type_id": 3, "version_id": 0, "correlation_id": 7},
    ),
    "request after a required Hello": (
        common_hello_v1.CommonRequestFieldsAfterHello,
        "ProduceRequest after a required Hello",
        {"request_type_id": 3, "correlation_id": 7},
    ),
    "request without correlation id": (
        common_without_v0.CommonRequestFieldsWithoutCorrelationId,
        "ProduceRequest without correlation id",
        {"request_type_id": 3, "version_id": 0, "client_id": "c"},
    ),
    "response after a required Hello": (
        common_answer_hello_v1.CommonResponseFieldsAfterHello,
        "FetchResponse after a required Hello",
        {"correlation_id": 7, "error": -1},
    ),
    "response without correlation id": (
        common_answer_without_v0.CommonResponseFieldsWithoutCorrelationId,
        "FetchResponse without correlation id",
        {"version_id": 0, "error": -1},
    ),
    "response with the request's id": (
        common_answer_id_v0.CommonResponseFieldsWithRequestId,
        "FetchResponse with the request's id",
        {"request_type_id": 4, "version_id": 0, "error": -1},
    ),
}


@pytest.mark.parametrize("name", COMMON)
def test_common_fields_of_the_alternatives_leave_the_rest_as_body(name: str) -> None:
    cls, frame, values = COMMON[name]
    _, data = FRAMES[frame]
    body = ACKS + DATA if name.startswith("request") else DATA
    common = cls.decode(data)
    assert common == cls(**values, body=body)
    assert common.encode() == data


WITH_NUMBER = {
    "CommonRequestFields",
    "CommonResponseFieldsWithRequestId",
    "FetchRequest",
    "FetchRequestAsDrawn",
    *(type(message).__name__ for message, _ in FRAMES.values() if hasattr(message, "request_type_id")),
    "ProduceRequest",
}


def test_every_message_with_a_number_of_a_request_demands_it_of_the_caller() -> None:
    demanding = set()
    for name in proposals.names():
        for version in proposals.versions(name):
            cls: Any = proposals.message(name, version)
            if any(field.name == "request_type_id" for field in cls.ATTRIBUTES):
                with pytest.raises(TypeError, match="'request_type_id'"):
                    cls()
                with pytest.raises(EncodeError) as caught:
                    cls(request_type_id=None).encode()
                assert caught.value.path == "request_type_id"
                demanding.add(name)
    assert demanding >= WITH_NUMBER


def test_the_old_list_has_the_topic_again_for_each_partition() -> None:
    partitions = [produce_v0.PartitionData(partition=number, messages=b"abc") for number in range(3)]
    new = produce_v0.ProduceRequest(
        request_type_id=0, data=[produce_v0.TopicData(topic="ten-letters", partition_data=partitions)]
    )
    entries = [
        multi_v0.TopicPartitionMessages(topic="ten-letters", partition=number, messages=b"abc") for number in range(3)
    ]
    old = multi_v0.MultiProducerRequestData(entries=entries)
    # An entry: name of 2 + 11 bytes, partition, size, 3 bytes. Without the name it is 11, and the topic has a count.
    assert old.encoded_size() == 2 + 3 * (13 + 11)
    assert new.encoded_size() - produce_v0.ProduceRequest(request_type_id=0).encoded_size() == 13 + 2 + 3 * 11


def test_a_message_set_of_the_time_is_written_into_a_request_and_read_out_of_it() -> None:
    covered = octets("""
        00 00              # magic 0, attributes: not compressed
        00000001 6b        # key "k"
        00000002 7631      # value "v1"
    """)
    entry = octets("0000000000000000 00000011  # offset 0, size 17") + zlib.crc32(covered).to_bytes(4, "big") + covered
    written = write_message_set([Record(offset=0, key=b"k", value=b"v1")], magic=0)
    assert written == entry
    partition = produce_v0.PartitionData(partition=0, messages=written)
    request = produce_v0.ProduceRequest(
        request_type_id=0, data=[produce_v0.TopicData(topic="t", partition_data=[partition])]
    )
    read = produce_v0.ProduceRequest.decode(request.encode()).data[0].partition_data[0].messages
    (batch,) = read_batches(read)
    assert [(record.key, record.value) for record in batch.records] == [(b"k", b"v1")]
    assert request.encode().endswith(len(entry).to_bytes(4, "big") + entry)
