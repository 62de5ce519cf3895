"""Elements of arrays are what they are alone, at any count; a wrong count costs neither time nor memory."""

from __future__ import annotations

import random
import struct
import uuid
from collections.abc import Callable

import pytest

from kafka_messages.alter_client_quotas_request.v1 import OpData
from kafka_messages.api_versions_response.v0 import ApiVersion as ClassicApiVersion
from kafka_messages.api_versions_response.v3 import ApiVersion
from kafka_messages.metadata_response.v0 import MetadataResponseBroker as ClassicBroker
from kafka_messages.metadata_response.v12 import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_messages.offset_commit_request.v8 import OffsetCommitRequestPartition
from kafka_messages.vote_request.v2 import PartitionData as Vote
from kafka_messages.vote_response.v0 import PartitionData as Voted
from kipwire import DecodeError, Malformed, Struct
from kipwire.codec.arrays import MOST_MADE, read_compact_structs, read_structs, write_compact_structs, write_elements
from kipwire.codec.uuids import read_uuids
from kipwire.codec.wire import new
from tests.support.cost import cost_of


def partition(index: int, replicas: int = 3, in_sync: int = 3, offline: int = 0) -> MetadataResponsePartition:
    nodes = list(range(index, index + replicas))
    return MetadataResponsePartition(
        partition_index=index,
        leader_id=-index,
        replica_nodes=nodes,
        isr_nodes=nodes[:in_sync],
        offline_replicas=list(range(offline)),
    )


def broker(index: int, host: str = "host", rack: str | None = None) -> MetadataResponseBroker:
    return MetadataResponseBroker(node_id=index, host=host, port=9092, rack=rack)


def one_by_one(items: list[Struct]) -> bytes:
    parts: list[bytes] = []
    for item in items:
        item._write(parts)
    return b"".join(parts)


def read_one_by_one(cls: type[Struct], data: bytes, count: int) -> list[Struct]:
    items, pos = [], 0
    for _ in range(count):
        item = new(cls)
        pos = item._read(data, pos)
        items.append(item)
    assert pos == len(data)
    return items


KINDS: dict[str, Callable[[int], Struct]] = {
    "numbers alone": lambda i: ApiVersion(api_key=i, max_version=i % 7),
    "numbers alone, without a tag section": lambda i: ClassicApiVersion(api_key=i, max_version=i % 7),
    "numbers alone, with a flag": lambda i: Voted(partition_index=i, leader_epoch=-i, vote_granted=i % 3 == 0),
    "numbers alone, with uuids": lambda i: Vote(partition_index=i, voter_directory_id=uuid.UUID(int=i)),
    "arrays of three": partition,
    "arrays of one, two and none": lambda i: partition(i, 2, 1),
    "arrays of five": lambda i: partition(i, 5, 4, 5),
    "arrays as long as one byte can declare": lambda i: partition(i, 126, 126, 126),
    "arrays one longer": lambda i: partition(i, 127, 127, 127),
    "empty texts": lambda i: OffsetCommitRequestPartition(partition_index=i, committed_offset=i << 40),
    "nulls": lambda i: OffsetCommitRequestPartition(partition_index=i, committed_metadata=None),
    "texts of several bytes a character": lambda i: broker(i, "höst", "räck"),
    "texts as long as one byte can declare": lambda i: broker(i, "h" * 126, "r"),
    "texts one longer": lambda i: broker(i, "h" * 127, "r"),
    "texts and flags": lambda i: OpData(key="quota", value=i / 3, remove=i % 2 == 0),
    "classic lengths": lambda i: ClassicBroker(node_id=i, host="host", port=i),
}
COUNTS = (0, 1, 2, 3, MOST_MADE - 2, MOST_MADE - 1, MOST_MADE, MOST_MADE + 1, 2 * MOST_MADE, 300)


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_elements_are_read_and_written_as_they_are_alone(make: Callable[[int], Struct]) -> None:
    cls = type(make(0))
    for count in COUNTS:
        items = [make(i) for i in range(count)]
        parts: list[bytes] = []
        write_elements(cls, items, parts)
        data = b"".join(parts)
        assert data == one_by_one(items)
        read, end = read_structs(cls, b"before" + data + b"after", 6, count)
        assert (read, end) == (items, 6 + len(data))
        assert read == read_one_by_one(cls, data, count)
        parts = []
        write_compact_structs(cls, items, parts)
        compact = b"".join(parts)
        assert read_compact_structs(cls, compact, 1, compact[0]) == (items, len(compact))


def cluster() -> bytes:
    topic = MetadataResponseTopic(partitions=[partition(i) for i in range(60)])
    return MetadataResponse(brokers=[broker(i) for i in range(40)], topics=[topic]).encode()


def test_elements_that_end_early_are_an_error_at_every_length() -> None:
    data = cluster()
    for length in range(len(data)):
        with pytest.raises(DecodeError):
            MetadataResponse.decode(data[:length])


def test_a_changed_byte_among_elements_is_an_error_or_another_value() -> None:
    data = cluster()
    chance = random.Random(11)
    for at in range(len(data)):
        changed = data[:at] + bytes((chance.choice((0, 1, 2, 5, 127, 128, 255)),)) + data[at + 1 :]
        try:
            message = MetadataResponse.decode(changed)
        except DecodeError:
            continue
        assert message.encode() == changed


@pytest.mark.parametrize("make", [KINDS["texts and flags"], KINDS["numbers alone, with a flag"]])
def test_a_flag_among_elements_must_be_0_or_1(make: Callable[[int], Struct]) -> None:
    items = [make(i) for i in range(50)]
    size = len(one_by_one(items[:1]))
    data = bytearray(one_by_one(items))
    data[30 * size + size - 2] = 2
    with pytest.raises(IndexError):
        read_structs(type(items[0]), bytes(data), 0, 50)


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_a_count_beyond_the_bytes_costs_neither_time_nor_memory(make: Callable[[int], Struct]) -> None:
    data = one_by_one([make(i) for i in range(50)])

    def refuse() -> None:
        with pytest.raises((Malformed, IndexError, struct.error)):
            read_structs(type(make(0)), data, 0, 2**31 - 2)

    cost = cost_of(refuse)
    assert cost.steps < 10_000
    assert cost.memory < 1_000_000


@pytest.mark.parametrize("count", [-1, 11, 100_000])
def test_a_count_of_uuids_beyond_the_bytes_is_refused_before_any_is_made(count: int) -> None:
    data = b"before" + bytes(range(160))
    assert read_uuids(data, 6, 10) == ([uuid.UUID(bytes=data[at : at + 16]) for at in range(6, 166, 16)], 166)
    with pytest.raises(Malformed):
        read_uuids(data, 6, count)
