"""Bytes that other clients' readers accept are refused, and names of all kinds work: classes of data/forms."""

from __future__ import annotations

import json
import math
import struct
import typing
import uuid
from types import ModuleType
from typing import Any

import pytest

from kipwire import DecodeError, EncodeError, UnsupportedVersionError, native
from tests.support import property_checks
from tests.support.hex_tables import raw
from tests.support.places import FORMS
from tests.support.spec_package import Classes
from tests.support.subjects.form_examples import is_written_and_read

# Strictness: bytes that Kafka's readers accept, and bytes that they refuse, too.

HALF_TEXT, LONG_TEXT = "61" * 32767, "61" * 32768

REFUSED = [
    ("truncated fixed value", "Worked", 0, "", "flag", 0),
    ("truncated length", "Worked", 0, "00 00", "text", 1),
    ("truncated text", "Worked", 1, "01 05 41", "text", 2),
    ("truncated varint", "Worked", 1, "01 81", "text", 2),
    ("truncated marker", "Worked", 1, "00 01 01", "maybe", 3),
    ("truncated tag section", "Worked", 1, "00 01 01 ff 01", "", 5),
    ("null where not nullable, classic text", "Message", 0, "ffff", "name", 0),
    ("null where not nullable, compact text", "Message", 1, "00 00", "name", 0),
    ("null where not nullable, classic array", "Worked", 0, "00 0000 00000000 ff ffffffff", "nothings", 8),
    ("null where not nullable, compact array", "Worked", 1, "00 01 01 ff 00 00", "nothings", 4),
    ("null where not nullable, bytes", "WorkedTags", 0, "01 01 03 01 00 00", "maybe.blob", 4),
    ("null element of an array, compact", "Sequences", 1, "01 02 00 01 01 01 01 00", "texts[0]", 2),
    ("null element of an array, classic", "Sequences", 0, "00000000 00000002 0000 ffff", "texts[1]", 10),
    ("null element of an array of bytes", "Sequences", 0, "00000000 00000000 00000001 ffffffff", "blobs[0]", 12),
    ("other negative length of a text", "Worked", 0, "00 fff9 00000000 ff 00000000", "text", 1),
    ("other negative length of an array", "Worked", 0, "00 0000 fffffff9 ff 00000000", "numbers", 3),
    ("other negative length of bytes", "Overrides", 0, "0000 0000 00000000 fffffffe", "null_blob", 8),
    ("compact length of 2^32 - 1", "Worked", 1, "00 ffffffff0f 01 ff 01 00", "text", 1),
    ("compact length of 2^31", "Worked", 1, "00 8080808008 01 ff 01 00", "text", 1),
    ("compact count of 2^31", "Worked", 1, "00 01 8080808008 ff 01 00", "numbers", 2),
    ("compact text of 32768 bytes", "Worked", 1, f"00 818002 {LONG_TEXT} 01 ff 01 00", "text", 1),
    ("bytes that are longer than the rest", "Overrides", 0, "0000 0000 00000003 aabb", "blob", 8),
    ("classic text that is longer than the rest", "Worked", 0, "00 7fff 61", "text", 3),
    ("array count beyond the rest", "Worked", 0, "00 0000 00000003 00000001 00000002", "numbers", 7),
    ("array count beyond the rest, structs", "Sequences", 1, "01 01 01 01 01 03 0001 00000002 00", "pairs[1].key", 13),
    ("array count of 2^31 - 1, classic", "Worked", 0, "00 0000 7fffffff ff", "numbers", 7),
    ("array count of 2^31 - 2, compact", "Worked", 1, "00 01 ffffffff07 ff 01 00", "numbers", 7),
    ("array count of 2^31 - 1 elements without bytes", "Worked", 0, "00 0000 00000000 ff 7fffffff", "nothings", 8),
    ("over-long varint", "Worked", 1, "00 8100 01 ff 01 00", "text", 1),
    ("over-long varint of three bytes", "Worked", 1, "00 818000 01 ff 01 00", "text", 1),
    ("bits lost in the fifth byte", "Worked", 1, "00 8180808070 01 ff 01 00", "text", 1),
    ("varint of six bytes", "Worked", 1, "00 808080808001 01 ff 01 00", "text", 1),
    ("over-long count of tagged fields", "NoFields", 1, "8000", "", 0),
    ("over-long tag", "NoFields", 1, "01 8200 00", "", 1),
    ("over-long size of a tagged field", "NoFields", 1, "01 02 8000", "<tag 2>", 2),
    ("over-long marker of a tagged struct", "WorkedTags", 0, "01 01 04 8100 01 00", "maybe", 3),
    ("negative count of tagged fields", "NoFields", 1, "ffffffff0f", "", 0),
    ("count of tagged fields beyond the rest", "NoFields", 1, "02 05 00", "", 3),
    ("count of 2^31 - 1 tagged fields", "NoFields", 1, "ffffffff07", "", 5),
    ("known tags that descend", "WorkedTags", 0, "02 | 01 01 00 | 00 08 3ff0000000000000", "", 4),
    ("known tag twice", "WorkedTags", 0, "02 | 01 01 00 | 01 01 00", "", 4),
    ("unknown tags that descend", "NoFields", 1, "02 | 06 00 | 05 00", "", 3),
    ("unknown tag twice", "NoFields", 1, "02 | 06 00 | 06 00", "", 3),
    ("unknown tag before a known one that is lower", "WorkedTags", 0, "02 | 06 00 | 01 01 00", "", 3),
    ("size larger than the value", "WorkedTags", 0, "01 | 00 09 3ff0000000000000 00", "ratio", 2),
    ("size smaller than the value", "WorkedTags", 0, "01 | 00 07 3ff0000000000000", "ratio", 2),
    ("size larger than the value of a struct", "WorkedTags", 0, "01 | 01 04 01 01 00 00", "maybe", 2),
    ("size of nothing", "WorkedTags", 0, "01 | 01 00 00", "maybe", 2),
    ("size of a known tag beyond the rest", "WorkedTags", 0, "01 | 00 09 3ff0000000000000", "ratio", 3),
    ("size of an unknown tag beyond the rest", "NoFields", 1, "01 | 06 02 aa", "<tag 6>", 3),
    ("size of an unknown tag of 2^31", "NoFields", 1, "01 | 06 8080808008 aa", "<tag 6>", 2),
    ("tag of 2^31", "NoFields", 1, "01 | 8080808008 00", "", 1),
    ("tag of other versions", "MovedTags", 1, "00000000 01 ff 01 00 | 01 03 02 01 00", "<tag 3>", 9),
    ("tag of later versions", "MovedTags", 2, "00000000 01 00 | 01 ea07 02 01 00", "<tag 1002>", 7),
    ("bool of 2", "Worked", 0, "02 0000 00000000 ff 00000000", "flag", 0),
    ("bool of 255 in an array", "Sequences", 1, "03 01 ff 01 01 01 01 01 00", "flags[1]", 2),
    ("marker of 0", "Worked", 0, "00 0000 00000000 00 00000000", "maybe", 7),
    ("marker of 2", "Worked", 1, "00 01 01 02 01 00", "maybe", 3),
    ("marker of -2", "Worked", 1, "00 01 01 fe 01 00", "maybe", 3),
    ("marker of 2 of a tagged struct", "WorkedTags", 0, "01 | 01 03 02 01 00", "maybe", 3),
    ("marker of -1 of a tagged struct", "WorkedTags", 0, "01 | 01 05 ffffffff0f", "maybe", 3),
    ("marker of 255 of a tagged struct", "WorkedTags", 0, "01 | 01 02 ff01", "maybe", 3),
    ("text that is not UTF-8", "Worked", 1, "00 03 61c3 01 ff 01 00", "text", 3),
    ("surrogate in UTF-8", "Worked", 1, "00 04 eda080 01 ff 01 00", "text", 2),
    ("over-long UTF-8", "Worked", 0, "00 0002 c080 00000000 ff 00000000", "text", 3),
    ("UTF-8 beyond the last character", "Worked", 1, "00 05 f4908080 01 ff 01 00", "text", 2),
    ("text of an array that is not UTF-8", "Sequences", 1, "01 02 02 ff 01 01 01 01 00", "texts[0]", 3),
    ("a byte after the message", "Worked", 1, "00 01 01 ff 01 00 00", "", 6),
    ("bytes after a message without fields", "NoFields", 0, "aabb", "", 0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "version", "data", "path", "offset"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_refused(forms: Classes, name: str, version: int, data: str, path: str, offset: int) -> None:
    with pytest.raises(DecodeError) as caught:
        forms(name, version).decode(raw(data))
    assert (caught.value.path, caught.value.offset) == (path, offset), str(caught.value)
    property_checks.check_decode_error(caught.value, forms(name, version), raw(data))


RATIOS, NO_SEQUENCES = "04 7ff8000000000001 8000000000000000 ffffffffffffffff", "00000000" * 5

ACCEPTED = [
    ("compact text of 32767 bytes", "Worked", 1, f"00 808002 {HALF_TEXT} 01 ff 01 00", None),
    ("1000 elements without bytes", "Worked", 0, "00 0000 00000000 ff 000003e8", None),
    ("elements without bytes", "Worked", 0, "00 0000 00000000 ff 00000002", None),
    ("highest unknown tag", "NoFields", 1, "01 ffffffff07 01 aa", None),
    ("default spelt out", "WorkedTags", 0, "01 | 00 08 0000000000000000", "00"),
    ("minus zero for a default of zero", "WorkedTags", 0, "01 | 00 08 8000000000000000", "00"),
    ("null spelt out where it is the default", "WorkedTags", 0, "01 | 01 01 00", "00"),
    ("defaults spelt out beside others", "MovedTags", 3, "00000000 01 | 02 | 03 02 02 6d | 04 01 01", "00000000 01 00"),
    ("bits of a NaN", "WorkedTags", 0, "01 | 00 08 fff8000000abcdef", None),
    ("bits of NaNs and of minus zero", "Sequences", 1, f"01 01 01 01 {RATIOS} 01 00", None),
    ("duplicate keys", "Sequences", 0, f"{NO_SEQUENCES} 00000002 0007 00000001 0007 00000002", None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "version", "data", "rewritten"), [case[1:] for case in ACCEPTED], ids=[case[0] for case in ACCEPTED]
)
def test_accepted(forms: Classes, name: str, version: int, data: str, rewritten: str | None) -> None:
    message = forms(name, version).decode(raw(data))
    assert message.encode() == raw(data if rewritten is None else rewritten)


def test_bytes_after_a_message_are_left_to_who_reads_out_of_a_stream(forms: Classes) -> None:
    first = raw("00 01 01 ff 01 00")
    message, end = forms("Worked", 1).read(first + b"\xff", 0)
    assert (message, end) == (forms("Worked", 1)(), len(first))
    with pytest.raises(DecodeError, match="1 trailing byte") as caught:
        forms("Worked", 1).decode(first + b"\xff")
    assert caught.value.offset == len(first)


@pytest.mark.parametrize("version", [-1, 2, 32767])
def test_version_out_of_range_has_no_class(forms: Classes, version: int) -> None:
    with pytest.raises(UnsupportedVersionError, match="Worked"):
        forms("Worked", version)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("int8", 128), ("int8", -129), ("int16", 2**15), ("int16", -(2**15) - 1), ("uint16", 2**16), ("uint16", -1),
        ("int32", 2**31), ("int32", -(2**31) - 1), ("uint32", 2**32), ("uint32", -1), ("int64", 2**63),
        ("int64", -(2**63) - 1), ("string", "\ud800"), ("string", "a\udfff"), ("bool", 2), ("string", "é" * 16384),
    ],
)  # fmt: skip
@pytest.mark.parametrize("version", [0, 1])
def test_value_that_its_type_cannot_hold_is_refused(forms: Classes, version: int, field: str, value: Any) -> None:
    cls = forms("Primitives", version)
    for values, path in (({field: value}, field), ({f"{field}s": [value]}, f"{field}s[0]")):
        with pytest.raises(EncodeError) as caught:
            cls(**values).encode()
        assert caught.value.path == path


@pytest.mark.parametrize("field", ["texts", "blobs", "pairs", "ids", "flags", "ratios"])
@pytest.mark.parametrize("version", [0, 1])
def test_null_element_is_refused(forms: Classes, version: int, field: str) -> None:
    with pytest.raises(EncodeError, match="null") as caught:
        forms("Sequences", version)(**{field: [None]}).encode()
    assert caught.value.path == f"{field}[0]"


@pytest.mark.parametrize("version", [0, 1])
def test_first_and_last_values_of_every_type(forms: Classes, version: int) -> None:
    cls = forms("Primitives", version)
    wire = {
        "int8": ("b", -128, 127),
        "int16": ("h", -(2**15), 2**15 - 1),
        "uint16": ("H", 0, 2**16 - 1),
        "int32": ("i", -(2**31), 2**31 - 1),
        "uint32": ("I", 0, 2**32 - 1),
        "int64": ("q", -(2**63), 2**63 - 1),
        "float64": ("d", 5e-324, -math.inf),
    }
    zero = cls().encode()
    start = 1
    for name, (code, *ends) in wire.items():
        width = struct.calcsize(f">{code}")
        for value in ends:
            expected = zero[:start] + struct.pack(f">{code}", value) + zero[start + width :]
            assert is_written_and_read(cls(**{name: value}), expected)
        start += width


# Names.


@pytest.mark.parametrize("name", ["ClashingTexts", "ClashingNumbers"])
def test_fields_may_have_any_name(forms: Classes, name: str) -> None:
    cls = forms(name, 1)
    spec = json.loads((FORMS / f"{name}.json").read_text())
    given = [field["name"] for field in spec["fields"]]
    assert [field.spec_name for field in cls.ATTRIBUTES] == given
    assert len({field.name for field in cls.ATTRIBUTES}) == len(given)
    values: dict[str, Any] = {}
    for number, field in enumerate(cls.ATTRIBUTES):
        if field.type in ("string", "int32"):
            values[field.name] = f"value {number}" if field.type == "string" else number
    message = cls(**values)
    assert message.to_json().keys() >= {field.json_name for field in cls.ATTRIBUTES if field.tag is None}
    read = cls.decode(message.encode())
    assert {key: getattr(read, key) for key in values} == values


def test_fields_with_names_of_types_do_not_hide_these_from_other_fields(forms: Classes) -> None:
    hints = typing.get_type_hints(forms("ClashingTexts", 1))
    assert {hints[name] for name in ("bytes", "list", "uuid", "frozenset", "object", "str", "from_")} == {str}
    assert hints["number_z"] is hints["packed_z"] is int
    assert (hints["blobs_z"], hints["flags_z"], hints["texts_z"]) == (list[bytes], list[bool], list[str])
    assert (hints["id_z"], hints["ids_z"], hints["tagged_ratio_z"]) == (uuid.UUID, list[uuid.UUID], float)


def test_structs_may_have_the_names_of_types_and_constants(forms: Classes) -> None:
    cls = forms("ClashingClasses", 1)
    names = {field.element: field.struct.__name__ for field in cls.ATTRIBUTES if field.struct is not None}
    assert {"UUID", "Struct", "Field", "INT32", "Message"} <= {n for n, class_name in names.items() if n == class_name}
    assert {names[name] for name in ("None", "True", "False")} == {"None_", "True_", "False_"}


@pytest.mark.parametrize("name", ["Message", "Names", "True"])
def test_functions_of_the_package_outlive_the_import_of_messages_of_their_names(
    forms_package: ModuleType, name: str
) -> None:
    forms_package.REGISTRY.message(name, 0)
    assert forms_package.message(name, 1)(name="x").encode() == raw("02 78 00")
    assert name in forms_package.names()
    assert forms_package.versions(name) == range(2)


@pytest.mark.parametrize("count", [-(2**31), -5, -2, -1])
def test_negative_counts_are_refused_for_every_form_of_elements(forms: Classes, count: int) -> None:
    cls = forms("ElementEncodings", 0)
    arrays = [field for field in cls.ATTRIBUTES if field.array]
    for number, field in enumerate(arrays):
        if field.nullable and count == -1:
            continue
        data = bytearray(cls().encode())
        data[4 * number : 4 * number + 4] = count.to_bytes(4, "big", signed=True)
        with pytest.raises(DecodeError, match=field.name):
            native.PYTHON["read"](cls, bytes(data) + bytes(8))
