"""Resolving makes the class of a version: its structs, the fields of each, and which versions share a form."""

from __future__ import annotations

from pathlib import Path

import pytest

from kipgen.language.spec import MessageSpec
from kipgen.python.pymodel import formats, python_structs
from kipgen.reading.check import read_bytes
from kipgen.reading.rules.examples import LEAF, field_of, layout, spec
from kipgen.resolve.headers import HeaderVersions, resolve_versions
from kipgen.resolve.wire import resolve, same_form
from kipwire.description.plan import plan_of
from tests.support.spec_package import modules_of

FLAGS = field_of("int8", "Flags", bits=[{"name": "Key", "bits": "0"}, {"name": "Low", "bits": "1-2"}], ignorable=True)


def common(name: str, versions: str) -> str:
    return f'{{"name": "{name}", "versions": "{versions}", "fields": [{LEAF}]}}'


def read(text: str) -> MessageSpec:
    checked = read_bytes(text.encode(), "Probe.json")
    assert checked.spec is not None, checked.problems
    return checked.spec


def test_a_common_struct_has_a_class_in_its_own_versions_also_without_a_use() -> None:
    found = read(spec(LEAF, flexible="none", common=(common("One", "0"), common("Other", "1+"))))
    names = [[struct.__name__ for struct in resolve(found, version).STRUCTS] for version in (0, 1)]
    assert names == [["One"], ["Other"]]
    assert not same_form(resolve(found, 0), resolve(found, 1)), "a module would import a struct that is not there"
    assert same_form(resolve(found, 1), resolve(found, 2))


def test_versions_with_other_headers_do_not_share_a_form() -> None:
    more = '"apiKey": 1, "headerVersions": {"0": "1", "1+": "2"}'
    found = read(spec(LEAF, name="ProbeRequest", type_="request", flexible="none", more=more))
    first, second, third = resolve_versions(found, HeaderVersions())[:3]
    assert (same_form(first, second), same_form(second, third)) == (False, True)


def test_named_bits_are_ignorable_as_their_integer_is() -> None:
    fields = resolve(read(layout(FLAGS)), 0).FIELDS
    assert [(field.name, field.role, field.ignorable) for field in fields] == [
        ("flags", "bits", True),
        ("key", "value", True),
        ("low", "value", True),
    ]


@pytest.mark.parametrize("size", ["int16", "int32", "varint", "uvarint"])
def test_a_prefix_of_any_type_may_depend_on_the_next_field(size: str, tmp_path: Path) -> None:
    flags = field_of("int8", "Flags", bits=[{"name": "HasValue", "bits": "0"}])
    key = field_of("bytes", "Key", size=size, sizeOnlyWith="Value")
    value = field_of("bytes", "Value", size="rest", presentIf="HasValue", nullableVersions="0+")
    cls = modules_of(layout(flags, key, value), f"prefix_{size}", tmp_path)[0].Probe
    for message in (cls(key=b"key", value=None), cls(key=b"key", value=b"v")):
        encoded = message.encode()
        assert cls._read(again := cls.__new__(cls), encoded, 0) == len(encoded), "as without the kernel"
        assert again == message == cls.decode(encoded)


def test_a_number_between_two_varints_keeps_them_apart() -> None:
    varints = [field_of("int32", name, encoding="upacked32") for name in ("Alpha", "Gamma")]
    found = read(layout(varints[0], field_of("int8", "Beta"), varints[1]))
    (struct,) = python_structs(resolve(found, 0))
    for steps in (struct.read, struct.write):
        assert [[field.name for field in step.fields] for step in steps] == [["alpha"], ["gamma"]]


def test_a_checksum_has_no_sign_where_its_type_has_one(tmp_path: Path) -> None:
    cls = modules_of(
        layout(field_of("int32", "Crc", checksum={"algorithm": "crc32", "from": "Alpha"}), field_of("int8")),
        "signed_checksum",
        tmp_path,
    )[0].Probe
    messages = [cls(alpha=number) for number in range(4)]
    assert {message.encode()[0] >> 7 for message in messages} == {0, 1}
    for message in messages:
        encoded = message.encode()
        assert cls._read(again := cls.__new__(cls), encoded, 0) == len(encoded), "as without the kernel"
        assert again == message


@pytest.mark.parametrize(("type_", "counted"), [("Inner", False), ("[]Inner", True)])
def test_only_arrays_have_elements_that_take_no_byte(type_: str, counted: bool) -> None:
    found = read(spec(field_of(type_, fields=[field_of("int8", "Leaf", "1+")]), flexible="none"))
    inner, message = python_structs(resolve(found, 0))
    assert (inner.has_empty_elements, message.has_empty_elements) == (False, counted)


def test_a_field_says_nothing_that_holds_without_it() -> None:
    text = field_of("string", "Text", presentIf="HasText")
    numbers = [
        field_of("int32", name, encoding=encoding) for name, encoding in (("Own", "fixed32"), ("Short", "fixed16"))
    ]
    bits = field_of("int8", "Flags", bits=[{"name": "HasText", "bits": "0"}])
    rest = field_of("[]Inner", "Rest", size="rest", fields=[LEAF])
    fields = {field.name: field.arguments() for field in resolve(read(layout(bits, text, *numbers, rest)), 0).FIELDS}
    assert fields["has_text"].keys() == {"role", "bit"}
    assert (fields["own"].get("encoding"), fields["short"]["encoding"]) == (None, "fixed16")
    assert "sized" not in fields["rest"], "it is as long as what is left"


def test_a_request_has_its_key() -> None:
    found = read(spec(LEAF, name="ProbeRequest", type_="request", more='"apiKey": 7'))
    assert resolve(found, 3).API_KEY == 7


@pytest.mark.parametrize("field", [field_of("int32", encoding="upacked32"), FLAGS])
def test_a_byte_or_a_varint_alone_needs_no_format_of_the_struct_module(field: str) -> None:
    assert formats(python_structs(resolve(read(layout(field)), 0))) == ([], [])


def test_the_uuid_of_zeros_is_made_once() -> None:
    (struct,) = python_structs(resolve(read(spec(field_of("uuid"))), 0))
    assert [item.default_expression for item in struct.items] == ["ZERO_UUID"]


def test_an_instance_of_defaults_has_the_structs_that_are_neither_null_nor_elements() -> None:
    null = field_of("Inner", nullableVersions="0+", default="null")
    found = read(spec(null, field_of("Inner", "Beta"), field_of("[]Inner", "Gamma"), common=(common("Inner", "0+"),)))
    assert plan_of(resolve(found, 0)).default_structs == 2


def test_a_struct_has_the_floats_of_structs_in_it() -> None:
    for type_, has_floats in (("float64", True), ("int64", False)):
        found = read(spec(field_of("Inner", fields=[field_of(type_, "Leaf")])))
        assert plan_of(resolve(found, 0)).has_floats == has_floats


def test_a_version_has_the_structs_of_its_own_fields() -> None:
    found = read(spec(LEAF, field_of("Inner", versions="1+", fields=[field_of("int8", "Beta", "1+")])))
    assert [len(resolve(found, version).STRUCTS) for version in (0, 1)] == [0, 1]


def test_the_tag_of_a_field_that_is_not_tagged_yet_is_refused() -> None:
    fields = [field_of("int32", name, taggedVersions="3+", tag=tag) for name, tag in (("Beta", 1), ("Gamma", 0))]
    found = read(spec(LEAF, *fields))
    structs = [python_structs(resolve(found, version))[-1] for version in range(4)]
    assert [struct.other_tags for struct in structs] == [(), (), (0, 1), ()]


def test_an_array_takes_no_less_than_its_count() -> None:
    found = read(spec(field_of("[]int8"), flexible="none"))
    assert plan_of(resolve(found, 0)).minimum_size == 4


def test_only_a_struct_that_could_end_before_its_size_says_checks_its_end() -> None:
    size = field_of("int32", "Size", sizeOf="rest")
    for last, checks in ((field_of("int8", "Beta"), True), (field_of("bytes", "Beta", size="rest"), False)):
        (struct,) = python_structs(resolve(read(layout(field_of("int8"), size, last)), 0))
        assert struct.checks_its_end == checks
