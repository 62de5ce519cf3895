"""The form of a tagged field is for ever: what `kipgen compat` says of a new version that changes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kipgen.reading.rules.examples import field_of, spec
from tests.support.subjects.compat_changes import compare_texts

TAGGED: dict[str, Any] = {"taggedVersions": "2+", "tag": 0}


def inner(*fields: str, type_: str = "Inner") -> str:
    return field_of(type_, versions="2+", fields=list(fields), **TAGGED)


CHANGES = {
    "encoding": (
        field_of("int32", **TAGGED),
        field_of("int32", encoding={"0-3": "fixed32", "4+": "packed32"}, **TAGGED),
        "Probe.Alpha",
        "fixed32 in version 3 is packed32 in version 4",
    ),
    "element encoding": (
        field_of("[]int16", **TAGGED),
        field_of("[]int16", elementEncoding={"0-3": "fixed16", "4+": "upacked16"}, **TAGGED),
        "Probe.Alpha",
        "[]fixed16 in version 3 is []upacked16 in version 4",
    ),
    "wider type": (
        field_of("int32", **TAGGED),
        field_of("int64", encoding={"0-3": "fixed32", "4+": "fixed64"}, **TAGGED),
        "Probe.Alpha",
        "fixed32 in version 3 is fixed64 in version 4",
    ),
    "nullability": (
        field_of("string", **TAGGED),
        field_of("string", nullableVersions="4+", **TAGGED),
        "Probe.Alpha",
        "string in version 3 is string or null in version 4",
    ),
    "encoding of a part": (
        inner(field_of("int32", "Leaf")),
        inner(field_of("int32", "Leaf", encoding={"0-3": "fixed32", "4+": "packed32"})),
        "Probe.Alpha.Leaf",
        "fixed32 in version 3 is packed32 in version 4",
    ),
    "new part": (
        inner(field_of("int32", "Leaf"), type_="[]Inner"),
        inner(field_of("int32", "Leaf"), field_of("int8", "Twig", versions="4+"), type_="[]Inner"),
        "Probe.Alpha",
        "its data has 1 plain field in version 3, 2 in version 4",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_form_that_changes_in_a_new_version_is_a_wire_finding(change: str, tmp_path: Path) -> None:
    old, new, path, text = CHANGES[change]
    found = compare_texts(tmp_path, spec(old), spec(new, valid="0-4"))
    wire = [(one.rule.id, one.path, one.text) for one in found if one.severity == "wire"]
    assert wire == [("tagged-form-changed", path, f"{text} (versions 2-3)")]


def test_versions_that_no_longer_exist_still_decide_the_form(tmp_path: Path) -> None:
    old, new = field_of("int32", **TAGGED), field_of("int32", encoding="packed32", **TAGGED)
    found = compare_texts(tmp_path, spec(old, valid="0-3"), spec(new, valid="4-5"))
    assert [one.rule.id for one in found if one.severity == "wire"] == ["tagged-form-changed"]
    other = field_of("int32", default="7", **TAGGED)
    (finding,) = [
        one
        for one in compare_texts(tmp_path / "default", spec(old), spec(other, valid="4-5"))
        if one.severity == "wire"
    ]
    assert finding.change == "version 4 has another default"


def test_a_form_that_was_released_wrong_stays_as_it_is(tmp_path: Path) -> None:
    released = field_of("int32", encoding={"0-2": "fixed32", "3+": "packed32"}, **TAGGED)
    found = compare_texts(tmp_path, spec(released), spec(released, valid="0-4"))
    assert [one.rule.id for one in found] == ["version-not-negotiated"]


def test_a_field_that_becomes_tagged_may_have_another_form_than_before(tmp_path: Path) -> None:
    plain = field_of("int32")
    tagged = field_of("int32", taggedVersions="4+", tag=0, encoding={"0-3": "fixed32", "4+": "packed32"})
    found = compare_texts(tmp_path, spec(plain), spec(tagged, valid="0-4"))
    assert [one.rule.id for one in found] == ["version-not-negotiated"]


def test_a_tagged_field_inside_tagged_data_may_come_with_a_new_version(tmp_path: Path) -> None:
    old = inner(field_of("int32", "Leaf"))
    twig = field_of("int8", "Twig", versions="4+", taggedVersions="4+", tag=0, ignorable=True)
    new = inner(field_of("int32", "Leaf"), twig)
    found = compare_texts(tmp_path, spec(old), spec(new, valid="0-4"))
    assert [one.rule.id for one in found] == ["version-not-negotiated"]


def test_a_change_in_released_versions_is_not_reported_twice(tmp_path: Path) -> None:
    old, new = field_of("int32", **TAGGED), field_of("int64", **TAGGED)
    found = compare_texts(tmp_path, spec(old), spec(new, valid="0-4"))
    assert [one.rule.id for one in found if one.severity == "wire"] == ["type-changed"]


def test_a_finding_names_its_places_in_both_files(tmp_path: Path) -> None:
    old, new, *_ = CHANGES["encoding of a part"]
    (found,) = [one for one in compare_texts(tmp_path, spec(old), spec(new, valid="0-4")) if one.severity == "wire"]
    assert (found.was.file, found.was.line) == (str(tmp_path / "old" / "0.json"), 5)
    assert (found.location.file, found.location.line) == (str(tmp_path / "new" / "0.json"), 6)


def test_defaults_of_a_tagged_struct_are_its_default(tmp_path: Path) -> None:
    """Old peers leave out a struct of old defaults, and new peers would read the new ones."""

    def rules(type_: str, **more: Any) -> list[str]:
        leaf = field_of("Deep", "Down", fields=[field_of("int32", "Leaf")])
        old = spec(field_of(type_, versions="2+", fields=[leaf], **more), field_of("int8", "Last"))
        new = old.replace('"Leaf", "type": "int32"', '"Leaf", "type": "int32", "default": "-1"')
        found = compare_texts(tmp_path / f"{type_}{len(more)}", old, new)
        return [one.rule.id for one in found]

    assert rules("Inner", **TAGGED) == ["tagged-default-changed"]
    assert rules("[]Inner", **TAGGED) == ["default-changed"]
    assert rules("Inner") == ["default-changed"]
    assert rules("Inner", nullableVersions="2+", default="null", **TAGGED) == ["default-changed"]
