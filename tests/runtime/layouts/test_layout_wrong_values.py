"""Layouts: wrong values are refused with their paths; JSON and other versions."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kipwire import ConversionError, EncodeError, JsonError, convert
from tests.support.hex_tables import raw
from tests.support.spec_package import Classes
from tests.support.subjects.layout_examples import PAIRS, nulls, pairs

# Wrong values.


def without(name: str, attribute: str) -> Callable[[Any], Any]:
    def make(it: Any) -> Any:
        message = getattr(it, name)()
        delattr(message, attribute)
        return message

    return make


UNFIT: list[tuple[str, int, Callable[[Any], Any], str, str]] = [
    ("Prefixes", 0, lambda it: it.Prefixes(text=None), "text", "must not be null in this version"),
    ("Prefixes", 1, lambda it: it.Prefixes(text_uvarint=None), "text_uvarint", "must not be null in this version"),
    ("Prefixes", 0, lambda it: it.Prefixes(text=b"a"), "text", "must be a str, not bytes"),
    ("Prefixes", 0, lambda it: it.Prefixes(blob="a"), "blob", "must be bytes, not str"),
    (
        "Prefixes",
        0,
        lambda it: it.Prefixes(text_varint="a\ud800"),
        "text_varint",
        "cannot be written as UTF-8: character 1 is a lone surrogate",
    ),
    (
        "Prefixes",
        0,
        lambda it: it.Prefixes(text="é" * 16384),
        "text",
        "string of 32768 bytes; the int16 before it can declare at most 32767",
    ),
    (
        "Prefixes",
        0,
        lambda it: it.Prefixes(blob_int16=memoryview(bytes(32768)).cast("i")),
        "blob_int16",
        "bytes of 32768 bytes; the int16 before it can declare at most 32767",
    ),
    ("Prefixes", 0, without("Prefixes", "blob_varint"), "blob_varint", "the attribute is missing"),
    (
        "Arrays",
        0,
        lambda it: it.Arrays(shorts=[0] * 32768),
        "shorts",
        "array of 32768 elements; the int16 before it can declare at most 32767",
    ),
    (
        "Arrays",
        0,
        lambda it: it.Arrays(sized_int16=[it.Item(text="x" * 16381)] * 2),
        "sized_int16",
        "array of 32768 bytes; the int16 before it can declare at most 32767",
    ),
    (
        "Arrays",
        0,
        lambda it: it.Arrays(numbers=[2**31]),
        "numbers[0]",
        "2147483648 is out of range: int32 holds -2147483648 to 2147483647",
    ),
    (
        "Arrays",
        0,
        lambda it: it.Arrays(texts=["a", "b" * 32768]),
        "texts[1]",
        "string of 32768 bytes; the limit is 32767",
    ),
    ("Arrays", 0, lambda it: it.Arrays(classic=[None]), "classic[0]", "elements of an array must not be null"),
    ("Arrays", 0, lambda it: it.Arrays(few=None), "few", "must not be null in this version"),
    ("Arrays", 0, lambda it: it.Arrays(few={}), "few", "must be a list, not dict"),
    (
        "Arrays",
        0,
        lambda it: it.Arrays(sized_varint=[it.Item(), it.Item(number=2**31)]),
        "sized_varint[1].number",
        "2147483648 is out of range: packed32 holds -2147483648 to 2147483647",
    ),
    ("Switches", 0, lambda it: it.Switches(low16=8), "low16", "8 is out of range: 3 bits hold 0 to 7"),
    ("Switches", 0, lambda it: it.Switches(low16=-1), "low16", "-1 is out of range: 3 bits hold 0 to 7"),
    (
        "Switches",
        0,
        lambda it: it.Switches(high_u32=2**24),
        "high_u32",
        "16777216 is out of range: 24 bits hold 0 to 16777215",
    ),
    (
        "Switches",
        0,
        lambda it: it.Switches(low64=2**63),
        "low64",
        "9223372036854775808 is out of range: 63 bits hold 0 to 9223372036854775807",
    ),
    ("Switches", 0, lambda it: it.Switches(low16=1.0), "low16", "must be an int, not float"),
    ("Switches", 0, lambda it: it.Switches(low16=None), "low16", "must not be null in this version"),
    ("Switches", 0, lambda it: it.Switches(top8=2), "top8", "must be True or False, not 2"),
    ("Switches", 0, lambda it: it.Switches(text=b""), "text", "must be a str, not bytes"),
    ("Switches", 0, lambda it: it.Switches(blob=None), "blob", "must not be null in this version"),
    ("Switches", 0, lambda it: it.Switches(numbers=""), "numbers", "must be a list, not str"),
    ("Switches", 0, lambda it: it.Switches(items=0), "items", "must be a list, not int"),
    ("Switches", 0, lambda it: it.Switches(maybes=["a", 1]), "maybes[1]", "must be a str, not int"),
    ("Frames", 0, lambda it: it.Frames(inner=it.Leaf()), "inner", "must be a {it}.Inner, not Leaf"),
    (
        "Frames",
        0,
        lambda it: it.Frames(elements=[it.Element(content=bytes(40_000))]),
        "size_int16",
        "40008 bytes follow; a size of type int16 can declare at most 32767",
    ),
    (
        "Frames",
        5,
        lambda it: it.Frames(elements=[it.Element(content=bytes(40_000))]),
        "size_packed16",
        "40008 bytes follow; a size of type packed16 can declare at most 32767",
    ),
    (
        "Frames",
        1,
        lambda it: it.Frames(sections=[it.Section(), it.Section(note="x" * 32766)]),
        "sections[1].length",
        "32768 bytes follow; a size of type int16 can declare at most 32767",
    ),
    (
        "Sets",
        0,
        lambda it: it.Sets(by_number=[it.Numbered(key=1), it.Numbered(key=2), it.Numbered(key=1)]),
        "by_number[2].key",
        "element 0 has the same key 1; keys must be unique",
    ),
    (
        "Sets",
        0,
        lambda it: it.Sets(by_bytes=[it.Raw(key=memoryview(b"b")), it.Raw(key=memoryview(b"a"))]),
        "by_bytes",
        "the elements cannot be put in order: values of key cannot be compared",
    ),
    (
        "Sets",
        0,
        lambda it: it.Sets(offsets=[1]),
        "offsets",
        "array of 1 elements, but errors has 0; both must have the same length",
    ),
    (
        "Sets",
        0,
        lambda it: it.Sets(errors=[1], offsets=[1]),
        "counts",
        "array of 0 elements, but offsets has 1; both must have the same length",
    ),
    (
        "Sets",
        0,
        lambda it: it.Sets(errors=[1], offsets=[1], counts=[it.Count()]),
        "more",
        "array of 0 elements, but errors has 1; both must have the same length",
    ),
    (
        "Pairs",
        0,
        lambda it: it.Pairs(pairs=[it.Pair(value=None)]),
        "pairs[0].value",
        "must not be null in this version",
    ),
    ("Pairs", 0, lambda it: it.Pairs(pairs=[it.Pair(key=1, value=b"v")]), "pairs[0].key", "must be a str, not int"),
]


@pytest.mark.parametrize(("name", "version", "make", "path", "reason"), UNFIT)
def test_wrong_values_are_refused_with_their_path(
    layouts: Classes, name: str, version: int, make: Callable[[Any], Any], path: str, reason: str
) -> None:
    module = layouts.module(name, version)
    message = make(module)
    for write in (message.encode, message.encoded_size, message.to_json):
        with pytest.raises(EncodeError) as caught:
            write()
        assert (caught.value.path, caught.value.reason) == (path, reason.replace("{it}", module.__name__))


# JSON and other versions.


def test_json_has_the_attributes_and_nothing_that_is_computed(layouts: Classes) -> None:
    module = layouts.module("Pairs", 1)
    message = module.Pairs(pairs=[module.Pair(key=None, value=b"v", end=1)])
    value = {"pairs": [{"key": None, "value": "dg==", "end": 1}]}
    assert message.to_json() == value
    assert module.Pairs.from_json(json.loads(json.dumps(value))) == message


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("low16", 8, "8 is out of range: 3 bits hold 0 to 7"),
        ("low16", -1, "-1 is out of range: 3 bits hold 0 to 7"),
        ("low16", True, "must be a whole number, not a boolean"),
        ("top8", 1, "must be true or false, not a number"),
        ("hasText", True, "no version of the message has a field of this name"),
        ("bits8", 0, "no version of the message has a field of this name"),
    ],
)
def test_json_knows_the_limits_of_bits(layouts: Classes, key: str, value: object, reason: str) -> None:
    cls = layouts("Switches", 0)
    with pytest.raises(JsonError) as caught:
        cls.from_json({**cls().to_json(), key: value})
    assert (caught.value.path, caught.value.reason) == (key, reason)


def test_conversion_between_versions_is_as_of_other_messages(layouts: Classes) -> None:
    message = pairs(layouts.module("Pairs", 0))
    assert convert(message, 1) == pairs(layouts.module("Pairs", 1))
    assert convert(message, 1).encode() == raw(f"01 cafe {PAIRS}")
    with pytest.raises(ConversionError) as caught:
        convert(nulls(layouts.module("Prefixes", 1)), 0)
    assert caught.value.path == "text"
