"""Chosen fields: the kernel gives the values, bytes and verdicts of decoding and encoding in Python."""

from __future__ import annotations

import json
import random
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

import kafka_messages
from kafka_messages.fetch_response.v16 import FetchResponse
from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponseBroker, MetadataResponseTopic
from kipwire import Message
from kipwire.projection import Projection, python_engine
from kipwire.projection.paths import steps_to
from kipwire.testing import damaged
from tests.support import golden_data, native_checks, projection_checks, property_checks
from tests.support.cases import of_each, some_versions
from tests.support.places import FORMS, LAYOUTS
from tests.support.spec_package import Classes, classes_of, declared_versions
from tests.support.subjects.kernel_classes import KERNEL, SERVED_CLASSES, needs_kernel

pytestmark = needs_kernel


def check_agreement(cls: type[Message]) -> None:
    """Compare on messages of a class, their bytes with faults, and with values of another message and wrong ones."""
    if not cls.ATTRIBUTES:
        return

    def agrees(message_and_faulty: tuple[Message, list[bytes]], other: Message, seed: int) -> None:
        message, faulty = message_and_faulty
        chance = random.Random(seed)
        data = message.encode()
        with native_checks.alone(KERNEL):
            for _ in range(3):
                paths = projection_checks.some_paths(cls, chance)
                values = projection_checks.check_read(KERNEL, cls, data, paths)
                assert values is not None
                projection_checks.check_replace(KERNEL, cls, data, paths, values, usual=True)
                others = python_engine.values_of(other, [steps_to(cls, path) for path in paths])
                mixed = projection_checks.other_values(values, others, chance)
                projection_checks.check_replace(KERNEL, cls, data, paths, mixed, usual=False)
                spoilt = projection_checks.spoilt_values(values, chance)
                projection_checks.check_replace(KERNEL, cls, data, paths, spoilt, usual=False)
                for bytes_ in faulty:
                    if (read := projection_checks.check_read(KERNEL, cls, bytes_, paths)) is not None:
                        projection_checks.check_replace(KERNEL, cls, bytes_, paths, read, usual=False)

    with_faults = property_checks.messages_of(cls).flatmap(
        lambda message: st.tuples(st.just(message), st.lists(damaged(message.encode()), min_size=4, max_size=4))
    )
    property_checks.for_all(agrees, with_faults, property_checks.messages_of(cls), st.integers(0, 2**32))


@pytest.mark.night
@of_each("package_name, name, version", SERVED_CLASSES, together=lambda package_name, name, version: name)
def test_kernel_and_python_agree_on_chosen_fields_of_every_class(package_name: str, name: str, version: int) -> None:
    check_agreement(import_module(package_name).message(name, version))


@of_each("name, version", some_versions(declared_versions(FORMS)), together=lambda name, version: name)
def test_kernel_and_python_agree_on_chosen_fields_of_every_form(forms: Classes, name: str, version: int) -> None:
    check_agreement(forms(name, version))


@of_each("name, version", declared_versions(LAYOUTS), together=lambda name, version: name)
def test_kernel_and_python_agree_on_chosen_fields_of_layouts(layouts: Classes, name: str, version: int) -> None:
    check_agreement(layouts(name, version))


@of_each("name, version", golden_data.every_message_and_version(), together=lambda name, version: name)
def test_kernel_serves_each_field_of_every_message(name: str, version: int) -> None:
    cls = kafka_messages.message(name, version)
    for path in projection_checks.every_path(cls):
        assert projection_checks.projector(KERNEL, cls, [path]) is not None, path


@pytest.mark.parametrize("origin", golden_data.ORIGINS)
def test_kernel_alone_reads_and_replaces_in_every_golden_message(origin: str) -> None:
    chance = random.Random(origin)
    with native_checks.alone(KERNEL):
        for line in golden_data.lines(origin):
            cls = kafka_messages.message(line["message"], line["version"])
            data = bytes.fromhex(line["hex"])
            if not cls.ATTRIBUTES:
                continue
            paths = projection_checks.some_paths(cls, chance)
            values = projection_checks.check_read(KERNEL, cls, data, paths)
            assert values is not None
            assert projection_checks.projector(KERNEL, cls, paths).replace(data, list(values), 0, True) == data
            projection_checks.check_read(KERNEL, cls, native_checks.damage(data, chance), paths)


def test_values_that_the_kernel_makes_or_drops_are_not_kept() -> None:
    """All references are given back, from whole messages, broken ones, and replacements that fail."""
    name = "a topic whose name nobody else has"
    data = MetadataResponse(topics=[MetadataResponseTopic(name=name, partitions=[])] * 3).encode()
    names: Any = Projection(MetadataResponse, "topics.name", "topics.partitions.replica_nodes", "brokers.rack")
    kernel = names._projector
    before = _blocks()
    for _ in range(300):
        values = kernel.decode(data)
        for cut in (1, 20, 60, len(data) - 1):
            assert kernel.decode(data[:cut]) is None
            assert kernel.replace(data[:cut], values, 0, True) is None
        assert kernel.replace(data, ([name, 5, name], values[1], []), 0, True) is None
        assert kernel.replace(data, values, 0, True) == data
        del values
    assert abs(_blocks() - before) < 100


def test_more_fields_than_fit_on_its_stack_are_left_to_python(tmp_path: Path) -> None:
    fields = [{"name": f"Number{at}", "type": "int32", "versions": "0+", "about": "A number."} for at in range(129)]
    spec = {"type": "data", "name": "Numbers", "validVersions": "0", "flexibleVersions": "none", "fields": fields}
    (cls,) = classes_of(json.dumps(spec), "many_numbers", tmp_path).values()
    paths = [field.name for field in cls.ATTRIBUTES]
    data = cls(**{path: at for at, path in enumerate(paths)}).encode()
    for some, is_served in ((paths[1:], True), (paths, False)):
        projection: Any = Projection(cls, *some)
        assert (projection._projector is not None) is is_served
        assert projection.decode(data) == tuple(range(129))[-len(some) :]
        assert projection.replace(data, projection.decode(data)) == data


def test_tagged_fields_come_and_go_with_their_values() -> None:
    endpoints = Projection(FetchResponse, "node_endpoints", "responses.partitions.current_leader.leader_id")
    data = FetchResponse().encode()
    kernel: Any = endpoints._projector
    assert kernel.decode(data) == ([], [])
    assert kernel.replace(data, [[], []], 0, True) == data
    cls: Any = import_module("kafka_messages.fetch_response.v16")
    one = cls.NodeEndpoint(node_id=1, host="h", port=2)
    grown = kernel.replace(data, [[one], []], 0, True)
    assert grown == FetchResponse(node_endpoints=[one]).encode() != data
    assert kernel.replace(grown, [[], []], 0, True) == data


def test_a_default_that_is_not_equal_to_itself_is_written_as_by_encoding(forms: Classes) -> None:
    cls: Any = forms("TaggedDefaults", 0)
    left_out = b"\0"
    message = cls.decode(left_out)
    assert message.encode() != left_out  # NaN is not NaN, so the field is never left out
    assert Projection(cls, "uint32").replace(left_out, (message.uint32,)) == message.encode()


def test_a_lazy_struct_in_a_tag_section_is_added_and_dropped() -> None:
    cls: Any = import_module("kafka_messages.fetch_response.v16")
    leader = Projection(FetchResponse, "responses.partitions.current_leader.leader_id")
    kernel: Any = leader._projector

    def with_leader(number: int) -> bytes:
        partition = cls.PartitionData(current_leader=cls.LeaderIdAndEpoch(leader_id=number))
        partition.unknown_tagged_fields = {0x7F: b"kept"}
        return bytes(FetchResponse(responses=[cls.FetchableTopicResponse(partitions=[partition])]).encode())

    default = cls.LeaderIdAndEpoch().leader_id
    assert kernel.decode(with_leader(default)) == ([[default]],)
    assert kernel.replace(with_leader(default), [[[5]]], 0, True) == with_leader(5)
    assert kernel.replace(with_leader(5), [[[6]]], 0, True) == with_leader(6)
    assert kernel.replace(with_leader(5), [[[default]]], 0, True) == with_leader(default)


def test_a_value_that_python_knows_is_left_to_it() -> None:
    data = MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host="a", port=1)]).encode()
    hosts = Projection[list[str]](MetadataResponse, "brokers.host")
    kernel: Any = hosts._projector
    given: Any = (("b",),)
    assert kernel.replace(data, given, 0, True) is None
    assert MetadataResponse.decode(hosts.replace(data, given)).brokers[0].host == "b"


def _blocks() -> int:
    return sys.getallocatedblocks()
