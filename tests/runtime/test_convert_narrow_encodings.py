"""Conversion names each number that a narrower encoding of the other version does not hold (KIP-625)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kipgen.reading.rules.examples import field_of, layout, spec, struct_named
from kipwire import ConversionError, EncodeError
from kipwire.message.conversion import build, convert
from tests.support.cost import cost_of
from tests.support.spec_package import classes_of

NARROW = {"0-1": "fixed32", "2+": "fixed64"}
SPEC = spec(
    field_of("int64", "One", encoding=NARROW),
    field_of("[]int64", "Many", elementEncoding={"0-1": "upacked32", "2+": "fixed64"}, nullableVersions="0+"),
    field_of("Shared", "Inside"),
    field_of("[]Shared", "Each"),
    field_of("int64", "Tagged", encoding={"0": "fixed16", "1+": "packed32"}, taggedVersions="1+", tag=0),
    field_of("int32", "SameWidth", encoding={"0-1": "packed32", "2+": "upacked32"}),
    flexible="1+",
    common=(struct_named("Shared", field_of("int64", "Leaf", encoding={"0-1": "packed16", "2+": "packed64"})),),
)


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Any]:
    return classes_of(SPEC, "narrow_conversion", tmp_path_factory.mktemp("specs"))


def lost(message: Any, version: int) -> list[str]:
    """Return the losses of a conversion, one line each; if there are none, encode its result, which must not fail."""
    try:
        converted = convert(message, version)
    except ConversionError as error:
        return str(error).split(f"cannot become version {version}: ")[1].split("; ")
    converted.encode()
    return []


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"one": 2**31}, ["one: 2147483648 is out of range: fixed32 holds -2147483648 to 2147483647"]),
        ({"one": -(2**31), "many": [2**31 - 1], "inside": {"leaf": -(2**15)}, "tagged": 2**15 - 1}, []),
        ({"many": [1, -(2**31) - 1, 2, 2**40]}, [
            "many[1]: -2147483649 is out of range: upacked32 holds -2147483648 to 2147483647",
            "many[3]: 1099511627776 is out of range: upacked32 holds -2147483648 to 2147483647",
        ]),
        ({"many": None}, []),
        ({"inside": {"leaf": 2**15}}, ["inside.leaf: 32768 is out of range: packed16 holds -32768 to 32767"]),
        ({"each": [{"leaf": 1}, {"leaf": 2**20}]}, [
            "each[1].leaf: 1048576 is out of range: packed16 holds -32768 to 32767"
        ]),
        ({"tagged": -(2**15) - 1}, ["tagged: -32769 is out of range: fixed16 holds -32768 to 32767"]),
    ],
)  # fmt: skip
def test_each_number_that_does_not_fit_is_named(
    values: dict[str, Any], expected: list[str], classes: dict[int, Any]
) -> None:
    assert lost(build(classes[3], values), 0) == expected


def test_a_tagged_number_and_its_plain_form_have_their_own_bounds(classes: dict[int, Any]) -> None:
    message = classes[3](tagged=2**20)
    assert lost(message, 1) == []
    assert lost(message, 0) == ["tagged: 1048576 is out of range: fixed16 holds -32768 to 32767"]


def test_plain_values_are_judged_alike_and_everything_lost_is_named(classes: dict[int, Any]) -> None:
    with pytest.raises(ConversionError) as caught:
        build(classes[0], {"one": 2**40, "inside": {"leaf": 2**40}, "nothing": 1})
    text = str(caught.value)
    assert "one: 1099511627776 is out of range: fixed32 holds" in text
    assert "inside.leaf: 1099511627776 is out of range: packed16 holds" in text
    assert "nothing: no version has a field of this name" in text


def test_what_is_not_a_number_is_left_to_encoding(classes: dict[int, Any]) -> None:
    message = build(classes[0], {"one": "many", "many": ["x"]})
    with pytest.raises(EncodeError, match="one"):
        message.encode()


def test_named_bits_that_are_fewer_in_the_other_version_are_judged_alike(tmp_path: Path) -> None:
    few = field_of("int8", "Few", versions="0", bits=[{"name": "Kind", "bits": "0-1"}])
    more = field_of("int8", "More", versions="1", bits=[{"name": "Kind", "bits": "0-3"}])
    classes = classes_of(layout(few, more, valid="0-1"), "narrow_bits", tmp_path)
    assert convert(classes[1](kind=3), 0) == classes[0](kind=3)
    assert lost(classes[1](kind=4), 0) == ["kind: 4 is out of range: 2 bits hold 0 to 3"]


def test_an_array_whose_encoding_is_as_wide_as_its_type_is_not_looked_through(tmp_path: Path) -> None:
    text = spec(field_of("[]int32", elementEncoding={"0-1": "packed32", "2+": "upacked32"}))
    classes = classes_of(text, "same_width", tmp_path)
    few, many = classes[3](alpha=[1]), classes[3](alpha=[1] * 1000)
    convert(few, 0)
    assert cost_of(lambda: convert(many, 0)).steps == cost_of(lambda: convert(few, 0)).steps
