"""Tagged fields, classic strings and structs of no bytes, in the package generated from the specs in data/forms."""

from __future__ import annotations

import math
import tracemalloc
import uuid

import pyarrow as pa
import pytest

from kipwire import DecodeError, EncodeError, columns
from tests.support.hex_tables import raw
from tests.support.spec_package import Classes
from tests.support.subjects.form_examples import int32, is_written_and_read, uvarint

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


def test_fields_of_other_versions_are_not_attributes(forms: Classes) -> None:
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
    with pytest.raises(DecodeError, match="1001 elements without bytes") as caught:
        cls.decode(data)
    assert (caught.value.path, caught.value.offset) == (field, data.index(raw("000003e9")))


def empty_elements(*, rows: bytes = int32(0), deep: bytes = int32(0)) -> bytes:
    """Return an EmptyElements whose other arrays have no elements."""
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
        with pytest.raises(DecodeError, match="elements without bytes; at most 200") as caught:
            cls.decode(data)
        assert tracemalloc.get_traced_memory()[1] < 100 * len(data)
    finally:
        tracemalloc.stop()
    assert caught.value.path == path
    json = cls(rows=[forms.struct("EmptyElements", 0, "Row")(many=[])] * 3).to_json()
    json["rows"] = [{"many": [{}] * 1000} for _ in range(30)]
    with pytest.raises(EncodeError, match="without bytes, 2000 with those of earlier arrays; at most 1000") as refused:
        cls.from_json(json).encode()
    assert refused.value.path == "rows[1].many"


def test_longer_messages_may_have_more_elements_of_no_bytes(forms: Classes) -> None:
    """Their number may be half the number of bytes of the message, wherever the buffer ends."""
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
    with pytest.raises(EncodeError, match="2012 with those of earlier arrays; at most 2011"):
        full.encode()
    with pytest.raises(EncodeError, match="2012 with those of earlier arrays; at most 2011"):
        full.encoded_size()
    data = data[:4] + int32(len(full.rows[0].many)) + data[8:]
    with pytest.raises(DecodeError, match="2012 elements without bytes; at most 2011") as caught:
        cls.decode(data)
    assert caught.value.path == "rows[999].many"
    with pytest.raises(DecodeError, match="2012 elements without bytes; at most 2011") as caught:
        cls.read(b"\0" + data + bytes(9000), 1)
    assert (caught.value.path, caught.value.offset) == ("", 1)
    first = raw("00000000 | 00000000 | ff | 00000000 | 00000000")
    assert cls.read(first + data, 0) == (cls(rows=[], maybe_null=None), len(first))


def test_columns_bound_elements_of_no_bytes_too(forms: Classes) -> None:
    cls = forms("EmptyElements", 0)
    for _, data in nested_bombs():
        with pytest.raises(columns.RowDecodeError, match="elements without bytes; at most 200"):
            columns.decode(cls, [data])
    rows = columns.decode(cls, [cls().encode()]).to_pylist()
    rows[0]["rows"] = [{"many": [{}] * 1000}] * 2
    with pytest.raises(columns.RowEncodeError, match="2000 with those of earlier arrays; at most 1000"):
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
