"""Counts of integers for KIP-625: exact against real varints, and the same however the counting is divided."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kafka_messages
from kafka_messages.fetch_response.v12 import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from kipwire import Message, Struct
from kipwire.codec.wire import write_packed, write_upacked, write_varint
from kipwire.drafts.kip_625 import Counts, IntegerCounts, count, count_all, merge
from kipwire.model import types
from kipwire.testing import messages

QUICK = settings(deadline=None)
TYPES = {row.name: row.bits for row in types.TYPES.values() if row.encodable}
SLOW = settings(deadline=None, max_examples=20)


def edges(bits: int) -> list[int]:
    near = {sign * (1 << bit) + step for bit in range(bits) for sign in (-1, 1) for step in (-2, -1, 0, 1)}
    return sorted(value for value in near if -(1 << bits - 1) <= value < 1 << bits - 1)


def integers(bits: int) -> st.SearchStrategy[int]:
    return st.sampled_from(edges(bits)) | st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


def written(value: int, encoding: str) -> bytes:
    form, bits = encoding[:-2], int(encoding[-2:])
    if form == "fixed":
        return value.to_bytes(bits // 8, "big", signed=True)
    return write_packed(value, bits) if form == "packed" else write_upacked(value, bits)


@pytest.mark.parametrize("type_", TYPES)
def test_every_length_changes_where_the_real_varints_do(type_: str) -> None:
    bits = TYPES[type_]
    for value in edges(bits):
        counts = IntegerCounts.of(type_, [value])
        zigzag = value * 2 if value >= 0 else -value * 2 - 1
        assert counts.packed.index(1) + 1 == len(write_varint(zigzag))
        assert counts.upacked.index(1) + 1 == len(write_varint(value % (1 << bits)))
        assert sum(counts.packed) == sum(counts.upacked) == 1


@QUICK
@given(st.sampled_from([*TYPES]).flatmap(lambda t: st.tuples(st.just(t), st.lists(integers(TYPES[t])))))
def test_sizes_are_those_of_the_written_bytes(given_: tuple[str, list[int]]) -> None:
    type_, values = given_
    counts = IntegerCounts.of(type_, values)
    assert counts.count == len(values)
    assert (counts.minimum, counts.maximum) == (min(values, default=None), max(values, default=None))
    assert counts.total == sum(values)
    assert counts.negative == sum(value < 0 for value in values)
    assert list(counts.sizes()) == [f"{form}{TYPES[type_]}" for form in ("fixed", "packed", "upacked")]
    for encoding, size in counts.sizes().items():
        assert size == sum(len(written(value, encoding)) for value in values)


@QUICK
@given(st.lists(integers(16)))
def test_sizes_under_narrower_encodings_are_those_of_the_written_bytes(values: list[int]) -> None:
    counts = IntegerCounts.of("int64", values)
    for form in ("fixed", "packed", "upacked"):
        for bits in (16, 32, 64):
            encoding = f"{form}{bits}"
            assert counts.size(encoding) == sum(len(written(value, encoding)) for value in values)


def test_size_under_an_encoding_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="32768 does not fit packed16"):
        IntegerCounts.of("int32", [0, 32768]).size("packed16")


@QUICK
@given(*[st.lists(integers(32)) for _ in range(3)])
def test_merging_is_associative_and_the_same_as_counting_all_at_once(a: list[int], b: list[int], c: list[int]) -> None:
    one, two, three = (IntegerCounts.of("int32", values) for values in (a, b, c))
    assert one.merged(two).merged(three) == one.merged(two.merged(three)) == IntegerCounts.of("int32", a + b + c)
    assert one.merged(two) == two.merged(one)


METADATA = st.sampled_from([0, 5, 8, 12, 13]).flatmap(
    lambda version: messages(kafka_messages.message("MetadataResponse", version), long=False)
)


@SLOW
@given(*[st.lists(METADATA, max_size=4) for _ in range(3)])
def test_parts_of_a_topic_can_be_counted_apart(a: list[Message], b: list[Message], c: list[Message]) -> None:
    one, two, three = map(count_all, (a, b, c))
    whole = count_all(a + b + c)
    assert merge(merge(one, two), three) == merge(one, merge(two, three)) == whole
    assert merge(whole, Counts()) == merge(Counts(), whole) == whole
    apart = Counts()
    for message in (*a, *b, *c):
        apart.add(message)
    assert apart == whole
    assert whole.messages == len(a + b + c)
    assert one == count_all(a), "merging must leave its arguments as they are"


def integers_in(cls: type[Struct], value: dict[str, Any]) -> Iterator[int]:
    """Yield every int16, int32 and int64 in the JSON form, which lacks tagged fields at defaults, as the wire does."""
    for field in cls.ATTRIBUTES:
        inner = value.get(field.json_name)
        for one in inner if isinstance(inner, list) else [] if inner is None else [inner]:
            if field.struct is not None:
                yield from integers_in(field.struct, one)
            elif field.element in TYPES:
                yield one


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("MetadataResponse", 0),
        ("MetadataResponse", 13),
        ("FetchResponse", 12),
        ("FetchResponse", 18),
        ("FetchRequest", 17),
        ("OffsetFetchResponse", 9),
    ],
)
def test_just_the_integers_on_the_wire_are_counted(name: str, version: int) -> None:
    @SLOW
    @given(messages(kafka_messages.message(name, version), long=False))
    def holds(message: Message) -> None:
        values = [*integers_in(type(message), message.to_json())]
        fields = count(message).fields.values()
        assert sum(field.count for field in fields) == len(values)
        assert sum(field.total for field in fields) == sum(values)
        assert sum(field.negative for field in fields) == sum(value < 0 for value in values)

    holds()


def test_paths_are_those_of_the_spec_and_elements_are_marked() -> None:
    partition = MetadataResponsePartition(leader_id=7, replica_nodes=[1, 2, 300])
    fields = count(MetadataResponse(topics=[MetadataResponseTopic(partitions=[partition])])).fields
    assert fields["Topics.Partitions.LeaderId"].maximum == 7
    assert not fields["Topics.Partitions.LeaderId"].is_element
    assert fields["Topics.Partitions.ReplicaNodes"].sizes() == {"fixed32": 12, "packed32": 4, "upacked32": 4}
    assert fields["Topics.Partitions.ReplicaNodes"].is_element
    assert fields["Topics.Partitions.ErrorCode"].type == "int16"
    assert "Brokers.NodeId" not in fields


def test_tagged_fields_count_only_where_they_are_written() -> None:
    silent, reported = PartitionData(), PartitionData(diverging_epoch=EpochEndOffset(epoch=4, end_offset=9))
    fields = count(FetchResponse(responses=[FetchableTopicResponse(partitions=[silent, reported])])).fields
    assert fields["Responses.Partitions.DivergingEpoch.Epoch"].count == 1
    assert "Responses.Partitions.CurrentLeader.LeaderId" not in fields


def test_counting_makes_no_struct_that_nobody_asked_for() -> None:
    partition = PartitionData()
    before = partition._lazy_current_leader
    count(FetchResponse(responses=[FetchableTopicResponse(partitions=[partition])]))
    assert partition._lazy_current_leader is before


def test_many_values_are_settled_in_between_without_losing_any() -> None:
    nodes = list(range(100_000))
    partition = MetadataResponsePartition(replica_nodes=nodes)
    message = MetadataResponse(topics=[MetadataResponseTopic(partitions=[partition] * 3)])
    counts = Counts()
    counts.add(message)
    assert sum(map(len, counts._waiting.values())) < 1000, "values must not pile up"
    counted = counts.fields["Topics.Partitions.ReplicaNodes"]
    assert (counted.count, counted.total) == (300_000, 3 * sum(nodes))


def test_whatever_python_takes_as_an_index_counts_as_its_number() -> None:
    class Index:
        def __index__(self) -> int:
            return -3

    values: list[int] = [Index(), True, 200]  # type: ignore[list-item]
    counts = IntegerCounts.of("int32", values)
    assert counts == IntegerCounts.of("int32", [-3, 1, 200])
    assert type(counts.minimum) is int


@SLOW
@given(st.lists(METADATA, max_size=4))
def test_counts_can_be_sent_as_json_and_pickled(some: list[Message]) -> None:
    counts = count_all(some)
    assert Counts.from_plain(json.loads(json.dumps(counts.to_plain()))) == counts
    assert pickle.loads(pickle.dumps(counts)) == counts


@pytest.mark.parametrize(
    "value",
    [
        {},
        None,
        {"message": "A", "versions": {}, "fields": {"X": {}}},
        {"message": "A", "versions": [], "fields": {}},
        {"message": "A", "versions": {"one": 1}, "fields": {}},
    ],
)
def test_plain_data_of_another_form_is_refused(value: object) -> None:
    with pytest.raises(ValueError):
        Counts.from_plain(value)  # type: ignore[arg-type]


def test_a_histogram_of_the_wrong_length_is_refused() -> None:
    plain = count(MetadataResponse()).to_plain()
    plain["fields"]["ControllerId"]["packed"].append(0)
    with pytest.raises(ValueError, match="histogram of ControllerId"):
        Counts.from_plain(plain)


def test_counts_of_different_messages_do_not_mix() -> None:
    counts = count(MetadataResponse())
    with pytest.raises(ValueError, match="cannot add a FetchResponse to counts of MetadataResponse"):
        counts.add(FetchResponse())
    with pytest.raises(ValueError, match="cannot be merged"):
        merge(counts, count(FetchResponse()))
    with pytest.raises(ValueError, match="cannot be merged"):
        IntegerCounts.of("int32", [1]).merged(IntegerCounts.of("int64", [1]))


def test_a_value_out_of_range_is_reported_with_its_field() -> None:
    with pytest.raises(ValueError, match="MetadataResponse: ControllerId: 2147483648 is out of range for int32"):
        count(MetadataResponse(controller_id=2**31)).to_plain()


def test_sums_of_large_values_are_exact() -> None:
    counts = IntegerCounts.of("int64", [2**63 - 1] * 1000)
    assert Fraction(counts.total, counts.count) == 2**63 - 1
