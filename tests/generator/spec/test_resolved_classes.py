"""What resolving makes of a version: its structs, the fields of each, and which versions share a form."""

from __future__ import annotations

from pathlib import Path

import pytest

from kipgen.language.spec import MessageSpec
from kipgen.python.pymodel import python_structs
from kipgen.reading.check import read_bytes
from kipgen.reading.rules.examples import LEAF, field_of, layout, spec
from kipgen.resolve.headers import HeaderVersions, resolve_versions
from kipgen.resolve.wire import resolve, same_form
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
