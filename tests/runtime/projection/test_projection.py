"""Chosen fields of messages: the shape of their values, their replacement, and refusals."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import kafka_messages
from kafka_messages.fetch_response import v16 as fetch
from kafka_messages.find_coordinator_response.v4 import Coordinator
from kafka_messages.find_coordinator_response.v4 import FindCoordinatorResponse as Found
from kafka_messages.metadata_response import v12
from kafka_messages.metadata_response.v12 import MetadataResponse
from kipwire import DecodeError, EncodeError, UnsupportedVersionError
from kipwire.projection import Projection, ProjectionError, VersionedProjection

MESSAGE = MetadataResponse(
    brokers=[
        v12.MetadataResponseBroker(node_id=1, host="kafka-1", port=9092),
        v12.MetadataResponseBroker(node_id=2, host="käfka-2", port=9093, rack="r"),
    ],
    cluster_id="c",
    topics=[
        v12.MetadataResponseTopic(
            name="a",
            partitions=[v12.MetadataResponsePartition(leader_id=number, replica_nodes=[1, 2]) for number in (5, 6)],
        ),
        v12.MetadataResponseTopic(name=None, partitions=[]),
    ],
)
MESSAGE.topics[0].unknown_tagged_fields = {77: b"seven"}
DATA = MESSAGE.encode()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("cluster_id", "c"),
        ("brokers", MESSAGE.brokers),
        ("brokers.rack", [None, "r"]),
        ("topics.name", ["a", None]),
        ("topics.partitions.leader_id", [[5, 6], []]),
        ("topics.partitions.replica_nodes", [[[1, 2], [1, 2]], []]),
        ("topics.partitions", [MESSAGE.topics[0].partitions, []]),
    ],
)
def test_each_array_on_the_way_gives_a_list(path: str, expected: object) -> None:
    assert Projection(MetadataResponse, path).decode(DATA) == (expected,)


def test_values_come_in_the_order_of_their_paths() -> None:
    both = Projection[list[int], list[str]](MetadataResponse, "brokers.port", "brokers.host")
    assert both.paths == ("brokers.port", "brokers.host")
    assert both.decode(DATA) == ([9092, 9093], ["kafka-1", "käfka-2"])
    assert Projection(MetadataResponse).decode(DATA) == ()


def test_a_null_array_on_the_way_gives_none() -> None:
    request: Any = kafka_messages.message("MetadataRequest", 12)
    names = Projection(request, "topics.name")
    data = request(topics=None).encode()
    assert names.decode(data) == (None,)
    assert names.replace(data, (None,)) == data
    with pytest.raises(EncodeError, match=r"topics: is null, so the value must be None, not \['a'\]"):
        names.replace(data, (["a"],))


def test_a_tagged_field_that_is_left_out_gives_its_default() -> None:
    chosen = Projection(fetch.FetchResponse, "node_endpoints.host", "responses.partitions.current_leader.leader_epoch")
    data = fetch.FetchResponse(responses=[fetch.FetchableTopicResponse(partitions=[fetch.PartitionData()])]).encode()
    assert chosen.decode(data) == ([], [[fetch.LeaderIdAndEpoch().leader_epoch]])
    assert chosen.replace(data, ([], [[7]])) == (
        fetch.FetchResponse(
            responses=[
                fetch.FetchableTopicResponse(
                    partitions=[fetch.PartitionData(current_leader=fetch.LeaderIdAndEpoch(leader_epoch=7))]
                )
            ]
        ).encode()
    )


def test_a_message_in_a_longer_buffer() -> None:
    cluster = Projection[str](MetadataResponse, "cluster_id")
    buffer = b"before" + DATA + b"after"
    assert cluster.read(buffer, 6) == (("c",), 6 + len(DATA))
    changed = cluster.replace_at(buffer, 6, ("a longer id",))
    assert (changed[:6], changed[-5:]) == (b"before", b"after")
    assert MetadataResponse.decode(changed[6:-5]).cluster_id == "a longer id"
    assert cluster.decode(memoryview(DATA)) == cluster.decode(bytearray(DATA)) == ("c",)  # type: ignore[arg-type]
    for call in (lambda: cluster.read(DATA, -1), lambda: cluster.replace_at(DATA, len(DATA) + 1, ("d",))):
        with pytest.raises(ValueError, match="is outside the buffer"):
            call()


def test_replacing_is_decoding_setting_and_encoding() -> None:
    addresses = Projection(MetadataResponse, "brokers.host", "brokers.port", "topics.name", "topics.partitions")
    replaced = MetadataResponse.decode(DATA)
    for broker in replaced.brokers:
        broker.host, broker.port = "a" * 200, 1
    replaced.topics[0].name = "prefix.a"
    replaced.topics[1].partitions = [v12.MetadataResponsePartition(leader_id=4)]
    values = (["a" * 200] * 2, [1, 1], ["prefix.a", None], [t.partitions for t in replaced.topics])
    assert addresses.replace(DATA, values) == replaced.encode()
    assert addresses.replace(DATA, addresses.decode(DATA)) == DATA


def test_a_default_that_was_spelt_out_is_dropped_as_by_encoding() -> None:
    throttle = Projection(fetch.FetchResponse, "throttle_time_ms")
    data = fetch.FetchResponse().encode()
    assert data.endswith(b"\0")
    spelt_out = data[:-1] + b"\x01\x00\x01\x01"  # tag 0 with one byte: an array of no endpoints
    assert fetch.FetchResponse.decode(spelt_out) == fetch.FetchResponse()
    assert throttle.decode(spelt_out) == (0,)
    assert throttle.replace(spelt_out, (0,)) == data


@pytest.mark.parametrize(
    ("paths", "values", "reason"),
    [
        (["brokers.port"], ([1],), "brokers: has 2 elements, but 1 value given"),
        (["brokers.port"], (7,), "brokers: must be given a list of 2 values, not 7"),
        (["topics.partitions.leader_id"], ([[1, 2], [3]],), r"topics\[1\].partitions: has 0 elements, but 1 value"),
        (["brokers.port"], ([1, 2**31],), r"brokers\[1\].port: 2147483648 is out of range"),
        (["brokers.host"], (["a", None],), r"brokers\[1\].host: must not be null in this version"),
        (["brokers.host"], (["a", 5],), r"brokers\[1\].host: must be a str, not int"),
        (["cluster_id"], ("a" * 32768,), "cluster_id: .*32,?767"),
    ],
)
def test_values_that_do_not_fit_are_refused_with_their_place(paths: list[str], values: Any, reason: str) -> None:
    with pytest.raises(EncodeError, match=reason):
        Projection(MetadataResponse, *paths).replace(DATA, values)


@pytest.mark.parametrize(
    ("paths", "reason"),
    [
        (["brokers.hosst"], "has no field 'brokers.hosst': MetadataResponseBroker has no 'hosst'; did you mean host?"),
        (["brokers.host.name"], r"has no field 'brokers.host.name': brokers.host is not a struct"),
        (["brokers."], "has no field 'brokers.': a name is empty"),
        (["brokers.host", "brokers.host"], "'brokers.host' is chosen twice; give each path once"),
        (["brokers", "brokers.host"], "'brokers.host' is part of 'brokers'; choose one of them"),
        (["brokers.host", "brokers"], "'brokers.host' is part of 'brokers'; choose one of them"),
    ],
)
def test_paths_that_make_no_sense_are_refused(paths: list[str], reason: str) -> None:
    with pytest.raises(ProjectionError, match=reason.replace("?", r"\?")):
        Projection(MetadataResponse, *paths)
    with pytest.raises(ProjectionError, match=reason.replace("?", r"\?")):
        VersionedProjection(kafka_messages.REGISTRY, "MetadataResponse", *paths)


def test_too_few_values_and_trailing_bytes_are_refused() -> None:
    cluster = Projection(MetadataResponse, "cluster_id")
    with pytest.raises(ProjectionError, match="0 values for 1 chosen fields of MetadataResponse v12"):
        cluster.replace(DATA, ())
    for call in (lambda: cluster.decode(DATA + b"\0"), lambda: cluster.replace(DATA + b"\0", ("d",))):
        with pytest.raises(DecodeError, match="1 trailing byte after the message") as caught:
            call()
        assert caught.value.offset == len(DATA)


def test_projections_can_be_pickled_and_shown() -> None:
    hosts = Projection(MetadataResponse, "brokers.host")
    assert repr(hosts) == "<Projection of MetadataResponse v12: brokers.host>"
    assert pickle.loads(pickle.dumps(hosts)).decode(DATA) == hosts.decode(DATA)
    versioned = VersionedProjection(kafka_messages.REGISTRY, "MetadataResponse", "brokers.host")
    assert repr(versioned) == "<VersionedProjection of MetadataResponse: brokers.host>"
    assert pickle.loads(pickle.dumps(versioned)).decode(DATA, 12) == hosts.decode(DATA)


def test_a_class_of_ones_own_is_read_by_its_own_methods() -> None:
    class Shouting(MetadataResponse):
        __slots__ = ()

        @classmethod
        def decode(cls, data: bytes) -> Any:
            message = MetadataResponse.decode(data)
            message.cluster_id = "LOUD"
            return message

    assert Projection(Shouting, "cluster_id").decode(DATA) == ("LOUD",)


COORDINATORS = VersionedProjection(
    kafka_messages.REGISTRY, "FindCoordinatorResponse", "host", "port", "coordinators.host", "coordinators.port"
)


def test_a_field_that_a_version_does_not_have_is_none() -> None:
    old: Any = kafka_messages.message("FindCoordinatorResponse", 0)
    data = old(host="h", port=1).encode()
    assert COORDINATORS.decode(data, 0) == ("h", 1, None, None)
    assert COORDINATORS.absent(0) == ("coordinators.host", "coordinators.port")
    assert COORDINATORS.replace(data, 0, ("g", 2, None, None)) == old(host="g", port=2).encode()
    new = Found(coordinators=[Coordinator(key="k", node_id=1, host="h", port=1)]).encode()
    assert COORDINATORS.read(b"x" + new + b"y", 4, 1) == ((None, None, ["h"], [1]), 1 + len(new))
    assert COORDINATORS.absent(4) == ("host", "port")
    changed = COORDINATORS.replace_at(b"x" + new + b"y", 4, 1, (None, None, ["g"], [2]))
    assert Found.decode(changed[1:-1]).coordinators[0].port == 2
    with pytest.raises(EncodeError, match="v4: host: is not in this version; the value must be None, not 'g'"):
        COORDINATORS.replace(new, 4, ("g", None, ["g"], [2]))
    with pytest.raises(ProjectionError, match="3 values for 4 chosen fields"):
        COORDINATORS.replace(new, 4, (None, None, ["g"]))
    with pytest.raises(
        UnsupportedVersionError,
        match="unknown version 99 of FindCoordinatorResponse in kafka_messages; known versions are",
    ):
        COORDINATORS.decode(new, 99)
