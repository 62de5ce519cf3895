"""A generated module states each fact once and for a reason: no constant without use, no fact that others imply."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kafka_messages
import kafka_records
import kipwire
from kafka_messages.metadata_response.v5 import MetadataResponse as InflexibleResponse
from kafka_messages.metadata_response.v12 import MetadataResponse, MetadataResponseBroker

PACKAGES = (kafka_messages, kafka_records)


def modules() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted(Path(next(iter(package.__path__))).glob("*/v*.py"))


def structs(package: Any) -> Iterator[type[kipwire.Struct]]:
    seen = set()
    pending = [package.message(name, one) for name in package.names() for one in package.versions(name)]
    while pending:
        cls = pending.pop()
        if cls not in seen:
            seen.add(cls)
            pending += [field.struct for field in cls.FIELDS if field.struct is not None]
            yield cls


def test_every_constant_of_a_module_is_used_in_it() -> None:
    unused = []
    for path in modules():
        text = path.read_text()
        unused += [
            f"{path.parent.name}/{path.name}: {name}"
            for name in re.findall(r"^([a-zA-Z]\w*) = ", text, re.MULTILINE)
            if len(re.findall(rf"\b{name}\b", text)) == 1
        ]
    assert unused == []


def test_docstrings_list_no_attributes_since_each_is_declared_with_its_text() -> None:
    listing = [
        path for path in modules() if re.search(r"^ *(Attributes:|See the spec)", path.read_text(), re.MULTILINE)
    ]
    assert listing == []


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: str(package.__name__))
def test_fields_say_that_they_are_compact_only_where_their_struct_is_not(package: Any) -> None:
    reported = set()
    for cls in structs(package):
        for field in cls.FIELDS:
            is_sized = field.array or field.element in ("string", "bytes", "records")
            if field._compact is None:
                assert field.compact == (cls.FLEXIBLE and is_sized), (cls, field)
            else:
                assert field.compact != cls.FLEXIBLE, (cls, field)
                reported.add((cls.__name__, field.name))
    assert reported == ({("RequestHeader", "client_id")} if package is kafka_messages else set())


def test_flexible_structs_are_those_with_unknown_tagged_fields() -> None:
    for cls in structs(kafka_messages):
        assert cls.FLEXIBLE == issubclass(cls, kipwire.FlexibleStruct) == hasattr(cls, "unknown_tagged_fields"), cls
        assert issubclass(cls, kipwire.Message) == hasattr(cls, "NAME"), cls
    assert issubclass(MetadataResponse, kipwire.FlexibleMessage)
    assert not issubclass(MetadataResponseBroker, kipwire.Message)


def test_an_inflexible_struct_says_that_it_has_no_unknown_tagged_fields() -> None:
    message: Any = InflexibleResponse()
    with pytest.raises(AttributeError, match="'MetadataResponse' object has no attribute 'unknown_tagged_fields'"):
        message.unknown_tagged_fields  # noqa: B018
    with pytest.raises(AttributeError, match="'unknown_tagged_fields'"):
        message.unknown_tagged_fields = {}


def test_a_field_of_its_own_has_no_struct_that_could_make_it_compact() -> None:
    assert not kipwire.Field("name", "Name", "string").compact
    assert kipwire.Field("name", "Name", "string", compact=True).compact
