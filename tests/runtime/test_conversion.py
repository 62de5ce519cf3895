"""From one version to another and back: `convert` reports every loss, and nothing else."""

from __future__ import annotations

import inspect
import math
import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import kafka_messages
import kipwire
from kafka_messages.enums import ApiKey
from kafka_messages.fetch_request import v12 as fetch_12
from kafka_messages.fetch_request import v17 as fetch_17
from kafka_messages.metadata_request.v13 import MetadataRequest
from kafka_messages.metadata_response import v9, v13
from kipwire import ConversionError, EncodeError, Loss, Message, Struct, UnsupportedVersionError
from kipwire.model.errors import path_text
from tests.support.cases import of_each, some
from tests.support.property_checks import for_all, messages_of

CONVERTERS = {"as installed": kipwire.convert, "Python": inspect.unwrap(kipwire.convert)}
NEWEST = [name for name in kafka_messages.names() if len(kafka_messages.versions(name)) > 1]

Path = list[str | int]
Difference = tuple[Path, str]


def equal(one: Any, other: Any) -> bool:
    """True if two values are equal; NaN equals itself here."""
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    return bool(one == other)


def same(*messages: Message) -> bool:
    """True if messages are equal, even with NaN in them."""
    return all(one == messages[0] or repr(one) == repr(messages[0]) for one in messages)


def lost_between(new: Struct, old: Struct, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield the fields of a struct that another version of it does not have, wherever in it, with their values."""
    had = {field.spec_name for field in old.ATTRIBUTES}
    for field in new.ATTRIBUTES:
        value, here = getattr(new, field.name), [*path, field.name]
        if field.spec_name not in had:
            yield here, value
        elif field.struct is not None and value is not None:
            within = getattr(old, field.name)
            pairs = zip(value, within, strict=True) if field.array else [(value, within)]
            for number, (element, its) in enumerate(pairs):
                yield from lost_between(element, its, [*here, number] if field.array else here)


def counted(places: list[Path]) -> list[tuple[str, int, str]]:
    """Places by the path of their field: that path, how many there are, and the first one."""
    found: dict[str, list[str]] = {}
    for path in places:
        found.setdefault(".".join(one for one in path if isinstance(one, str)), []).append(path_text(path))
    return sorted((field, len(paths), paths[0]) for field, paths in found.items())


def reported(lost: list[Loss], *, is_dropped: bool) -> list[tuple[str, int, str]]:
    return sorted((one.field, one.places, one.path) for one in lost if one.is_dropped is is_dropped)


def at(message: Any, path: str) -> tuple[Any, str]:
    """Return the struct of a value and the value's name."""
    *steps, last = re.findall(r"\w+", path)
    for step in steps:
        message = message[int(step)] if step.isdigit() else getattr(message, step)
    return message, last


def unlose(message: Message, path: str) -> None:
    """Set a value to one that any version can do without."""
    struct, name = at(message, path)
    if name == "unknown_tagged_fields":
        struct.unknown_tagged_fields = {}
        return
    (field,) = [one for one in struct.ATTRIBUTES if one.name == name]
    empty = {"string": "", "bytes": b"", "records": b""}
    value = field.default_value()
    if getattr(struct, name) is None and value is None:  # the other version does not allow it
        value = [] if field.array else field.struct() if field.struct else empty[field.element]
    assert not equal(getattr(struct, name), value), f"{path} is named although nothing is lost there"
    setattr(struct, name, value)


def converted(convert: Callable[..., Any], message: Message, target: type[Message]) -> tuple[Any, list[Loss]]:
    """Convert the message to another version, after removing every value that an error names."""
    for _ in range(1000):
        lost: list[Loss] = []
        try:
            result = convert(message, target, lost=lost)
        except ConversionError as error:
            assert not lost, "where there is no result, there is no report"
            assert (error.message, error.version) == (message.NAME, message.VERSION)
            unlose(message, error.path)
            continue
        return result, lost
    raise AssertionError("errors without an end")


@of_each("name", NEWEST, together=lambda name: name)
def test_what_an_older_version_could_not_carry_is_what_was_reported(name: str) -> None:
    newest = kafka_messages.message(name, kafka_messages.versions(name)[-1])

    def holds(message: Message) -> None:
        for version in kafka_messages.versions(name)[:-1]:
            older = kafka_messages.message(name, version)
            down, lost = converted(kipwire.convert, message, older)
            assert same(down, kipwire.convert(message, older), CONVERTERS["Python"](message, older))
            lacking = list(lost_between(message, down, []))
            only_older = [path for path, _ in lost_between(down, message, [])]
            assert reported(lost, is_dropped=False) == counted(only_older)
            assert {(loss.version, loss.is_dropped) for loss in lost} <= {(version, True), (newest.VERSION, False)}
            filled: list[Loss] = []
            back = kipwire.convert(down, newest, lost=filled)
            assert same(back, kipwire.convert(down, newest), CONVERTERS["Python"](down, newest))
            different = [path for path, value in lacking if not equal(value, getattr(*at(back, path_text(path))))]
            assert reported(lost, is_dropped=True) == counted(different)
            assert reported(filled, is_dropped=False) == counted([path for path, _ in lacking])
            for path in different:
                setattr(*at(back, path_text(path)), getattr(*at(message, path_text(path))))
            assert same(back, message), "nothing else is lost"

    for_all(holds, messages_of(newest))


@pytest.mark.parametrize("convert", CONVERTERS.values(), ids=CONVERTERS)
def test_any_loss_is_an_error_where_conversion_is_strict(convert: Callable[..., Any]) -> None:
    message = v13.MetadataResponse(topics=[v13.MetadataResponseTopic(name="orders")])
    assert convert(message, 9, strict=True) == v9.MetadataResponse(topics=[v9.MetadataResponseTopic(name="orders")])
    message.throttle_time_ms, message.error_code = 1, 5
    with pytest.raises(ConversionError) as caught:
        convert(message, 2, strict=True)
    assert str(caught.value) == (
        "MetadataResponse v13: cannot become version 2: throttle_time_ms: version 2 has no such field; 1 is dropped; "
        "error_code: version 2 has no such field; 5 is dropped"
    )
    with pytest.raises(ConversionError, match=r"topic_id: version 9 has no such field; it is UUID\(.*\) by default"):
        convert(v9.MetadataResponse(topics=[v9.MetadataResponseTopic()]), 13, strict=True)


def test_a_report_names_each_field_once_with_its_first_place() -> None:
    partitions = [v13.MetadataResponsePartition(leader_epoch=epoch) for epoch in (-1, 4, 5)]
    topics = [v13.MetadataResponseTopic(partitions=partitions) for _ in range(2)]
    lost: list[Loss] = []
    kipwire.convert(v13.MetadataResponse(topics=topics), 1, lost=lost)
    assert lost == [Loss("topics.partitions.leader_epoch", 1, True, 4, "topics[0].partitions[1].leader_epoch", 4)]
    assert str(lost[0]) == (
        "topics[0].partitions[1].leader_epoch: version 1 has no such field; 4 is dropped, and so in 3 more places"
    )


def test_a_topic_that_is_named_by_its_id_alone_is_reported_where_names_are_needed() -> None:
    # Kafka calls both ignorable, so that only the report shows that the older request asks for no topic.
    topic = fetch_17.FetchTopic(topic_id=uuid.UUID(int=7))
    lost: list[Loss] = []
    older = kipwire.convert(fetch_17.FetchRequest(topics=[topic]), fetch_12.FetchRequest, lost=lost)
    assert older.topics[0].topic == ""
    assert [(one.field, one.is_dropped, one.value) for one in lost if one.field == "topics.topic"] == [
        ("topics.topic", False, "")
    ]


@pytest.mark.parametrize("convert", CONVERTERS.values(), ids=CONVERTERS)
def test_a_message_of_the_version_is_the_result_itself(convert: Callable[..., Any]) -> None:
    message = MetadataRequest()
    assert convert(message, 13) is convert(message, MetadataRequest) is message
    assert convert(message, 13, lost=[], strict=True) is message


@pytest.mark.parametrize("convert", CONVERTERS.values(), ids=CONVERTERS)
def test_versions_share_nothing_that_can_change(convert: Callable[..., Any]) -> None:
    partition = v13.MetadataResponsePartition(replica_nodes=[1], isr_nodes=[])
    message = v13.MetadataResponse(topics=[v13.MetadataResponseTopic(partitions=[partition])])
    older = convert(message, v9.MetadataResponse)
    message.topics[0].partitions[0].replica_nodes.append(2)
    message.topics[0].partitions[0].isr_nodes.append(2)
    message.topics.append(v13.MetadataResponseTopic())
    assert older.topics[0].partitions == [v9.MetadataResponsePartition(replica_nodes=[1])]
    assert len(older.topics) == 1


class Mine(MetadataRequest):
    """A class of one's own."""


@pytest.mark.parametrize("convert", CONVERTERS.values(), ids=CONVERTERS)
def test_a_class_of_ones_own_is_converted_as_the_one_that_it_is_derived_from(convert: Callable[..., Any]) -> None:
    assert convert(Mine(topics=None), 9) == kipwire.convert(MetadataRequest(topics=None), 9)
    mine = convert(kipwire.convert(MetadataRequest(topics=None), 9), Mine)
    assert type(mine) is Mine
    assert mine.topics is None
    assert convert(mine, 13) is mine


@pytest.mark.parametrize("convert", CONVERTERS.values(), ids=CONVERTERS)
@pytest.mark.parametrize(
    ("message", "version", "error", "text"),
    [
        (
            MetadataRequest(),
            14,
            UnsupportedVersionError,
            "unknown version 14 of MetadataRequest; known versions are 0 to 13",
        ),
        (MetadataRequest(), -1, UnsupportedVersionError, "unknown version -1"),
        (MetadataRequest(), v13.MetadataResponse, UnsupportedVersionError, "give a class of MetadataRequest"),
        (MetadataRequest(), "9", TypeError, "converted to a version number or a message class, not a str"),
        (MetadataRequest(), None, TypeError, "message class, not None"),
        (MetadataRequest(), int, TypeError, "message class, not the class int"),
        (MetadataRequest(), [], TypeError, "message class, not a list"),
        (MetadataRequest, 9, TypeError, "a message can be converted, but not the class MetadataRequest"),
        (None, 9, TypeError, "a message can be converted, but not None"),
        (v13.MetadataResponseTopic(), 9, TypeError, "but not a MetadataResponseTopic"),
        (
            MetadataRequest(allow_auto_topic_creation=False),
            3,
            ConversionError,
            "MetadataRequest v13: cannot become version 3: allow_auto_topic_creation: version 3 has no such field, and "
            "it is not ignorable; leave it at its default, True, or use one of the versions 4 to 13",
        ),
    ],
)
def test_what_cannot_be_converted_is_an_error_that_says_what_is_right(
    convert: Callable[..., Any], message: Any, version: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=re.escape(text)):
        convert(message, version)


@of_each("name", list(kafka_messages.names()), together=lambda name: name)
def test_plain_values_make_an_equal_message_again(name: str) -> None:
    for version in some(kafka_messages.versions(name)):
        cls = kafka_messages.message(name, version)

        def holds(message: Message, cls: type[Message] = cls) -> None:
            plain = kipwire.asdict(message)
            assert not any(isinstance(one, Struct) for one in everything_in(plain))
            again = kipwire.build(cls, plain)
            assert same(again, message)

        for_all(holds, messages_of(cls))


def everything_in(value: Any) -> Iterator[Any]:
    yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from everything_in(one)


def test_plain_values_are_those_of_python_by_the_names_of_attributes() -> None:
    message = v13.MetadataResponse(topics=[v13.MetadataResponseTopic(name="t")])
    message.unknown_tagged_fields = {9: b"x"}
    plain = kipwire.asdict(message)
    assert plain["unknown_tagged_fields"] == {9: b"x"}
    assert plain["topics"][0] == {
        "error_code": 0,
        "name": "t",
        "topic_id": message.topics[0].topic_id,
        "is_internal": False,
        "partitions": [],
        "topic_authorized_operations": -(2**31),
    }
    plain["topics"].append("not the message's own list")
    assert len(message.topics) == 1
    assert kipwire.asdict(message.topics[0]) == plain["topics"][0]


def test_asking_for_plain_values_makes_no_struct_that_is_made_on_first_use() -> None:
    from kafka_messages.fetch_response.v17 import PartitionData

    data = PartitionData()
    assert kipwire.asdict(data)["current_leader"] == {"leader_id": -1, "leader_epoch": -1}
    (field,) = [one for one in data.ATTRIBUTES if one.name == "current_leader"]
    assert field.is_unmade(data)


def outcome(convert: Callable[..., Any], message: Message, version: int) -> str:
    try:
        return repr(convert(message, version))
    except ConversionError as error:
        return str(error)


def places(message: Struct, path: Path) -> Iterator[tuple[Path, Struct, str]]:
    """Yield every slot of a message with one element in each array of structs: its path, its struct and its name."""
    for field in message.ATTRIBUTES:
        yield [*path, field.name], message, field.slot
        if field.struct is not None and not field.is_lazy:
            value = getattr(message, field.name)
            if field.array:
                setattr(message, field.name, value := [field.struct()])
                yield from places(value[0], [*path, field.name, 0])
            elif value is not None:
                yield from places(value, [*path, field.name])
    if message.FLEXIBLE:
        yield [*path, "unknown_tagged_fields"], message, "_unknown_tagged_fields"


def test_a_deleted_attribute_is_the_same_error_in_the_kernel_and_in_python() -> None:
    tried = 0
    for name in some(NEWEST):
        versions = kafka_messages.versions(name)
        message = kafka_messages.message(name, versions[-1])()
        for path, struct, slot in list(places(message, [])):
            value = getattr(struct, slot)
            delattr(struct, slot)
            assert ("<missing>" in repr(message)) == (path[-1] != "unknown_tagged_fields")
            with pytest.raises(EncodeError) as error:
                kipwire.asdict(message)
            assert (error.value.message, error.value.path) == (name, path_text(path))
            for version in {versions[0], versions[(len(versions) - 1) // 2], versions[-2]}:
                found, expected = (outcome(convert, message, version) for convert in CONVERTERS.values())
                assert found == expected
                assert len(path) > 1 or found.endswith(f"{path_text(path)}: the attribute is missing")
                tried += 1
            setattr(struct, slot, value)
        assert "<missing>" not in repr(message)
    assert tried > 400


@pytest.mark.parametrize("version", [True, False, 1.0, "1", [1], 10**30], ids=repr)
def test_what_is_no_number_is_no_version(version: Any) -> None:
    registry = kafka_messages.REGISTRY
    registry.message("ListGroupsRequest", 1)  # to which True and 1.0 are equal
    registry.message("ListGroupsRequest", 0)
    message = kafka_messages.message("ListGroupsRequest", 3)()
    frame = registry.encode_response(kafka_messages.message("ListGroupsResponse", 1)(), 7)
    asks: tuple[Callable[[], object], ...] = (
        lambda: registry.message("ListGroupsRequest", version),
        lambda: kafka_messages.message("ListGroupsRequest", version),
        lambda: registry.request(16, version),
        lambda: registry.response(16, version),
        lambda: registry.request_header_version(16, version),
        lambda: registry.response_header_version(16, version),
        lambda: registry.decode_response(frame, 16, version),
        lambda: CONVERTERS["as installed"](message, version),
        lambda: CONVERTERS["Python"](message, version),
        lambda: registry.encode_request(message, 7, version=version),
    )
    for ask in asks:
        with pytest.raises((UnsupportedVersionError, TypeError)) as error:
            ask()
        is_unknown = isinstance(error.value, UnsupportedVersionError)
        assert is_unknown or "must be converted to a version number or a message class" in str(error.value)


def test_a_number_of_another_class_is_a_version() -> None:
    numbers: tuple[Any, ...] = (np.int64(3), np.uint8(3), ApiKey.METADATA)
    for version in numbers:
        assert kafka_messages.message("MetadataRequest", version).VERSION == 3
        assert kipwire.convert(MetadataRequest(), version).VERSION == 3
