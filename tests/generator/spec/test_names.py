"""Names of Python and of the JSON form, made of the names of a spec."""

from __future__ import annotations

import keyword

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipgen.language.names import RESERVED_ATTRIBUTES, attribute_name, class_name, module_name, snake_case
from kipwire import Field

field_names = st.from_regex(r"[A-Za-z][A-Za-z0-9]*", fullmatch=True)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("FooBarBaz", "foo_bar_baz"),
        ("FORTRAN", "fortran"),
        ("ClientID2Name", "client_id2_name"),
        ("topicGroupId", "topic_group_id"),
        ("A", "a"),
        ("Ipv4Address", "ipv4_address"),
        ("ISRNodes", "isrnodes"),
    ],
)
def test_snake_case_is_that_of_kafka(name: str, expected: str) -> None:
    assert snake_case(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Class", "class_"),
        ("From", "from_"),
        ("Self", "self_"),
        ("Read", "read_"),
        ("ToJson", "to_json_"),
        ("EncodedSize", "encoded_size_"),
        ("UnknownTaggedFields", "unknown_tagged_fields_"),
        ("TopicName", "topic_name"),
    ],
)
def test_attribute_that_is_taken_gets_an_underscore(name: str, expected: str) -> None:
    assert attribute_name(name) == expected


@given(field_names)
def test_attribute_is_a_free_identifier(name: str) -> None:
    attribute = attribute_name(name)
    assert attribute.isidentifier()
    assert not keyword.iskeyword(attribute)
    assert attribute not in RESERVED_ATTRIBUTES


@pytest.mark.parametrize(
    ("name", "expected"), [("True", "True_"), ("None", "None_"), ("FIELDS", "FIELDS_"), ("Topic", "Topic")]
)
def test_class_that_is_taken_gets_an_underscore(name: str, expected: str) -> None:
    assert class_name(name) == expected


@pytest.mark.parametrize(("name", "expected"), [("Import", "import_"), ("MetadataRequest", "metadata_request")])
def test_module_that_is_taken_gets_an_underscore(name: str, expected: str) -> None:
    assert module_name(name) == expected


@pytest.mark.parametrize(("name", "expected"), [("TopicName", "topicName"), ("ISR", "iSR"), ("already", "already")])
def test_json_name_lowers_the_first_letter_only(name: str, expected: str) -> None:
    assert Field("any", name, "int32", default=0).json_name == expected
