"""A tagged field that comes to an earlier version later (KIP-482): readers keep its tag where the message says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kipgen.data.document import document
from kipgen.reading.rules.examples import field_of, spec
from kipwire import ConversionError, DecodeError, EncodeError, build, convert
from tests.support.spec_package import classes_of
from tests.support.subjects.compat_changes import compare_texts
from tests.support.subjects.rule_checks import read_message, rules_broken

EXTENSIBLE = '"extensibleTaggedVersions": true'


def text(first: int, more: str = EXTENSIBLE, type_: str = "int32") -> str:
    """Write a spec whose tagged fields, one in the message and one in a struct, begin with a version."""
    tagged = {"versions": f"{first}+", "taggedVersions": f"{first}+"}
    inner = [field_of("int8", "Plain"), field_of("string", "Label", tag=0, nullableVersions="0+", **tagged)]
    items = field_of("[]Item", "Items", fields=inner)
    return spec(items, field_of(type_, "Alpha", tag=0, **tagged), valid="1-5", flexible="2+", more=more)


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Any]:
    return classes_of(text(5), "extensible_older", tmp_path_factory.mktemp("specs"))


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Any]:
    return classes_of(text(3), "extensible_newer", tmp_path_factory.mktemp("specs"))


def message_of(cls: Any) -> Any:
    item = next(field.struct for field in cls.ATTRIBUTES if field.name == "items")
    return cls(items=[item(plain=7, label="me"), item(plain=8)], alpha=-2)


DATA = bytes.fromhex("03 07 01 00 03 03 6d65 08 00 01 00 04 fffffffe")


@pytest.mark.parametrize("version", [3, 4])
def test_an_older_reader_keeps_a_tag_that_it_knows_from_another_version(
    version: int, older: dict[int, Any], newer: dict[int, Any]
) -> None:
    message = message_of(newer[version])
    assert message.encode() == DATA
    found = older[version].decode(DATA)
    assert found.unknown_tagged_fields == {0: DATA[-4:]}
    assert [one.unknown_tagged_fields for one in found.items] == [{0: DATA[5:8]}, {}]
    assert found.encode() == DATA
    assert newer[version].decode(found.encode()) == message
    assert newer[version].decode(older[version]().encode()) == newer[version]()


def test_it_is_a_value_again_in_the_version_that_knows_it(older: dict[int, Any], newer: dict[int, Any]) -> None:
    message = convert(older[4].decode(DATA), 5)
    assert message == message_of(older[5])
    assert message.encode() == message_of(newer[5]).encode()
    with pytest.raises(ConversionError, match="alpha"):
        convert(message, 4)


def test_what_is_no_value_of_the_field_is_not_lost(older: dict[int, Any]) -> None:
    message = older[4]()
    for data in (b"", b"\0\0\1", b"\0\0\0\1\0"):
        message.unknown_tagged_fields = {0: data, 9: b"x"}
        with pytest.raises(ConversionError, match="tag 0 is alpha in version 5, and its bytes are no value of that"):
            convert(message, 5)
    with pytest.raises(ConversionError, match="tag 0 is alpha in version 5, which has a value already"):
        build(older[5], {"alpha": 1, "unknown_tagged_fields": {0: b"\0\0\0\2"}})


def test_other_messages_refuse_the_tag_as_kafka_does(tmp_path: Path) -> None:
    strict = classes_of(text(5, more=""), "extensible_not", tmp_path)
    with pytest.raises(DecodeError, match="tag 0 belongs to other versions"):
        strict[4].decode(DATA)
    message = strict[4]()
    message.unknown_tagged_fields = {0: b"\0\0\0\1"}
    with pytest.raises(EncodeError, match="tag 0"):
        message.encode()


def test_readers_in_other_languages_are_told_so(tmp_path: Path) -> None:
    for more, refused in (("", [0]), (EXTENSIBLE, [])):
        (data,) = document("probe", [read_message(tmp_path, text(5, more))], [])["messages"]
        sections = [
            struct["tagSection"] for form in data["forms"] for struct in form["structs"] if "tagSection" in struct
        ]
        assert [one["refusedTags"] for one in sections if not one["fields"]] == [refused] * 2


def test_its_own_tag_is_no_unknown_one(older: dict[int, Any]) -> None:
    message = older[5]()
    message.unknown_tagged_fields = {0: b"\0\0\0\1"}
    with pytest.raises(EncodeError, match="tag 0 belongs to a field of the spec"):
        message.encode()


def test_kafkas_generator_does_not_know_it(tmp_path: Path) -> None:
    assert rules_broken(tmp_path, text(3)) == []
    assert rules_broken(tmp_path, text(3), kafka=True) == ["kafka-extensible-tagged-versions"]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (text(5), text(3), []),
        (text(5), text(3, more=""), []),
        (text(5, more=""), text(3), ["tagged-versions-changed"]),
        (text(5, more=""), text(3, more=""), ["tagged-versions-changed"]),
        (text(3), text(5), ["tagged-versions-changed"]),
        (text(5), text(5, more=""), []),
        (text(5), text(3, type_="int64"), ["type-changed"]),
    ],
)
def test_compat_allows_what_older_peers_keep(old: str, new: str, found: list[str], tmp_path: Path) -> None:
    assert {one.rule.id for one in compare_texts(tmp_path, old, new)} == set(found)
