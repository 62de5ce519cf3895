"""Values that must not be written: `convert`, `from_json` and `encode` refuse the same as the Java library."""

from __future__ import annotations

import uuid
from collections import Counter
from typing import Any

import pytest

import kafka_messages
import kipwire
from kipwire import Field, Message, Struct
from kipwire.message.shapes import shapes_between
from tests.support import golden_data
from tests.support.cases import of_each

LINES = golden_data.lines("write-behaviour")


def of_case(case: str) -> list[dict[str, Any]]:
    return [line for line in LINES if line["case"] == case]


def message_of(line: dict[str, Any]) -> str:
    return str(line["message"])


def label(line: dict[str, Any]) -> str:
    return f"{line['message']}-{line['version']}-{line['field']}"


def has_field(cls: type[Struct], path: list[str], *, nullable: bool) -> bool:
    for field in cls.ATTRIBUTES:
        if field.json_name == path[0]:
            if len(path) == 1:
                return field.nullable or not nullable
            return field.struct is not None and has_field(field.struct, path[1:], nullable=nullable)
    return False


def version_with(line: dict[str, Any], *, nullable: bool = False) -> type[Message]:
    """Return the class of a version in which the line's field can have the line's value."""
    for version in reversed(kafka_messages.versions(line["message"])):
        cls = kafka_messages.message(line["message"], version)
        if has_field(cls, line["field"].split("."), nullable=nullable):
            return cls
    raise AssertionError("no version has the field")


def completed(cls: type[Struct], value: dict[str, Any]) -> dict[str, Any]:
    """Return JSON of another version as JSON of this one: add defaults for missing fields, and drop unknown fields."""
    result = {}
    for field in cls.ATTRIBUTES:
        if field.json_name in value:
            own = value[field.json_name]
            if field.struct is not None and own is not None:
                own = [completed(field.struct, one) for one in own] if field.array else completed(field.struct, own)
            result[field.json_name] = own
        elif field.tag is None:
            result[field.json_name] = default_json(field)
    return result


def default_json(field: Field) -> Any:
    default = field.default_value()
    if isinstance(default, Struct):
        return completed(type(default), {})
    if isinstance(default, uuid.UUID):
        return "A" * 22
    return "" if default == b"" else default


def test_the_corpus_is_whole() -> None:
    assert len(LINES) == 510
    assert {line["case"] for line in LINES} == {
        "outside its versions",
        "unknown tag on a non-flexible version",
        "string of 32768 bytes",
        "string of 16384 two-byte characters",
        "null where not nullable",
    }


def classes_of(line: dict[str, Any]) -> tuple[type[Message], type[Message]]:
    """Return the class that can have the line's value, and the class of the line's version."""
    return version_with(line), kafka_messages.message(line["message"], line["version"])


def is_reshaped(source: type[Message], target: type[Message]) -> bool:
    """True where `convert` gives a message its newer shape, as Java's client does before it uses the class."""
    shapes = shapes_between(source, target)
    return shapes is not None and shapes.to_new is not None and source.VERSION < target.VERSION


def test_few_messages_are_reshaped() -> None:
    reshaped = [line["message"] for line in of_case("outside its versions") if is_reshaped(*classes_of(line))]
    assert Counter(reshaped) == {
        "DeleteTopicsRequest": 1,
        "FindCoordinatorRequest": 2,
        "FindCoordinatorResponse": 9,
        "LeaveGroupRequest": 2,
        "OffsetFetchRequest": 3,
        "OffsetFetchResponse": 1,
    }  # tests/runtime/test_two_shapes.py has what they become


@of_each("line", of_case("outside its versions"), together=message_of, label=label)
def test_a_field_of_other_versions_is_dropped_or_refused_as_java_does(line: dict[str, Any]) -> None:
    source, target = classes_of(line)
    message = source.from_json(completed(source, line["json"]))
    if is_reshaped(source, target):
        assert isinstance(kipwire.convert(message, line["version"]), target)
    if line["java"] == "ok":
        assert is_reshaped(source, target) or kipwire.convert(message, target).encode() == bytes.fromhex(line["hex"])
        assert target.from_json(line["json"]).encode() == bytes.fromhex(line["hex"])
    else:
        if not is_reshaped(source, target):
            with pytest.raises(kipwire.ConversionError) as caught:
                kipwire.convert(message, line["version"])
            spec_path = [part for part in caught.value.path.replace("[0]", "").split(".") if part]
            assert len(spec_path) == len(line["field"].split("."))
        with pytest.raises(kipwire.JsonError) as refused:
            target.from_json(line["json"])
        assert refused.value.path.replace("[0]", "") == line["field"]


@of_each("line", of_case("null where not nullable"), together=message_of, label=label)
def test_a_null_is_refused_where_the_version_allows_none(line: dict[str, Any]) -> None:
    source = version_with(line, nullable=True)
    message = source.from_json(completed(source, line["json"]))
    with pytest.raises(kipwire.ConversionError, match="null"):
        kipwire.convert(message, line["version"])
    with pytest.raises(kipwire.JsonError, match="null"):
        kafka_messages.message(line["message"], line["version"]).from_json(line["json"])


@of_each("line", of_case("unknown tag on a non-flexible version"), together=message_of, label=label)
def test_unknown_tagged_fields_need_a_flexible_version(line: dict[str, Any]) -> None:
    message = kafka_messages.message(line["message"], line["version"]).from_json(line["json"])
    with pytest.raises(AttributeError):
        message.unknown_tagged_fields = {7: b"x"}  # type: ignore[attr-defined]
    assert len(message.encode()) == message.encoded_size()
    for version in kafka_messages.versions(line["message"]):
        flexible = kafka_messages.message(line["message"], version)
        if flexible.FLEXIBLE:
            other = flexible.from_json(completed(flexible, line["json"]))
            other.unknown_tagged_fields[1000] = b"x"  # type: ignore[attr-defined]
            with pytest.raises(kipwire.ConversionError, match="unknown_tagged_fields"):
                kipwire.convert(other, line["version"])


@of_each(
    "line",
    [*of_case("string of 32768 bytes"), *of_case("string of 16384 two-byte characters")],
    together=message_of,
    label=label,
)
def test_a_string_of_more_than_32767_bytes_is_refused(line: dict[str, Any]) -> None:
    text = "a" * 32768 if "bytes" in line["case"] else "é" * 16384
    message = kafka_messages.message(line["message"], line["version"]).from_json(with_text(line["json"], text))
    with pytest.raises(kipwire.EncodeError) as caught:
        message.encode()
    assert "32768 bytes" in caught.value.reason
    shorter = kafka_messages.message(line["message"], line["version"]).from_json(
        with_text(line["json"], text.encode()[2:].decode())
    )
    assert len(shorter.encode()) == shorter.encoded_size() > 32766


def with_text(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return {key: with_text(one, text) for key, one in value.items()}
    if isinstance(value, list):
        return [with_text(one, text) for one in value]
    return text if isinstance(value, str) and value.startswith("<string of") else value
