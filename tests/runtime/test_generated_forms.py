"""What the language allows and Kafka's own specs do not use: a package generated from the specs in data/forms."""

from __future__ import annotations

import json
import math
import struct
import tracemalloc
import uuid
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from kipwire import DecodeError, EncodeError, Message, UnsupportedVersionError, columns, native
from tests.support import property_checks
from tests.support.places import FORMS
from tests.support.spec_package import Classes

ENCODINGS = [f"{form}{bits}" for form in ("fixed", "packed", "upacked") for bits in (16, 32, 64)]
WIDTHS = {"Int16": 16, "Int32": 32, "Int64": 64}

TABLE = {  # KIP-625's encodings: the bytes of 0, 1, -1, the lowest and the highest value
    "fixed16": ("0000", "0001", "ffff", "8000", "7fff"),
    "fixed32": ("00000000", "00000001", "ffffffff", "80000000", "7fffffff"),
    "fixed64": ("00" * 8, "00" * 7 + "01", "ff" * 8, "80" + "00" * 7, "7f" + "ff" * 7),
    "packed16": ("00", "02", "01", "ffff03", "feff03"),
    "packed32": ("00", "02", "01", "ffffffff0f", "feffffff0f"),
    "packed64": ("00", "02", "01", "ff" * 9 + "01", "fe" + "ff" * 8 + "01"),
    "upacked16": ("00", "01", "ffff03", "808002", "ffff01"),
    "upacked32": ("00", "01", "ffffffff0f", "8080808008", "ffffffff07"),
    "upacked64": ("00", "01", "ff" * 9 + "01", "80" * 9 + "01", "ff" * 8 + "7f"),
}


def raw(text: str) -> bytes:
    """Bytes from hex digits; spaces and bars are for the reader."""
    return bytes.fromhex(text.replace("|", " "))


def uvarint(value: int) -> bytes:
    """An unsigned varint, made the way KIP-482 explains it."""
    groups = []
    while True:
        groups.append(value % 128)
        value //= 128
        if not value:
            return bytes([*(group + 128 for group in groups[:-1]), groups[-1]])


def is_written_and_read(message: Message, data: bytes) -> bool:
    """Whether these are the message's bytes, both ways."""
    assert message.encode() == data
    assert message.encoded_size() == len(data)
    read = type(message).decode(data)
    assert read == message
    return read.encode() == data


# Worked examples.


@pytest.mark.parametrize(
    ("name", "version", "values", "data"),
    [
        ("Worked", 1, {"flag": True, "text": "A", "numbers": [], "maybe": None}, "01 | 02 41 | 01 | ff | 01 | 00"),
        ("Worked", 0, {}, "00 | 00 00 | 00 00 00 00 | ff | 00 00 00 00"),
        ("Worked", 0, {"text": None, "numbers": None}, "00 | ff ff | ff ff ff ff | ff | 00 00 00 00"),
        ("Worked", 1, {"text": None, "numbers": None}, "00 | 00 | 00 | ff | 01 | 00"),
        ("Worked", 0, {"text": "é", "numbers": [1, -1]}, "00 | 0002 c3a9 | 00000002 00000001 ffffffff | ff | 00000000"),
        ("Worked", 1, {"text": "é", "numbers": [1, -1]}, "00 | 03 c3a9 | 03 00000001 ffffffff | ff | 01 | 00"),
        ("WorkedTags", 0, {}, "00"),
        ("WorkedTags", 0, {"ratio": 1.0}, "01 00 08 3f f0 00 00 00 00 00 00"),
    ],
)
def test_worked_examples(forms: Classes, name: str, version: int, values: dict[str, Any], data: str) -> None:
    assert is_written_and_read(forms(name, version)(**values), raw(data))


@pytest.mark.parametrize(
    ("version", "data"), [(0, "00 0000 00000000 | 01 00000007 | 00000000"), (1, "00 01 01 | 01 00000007 00 | 01 00")]
)
def test_marker_of_a_nullable_struct_that_is_present(forms: Classes, version: int, data: str) -> None:
    maybe = forms.struct("Worked", version, "Maybe")(number=7)
    assert is_written_and_read(forms("Worked", version)(maybe=maybe), raw(data))


def test_tagged_nullable_struct_has_a_varint_marker(forms: Classes) -> None:
    cls, maybe = forms("WorkedTags", 0), forms.struct("WorkedTags", 0, "Maybe")
    assert is_written_and_read(cls(maybe=maybe()), raw("01 01 03 01 01 00"))
    assert is_written_and_read(
        cls(ratio=1.0, maybe=maybe(blob=b"\xaa")), raw("02 | 00 08 3ff0000000000000 | 01 04 01 02 aa 00")
    )


def test_null_where_the_default_is_a_struct_is_written(forms: Classes) -> None:
    cls = forms("Nullables", 1)
    positional = "00000000 00 | 01 00000000 01 01 00 00 00 | ff | 01 0000000000000000 00 | 00"
    assert is_written_and_read(cls(maybe_null=None, nullable_later=None), raw("00000000 00 | ff | ff | ff | 00 | 00"))
    deeper = forms.struct("Nullables", 1, "Deeper")
    assert cls().maybe_null.deeper == deeper()
    assert is_written_and_read(cls(), raw(f"{positional} | 00"))
    assert is_written_and_read(cls(tagged_maybe_null=None), raw(f"{positional} | 01 | 01 01 00"))
    assert is_written_and_read(cls(tagged_null_list=[]), raw(f"{positional} | 01 | 04 01 01"))


def test_struct_that_is_nullable_in_later_versions_has_no_marker_before(forms: Classes) -> None:
    data = raw("00000000 | ff | ff | 0000000000000007 | ffffffff")
    later = forms.struct("Nullables", 0, "Later")(number=7)
    assert is_written_and_read(forms("Nullables", 0)(maybe_null=None, nullable_later=later), data)
    with pytest.raises(EncodeError, match="null") as caught:
        forms("Nullables", 0)(nullable_later=None).encode()
    assert caught.value.path == "nullable_later"


def test_tagged_structs_within_tagged_arrays(forms: Classes) -> None:
    cls = forms("Nullables", 1)
    item, inside = (forms.struct("Nullables", 1, name) for name in ("TaggedItem", "TaggedInside"))
    message = cls(maybe_null=None, nullable_later=None, tagged_list=[item(name="a"), item(inside=inside(number=-1))])
    data = "00000000 00 | ff | ff | ff | 00 | 01 03 0f | 03 | 02 61 00 | 01 01 00 07 01 07 04 ffffffff"
    assert is_written_and_read(message, raw(data))


# Encodings of integers (KIP-625).


def encoded_classes() -> list[tuple[str, int, str]]:
    """The one-field messages: type, version, and the encoding of that version."""
    return [
        (type_, version, encoding)
        for type_, width in WIDTHS.items()
        for version, encoding in enumerate(encoding for encoding in ENCODINGS if int(encoding[-2:]) <= width)
    ]


def limits(encoding: str) -> tuple[int, int]:
    bits = int(encoding[-2:])
    return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1


@pytest.mark.parametrize(("type_", "version", "encoding"), encoded_classes())
def test_every_encoding_has_the_bytes_of_its_table(forms: Classes, type_: str, version: int, encoding: str) -> None:
    cls = forms(f"Encoded{type_}", version)
    for value, text in zip((0, 1, -1, *limits(encoding)), TABLE[encoding], strict=True):
        assert is_written_and_read(cls(value=value), raw(text))


@pytest.mark.parametrize(("type_", "version", "encoding"), encoded_classes())
def test_a_value_beyond_its_encoding_is_refused(forms: Classes, type_: str, version: int, encoding: str) -> None:
    cls = forms(f"Encoded{type_}", version)
    lowest, highest = limits(encoding)
    for value in (lowest - 1, highest + 1, 2 * highest, 2**64, -(2**64), 10**30):
        for use in (cls(value=value).encode, cls(value=value).encoded_size, cls(value=value).to_json):
            with pytest.raises(EncodeError, match="out of range") as caught:
                use()
            assert caught.value.path == "value"


@pytest.mark.parametrize(("type_", "version", "encoding"), encoded_classes())
def test_json_knows_the_limits_of_an_encoding(forms: Classes, type_: str, version: int, encoding: str) -> None:
    cls = forms(f"Encoded{type_}", version)
    for value in limits(encoding):
        assert cls.from_json({"value": value}).value == value
    for value in (limits(encoding)[0] - 1, limits(encoding)[1] + 1):
        with pytest.raises(ValueError, match="value"):
            cls.from_json({"value": value})


@pytest.mark.parametrize(("type_", "version", "encoding"), [one for one in encoded_classes() if "packed" in one[2]])
def test_varints_of_too_many_bits_or_bytes_are_refused(forms: Classes, type_: str, version: int, encoding: str) -> None:
    cls, bits = forms(f"Encoded{type_}", version), int(encoding[-2:])
    highest = uvarint(2**bits - 1)
    assert cls.decode(highest).encode() == highest
    for data in (
        uvarint(2**bits),
        highest[:-1] + bytes([highest[-1] | 0x40]),
        highest[:-1] + bytes([highest[-1] | 0x80, 0]),
        highest[:-1] + bytes([highest[-1] | 0x80, 1]),
        b"\x80\x00",
        b"\x81\x80\x00",
        b"\x80" * 12 + b"\x01",
        b"\xff" * 12,
    ):
        with pytest.raises(DecodeError) as caught:
            cls.decode(data)
        assert (caught.value.path, caught.value.offset) == ("value", 0)


@pytest.mark.parametrize("bits", range(6, 63, 7))
def test_varints_grow_a_byte_at_every_seventh_bit(forms: Classes, bits: int) -> None:
    packed, upacked = forms("EncodedInt64", 5), forms("EncodedInt64", 8)
    size = (bits + 1) // 7
    assert len(packed(value=2**bits - 1).encode()) == len(packed(value=-(2**bits)).encode()) == size
    assert len(packed(value=2**bits).encode()) == len(packed(value=-(2**bits) - 1).encode()) == size + 1
    assert len(upacked(value=2 ** (bits + 1) - 1).encode()) == size
    assert len(upacked(value=-1).encode()) == 10
    for value in (2**bits - 1, 2**bits, -(2**bits), -(2**bits) - 1):
        assert packed.decode(packed(value=value).encode()).value == value
        assert upacked.decode(upacked(value=value).encode()).value == value


def test_negative_value_of_a_narrow_encoding_is_widened_with_its_sign(forms: Classes) -> None:
    assert forms("EncodedInt64", 7).decode(raw("ffffffff0f")).value == -1
    assert forms("EncodedInt64", 6).decode(raw("ffff03")).value == -1
    assert forms("EncodedInt64", 0).decode(raw("fffe")).value == -2
    assert forms("EncodedInt32", 4).decode(raw("808002")).value == -32768


def test_default_of_an_encoded_tagged_field_is_left_out(forms: Classes) -> None:
    cls = forms("Encodings", 2)
    without = cls().encode()
    assert cls(tagged_int16_packed16=0).encode() == without
    tag = next(field.tag for field in cls.ATTRIBUTES if field.name == "tagged_int64_packed64")
    data = cls(tagged_int64_packed64=-(2**63)).encode()
    assert data == without[:-1] + b"\x01" + uvarint(tag) + b"\x0a" + b"\xff" * 9 + b"\x01"


def test_encoding_changes_with_the_version(forms: Classes) -> None:
    forms_of_five = {0: "0005", 1: "00000005", 2: "00000005", 3: "0a"}
    for version, text in forms_of_five.items():
        cls = forms("Encodings", version)
        default, five = cls().encode(), cls(widened=5).encode()
        at = next(i for i in range(len(default)) if default[i] != five[i])
        assert five[at - len(raw(text)) + 1 : at + 1] == raw(text)
        with pytest.raises(EncodeError, match="out of range"):
            cls(widened=2**63).encode()


def test_encoded_fields_of_elements_keep_their_order_and_duplicate_keys(forms: Classes) -> None:
    cls, element = forms("Encodings", 0), forms.struct("Encodings", 0, "Element")
    one = element(key=-1, flag=True, count=-1, last=300)
    wire = raw("01 | 01 | ff ff ff ff 0f | ac 02")
    message = cls(elements=[one, one])
    assert message.encode().endswith(raw("00000002") + wire + wire + raw("00000000"))
    assert cls.decode(message.encode()).elements == [one, one]


@pytest.mark.parametrize(("type_", "encoding"), [(type_, encoding) for type_, _, encoding in encoded_classes()])
@pytest.mark.parametrize("version", [0, 1])
def test_elements_have_the_bytes_of_their_encoding(forms: Classes, version: int, type_: str, encoding: str) -> None:
    cls, name = forms("ElementEncodings", version), f"{type_.lower()}s_{encoding}"
    empty = cls().encode()
    count = raw("06" if version else "00000005")
    at = [field.name for field in cls.ATTRIBUTES].index(name) * len(count)
    lowest, highest = limits(encoding)
    data = empty[:at] + count + raw("".join(TABLE[encoding])) + empty[at + len(count) :]
    assert is_written_and_read(cls(**{name: [0, 1, -1, lowest, highest]}), data)
    for wrong in (lowest - 1, highest + 1, 2**70):
        with pytest.raises(EncodeError, match="out of range") as caught:
            cls(**{name: [0, 1, wrong]}).encode()
        assert caught.value.path == f"{name}[2]"


@pytest.mark.parametrize(
    ("element", "offset"), [("8000", 0), ("818000", 0), ("ffff04", 0), ("00 80808001", 1), ("ff", 1)]
)
def test_wrong_varint_among_elements_is_refused(forms: Classes, element: str, offset: int) -> None:
    cls = forms("ElementEncodings", 1)
    start = [field.name for field in cls.ATTRIBUTES].index("int16s_upacked16")
    wrong = raw(element)
    count = 2 + (element.startswith("00"))
    with pytest.raises(DecodeError) as caught:
        cls.decode(b"\x01" * start + bytes([count]) + wrong)
    assert caught.value.path == f"int16s_upacked16[{count - 2}]"
    assert caught.value.offset == start + 1 + offset


@pytest.mark.parametrize(("type_", "version", "encoding"), encoded_classes())
def test_number_that_is_no_int_is_written_where_its_index_does_and_refused_where_it_is_packed(
    forms: Classes, type_: str, version: int, encoding: str
) -> None:
    class Number:
        def __index__(self) -> int:
            return 300

    cls = forms(f"Encoded{type_}", version)
    message = cls(value=Number())
    if encoding.startswith("fixed"):
        assert message.encode() == cls(value=300).encode()
    else:
        with pytest.raises(EncodeError, match="value: must be an int, not Number"):
            message.encode()


# Lengths at which a varint grows.


@pytest.mark.parametrize("length", [0, 1, 125, 126, 127, 128, 16381, 16382, 16383, 16384, 32766, 32767])
def test_compact_lengths_of_text_blobs_and_arrays(forms: Classes, length: int) -> None:
    prefix = uvarint(length + 1)
    assert len(prefix) == (1 if length < 127 else 2 if length < 16383 else 3)
    cls = forms("Sequences", 1)
    rest = raw("01 01 01 01 01 00")
    assert is_written_and_read(cls(flags=[True] * length), prefix + b"\x01" * length + rest)
    assert is_written_and_read(cls(texts=["a" * length]), raw("01 02") + prefix + b"a" * length + raw("01 01 01 01 00"))
    assert is_written_and_read(
        cls(blobs=[b"b" * length]), raw("01 01 02") + prefix + b"b" * length + raw("01 01 01 00")
    )
    ids = [uuid.UUID(int=7)] * length
    assert is_written_and_read(
        cls(ids=ids), raw("01 01 01") + prefix + uuid.UUID(int=7).bytes * length + raw("01 01 00")
    )
    pairs = [forms.struct("Sequences", 1, "Pair")(key=-2, value=2**32 - 1)] * length
    wire = raw("fffe ffffffff 00") * length
    assert is_written_and_read(cls(pairs=pairs), raw("01 01 01 01 01") + prefix + wire + b"\0")


@pytest.mark.parametrize("length", [2**14 - 2, 2**14 - 1, 2**21 - 2, 2**21 - 1])
def test_compact_lengths_of_a_long_blob(forms: Classes, length: int) -> None:
    message = forms("Sequences", 1)(blobs=[bytes(length)])
    data = raw("01 01 02") + uvarint(length + 1) + bytes(length) + raw("01 01 01 00")
    assert is_written_and_read(message, data)


@pytest.mark.parametrize("body", [*range(125, 130), *range(16381, 16386)])
def test_size_of_a_tagged_nullable_struct_counts_its_marker(forms: Classes, body: int) -> None:
    def inner(length: int, section: bytes) -> bytes:
        return uvarint(length + 1) + bytes(length) + section

    no_tags, one_tag = b"\0", raw("01 07 00")  # some sizes need a tag, as the blob's own length grows by a byte
    pairs = [(length, section) for section in (no_tags, one_tag) for length in range(body - 6, body)]
    length, section = next(pair for pair in pairs if len(inner(*pair)) == body)
    maybe = forms.struct("WorkedTags", 0, "Maybe")(blob=bytes(length))
    if section == one_tag:
        maybe.unknown_tagged_fields = {7: b""}
    data = raw("01 01") + uvarint(body + 1) + b"\x01" + inner(length, section)
    assert is_written_and_read(forms("WorkedTags", 0)(maybe=maybe), data)


@pytest.mark.parametrize("size", [0, 127, 128, 16383, 16384])
@pytest.mark.parametrize("tag", [2, 127, 128, 16383, 16384, 2**21 - 1, 2**21, 2**28 - 1, 2**28, 2**31 - 1])
def test_unknown_tags_and_sizes_of_every_length(forms: Classes, tag: int, size: int) -> None:
    message = forms("WorkedTags", 0)(ratio=1.0)
    message.unknown_tagged_fields = {tag: bytes(size)}
    data = raw("02 00 08 3ff0000000000000") + uvarint(tag) + uvarint(size) + bytes(size)
    assert is_written_and_read(message, data)


@pytest.mark.parametrize("count", [127, 128, 16383, 16384])
def test_counts_of_tagged_fields_of_every_length(forms: Classes, count: int) -> None:
    message = forms("NoFields", 1)()
    message.unknown_tagged_fields = dict.fromkeys(reversed(range(count)), b"")
    assert is_written_and_read(message, uvarint(count) + b"".join(uvarint(tag) + b"\0" for tag in range(count)))


# Tagged fields.


def test_tagged_fields_are_written_in_the_order_of_their_tags(forms: Classes) -> None:
    cls = forms("TaggedDefaults", 0)
    values = {field.name: field.default for field in cls.ATTRIBUTES}
    message = cls(**{**values, "bool": False, "int8": 1, "int64": -1, "string": "", "not_anumber": 0.0, "packed": -6})
    message.unknown_tagged_fields = {2: b"\xaa", 2147483645: b"", 76: b"\xbb\xcc"}
    data = raw(
        "09 | 00 08 ffffffffffffffff | 01 01 01 | 02 01 aa | 4c 02 bbcc | 4d 01 0b"
        "| 80808001 08 0000000000000000 | fdffffff07 00 | feffffff07 01 01 | ffffffff07 01 00"
    )
    assert is_written_and_read(message, data)


def test_default_nan_is_written_and_other_defaults_are_not(forms: Classes) -> None:
    message = forms("TaggedDefaults", 0)()
    assert message.encode() == raw("01 | 80808001 08 7ff8000000000000")
    assert forms("TaggedDefaults", 0)(not_anumber=0.0, unbounded=math.inf).encode() == raw(
        "01 | 80808001 08 00 00000000000000"
    )


def test_defaults_are_those_of_the_spec(forms: Classes) -> None:
    message = forms("TaggedDefaults", 0)()
    assert (message.bool, message.int8, message.int16, message.uint16) == (True, -128, 32767, 65535)
    assert (message.int32, message.uint32, message.int64) == (-1, 2**32 - 1, -(2**63))
    assert (message.float64, message.unbounded, message.packed) == (1.5, math.inf, -5)
    assert math.isnan(message.not_anumber)
    assert message.uuid == uuid.UUID(int=1)
    assert message.string == 'a "quoted" \\ text'


def test_empty_differs_from_a_default_of_null(forms: Classes) -> None:
    cls = forms("TaggedPrimitives", 0)
    tags = {field.name: field.tag for field in cls.ATTRIBUTES}
    for name, empty in (("null_string", ""), ("null_bytes", b""), ("null_records", b""), ("null_strings", [])):
        assert is_written_and_read(cls(**{name: empty}), b"\x01" + uvarint(tags[name]) + b"\x01\x01")
        assert cls(**{name: None}).encode() == b"\0"
    for name in ("nullable_string", "nullable_bytes", "nullable_int32s", "nullable_uuids"):
        assert is_written_and_read(cls(**{name: None}), b"\x01" + uvarint(tags[name]) + b"\x01\x00")
        assert cls(**{name: type(getattr(cls(), name))()}).encode() == b"\0"


LONE = "e807 08 0000000000000004 | e907 11 02" + "00" * 15 + "05"


@pytest.mark.parametrize(
    ("version", "data"),
    [
        (0, "00000001 | 0001 78 | 01 00000002 | 00000000 | 01"),
        (1, f"00000001 | 02 78 | 01 00000002 00 | 02 03 00 | 01 | 02 | {LONE}"),
        (2, f"00000001 | 02 03 00 | 01 | 04 | 03 02 02 78 | 05 06 01 00000002 00 | {LONE}"),
        (3, f"00000001 | 01 | 06 | 03 02 02 78 | 04 03 02 03 00 | 05 06 01 00000002 00 | {LONE} | ea07 02 02 ff"),
    ],
)
def test_fields_move_from_positional_to_tagged(forms: Classes, version: int, data: str) -> None:
    values = {
        "first": 1,
        "moved": "x",
        "moved_struct": forms.struct("MovedTags", version, "Moving")(number=2),
        "last": True,
    }
    values["lone_with_versions"] = [uuid.UUID(int=5)] if version else []
    if version:
        values["moved_list"] = [forms.struct("MovedTags", version, "Listed")(number=3)]
        values["lone"] = 4
    if version == 3:
        values["late"] = b"\xff"
    assert is_written_and_read(forms("MovedTags", version)(**values), raw(data))


def test_fields_of_other_versions_are_no_attributes(forms: Classes) -> None:
    assert not hasattr(forms("MovedTags", 0)(), "lone")
    with pytest.raises(TypeError):
        forms("MovedTags", 0)(lone=1)
    with pytest.raises(AttributeError):
        forms("MovedTags", 2)().late = b""


# Strings and bytes that stay classic.


@pytest.mark.parametrize(
    ("version", "data"),
    [
        (0, "0001 74 | ffff | 00000001 62 | ffffffff | 0001 73 | 00000001 6c | 0001 63 | 00000001 ffff"),
        (1, "0001 74 | ffff | 00000001 62 | ffffffff | 0001 73 | 00000001 6c | 02 63 | 02 ffff 00 | 00"),
        (2, "0001 74 | ffff | 00000001 62 | ffffffff | 02 73 | 00000001 6c | 02 63 | 02 ffff 00 | 00"),
        (3, "0001 74 | ffff | 00000001 62 | ffffffff | 0001 73 | 02 6c | 02 63 | 02 ffff 00 | 00"),
    ],
)
def test_fields_override_the_flexible_versions_of_their_message(forms: Classes, version: int, data: str) -> None:
    message = forms("Overrides", version)(
        text="t",
        null_text=None,
        blob=b"b",
        null_blob=None,
        sometimes_compact="s",
        late_compact=b"l",
        compact="c",
        inside=[forms.struct("Overrides", version, "Inside")(text=None)],
    )
    assert is_written_and_read(message, raw(data))


# Structs of no bytes.


@pytest.mark.parametrize(
    ("version", "data"),
    [
        (0, "| 01 | 00000002 | ffffffff | 00000001 | 00000002 01 ff"),
        (1, "00 | 01 00 | 03 00 00 | 00 | 02 00 00 00 | 03 01 00 00 ff 00 | 00"),
    ],
)
def test_empty_structs(forms: Classes, version: int, data: str) -> None:
    nothing, pair, maybe = (
        forms.struct("Empties", version, name) for name in ("Nothing", "OnlyNothings", "MaybeNothing")
    )
    message = forms("Empties", version)(
        alone=nothing(),
        maybe_null=nothing(),
        many=[nothing(), nothing()],
        many_or_null=None,
        nested=[pair()],
        one_byte=[maybe(one=nothing()), maybe(one=None)],
    )
    assert is_written_and_read(message, raw(data))


@pytest.mark.parametrize("field", ["many", "many_or_null", "nested"])
def test_arrays_of_no_bytes_have_a_limit(forms: Classes, field: str) -> None:
    cls = forms("Empties", 0)
    element = forms.struct("Empties", 0, "OnlyNothings" if field == "nested" else "Nothing")
    full = cls(**{field: [element()] * 1000})
    assert cls.decode(full.encode()) == full
    with pytest.raises(EncodeError, match="array of 1001 elements") as refused:
        cls(**{field: [element()] * 1001}).encode()
    assert refused.value.path == field
    data = full.encode().replace(raw("000003e8"), raw("000003e9"))
    with pytest.raises(DecodeError, match="1001 elements of no bytes") as caught:
        cls.decode(data)
    assert (caught.value.path, caught.value.offset) == (field, data.index(raw("000003e9")))


def int32(number: int) -> bytes:
    return number.to_bytes(4, "big")


def empty_elements(*, rows: bytes = int32(0), deep: bytes = int32(0)) -> bytes:
    """An EmptyElements whose other arrays have no elements."""
    return rows + int32(0) + b"\xff" + deep + int32(0)


def nested_bombs() -> list[tuple[str, bytes]]:
    """Elements of no bytes in many arrays, a thousand in each, and the path of the array that is one too many."""
    many = 10_000
    return [
        ("rows[20].many", empty_elements(rows=int32(many) + many * int32(1000))),
        ("deep[0].inner[20].many", empty_elements(deep=int32(1) + int32(many) + many * int32(1000))),
        ("deep[13].inner[0].many", empty_elements(deep=int32(many // 2) + many // 2 * (int32(1) + int32(1500)))),
    ]


@pytest.mark.parametrize(("path", "data"), nested_bombs())
def test_elements_of_no_bytes_are_bounded_in_all_arrays_of_a_message_together(
    forms: Classes, path: str, data: bytes
) -> None:
    cls = forms("EmptyElements", 0)
    tracemalloc.start()
    try:
        with pytest.raises(DecodeError, match="elements of no bytes; at most 200") as caught:
            cls.decode(data)
        assert tracemalloc.get_traced_memory()[1] < 100 * len(data)
    finally:
        tracemalloc.stop()
    assert caught.value.path == path
    json = cls(rows=[forms.struct("EmptyElements", 0, "Row")(many=[])] * 3).to_json()
    json["rows"] = [{"many": [{}] * 1000} for _ in range(30)]
    with pytest.raises(EncodeError, match="of no bytes, 2000 with those of arrays before it; at most 1000") as refused:
        cls.from_json(json).encode()
    assert refused.value.path == "rows[1].many"


def test_longer_messages_may_have_more_elements_of_no_bytes(forms: Classes) -> None:
    """As many as half their bytes, wherever the buffer ends."""
    cls = forms("EmptyElements", 0)
    row, nothing = (forms.struct("EmptyElements", 0, name) for name in ("Row", "Nothing"))
    rows = [row(many=[nothing(), nothing()]) for _ in range(1000)]
    full = cls(rows=rows, empties=[7])
    size = full.encoded_size()
    assert size == 4022
    full.rows[0].many = [nothing()] * (2 + size // 2 - 2000)
    data = full.encode()
    assert cls.decode(data) == full
    assert cls.read(b"\0" + data + bytes(9000), 1) == (full, 1 + size)
    full.rows[0].many.append(nothing())
    with pytest.raises(EncodeError, match="2012 with those of arrays before it; at most 2011"):
        full.encode()
    with pytest.raises(EncodeError, match="2012 with those of arrays before it; at most 2011"):
        full.encoded_size()
    data = data[:4] + int32(len(full.rows[0].many)) + data[8:]
    with pytest.raises(DecodeError, match="2012 elements of no bytes; at most 2011") as caught:
        cls.decode(data)
    assert caught.value.path == "rows[999].many"
    with pytest.raises(DecodeError, match="2012 elements of no bytes; at most 2011") as caught:
        cls.read(b"\0" + data + bytes(9000), 1)
    assert (caught.value.path, caught.value.offset) == ("", 1)
    first = raw("00000000 | 00000000 | ff | 00000000 | 00000000")
    assert cls.read(first + data, 0) == (cls(rows=[], maybe_null=None), len(first))


def test_columns_bound_elements_of_no_bytes_too(forms: Classes) -> None:
    cls = forms("EmptyElements", 0)
    for _, data in nested_bombs():
        with pytest.raises(columns.RowDecodeError, match="elements of no bytes; at most 200"):
            columns.decode(cls, [data])
    rows = columns.decode(cls, [cls().encode()]).to_pylist()
    rows[0]["rows"] = [{"many": [{}] * 1000}] * 2
    with pytest.raises(columns.RowEncodeError, match="2000 with those of arrays before it; at most 1000"):
        columns.encode(cls, pa.array(rows, pa.struct(columns.schema(cls))))


def test_arrays_of_few_bytes_have_no_limit(forms: Classes) -> None:
    for version, name in ((0, "one_byte"), (1, "many")):
        element = forms.struct("Empties", version, "MaybeNothing" if name == "one_byte" else "Nothing")
        message = forms("Empties", version)(**{name: [element()] * 5000})
        assert forms("Empties", version).decode(message.encode()) == message


def test_message_without_fields(forms: Classes) -> None:
    assert is_written_and_read(forms("NoFields", 0)(), b"")
    assert is_written_and_read(forms("NoFields", 1)(), b"\0")
    assert forms("NoFields", 0).read(b"\xff\xff", 1) == (forms("NoFields", 0)(), 1)


# Strictness: what Kafka's readers let pass, and what they refuse too.

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
    ("array count of 2^31 - 1 elements of no bytes", "Worked", 0, "00 0000 00000000 ff 7fffffff", "nothings", 8),
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
    ("a byte behind the message", "Worked", 1, "00 01 01 ff 01 00 00", "", 6),
    ("bytes behind a message without fields", "NoFields", 0, "aabb", "", 0),
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
    ("1000 elements of no bytes", "Worked", 0, "00 0000 00000000 ff 000003e8", None),
    ("elements of no bytes", "Worked", 0, "00 0000 00000000 ff 00000002", None),
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


def test_bytes_behind_a_message_are_left_to_who_reads_out_of_a_stream(forms: Classes) -> None:
    first = raw("00 01 01 ff 01 00")
    message, end = forms("Worked", 1).read(first + b"\xff", 0)
    assert (message, end) == (forms("Worked", 1)(), len(first))
    with pytest.raises(DecodeError, match="1 byte is left over") as caught:
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
            native.PYTHON_METHODS["read"](cls, bytes(data) + bytes(8))
