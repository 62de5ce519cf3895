"""Encodings of integers and lengths of varints, in the package generated from the specs in data/forms."""

from __future__ import annotations

import uuid

import pytest

from kipwire import DecodeError, EncodeError
from tests.support.hex_tables import raw
from tests.support.spec_package import Classes
from tests.support.subjects.form_examples import is_written_and_read, uvarint

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


# Encodings of integers (KIP-625).


def encoded_classes() -> list[tuple[str, int, str]]:
    """Return the one-field messages: type, version, and the encoding of that version."""
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
def test_number_that_is_not_an_int_is_written_where_its_index_does_and_refused_where_it_is_packed(
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
