"""Properties of every message in every version, with random values, bytes and faults."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kafka_messages
from kafka_messages.metadata_response.v12 import MetadataResponsePartition, MetadataResponseTopic
from kipwire import Message
from kipwire.testing.strategies import damaged, repeated
from tests.support import golden_data, property_checks
from tests.support.cases import of_each, some_versions
from tests.support.places import FORMS, LAYOUTS
from tests.support.property_checks import for_all, messages_of
from tests.support.spec_package import declared_versions

WITHOUT_RESTS = [
    *(("kafka_messages", *pair) for pair in golden_data.every_message_and_version()),
    *(("forms", *pair) for pair in declared_versions(FORMS)),
]
EVERY_CLASS = [*WITHOUT_RESTS, *(("layouts", *pair) for pair in declared_versions(LAYOUTS))]


ClassOf = Callable[[tuple[str, str, int]], type[Message]]


@pytest.fixture
def class_of(request: pytest.FixtureRequest) -> ClassOf:
    """The class of a package, a name and a version."""

    def found(which: tuple[str, str, int]) -> type[Message]:
        package, name, version = which
        if package == "kafka_messages":
            return kafka_messages.message(name, version)
        cls: type[Message] = request.getfixturevalue(package)(name, version)
        return cls

    return found


def name_of(which: tuple[str, str, int]) -> str:
    return which[1]


def label(which: tuple[str, str, int]) -> str:
    return "-".join(map(str, which))


of_every_class = of_each("which", some_versions(EVERY_CLASS), together=name_of, label=label)
of_every_class_without_rests = of_each("which", some_versions(WITHOUT_RESTS), together=name_of, label=label)
"""Record formats may take all bytes that are left, so that fewer of them can be a message, too."""


def test_elements_that_are_drawn_again_and_again_are_copies() -> None:
    topic = MetadataResponseTopic(partitions=[MetadataResponsePartition(replica_nodes=[1, 2])])
    topic.partitions[0].unknown_tagged_fields = {7: b"x"}
    first, second, third = repeated([topic], 3)
    assert first == second == third == topic
    first.partitions[0].replica_nodes.append(3)
    first.partitions[0].unknown_tagged_fields[8] = b"y"
    first.unknown_tagged_fields[9] = b"z"
    first.partitions.append(MetadataResponsePartition())
    assert second == third == topic != first
    assert topic.partitions[0].replica_nodes == [1, 2]


@given(st.binary(max_size=40).flatmap(lambda data: st.tuples(st.just(data), damaged(data))))
@settings(max_examples=300, derandomize=True, database=None)
def test_damaged_bytes_are_never_unharmed(data_and_damaged: tuple[bytes, bytes]) -> None:
    data, faulty = data_and_damaged
    assert faulty != data
    assert len(faulty) <= len(data) + 12


def test_every_kind_of_fault_is_met() -> None:
    data, met = bytes(range(100, 130)), set()

    @given(damaged(data))
    @settings(max_examples=300, derandomize=True, database=None)
    def collect(faulty: bytes) -> None:
        at = next((at for at, (a, b) in enumerate(zip(data, faulty, strict=False)) if a != b), len(faulty))
        if data.startswith(faulty):
            met.add("cut")
        elif (
            len(faulty) == len(data) and (data[at] ^ faulty[at]).bit_count() == 1 and data[at + 1 :] == faulty[at + 1 :]
        ):
            met.add("flipped")
        elif len(faulty) == len(data):
            met.add("overwritten")
        elif len(faulty) < len(data) and data.endswith(faulty[at:]):
            met.add("removed")
        elif data.endswith(faulty[at + len(faulty) - len(data) :]):
            added = faulty[at : at + len(faulty) - len(data)]
            met.add("repeated" if added * 2 in faulty and added in data else "added")

    collect()
    assert met == {"cut", "flipped", "overwritten", "removed", "repeated", "added"}


@of_every_class
def test_messages_survive_bytes_json_and_copies(which: tuple[str, str, int], class_of: ClassOf) -> None:
    def survives(message: Message) -> None:
        property_checks.check_round_trip(message)
        property_checks.check_unknown_tagged_fields(message)
        property_checks.check_json(message)
        property_checks.check_copies(message)

    for_all(survives, messages_of(class_of(which)))


@of_every_class_without_rests
def test_every_truncation_is_refused_with_its_place(which: tuple[str, str, int], class_of: ClassOf) -> None:
    for_all(property_checks.check_truncations, messages_of(class_of(which), long=False).map(property_checks.slim))


@of_every_class
def test_damaged_and_random_bytes_are_refused_or_have_a_meaning(which: tuple[str, str, int], class_of: ClassOf) -> None:
    cls = class_of(which)
    encoded = messages_of(cls).map(lambda message: message.encode())
    faulty = encoded.flatmap(lambda data: st.lists(damaged(data), min_size=8, max_size=8))
    noise = st.lists(st.binary(max_size=64), min_size=8, max_size=8)
    for_all(property_checks.check_many_bytes, st.just(cls), st.builds(list.__add__, faulty, noise))


@of_every_class
def test_encoding_refuses_what_checking_refuses(which: tuple[str, str, int], class_of: ClassOf) -> None:
    for_all(property_checks.check_encode_agrees, property_checks.messages_with_a_wrong_value(class_of(which)))
