"""Random specs: messages of odd texts and names of any length, and record formats of any properties."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from kipwire.model.types import TYPES

NAMES = ("Alpha", "Beta", "Gamma", "Delta")
INTEGERS = tuple(row.name for row in TYPES.values() if row.kind == "integer")
OF_FIXED_WIDTH = tuple(row.name for row in TYPES.values() if row.width)
ENCODABLE = tuple(row.name for row in TYPES.values() if row.encodable)
ARRAYS = tuple(f"[]{name}" for name in TYPES if name != "records")
MESSAGE_TYPES = (*TYPES, *ARRAYS)
"""Types of fields of messages, of which some have more properties below."""
FORMS = st.sampled_from(["int16", "int32", "varint", "uvarint", "rest"])
VERSIONS = st.sampled_from(["0+", "0+", "0", "1+"])
OTHERS = st.sampled_from(NAMES)
FieldStrategy = st.SearchStrategy[dict[str, Any]]


def _field(name: str, types: tuple[str, ...], **properties: st.SearchStrategy[Any]) -> FieldStrategy:
    """Return a field of one of the types, with or without the properties."""
    needed = {"name": st.just(name), "type": st.sampled_from(types), "versions": VERSIONS}
    return st.fixed_dictionaries(needed, optional=properties)


def _any_field(name: str, around: str, depth: int) -> FieldStrategy:
    """Return a field with properties that may or may not fit the other fields."""
    bit = OTHERS.map(lambda other: f"{other}0")
    absence = {"presentIf": bit, "requiredIf": bit, "nullableVersions": VERSIONS}
    ranges = st.sampled_from([["0", "1"], ["0-2", "3"], ["7", "0-6"]])
    bits = ranges.map(lambda it: [{"name": f"{name}{index}", "bits": range_} for index, range_ in enumerate(it)])
    checksum = st.fixed_dictionaries({"algorithm": st.just("crc32"), "from": OTHERS})
    kinds = [
        _field(name, OF_FIXED_WIDTH),
        _field(name, INTEGERS, bits=bits),
        _field(name, INTEGERS, required=st.booleans()),
        _field(name, ("int32", "int64"), sizeOf=st.just("rest"), encoding=st.sampled_from(["packed32", "upacked32"])),
        _field(name, ("int32", "uint32"), checksum=checksum),
        _field(name, INTEGERS, constant=st.sampled_from(["version", "7", "-1"])),
        _field(name, ("string", "bytes"), size=FORMS, sizeOnlyWith=OTHERS, **absence),
        _field(name, ("[]int16", "[]string"), count=FORMS, sameLengthAs=OTHERS, **absence),
    ]
    if depth:
        struct = around + name
        inner = st.fixed_dictionaries({"fields": _any_fields(struct, depth - 1)})
        outer = _field(name, (struct, f"[]{struct}")), _field(name, (f"[]{struct}",), size=FORMS, **absence)
        kinds += [st.builds(lambda one, other: one | other, kind, inner) for kind in outer]
    return st.one_of(kinds)


def _any_fields(around: str, depth: int) -> st.SearchStrategy[list[dict[str, Any]]]:
    numbers = st.integers(1, len(NAMES))
    return numbers.flatmap(lambda it: st.tuples(*(_any_field(name, around, depth) for name in NAMES[:it]))).map(list)


def random_layouts() -> st.SearchStrategy[dict[str, Any]]:
    """Record formats, most of which have problems."""
    head = {"name": "Probe", "type": "layout", "validVersions": "0-1"}
    return _any_fields("In", 2).map(lambda fields: {**head, "fields": fields})


TEXTS = st.text(
    st.sampled_from("aZ9 .,:#%{}'\"\\\t\n\xa0\x1f\u2028\u3000\u00e9\u4e2d\u0301\U0001f600"), max_size=160
).map(lambda text: text * (1 + len(text) % 3))
"""Texts with quotes, white space of all kinds, and characters of no width, one or two; some longer than a line."""
_LENGTHS = st.sampled_from([1, 2, 8, 20, 30, 40, 55, 70])
_ENCODINGS = st.sampled_from(["packed32", "upacked32", "fixed16", "upacked64"])
_NULLABLE = {"nullableVersions": VERSIONS, "default": st.just("null")}


def _message_field(names: str, number: int) -> FieldStrategy:
    """Return a field of a message, with a name that no other has."""
    name = _LENGTHS.map(lambda length: f"{names}{number}{'abcdefg' * 10}"[:length] + f"X{number}")
    about = {"about": TEXTS, "ignorable": st.booleans(), "entityType": st.just("topicName")}
    tag = st.fixed_dictionaries({"tag": st.just(number), "taggedVersions": st.just("1+"), "versions": st.just("1+")})

    def field(types: tuple[str, ...], **properties: st.SearchStrategy[Any]) -> FieldStrategy:
        needed = {"name": name, "type": st.sampled_from(types), "versions": VERSIONS}
        plain = st.fixed_dictionaries(needed, optional={**about, **properties})
        return st.one_of(plain, plain, st.builds(lambda one, other: one | other, plain, tag))

    return st.one_of(
        field(INTEGERS, default=st.integers(-128, 127).map(str)),
        field(ENCODABLE, encoding=_ENCODINGS),
        field(MESSAGE_TYPES),
        field(("float64",), default=st.floats().map(str)),
        field(("string",), default=TEXTS),
        field(("string", "bytes"), **_NULLABLE),
    )


def _message_fields(names: str, most: int) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.integers(0, most).flatmap(
        lambda count: st.tuples(*(_message_field(names, number) for number in range(count))).map(list)
    )


def _with_structs(fields: list[dict[str, Any]], inner: list[list[dict[str, Any]]], prefix: str) -> list[dict[str, Any]]:
    """Return the fields and arrays of structs with these fields."""
    rows = [
        {"name": f"{prefix}{number}", "type": f"[]{prefix}{number}Row", "versions": "0+", "fields": own}
        for number, own in enumerate(inner)
        if own
    ]
    return [*fields, *rows]


@st.composite
def random_messages(draw: st.DrawFn) -> dict[str, Any]:
    """Messages, some of which have problems."""
    inner = draw(st.lists(_message_fields("Inner", 8), max_size=2))
    prefix = "Rows" * draw(st.sampled_from([1, 4, 12]))
    return {
        "apiKey": 7,
        "type": "request",
        "name": "ProbeRequest",
        "about": draw(TEXTS),
        "validVersions": "0-1",
        "flexibleVersions": "1+",
        "fields": _with_structs(draw(_message_fields("Outer", 8)), inner, prefix),
    }
