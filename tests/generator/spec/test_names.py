"""Names of Python and of the JSON form, made of the names of a spec."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipgen.language.names import RESERVED_ATTRIBUTES, attribute_name, class_name, module_name, snake_case
from kipwire import Field
from tests.support.places import ROOT

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


def test_no_struct_takes_a_name_that_generated_code_uses() -> None:
    folders = ("kafka_records", "kafka_messages/metadata_response", "kafka_messages/api_versions_request")
    files = [file for folder in folders for file in sorted((ROOT / "generated" / folder).rglob("v*.py"))]
    files += islice(sorted((ROOT / "generated" / "kafka_messages").glob("*/v0.py")), 0, None, 8)
    used = set(vars(builtins))
    for file in files:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        nodes = list(ast.walk(tree))
        own = {node.name for node in nodes if isinstance(node, ast.ClassDef)}
        own |= {one.name for node in nodes if isinstance(node, ast.ImportFrom) and (node.module or "")[:1] == "v"
                for one in node.names}  # fmt: skip
        used |= {node.id for node in nodes if isinstance(node, ast.Name)} - own
        used |= {one.asname or one.name for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)
                 for one in node.names} - own  # fmt: skip
    assert {"ClassVar", "TYPE_CHECKING", "kipwire"} <= used
    possible = {name for name in used - set(vars(builtins)) if re.fullmatch("[A-Z][A-Za-z0-9]*", name)}
    assert {name for name in possible if class_name(name) == name} == set()


@pytest.mark.parametrize(("name", "expected"), [("Import", "import_"), ("MetadataRequest", "metadata_request")])
def test_module_that_is_taken_gets_an_underscore(name: str, expected: str) -> None:
    assert module_name(name) == expected


@pytest.mark.parametrize(("name", "expected"), [("TopicName", "topicName"), ("ISR", "iSR"), ("already", "already")])
def test_json_name_lowers_the_first_letter_only(name: str, expected: str) -> None:
    assert Field("any", name, "int32", default=0).json_name == expected
