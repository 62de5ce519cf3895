"""The bytes of every message of the proposals, which plain_encoder.py writes as their documents say.

    python -m tests.support.proposal_bytes

writes tests/data/proposals.jsonl: a line for each message and version, with its values as JSON and its bytes in hex.
Nothing here knows kipwire or its specs. Numbers use all their bytes and differ, so that fields that change places or
widths are noticed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from tests.support.places import ROOT
from tests.support.plain_encoder import (
    Written,
    array,
    array16,
    array32,
    bool8,
    checked,
    compact_array,
    compact_string,
    crc32,
    data32,
    int8,
    int16,
    int32,
    int64,
    messages_to_the_end,
    rest,
    sized,
    string,
    struct,
    uvarint,
    varint,
)

FILE = ROOT / "tests" / "data" / "proposals.jsonl"

Line = tuple[str, int, Written]
"""A message, its version, and what is written."""
NO_TAGS = b"\0"


# KIP-482: its example from version 9 on has tags, with tag 0 in the message and tag 0 in each Foo.


def kip_482() -> Iterator[Line]:
    for version in range(9):
        yield "FooRequest", version, ({}, b"")
        foos = array32(struct(baz=int16(0x0102)), struct(baz=int16(-2)))
        yield "FooResponse", version, struct(foos=foos)
    yield "FooRequest", 9, ({}, NO_TAGS)
    plain = struct(baz=int16(0x0102), _bar=("hello world", NO_TAGS))
    other = struct(baz=int16(-2), bar=("é", b"\x01\x00\x03" + compact_string("é")[1]))
    tags = ("me", b"\x01\x00\x03" + compact_string("me")[1])
    yield "FooResponse", 9, struct(foos=compact_array(plain, other), userAgent=tags)
    start = {
        "requestApiKey": int16(9000),
        "requestApiVersion": int16(0x0102),
        "correlationId": int32(0x03040506),
    }
    yield "RequestHeader", 0, struct(**start, clientId=string("me"))
    yield "RequestHeader", 0, struct(**start, clientId=(None, int16(-1)[1]))
    yield "RequestHeader", 1, struct(**start, clientId=compact_string("me"), _tags=(0, NO_TAGS))
    yield "RequestHeader", 1, struct(**start, clientId=compact_string(None), _tags=(0, NO_TAGS))
    yield "ResponseHeader", 0, struct(correlationId=int32(0x03040506))
    yield "ResponseHeader", 1, struct(correlationId=int32(0x03040506), _tags=(0, NO_TAGS))


# KIP-625: a long that has 32 bits in versions 0 and 1; metadata with three encodings, in the partitions or everywhere.


def kip_625() -> Iterator[Line]:
    for value in (0x01020304, -2):
        yield "TooSmall", 0, struct(tooSmall=int32(value))
        yield "TooSmall", 1, struct(tooSmall=int32(value))
    yield "TooSmall", 2, struct(tooSmall=int64(0x0102030405060708))
    yield "TooSmall", 2, struct(tooSmall=int64(-2))
    fixed = (int16, int32)
    unsigned = (lambda value: uvarint(value, 16), uvarint)
    signed = (varint, varint)
    yield "EncodedMetadata", 9, _metadata(*fixed, *fixed)
    yield "EncodedMetadata", 10, _metadata(*fixed, *unsigned)
    yield "EncodedMetadata", 11, _metadata(*unsigned, *unsigned)
    yield "EncodedMetadata", 12, _metadata(*fixed, *signed)
    yield "EncodedMetadata", 13, _metadata(*signed, *signed)


def _metadata(
    short: Callable[[int], Written],
    number: Callable[[int], Written],
    short_in_partitions: Callable[[int], Written],
    number_in_partitions: Callable[[int], Written],
) -> Written:
    """Write a MetadataResponse of version 9, with these forms of its int16 and int32."""
    end = (0, NO_TAGS)
    broker = struct(
        nodeId=number(300), host=compact_string("h"), port=number(9092), rack=compact_string(None), _tags=end
    )
    partition = struct(
        errorCode=short_in_partitions(72),
        partitionIndex=number_in_partitions(70000),
        leaderId=number_in_partitions(-1),
        leaderEpoch=number_in_partitions(0x7FFFFFFF),
        replicaNodes=array(compact_array, number_in_partitions, 1, 200, 300),
        isrNodes=array(compact_array, number_in_partitions, 200),
        offlineReplicas=array(compact_array, number_in_partitions),
        _tags=end,
    )
    topic = struct(
        errorCode=short(64),
        name=compact_string("t"),
        isInternal=bool8(True),
        partitions=compact_array(partition),
        topicAuthorizedOperations=number(3576),
        _tags=end,
    )
    return struct(
        throttleTimeMs=number(100),
        brokers=compact_array(broker),
        clusterId=compact_string("c"),
        controllerId=number(128),
        topics=compact_array(topic),
        clusterAuthorizedOperations=number(-(1 << 31)),
        _tags=end,
    )


# KIP-82: Produce and Fetch of version 3 as in version 2; bit 4 of a message's attributes says that it has headers.


def kip_82() -> Iterator[Line]:
    plain = {"key": data32(b"k"), "headers": ([], b""), "value": data32(b"v")}
    headers = b"".join(int32(key)[1] + data32(value)[1] for key, value in ((1, b"ab"), (0x00100010, b"x")))
    values = [{"key": 1, "value": rest(b"ab")[0]}, {"key": 0x00100010, "value": rest(b"x")[0]}]
    with_headers = {"key": data32(None), "headers": (values, data32(headers)[1]), "value": data32(None)}
    entries = []
    for attributes, fields in ((0x09, plain), (0x10, with_headers)):
        body = struct(
            _magic=(2, b"\x02"),
            compressionType=(attributes & 7, bytes([attributes])),
            timestampType=(bool(attributes & 8), b""),
            timestamp=int64(0x0102030405060708),
            **fields,
        )
        entries.append(struct(offset=int64(0x1112131415161718), _=sized(checked(body)))[1])
        yield "MessageAndOffset", 2, ({"offset": 0x1112131415161718, **body[0]}, entries[-1])
    records = data32(b"".join(entries))
    yield (
        "Kip82ProduceRequest",
        3,
        struct(
            acks=int16(-1),
            timeoutMs=int32(0x01020304),
            topicData=array32(
                struct(
                    name=string("t"),
                    partitionData=array32(
                        struct(index=int32(5), records=records), struct(index=int32(6), records=data32(None))
                    ),
                )
            ),
        ),
    )
    result = struct(index=int32(5), errorCode=int16(3), baseOffset=int64(0x0102030405060708), logAppendTimeMs=int64(-1))
    yield (
        "Kip82ProduceResponse",
        3,
        struct(
            responses=array32(struct(name=string("t"), partitionResponses=array32(result))),
            throttleTimeMs=int32(0x01020304),
        ),
    )
    wanted = struct(partition=int32(5), fetchOffset=int64(0x0102030405060708), partitionMaxBytes=int32(0x090A0B0C))
    yield (
        "Kip82FetchRequest",
        3,
        struct(
            replicaId=int32(-1),
            maxWaitMs=int32(0x01020304),
            minBytes=int32(0x05060708),
            topics=array32(struct(topic=string("t"), partitions=array32(wanted))),
        ),
    )
    found = struct(
        partitionIndex=int32(5), errorCode=int16(3), highWatermark=int64(0x0102030405060708), records=records
    )
    yield (
        "Kip82FetchResponse",
        3,
        struct(
            throttleTimeMs=int32(0x01020304),
            responses=array32(struct(topic=string("t"), partitions=array32(found))),
        ),
    )


# KIP-98, the draft: a set of 45 bytes before its messages, of which each has its length, its nulls and its CRC.


def kip_98() -> Iterator[Line]:
    values = [
        _message(0x0102, 0, b"key", b"value"),
        _message(-1, 300, None, b"v"),
        _message(3, 2, b"k", None),
        _message(4, 3, None, None),
        _message(5, 0x7FFFFFFF, b"\0\0\0\1", b"", is_control=True),
    ]
    written = messages_to_the_end(*values)
    yield "Messages", 2, struct(messages=written)
    bits: dict[str, Written] = {"timestampType": (True, b""), "isTransactional": (True, b"")}
    yield "MessageSet", 2, _set(0x18, bits, messages=written)
    bits = {"compressionType": (1, b""), "timestampType": (False, b""), "isTransactional": (True, b"")}
    yield "CompressedMessageSet", 2, _set(0x11, bits, compressedMessages=rest(b"\x1f\x8b\x08\x00"))
    yield "ControlMessageKey", 0, struct(_version=int16(0), controlMessageType=int16(0x0102))


def _set(attributes: int, bits: dict[str, Written], **end: Written) -> Written:
    body = struct(
        _magic=int8(2),
        _attributes=int16(attributes),
        **bits,
        offsetDelta=int32(0x01020304),
        maxTimestamp=int64(0x0102030405060708),
        pid=int64(0x1112131415161718),
        epoch=int16(0x0506),
        sequence=int32(0x0708090A),
        **end,
    )
    offset, (values, data) = int64(0x2122232425262728), sized(checked(body))
    return {"offset": offset[0], **values}, offset[1] + data


def _message(timestamp: int, delta: int, key: bytes | None, value: bytes | None, is_control: bool = False) -> Written:
    """Write one message: the length of its key stands before it only if a value follows."""
    attributes = (key is None) | (value is None) << 1 | is_control << 2
    length = b"" if key is None or value is None else uvarint(len(key))[1]
    fields = struct(
        isControl=(is_control, bytes([attributes])),
        timestamp=int64(timestamp),
        offsetDelta=uvarint(delta),
        key=(key if key is None else rest(key)[0], length + (key or b"")),
        value=(value if value is None else rest(value)[0], value or b""),
    )
    data = fields[1] + crc32(fields[1])
    return fields[0], uvarint(len(data))[1] + data


# The page on 0.8: requests and responses with and without what its comments would leave out or move.

SIZED_BODY = {"body": rest(b"\x0a\x0b")}
TYPE = {"requestTypeId": int16(0x0102)}
CORRELATION = {"correlationId": int32(0x03040506)}
CLIENT = {"clientId": string("mé")}
ERROR = {"error": int16(-3)}


def _version(version: int) -> dict[str, Written]:
    """Write a version that follows from the class: it is no value."""
    return {"_version": int16(version)}


def wire_format_08() -> Iterator[Line]:
    yield from _common_fields()
    yield from _produce()
    yield from _fetch()
    entry = struct(topic=string("t"), partition=int32(0x01020304), messages=data32(b"\x0a\x0b"))
    yield "MultiProducerRequestData", 0, struct(entries=array16(entry, entry))
    one, other = (struct(id=int32(number), name=string(name)) for number, name in ((0x01020304, "n"), (-2, "é")))
    yield "NotationExample", 0, struct(records=array16(one, other))
    hello = {"clientId": string("mé"), "replicaId": string("r")}
    yield "Hello", 0, struct(**_version(0), **hello)
    yield "Hello", 1, struct(**_version(1), **hello, softwareVersion=string("0.8"))
    yield "HelloReply", 0, struct(brokerId=string("b"))
    yield "HelloReply", 1, struct(brokerId=string("b"), softwareVersion=string("0.8"))


def _common_fields() -> Iterator[Line]:
    version = {"versionId": int16(0x0708)}
    for name, number, fields in (
        ("CommonRequestFields", 0, TYPE | version | CORRELATION | CLIENT),
        ("CommonRequestFieldsAfterHello", 0, TYPE | version | CORRELATION),
        ("CommonRequestFieldsAfterHello", 1, TYPE | CORRELATION),
        ("CommonRequestFieldsWithoutCorrelationId", 0, TYPE | version | CLIENT),
        ("CommonResponseFields", 0, CORRELATION | version | ERROR),
        ("CommonResponseFields", 1, {"globalError": int16(-3)} | CORRELATION | version),
        ("CommonResponseFieldsAfterHello", 1, CORRELATION | ERROR),
        ("CommonResponseFieldsWithRequestId", 0, TYPE | version | ERROR),
        ("CommonResponseFieldsWithoutCorrelationId", 0, version | ERROR),
    ):
        yield name, number, sized(struct(**fields, **SIZED_BODY))


def _topics(*before_messages: tuple[str, Written]) -> Written:
    """Write one topic with two partitions, whose message sets have a size of 32 bits."""
    sets = [
        struct(partition=int32(number), **dict(before_messages), messages=data32(messages))
        for number, messages in ((0x01020304, b"\x0a\x0b"), (6, b""))
    ]
    return array16(struct(topic=string("té"), partitionData=array16(*sets)))


def _produce() -> Iterator[Line]:
    data = {"requiredAcks": int8(-2), "ackTimeout": int32(0x0A0B0C0D), "data": _topics()}
    for name, number, fields in (
        ("ProduceRequest", 0, TYPE | _version(0) | CORRELATION | CLIENT),
        ("ProduceRequestAfterHello", 0, TYPE | _version(0) | CORRELATION),
        ("ProduceRequestAfterHello", 1, TYPE | CORRELATION),
        ("ProduceRequestWithoutCorrelationId", 0, TYPE | _version(0) | CLIENT),
    ):
        yield name, number, sized(struct(**fields, **data))
    # "an id to the message_set": without a width or a place, so an int32 after the partition here.
    one = struct(partition=int32(0x01020304), setId=int32(0x05060708), messages=data32(b"\x0a\x0b"))
    with_ids = {**data, "data": array16(struct(topic=string("té"), partitionData=array16(one)))}
    yield "ProduceRequestWithSetIds", 0, sized(struct(**TYPE, **_version(0), **CORRELATION, **CLIENT, **with_ids))
    results = {
        "errors": array(array16, int16, 0, 0x0102),
        "offsets": array(array16, int64, 0x0102030405060708, -1),
    }
    pairs = [
        struct(offset=int64(offset), error=int16(error)) for offset, error in ((0x0102030405060708, 0), (-1, 0x0102))
    ]
    for name, number, fields in (
        ("ProduceResponse", 0, CORRELATION | _version(0) | ERROR | results),
        (
            "ProduceResponse",
            1,
            CORRELATION | _version(1) | ERROR | results | {"acks": array(array16, int16, 2, 0x0304)},
        ),
        ("ProduceResponse", 2, CORRELATION | _version(2) | ERROR | {"responseData": array16(*pairs)}),
        ("ProduceResponseAfterHello", 1, CORRELATION | ERROR | results),
        (
            "ProduceResponseWithSetIds",
            0,
            CORRELATION | _version(0) | ERROR | {"setIds": array(array16, int32, 0x05060708, -2)} | results,
        ),
        ("ProduceResponseWithErrorFirst", 0, ERROR | CORRELATION | _version(0) | results),
        ("ProduceResponseWithRequestId", 0, TYPE | _version(0) | ERROR | results),
        ("ProduceResponseWithoutCorrelationId", 0, _version(0) | ERROR | results),
    ):
        yield name, number, sized(struct(**fields))


def _fetch() -> Iterator[Line]:
    waits = {"maxWait": int32(0x11121314), "minBytes": int32(0x15161718)}
    replica = {"replicaId": int32(-1)}
    offsets = struct(
        topic=string("té"),
        partitions=array(array16, int32, 0x01020304, 6),
        offsets=array(array16, int32, 0x0708090A, -1),
    )
    topics = {"topicOffsets": array16(offsets)}
    nested = struct(partition=int32(0x01020304), offset=int32(0x0708090A), fetchSize=int32(0x0B0C0D0E))
    by_partition = {"topicOffsets": array16(struct(topic=string("té"), partitionOffsets=array16(nested)))}
    for name, number, fields in (
        ("FetchRequest", 0, TYPE | _version(0) | CORRELATION | CLIENT | replica | waits | topics),
        ("FetchRequest", 1, TYPE | _version(1) | CORRELATION | CLIENT | replica | waits | by_partition),
        ("FetchRequestAfterHello", 0, TYPE | _version(0) | CORRELATION | replica | waits | topics),
        ("FetchRequestAfterHello", 1, TYPE | CORRELATION | replica | waits | topics),
        ("FetchRequestAsDrawn", 0, TYPE | CORRELATION | _version(0) | CLIENT | replica | waits | topics),
        (
            "FetchRequestWithFlag",
            0,
            TYPE | _version(0) | CORRELATION | CLIENT | {"isReplica": int8(1)} | waits | topics,
        ),
        ("FetchRequestWithoutCorrelationId", 0, TYPE | _version(0) | CLIENT | replica | waits | topics),
        (
            "FetchRequestWithoutMinBytes",
            0,
            TYPE | _version(0) | CORRELATION | CLIENT | replica | {"maxWait": waits["maxWait"]} | topics,
        ),
    ):
        yield name, number, sized(struct(**fields))
    data = {"data": _topics()}
    with_errors = {"data": _topics(("error", int32(0x0506)), ("offset", int64(-0x0102030405060708)))}
    for name, number, fields in (
        ("FetchResponse", 0, CORRELATION | _version(0) | ERROR | data),
        ("FetchResponse", 1, {"globalError": int16(-3)} | CORRELATION | _version(1) | with_errors),
        ("FetchResponseAfterHello", 1, CORRELATION | ERROR | data),
        ("FetchResponseWithRequestId", 0, TYPE | _version(0) | ERROR | data),
        ("FetchResponseWithoutCorrelationId", 0, _version(0) | ERROR | data),
    ):
        yield name, number, sized(struct(**fields))


def text() -> str:
    """Return the text of the file."""
    lines = [*kip_482(), *kip_625(), *kip_82(), *kip_98(), *wire_format_08()]
    return "".join(
        json.dumps({"message": name, "version": version, "json": values, "hex": data.hex()}, ensure_ascii=False) + "\n"
        for name, version, (values, data) in lines
    )


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
