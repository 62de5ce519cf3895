"""aiokafka runs on the classes of kipwire: its features with the fake broker, and its bytes beside its own codec."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata
from aiokafka.errors import KafkaError
from aiokafka.protocol import admin, fetch, group, types
from aiokafka.protocol.api import Request

import kafka_messages
import kipwire
from kafka_messages.describe_groups_response.v3 import DescribedGroup, DescribeGroupsResponse
from kafka_messages.enums import ApiKey
from kipwire.testing import FakeBroker
from kipwire.testing.broker.apis import SERVED
from tests.support.example_programs import example
from tests.support.places import ROOT
from tests.support.subjects.aiokafka_features import FEATURES, forbidden_schemas, run

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")

BUILDERS = Request.__subclasses__()
OWN_CLASSES = {builder: builder._CLASSES for builder in BUILDERS}
DRAWN = 8
"""Number of compared values of each class."""
ANSWER_OF_ANOTHER_VERSION = {admin.DescribeGroupsRequest_v3}
"""aiokafka reads the answer to it as one of version 2, which lacks a field."""


@pytest.fixture(scope="module")
def adapter() -> ModuleType:
    return example("aiokafka_on_kipwire")


@pytest.fixture
def installed(adapter: ModuleType) -> Iterator[None]:
    adapter.install()
    yield
    adapter.uninstall()


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as broker:
        yield broker


def test_it_has_at_most_200_lines() -> None:
    assert len((ROOT / "examples/aiokafka_on_kipwire.py").read_text(encoding="utf-8").splitlines()) <= 200


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.usefixtures("installed")
def test_a_feature_runs_without_a_schema_of_aiokafka(broker: FakeBroker, name: str) -> None:
    with forbidden_schemas() as used:
        run(FEATURES[name], broker.bootstrap_servers, name)
    assert used == []


def test_without_the_adapter_the_schemas_are_used(broker: FakeBroker) -> None:
    with forbidden_schemas() as used, pytest.raises((AssertionError, KafkaError)):
        run(FEATURES["acknowledgements"], broker.bootstrap_servers, "orders")
    assert used


def test_it_is_taken_out_again(adapter: ModuleType) -> None:
    for _ in range(2):
        adapter.install()
        assert all(OWN_CLASSES[builder] != builder._CLASSES for builder in BUILDERS)
    adapter.uninstall()
    assert {builder: builder._CLASSES for builder in BUILDERS} == OWN_CLASSES
    for cls in adapter.STORED:
        assert not {"encode", "decode"} & set(vars(cls))


def flexible_versions() -> dict[int, range]:
    """Return the flexible versions of each API that a fake broker has: aiokafka has no class for any of them."""
    found = {}
    for builder in BUILDERS:
        served = SERVED.get(builder.API_KEY, range(0))
        flexible = [one for one in served if kafka_messages.request(builder.API_KEY, one).FLEXIBLE]
        if flexible and not builder.ALLOW_UNKNOWN_API_VERSION:
            after_theirs = builder._CLASSES[-1].API_VERSION + 1
            found[builder.API_KEY] = range(max(flexible[0], after_theirs), served.stop)
    found[ApiKey.LEAVE_GROUP] = range(2, 3)  # later ones have several members
    assert all(builder._CLASSES[-1].API_VERSION not in found.get(builder.API_KEY, ()) for builder in BUILDERS)
    return found


@pytest.mark.parametrize("name", ["rebalance", "transactions", "administration"])
def test_a_broker_may_have_none_of_the_versions_of_aiokafka(adapter: ModuleType, name: str) -> None:
    with FakeBroker(versions=flexible_versions()) as broker:
        with pytest.raises(NotImplementedError, match="Support for MetadataRequest v9 has not yet been added"):
            run(FEATURES[name], broker.bootstrap_servers, "orders")
        adapter.install()
        try:
            run(FEATURES[name], broker.bootstrap_servers, "orders")
        finally:
            adapter.uninstall()
        assert {one.api_version for one in broker.requests(ApiKey.METADATA)} == {9}


@pytest.mark.usefixtures("installed")
def test_what_a_later_version_cannot_carry_is_an_error() -> None:
    request: Any = fetch.FetchRequest(500, 1, 1 << 20, 0, [("orders", [(0, 0, 1 << 20)])])
    assert request.prepare({1: (12, 18)}).message().VERSION == 12
    with pytest.raises(
        kipwire.ConversionError, match=r"topics\[0\].topic: version 13 has no such field; 'orders' is dr"
    ):
        request.prepare({1: (13, 18)}).encode()


def pairs(builder: Any) -> Iterator[tuple[Any, Any]]:
    """Return each class of a request of aiokafka, with the one that replaces it."""
    theirs = OWN_CLASSES[builder]
    return zip(theirs, builder._CLASSES[-len(theirs) :], strict=True)


def drawn(kind: Any, source: random.Random) -> Any:
    """Return a value of a type of aiokafka."""
    if isinstance(kind, types.Array):
        return [drawn(kind.array_of, source) for _ in range(source.choice((0, 1, 3)))]
    if isinstance(kind, types.Schema):
        return tuple(drawn(one, source) for one in kind.fields)
    if isinstance(kind, types.String):
        return source.choice(("", "orders", "Grüße", "x" * 300))
    if kind in (types.Bytes, types.CompactBytes):
        return source.choice((b"", b"\x00\xff", bytes(300)))
    if kind is types.TaggedFields:
        return {}
    if kind is types.Boolean:
        return source.random() < 0.5
    if kind is types.Float64:
        return source.random()
    bits = {types.Int8: 7, types.Int16: 15, types.Int32: 31, types.Int64: 63}[kind]
    return source.choice((0, 1, -1, 2**bits - 1, -(2**bits)))


def answers(request: Any, frame: bytes) -> Any:
    """Return the response in a frame, as a connection of aiokafka reads it."""
    buffer = io.BytesIO(frame)
    assert request.parse_response_header(buffer).correlation_id == 7
    return request.RESPONSE_TYPE.decode(buffer)


@pytest.mark.usefixtures("installed")
def test_each_class_has_the_bytes_and_the_values_of_the_one_that_it_replaces() -> None:
    source, count = random.Random(5), 0
    for theirs, own in (pair for builder in BUILDERS for pair in pairs(builder)):
        for _ in range(DRAWN):
            values = [drawn(kind, source) for kind in theirs.SCHEMA.fields]
            before, after = theirs(*values), own(*values)
            assert after.encode() == before.encode(), theirs
            headers = [one.build_request_header(7, "me").encode() for one in (before, after)]
            assert headers[0] == headers[1], theirs
            count += 1
            if theirs in ANSWER_OF_ANOTHER_VERSION:
                continue
            answer = theirs.RESPONSE_TYPE(*[drawn(kind, source) for kind in theirs.RESPONSE_TYPE.SCHEMA.fields])
            frame = b"\x00\x00\x00\x07" + b"\x00" * theirs.FLEXIBLE_VERSION + answer.encode()
            read, read_by_ours = answers(before, frame), answers(after, frame)
            assert read == read_by_ours == answer, theirs
            assert (read.API_VERSION, read.to_object()) == (read_by_ours.API_VERSION, read_by_ours.to_object())
    assert count == 95 * DRAWN


@pytest.mark.usefixtures("installed")
def test_members_of_a_group_read_each_other() -> None:
    told = ConsumerProtocolMemberMetadata(0, ["orders", "bills"], b"mine")
    assert told.encode() == told.SCHEMA.encode((0, ["orders", "bills"], b"mine"))
    given = ConsumerProtocolMemberAssignment(0, [("orders", [0, 2])], b"")
    assert given.encode() == given.SCHEMA.encode((0, [("orders", [0, 2])], b""))
    assert [one.partition for one in ConsumerProtocolMemberAssignment.decode(given.encode()).partitions()] == [0, 2]
    newer = kafka_messages.message("ConsumerProtocolSubscription", 3)
    by_java = newer.from_json(
        {"topics": ["orders"], "userData": None, "ownedPartitions": [], "generationId": 4, "rackId": "r"}
    )
    for version in (3, 9):  # and a version that does not exist yet
        read = ConsumerProtocolMemberMetadata.decode(version.to_bytes(2, "big") + by_java.encode())
        assert (read.version, read.subscription, read.user_data) == (version, ["orders"], None)
    with pytest.raises(ValueError, match="outside the buffer"):
        ConsumerProtocolMemberAssignment.decode(b"")


# Faults of aiokafka, and faults that it lets pass.


def test_tagged_fields_have_sizes(adapter: ModuleType) -> None:
    values: tuple[Any, ...] = ([("orders", [(0, 5, {})], {5: b"new"})], 1000, {})
    (theirs,) = [one for one in OWN_CLASSES[admin.DeleteRecordsRequest] if one.API_VERSION == 2]
    with pytest.raises(kipwire.DecodeError):
        kafka_messages.request(ApiKey.DELETE_RECORDS, 2).decode(theirs(*values).encode())
    request = adapter.own_class(theirs, 2)(*values)
    read: Any = kafka_messages.request(ApiKey.DELETE_RECORDS, 2).decode(request.encode())
    assert read.topics[0].unknown_tagged_fields == {5: b"new"}


def test_groups_are_described_in_the_version_that_was_asked_for(adapter: ModuleType) -> None:
    one = DescribedGroup(group_id="one", authorized_operations=8)
    answer = DescribeGroupsResponse(groups=[one, DescribedGroup(group_id="two")])
    frame = kafka_messages.encode_response(answer, correlation_id=7)
    request = admin.DescribeGroupsRequest_v3(["one", "two"], True)
    with pytest.raises(ValueError, match="Error encountered"):
        answers(request, frame)
    own = adapter.own_class(admin.DescribeGroupsRequest_v3, 3)(["one", "two"], True)
    assert [(described[1], described[6]) for described in answers(own, frame).groups] == [("one", 8), ("two", -(2**31))]


def test_a_null_that_brokers_refuse_is_not_sent(adapter: ModuleType) -> None:
    values = ("billing", 1, None)
    with pytest.raises(kipwire.DecodeError, match="member_id"):
        kafka_messages.request(ApiKey.HEARTBEAT, 1).decode(group.HeartbeatRequest_v1(*values).encode())
    with pytest.raises(kipwire.EncodeError, match="HeartbeatRequest v1: member_id: must not be null"):
        adapter.own_class(group.HeartbeatRequest_v1, 1)(*values).encode()


def test_bytes_after_a_response_are_an_error(adapter: ModuleType) -> None:
    frame = b"\x00\x00\x00\x07" + bytes(6) + b"more"
    assert answers(group.HeartbeatRequest_v1("billing", 1, "m"), frame).error_code == 0
    with pytest.raises(kipwire.LeftOverError):
        answers(adapter.own_class(group.HeartbeatRequest_v1, 1)("billing", 1, "m"), frame)
