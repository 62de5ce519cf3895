"""A field that is tagged in some versions and plain, or gone, in later ones (KIP-482), where the message says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kipgen.reading.rules.examples import field_of, spec
from kipwire import ConversionError, DecodeError, convert
from tests.support.spec_package import classes_of
from tests.support.subjects.compat_changes import compare_texts
from tests.support.subjects.rule_checks import rules_broken

CLOSED = '"closedTaggedVersions": true'
BACK = field_of("string", "Alpha", taggedVersions="9", tag=3, nullableVersions="10+")
GONE = field_of("int32", "Beta", versions="9-10", taggedVersions="9-10", tag=0, encoding="upacked32")
TEXT = spec(field_of("int8", "First"), BACK, GONE, valid="8-11", flexible="9+", more=CLOSED)


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Any]:
    return classes_of(TEXT, "closed_tagged", tmp_path_factory.mktemp("specs"))


def test_only_a_message_that_says_so_may_end_tagged_versions(tmp_path: Path) -> None:
    assert rules_broken(tmp_path, TEXT) == ["tag-gap"]
    assert rules_broken(tmp_path, TEXT.replace("true", "false")).count("tagged-versions-open") == 2
    assert "kafka-closed-tagged-versions" in rules_broken(tmp_path, TEXT, kafka=True)
    assert "kafka-closed-tagged-versions" not in rules_broken(tmp_path, TEXT)
    lone = spec(field_of("int32", versions="0-3", tag=0), more=CLOSED)
    assert rules_broken(tmp_path, lone) == []


@pytest.mark.parametrize(
    ("version", "values", "expected"),
    [
        (8, {"alpha": "a"}, "07 0001 61"),
        (9, {"alpha": "a", "beta": 300}, "07 02 00 02 ac02 03 02 02 61"),
        (9, {}, "07 00"),
        (10, {"alpha": "a", "beta": 300}, "07 02 61 01 00 02 ac02"),
        (10, {"alpha": None}, "07 00 00"),
        (11, {"alpha": "a"}, "07 02 61 00"),
    ],
)
def test_bytes_of_each_version(version: int, values: dict[str, Any], expected: str, classes: dict[int, Any]) -> None:
    message = classes[version](first=7, **values)
    data = bytes.fromhex(expected)
    assert message.encode() == data
    assert classes[version].decode(data) == message
    assert classes[version].from_json(message.to_json()) == message


def test_its_tag_is_refused_where_it_is_plain_or_gone(classes: dict[int, Any]) -> None:
    with pytest.raises(DecodeError, match="3"):
        classes[10].decode(bytes.fromhex("07 02 61 01 03 02 02 61"))
    with pytest.raises(DecodeError, match="0"):
        classes[11].decode(bytes.fromhex("07 02 61 01 00 02 ac02"))


def test_values_are_converted_both_ways(classes: dict[int, Any]) -> None:
    tagged = classes[9](first=1, alpha="a")
    assert convert(convert(tagged, 11), 9) == tagged
    with pytest.raises(ConversionError, match="alpha: null"):
        convert(classes[10](alpha=None), 9)
    with pytest.raises(ConversionError, match="beta: version 11 has no such field"):
        convert(classes[9](beta=1), 11)


def test_compat_judges_each_version_by_what_it_has(tmp_path: Path) -> None:
    assert [one.rule.id for one in compare_texts(tmp_path / "same", TEXT, TEXT)] == []
    open_ended = field_of("string", "Alpha", taggedVersions="9+", tag=3)
    before = spec(field_of("int8", "First"), open_ended, valid="8-9", flexible="9+")
    after = spec(field_of("int8", "First"), BACK, valid="8-10", flexible="9+", more=CLOSED)
    assert [one.rule.id for one in compare_texts(tmp_path / "ended", before, after)] == ["version-not-negotiated"]
    released = spec(field_of("int8", "First"), open_ended, valid="8-10", flexible="9+")
    found = compare_texts(tmp_path / "released", released, after)
    assert "tagged-and-plain" in {one.rule.id for one in found if one.severity == "wire"}
