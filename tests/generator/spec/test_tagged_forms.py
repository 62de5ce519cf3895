"""The form of a tagged field is for ever: what `kipgen check` refuses, and what it allows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kipgen.reading.rules.examples import field_of, spec, struct_named
from tests.support.subjects.rule_checks import check_text, rules_broken

TAGGED: dict[str, Any] = {"taggedVersions": "2+", "tag": 0}
TWO = {"0-2": "fixed32", "3+": "packed32"}
LEAF = field_of("int32", "Leaf")
NINE = field_of("int8", "Leaf", versions="0-8")


@pytest.mark.parametrize(
    ("field", "text"),
    [
        (
            field_of("int32", encoding={"0-1": "packed32", "2": "fixed32", "3+": "upacked32"}, **TAGGED),
            "the field is tagged, but is fixed32 in 2 and upacked32 in 3+; a tagged field keeps its form: "
            "write one for 2+, or add a tagged field with another tag",
        ),
        (
            field_of("int64", encoding={"0-3": "fixed32", "4+": "fixed64"}, **TAGGED),
            "fixed32 in 2-3 and fixed64 in 4+",
        ),
        (
            field_of("[]int32", elementEncoding={"0-1": "fixed32", "2-4": "packed32", "5+": "upacked32"}, **TAGGED),
            "[]packed32 in 2-4 and []upacked32 in 5+",
        ),
        (field_of("string", nullableVersions="3+", **TAGGED), "string in 2 and string or null in 3+"),
        (field_of("[]int16", nullableVersions="0-5", **TAGGED), "[]fixed16 or null in 2-5 and []fixed16 in 6+"),
        (
            field_of("Inner", fields=[field_of("int32", "Leaf", versions="4+")], **TAGGED),
            "the field is part of the tagged Alpha, but is absent in 2-3 and fixed32 in 4+",
        ),
        (
            field_of("[]Inner", fields=[field_of("int32", "Leaf", encoding=TWO)], **TAGGED),
            "the field is part of the tagged Alpha, but is fixed32 in 2 and packed32 in 3+",
        ),
        (
            field_of("Inner", fields=[field_of("string", "Leaf", flexibleVersions="3+")], **TAGGED),
            "string with a length of fixed width in 2 and string in 3+",
        ),
        (
            field_of("Inner", fields=[field_of("int8", "Leaf", versions="0+", taggedVersions="4+", tag=0)], **TAGGED),
            "int8 in 2-3 and absent in 4+",
        ),
        (
            field_of("Inner", fields=[field_of("Deep", "Inside", fields=[NINE])], **TAGGED),
            "the field is part of the tagged Alpha, but is int8 in 2-8 and absent in 9+",
        ),
    ],
)  # fmt: skip
def test_a_form_that_differs_between_tagged_versions_is_an_error(field: str, text: str, tmp_path: Path) -> None:
    (problem,) = [one for one in check_text(tmp_path, spec(field)).problems if one.severity == "error"]
    assert problem.rule == "tagged-form"
    assert text in problem.text


@pytest.mark.parametrize(
    "field",
    [
        field_of("int32", encoding={"0-1": "fixed32", "2+": "packed32"}, **TAGGED),
        field_of("int64", encoding={"0": "fixed32", "1": "packed64", "2+": "fixed64"}, **TAGGED),
        field_of("[]int32", elementEncoding={"0-1": "fixed32", "2-3": "packed32", "4+": "packed32"}, **TAGGED),
        field_of("string", nullableVersions="2+", **TAGGED),
        field_of("Inner", fields=[field_of("int32", "Leaf", versions="0-1"), LEAF.replace("Leaf", "Other")], **TAGGED),
        field_of("Inner", fields=[field_of("int8", "Leaf", versions="4+", taggedVersions="4+", tag=0)], **TAGGED),
    ],
)
def test_only_the_tagged_versions_count_and_tags_inside_may_come_later(field: str, tmp_path: Path) -> None:
    assert rules_broken(tmp_path, spec(field, valid="0-4")) == []


def test_a_common_struct_is_judged_where_it_is_tagged_data(tmp_path: Path) -> None:
    common = struct_named("Shared", field_of("int32", "Leaf", versions="3+"))
    tagged, plain = field_of("[]Shared", **TAGGED), field_of("Shared", "Beta")
    assert rules_broken(tmp_path, spec(plain, common=(common,))) == []
    assert rules_broken(tmp_path, spec(tagged, plain, common=(common,))) == ["tagged-form"]
    assert rules_broken(tmp_path, spec(tagged.replace("2+", "3+"), plain, common=(common,))) == []


def test_structs_that_use_each_other_many_times_over_are_judged_at_once(tmp_path: Path) -> None:
    deep = [
        struct_named(f"S{number}", *(field_of(f"S{number + 1}", f"Next{turn}") for turn in range(4)))
        for number in range(1, 25)
    ]
    common = (*deep, struct_named("S25", field_of("int32", "Leaf", versions="3+")))
    assert rules_broken(tmp_path, spec(field_of("S1", **TAGGED), common=common)) == ["tagged-form"]
