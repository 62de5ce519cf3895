"""Metadata of fields: the text of the spec, read from the source of the class; facts about types are stated once."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator
from typing import Any

import pytest

import kafka_messages
import kafka_records
from kafka_messages.metadata_response.v12 import MetadataResponse
from kafka_records.message_and_offset.v1 import MessageAndOffset
from kafka_records.record_batch.v2 import RecordBatch
from kipgen.language.names import attribute_name
from kipgen.language.spec import FieldSpec, MessageSpec
from kipgen.reading.check import read_folder
from kipgen.resources import resolved_schema_path
from kipwire import Struct, native
from kipwire.drafts import proposals
from kipwire.model.types import ENCODINGS, TYPES
from tests.support.places import FORMS, ROOT

SCHEMAS = ROOT / "schemas"
PACKAGES = (kafka_messages, kafka_records, proposals)


def abouts(fields: tuple[FieldSpec, ...], version: int) -> Iterator[tuple[str, str]]:
    """Yield the texts of a struct's spec by attribute."""
    for field in fields:
        if version in field.versions:
            yield attribute_name(field.name), field.about
            yield from ((attribute_name(bit.name), bit.about) for bit in field.layout.bits or ())


def attributes(spec: MessageSpec, version: int) -> dict[str, str]:
    """Return the attribute's name, which texts use, by the name of each field that is not an ordinary word."""
    every = (*spec.fields, *(field for struct in spec.structs for field in struct.fields))
    present = [field for field in every if version in field.versions and not field.layout.is_computed]
    presence_bits = {field.layout.presence_bit for field in present}
    names = [name for field in present for name in [bit.name for bit in field.layout.bits] or [field.name]]
    return {name: attribute_name(name) for name in names if name not in presence_bits and "_" in attribute_name(name)}


def check_abouts(cls: type[Struct], spec: MessageSpec, fields: tuple[FieldSpec, ...], version: int) -> int:
    """Compare the texts of a class and of the structs in it; return their number."""
    names = attributes(spec, version)
    expected = {
        name: re.sub(r"\w+", lambda word: names.get(word[0], word[0]), " ".join(text.split()))
        for name, text in abouts(fields, version)
    }
    assert {field.name: field.about for field in cls.FIELDS} == expected
    count = len(expected)
    for field in cls.FIELDS:
        if field.struct is not None:
            count += check_abouts(field.struct, spec, spec.struct(field.element).fields, version)
    return count


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_field_of_every_class_is_explained_as_in_its_spec(package: Any) -> None:
    checked, _ = read_folder(SCHEMAS / package.__name__.rpartition(".")[2])
    specs = [one.spec for one in checked if one.spec is not None]
    seen = 0
    for spec in specs:
        for version in spec.valid_versions.each():
            cls = package.message(spec.name, version)
            seen += check_abouts(cls, spec, spec.fields, version)
    assert {spec.name for spec in specs} == set(package.names())
    assert seen > 50


def test_fields_of_versions_that_share_a_class_are_explained() -> None:
    class Later(MetadataResponse):
        """Another docstring."""

        __slots__ = ()

    assert [field.about for field in Later.FIELDS] == [field.about for field in MetadataResponse.FIELDS]
    assert Later.ATTRIBUTES is MetadataResponse.ATTRIBUTES


def test_what_is_computed_is_a_field_but_no_attribute() -> None:
    roles = {field.name: field.role for field in RecordBatch.FIELDS if field.role != "value"}
    assert roles == {
        "batch_length": "size",
        "magic": "constant",
        "crc": "checksum",
        "attributes": "bits",
    }
    assert {field.name for field in RecordBatch.ATTRIBUTES} == set(RecordBatch.__slots__)
    assert not {field.name for field in MessageAndOffset.ATTRIBUTES} & {"message_size", "crc", "magic", "attributes"}
    assert "crc (uint32, computed crc32c): CRC-32C of everything after it." in (RecordBatch.__doc__ or "")


def test_widths_and_ranges_are_those_of_the_struct_module() -> None:
    for row in TYPES.values():
        assert row.width == (struct.calcsize(f">{row.code}") if row.code else 0)
        if row.kind == "integer":
            for number in row.range:
                assert struct.unpack(f">{row.code}", struct.pack(f">{row.code}", number)) == (number,)
            for number in (row.range[0] - 1, row.range[1] + 1):
                with pytest.raises(struct.error):
                    struct.pack(f">{row.code}", number)


def test_the_schema_of_resolved_specs_has_the_same_types() -> None:
    forms = json.loads(resolved_schema_path().read_text("utf-8"))["$defs"]["value"]["oneOf"]
    fixed, varint, sized = (form["properties"]["type"]["enum"] for form in forms[:3])
    assert fixed == [row.name for row in TYPES.values() if row.width]
    assert varint == [row.name for row in TYPES.values() if row.encodable]
    assert sized == [row.name for row in TYPES.values() if not row.width]


def test_specs_of_tests_have_fields_of_every_type_and_arrays_of_it() -> None:
    given = {
        str(field.type)
        for checked in read_folder(FORMS)[0]
        if checked.spec is not None
        for fields in (checked.spec.fields, *(struct.fields for struct in checked.spec.structs))
        for field in fields
    }
    every = {*TYPES, *(f"[]{name}" for name in TYPES)} - {"[]records"}  # which no spec can have: array-of-records
    assert every - given == set(), "tests/data/forms lacks them"


@pytest.mark.skipif(not native.in_use, reason="the kernel is not built")
def test_the_kernel_has_the_same_types() -> None:
    from kipwire import _kernel

    kinds: dict[str, tuple[int, int, int]] = vars(_kernel)["KINDS"]

    fixed = {row.name: row.width for row in TYPES.values() if row.width}
    varints = {name: one.bits for name, one in ENCODINGS.items() if one.scheme != "fixed"}
    assert set(kinds) == {*fixed, *varints, "string", "bytes", "struct"}
    assert {name: kinds[name][1:] for name in fixed} == {name: (0, width) for name, width in fixed.items()}
    assert {name: kinds[name][1:] for name in varints} == {name: (bits, 1) for name, bits in varints.items()}
