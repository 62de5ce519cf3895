"""The compiled kernel gives the values, bytes and errors of the Python methods, and gives way where it should."""

from __future__ import annotations

import random
import uuid
from importlib import import_module
from typing import Any

import pytest
from hypothesis import strategies as st

import kafka_messages
from kipwire import DecodeError, EncodeError, Field, Message, Struct, native
from kipwire.description.plan import NoPlanError, plan_of
from kipwire.drafts import proposals
from kipwire.message.shapes import shapes_between
from kipwire.testing import damaged
from tests.support import golden_data, native_checks, property_checks
from tests.support.cases import of_each, some_versions
from tests.support.places import FORMS, LAYOUTS
from tests.support.spec_package import Classes, declared_versions
from tests.support.subjects.kernel_classes import FETCH, KERNEL, METADATA, SERVED_CLASSES, needs_kernel

CONVERTED = [
    (name, version)
    for name, version in golden_data.every_message_and_version()
    if version in (versions := kafka_messages.versions(name))[:: max(1, len(versions) - 1)] and len(versions) > 1
]
"""The lowest and the highest version of each of Kafka's messages that has several."""


def check_agreement(cls: type[Message]) -> None:
    """Compare on messages of a class, on their bytes with faults, and with wrong values."""

    def agrees(message_and_faulty: tuple[Message, list[bytes]], seed: int) -> None:
        message, faulty = message_and_faulty
        with native_checks.alone(KERNEL):
            native_checks.check_encode(KERNEL, message, usual=True)
            data = message.encode()
            assert native_checks.check_decode(KERNEL, cls, data) is not None
            for bytes_ in faulty:
                native_checks.check_decode(KERNEL, cls, bytes_)
            native_checks.spoil(message, random.Random(seed))
            native_checks.check_encode(KERNEL, message, usual=False)

    with_faults = property_checks.messages_of(cls).flatmap(
        lambda message: st.tuples(st.just(message), st.lists(damaged(message.encode()), min_size=4, max_size=4))
    )
    property_checks.for_all(agrees, with_faults, st.integers(0, 2**32))


@needs_kernel
@of_each(
    "package_name, name, version", some_versions(SERVED_CLASSES), together=lambda package_name, name, version: name
)
def test_kernel_and_python_agree_on_every_class(package_name: str, name: str, version: int) -> None:
    check_agreement(import_module(package_name).message(name, version))


@needs_kernel
@of_each("name, version", some_versions(CONVERTED), together=lambda name, version: name)
def test_kernel_and_python_convert_messages_of_every_class_alike(name: str, version: int) -> None:
    cls = kafka_messages.message(name, version)
    others = [kafka_messages.message(name, other) for other in kafka_messages.versions(name) if other != version]

    def agrees(message: Message, seed: int) -> None:
        with native_checks.alone(KERNEL):
            for other in others:
                native_checks.check_convert(KERNEL, message, other, usual=False)
            native_checks.spoil(message, random.Random(seed))
            native_checks.check_convert(KERNEL, message, others[seed % len(others)], usual=False)

    property_checks.for_all(agrees, property_checks.messages_of(cls), st.integers(0, 2**32))
    with native_checks.alone(KERNEL):
        for other in others:
            is_of_python = shapes_between(cls, other) is not None
            native_checks.check_convert(KERNEL, cls(), other, usual=not is_of_python)


@needs_kernel
@of_each("name, version", some_versions(declared_versions(FORMS)), together=lambda name, version: name)
def test_kernel_and_python_agree_on_every_form_of_the_language(forms: Classes, name: str, version: int) -> None:
    check_agreement(forms(name, version))


@needs_kernel
@of_each("name, version", declared_versions(LAYOUTS), together=lambda name, version: name)
def test_kernel_and_python_agree_on_every_kind_of_layout(layouts: Classes, name: str, version: int) -> None:
    assert KERNEL.serves(layouts(name, version))
    check_agreement(layouts(name, version))


@needs_kernel
@pytest.mark.parametrize("origin", golden_data.ORIGINS)
def test_kernel_alone_reads_and_writes_every_golden_message(origin: str) -> None:
    chance = random.Random(origin)
    with native_checks.alone(KERNEL):
        for line in golden_data.lines(origin):
            cls = kafka_messages.message(line["message"], line["version"])
            data = bytes.fromhex(line["hex"])
            message = native_checks.check_decode(KERNEL, cls, data)
            assert type(message) is cls
            assert KERNEL.encode(message) == data
            assert KERNEL.encoded_size(message) == len(data)
            native_checks.check_decode(KERNEL, cls, native_checks.damage(data, chance))


@needs_kernel
def test_output_grows_wherever_in_a_message_its_first_buffer_ends() -> None:
    with native_checks.alone(KERNEL):
        for size in range(3850, 4150):  # the first buffer has 4,096 bytes
            broker = METADATA.MetadataResponseBroker(node_id=2**31 - 1, host="h" * size, port=-5, rack="rack" * 5)
            partition = METADATA.MetadataResponsePartition(replica_nodes=[1, 2**30, -1] * 5, isr_nodes=[2])
            topic = METADATA.MetadataResponseTopic(name=None, topic_id=uuid.UUID(int=size), partitions=[partition] * 2)
            message = METADATA.MetadataResponse(brokers=[broker], cluster_id="é" * 9, topics=[topic])
            native_checks.check_encode(KERNEL, message, usual=True)


@needs_kernel
def test_errors_are_those_of_the_python_methods() -> None:
    cls, chance, met = METADATA.MetadataResponse, random.Random(1), set()
    data = next(bytes.fromhex(one["hex"]) for one in golden_data.messages()["MetadataResponse", 12] if len(one["hex"]))
    for _ in range(300):
        faulty = native_checks.damage(data, chance)
        try:
            cls.decode(faulty)
        except DecodeError as error:
            with pytest.raises(DecodeError) as caught:
                native.PYTHON["decode"](cls, faulty)
            assert (error.path, error.offset, str(error)) == (caught.value.path, caught.value.offset, str(caught.value))
            met.add(error.path)
    assert len(met) > 3
    message = cls(brokers=[METADATA.MetadataResponseBroker(port="9092")])
    for name in ("encode", "encoded_size"):
        with pytest.raises(EncodeError, match=r"brokers\[0\].port: must be an int, not str"):
            getattr(message, name)()


@needs_kernel
@pytest.mark.parametrize(
    "message",
    [
        METADATA.MetadataResponse(brokers=(METADATA.MetadataResponseBroker(port=True),)),
        METADATA.MetadataResponse(topics=[METADATA.MetadataResponseTopic(is_internal=1)]),
        FETCH.FetchRequest(rack_id=native_checks.Text("rack"), max_bytes=native_checks.Index()),
    ],
    ids=["a tuple and a bool", "a number for a bool", "subclasses"],
)
def test_unusual_values_are_left_to_python(message: Message) -> None:
    with native_checks.alone(KERNEL), pytest.raises(native_checks.GaveUpError):
        message.encode()
    data = message.encode()
    assert data == native.PYTHON["encode"](message)
    assert message.encoded_size() == len(data)


# The structs of a tag section that are made when first asked for.


@needs_kernel
def test_lazy_structs_at_their_defaults_are_left_out() -> None:
    with native_checks.alone(KERNEL):
        untouched, touched = FETCH.FetchRequest(), FETCH.FetchRequest()
        assert touched.replica_state == FETCH.ReplicaState()
        assert touched.encode() == untouched.encode()
        read = FETCH.FetchRequest.decode(untouched.encode())
        assert native_checks.content(read) == native_checks.content(untouched)
        touched.replica_state.replica_epoch = 7
        assert touched.encoded_size() == len(touched.encode()) > len(untouched.encode())
        assert FETCH.FetchRequest.decode(touched.encode()).replica_state.replica_epoch == 7


# Classes of one's own.


class WithAttributes(METADATA.MetadataResponse):  # type: ignore[misc]  # derived from Any
    """Has a dict."""


class WithSlots(METADATA.MetadataResponse):  # type: ignore[misc]
    __slots__ = ("own",)


class WithProperty(METADATA.MetadataResponse):  # type: ignore[misc]
    __slots__ = ("_cluster",)

    @property
    def cluster_id(self) -> str:
        return str(self._cluster).upper()

    @cluster_id.setter
    def cluster_id(self, value: str) -> None:
        self._cluster = value


class WithReader(METADATA.MetadataResponse):  # type: ignore[misc]
    __slots__ = ()

    def _read(self, data: bytes, pos: int) -> Any:
        end = super()._read(data, pos)
        self.cluster_id = "changed"  # type: ignore[misc]  # mypy does not see the slots of the base
        return end


@pytest.mark.parametrize("cls", [WithAttributes, WithSlots, WithProperty, WithReader])
def test_derived_classes_keep_what_they_change(cls: Any) -> None:
    data = METADATA.MetadataResponse(cluster_id="c", throttle_time_ms=5).encode()
    METADATA.MetadataResponse.decode(data)  # the derived class must not take the codec of its base
    for message in (cls.decode(data), cls.read(data, 0)[0]):
        assert type(message) is cls
        assert native_checks.content(message) == native_checks.content(native.PYTHON["decode"](cls, data))
        assert message.encode() == native.PYTHON["encode"](message)
    assert type(METADATA.MetadataResponse.decode(data)) is METADATA.MetadataResponse


def test_versions_of_one_form_give_instances_of_their_own() -> None:
    data = METADATA.MetadataResponse(cluster_id="c").encode()
    for version in kafka_messages.versions("MetadataResponse"):
        cls: Any = kafka_messages.message("MetadataResponse", version)
        if issubclass(cls, METADATA.MetadataResponse):
            assert (type(cls.decode(data)), cls.decode(data).VERSION) == (cls, version)


class _Inner(Struct):
    __slots__ = ("number",)
    FLEXIBLE = True
    FIELDS = (Field("number", "Number", "int32", default=0),)


class _Outer(Struct):
    __slots__ = ("inner",)
    FLEXIBLE = True
    FIELDS = (Field("inner", "Inner", "[]_Inner", default=(), struct=_Inner, compact=True),)


def test_no_plan_is_made_for_structs_that_contain_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = Field("number", "Number", "[]_Outer", default=(), struct=_Outer, compact=True)
    monkeypatch.setattr(_Inner, "FIELDS", (endless,))
    with pytest.raises(NoPlanError, match="_Outer contains itself"):
        plan_of(_Outer)


def test_plan_says_everything_that_the_bytes_depend_on() -> None:
    plan = plan_of(FETCH.FetchRequest)
    assert plan.flexible and plan.declared_tags == [0, 1] and plan.depth == 3
    assert [(one.name, one.tag, one.kind, one.nullable, one.compact) for one in plan.tagged] == [
        ("cluster_id", 0, "string", True, True),
        ("replica_state", 1, "struct", False, False),
    ]
    assert [(one.name, one.kind, one.array) for one in plan.items][3:7] == [
        ("isolation_level", "int8", False),
        ("session_id", "int32", False),
        ("session_epoch", "int32", False),
        ("topics", "struct", True),
    ]
    assert plan.is_plain
    encoded = plan_of(proposals.message("EncodedMetadata", 11))
    topics = next(one.plan for one in encoded.items if one.name == "topics")
    assert topics is not None
    partitions = next(one.plan for one in topics.items if one.name == "partitions")
    assert partitions is not None
    assert {one.kind for one in partitions.items} & {"packed32", "upacked32", "packed16", "upacked16"}


def test_plan_of_a_layout_says_every_part() -> None:
    plan = plan_of(import_module("kipwire.drafts.proposals.message_set.v2").Message)
    assert not plan.is_plain
    size, bits, *_, key, value, crc = plan.items
    assert [one.role for one in (size, bits, key, value, crc)] == ["size", "bits", "value", "value", "checksum"]
    assert (size.kind, crc.field.algorithm, crc.start, crc.is_after) == ("upacked32", "crc32", 1, True)
    assert [((one.of or one).name, one.lowest, one.bit_count) for one in bits.bits] == [
        ("key", 0, 1),
        ("value", 1, 1),
        ("is_control", 2, 1),
    ]
    assert (key.prefix, key.after, value.prefix, value.after) == ("uvarint", 4, "rest", 4)
    assert key.prefix_presence is value.presence is bits.bits[1]
    assert value.presence is not None and not value.presence.means_present and value.presence.number == 1
