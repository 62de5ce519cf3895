"""The version ranges of the spec language: their grammar and their algebra."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kipgen.language.versions import MAX_VERSION, Versions

numbers = st.integers(0, MAX_VERSION)
ranges = st.one_of(
    st.just(Versions.NONE),
    st.tuples(numbers, numbers).map(lambda pair: Versions(min(pair), max(pair))),
)
samples = st.one_of(numbers, st.sampled_from([0, 1, MAX_VERSION - 1, MAX_VERSION]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", Versions.NONE),
        ("0", Versions(0, 0)),
        ("7", Versions(7, 7)),
        ("2-2", Versions(2, 2)),
        ("4-5", Versions(4, 5)),
        ("  4-5 ", Versions(4, 5)),
        ("3+", Versions(3, MAX_VERSION)),
        ("0+", Versions.ALL),
        ("32767", Versions(MAX_VERSION, MAX_VERSION)),
        ("0-32767", Versions.ALL),
    ],
)
def test_range_is_read(text: str, expected: Versions) -> None:
    assert Versions.parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "None",
        "NONE",
        "+",
        "-",
        "+1",
        "-1",
        "1-",
        "1--2",
        "1 - 2",
        "1 +",
        "0,2+",
        "0-1-2",
        "0x1",
        "1.0",
        "v1",
        "32768",
        "32768+",
        "0-32768",
        "3-1",
        "٣",
        "1+2",
        "1-2+",
        "1\n2",
    ],
)
def test_what_is_not_a_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"version|wrong order"):
        Versions.parse(text)


def test_refusal_says_what_would_be_right() -> None:
    with pytest.raises(ValueError, match="'3-1' has its ends in the wrong order; write '1-3'"):
        Versions.parse("3-1")


@given(ranges)
def test_range_is_printed_as_it_is_read(versions: Versions) -> None:
    assert Versions.parse(str(versions)) == versions


@pytest.mark.parametrize("text", ["none", "0", "0-3", "5+", "0+"])
def test_text_is_printed_back(text: str) -> None:
    assert str(Versions.parse(text)) == text


@given(ranges, ranges, samples)
def test_intersection_has_the_versions_of_both(one: Versions, other: Versions, version: int) -> None:
    assert (version in one.intersect(other)) == (version in one and version in other)


@given(ranges, ranges)
def test_empty_intersection_is_none(one: Versions, other: Versions) -> None:
    both = one.intersect(other)
    assert both == other.intersect(one)
    assert both.is_empty == (both == Versions.NONE)


@given(ranges, ranges)
def test_range_contains_what_intersection_keeps(one: Versions, other: Versions) -> None:
    assert one.contains(other) == (one.intersect(other) == other)


def test_none_is_in_every_range_and_has_no_other_in_it() -> None:
    assert Versions.NONE.contains(Versions.NONE)
    assert Versions.parse("3-5").contains(Versions.NONE)
    assert not Versions.NONE.contains(Versions.parse("0"))


def test_only_ranges_up_to_the_last_version_are_open() -> None:
    assert Versions.parse("3+").is_open
    assert not Versions.parse("3-5").is_open
    assert not Versions.NONE.is_open


def test_versions_of_a_closed_range_one_by_one() -> None:
    assert list(Versions.parse("3-5").each()) == [3, 4, 5]
    assert list(Versions.NONE.each()) == []
