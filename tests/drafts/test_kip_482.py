"""KIP-482, statement by statement, with bytes derived by hand; docs/sources/kip-482.md names the test of each."""

from __future__ import annotations

import json
import struct
import uuid
from pathlib import Path
from typing import Any

import pytest

import kafka_messages
import kipwire
from kipgen.commands.compat.revisions import compare_paths
from kipgen.commands.compat.rules import Revisions
from kipgen.reading.rules.examples import field_of, spec
from kipwire import DecodeError, EncodeError, native
from kipwire.codec import wire
from kipwire.drafts import proposals
from kipwire.drafts.proposals.foo_request import v9 as foo_request
from kipwire.drafts.proposals.foo_response import v9 as foo_response
from tests.support.hex_tables import raw
from tests.support.places import GOLDEN, ROOT
from tests.support.spec_package import classes_of
from tests.support.subjects.compat_changes import compare_texts, write_revisions
from tests.support.subjects.rule_checks import read_message, rules_broken

LETTERS = spec(
    field_of("string", "Text"),
    field_of("string", "NullText", nullableVersions="0+"),
    field_of("bytes", "Blob"),
    field_of("bytes", "NullBlob", nullableVersions="0+"),
    field_of("[]int16", "Numbers"),
    field_of("[]int16", "NullNumbers", nullableVersions="0+"),
    valid="0-1",
    flexible="1+",
)
TAGS = spec(
    field_of("int8", "Plain"),
    field_of("[]Item", "Items", fields=[field_of("int8", "Id"), field_of("string", "Extra", "1+", tag=0)]),
    field_of("int16", "Last", "1+", tag=2147483647),
    field_of("string", "First", "1+", tag=0),
    field_of("int32", "Wide", "1+", tag=300),
    valid="0-1",
    flexible="1+",
)


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Any]:
    return classes_of(LETTERS, "kip_482_letters", tmp_path_factory.mktemp("letters"))


@pytest.fixture(scope="module")
def tags(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Any]:
    return classes_of(TAGS, "kip_482_tags", tmp_path_factory.mktemp("tags"))


def item(tags: dict[int, Any], **values: Any) -> Any:
    return next(field.struct for field in tags[1].ATTRIBUTES if field.name == "items")(**values)


def is_written_and_read(message: Any, data: str) -> None:
    assert message.encode() == raw(data)
    assert type(message).decode(raw(data)) == message


# Tagged fields.


def test_a_version_is_a_15_bit_number(tmp_path: Path) -> None:
    cls = classes_of(spec(field_of("int8"), valid="32766"), "kip_482_highest", tmp_path)[32766]
    assert (cls.VERSION, cls(alpha=1).encode()) == (32766, raw("01 00"))
    for beyond, rule in (
        ("32767", "valid-versions-closed"),
        ("32768", "version-syntax"),
        ("0-65535", "version-syntax"),
    ):
        assert rules_broken(tmp_path, spec(valid=beyond)) == [rule]


def test_a_tag_is_a_31_bit_number(tags: dict[int, Any], tmp_path: Path) -> None:
    is_written_and_read(tags[1](last=5), "00 01 01 ff ff ff ff 07 02 0005")
    for tag, broken in ((2**31 - 1, ["tag-gap"]), (2**31, ["tag-range"]), (-1, ["tag-range"])):
        assert rules_broken(tmp_path, spec(field_of("int32", versions="2+", taggedVersions="2+", tag=tag))) == broken
    with pytest.raises(DecodeError):
        tags[1].decode(raw("00 01 01 80 80 80 80 08 00"))
    for tag in (2**31, 2**32 - 1):
        message = tags[1]()
        message.unknown_tagged_fields = {tag: b""}
        with pytest.raises(EncodeError, match="a tag must be a number from 0 to 2147483647"):
            message.encode()


def test_a_tagged_field_that_is_absent_takes_no_space(tags: dict[int, Any], tmp_path: Path) -> None:
    is_written_and_read(tags[1](plain=7), "07 01 00")
    assert tags[1].decode(raw("07 01 00")).wide == 0
    text = field_of("string", versions="1+", tag=0, nullableVersions="1+", default="null")
    nullable = classes_of(spec(text, valid="0-1", flexible="1+"), "kip_482_null", tmp_path)[1]
    is_written_and_read(nullable(), "00")
    is_written_and_read(nullable(alpha=""), "01 00 01 01")


def test_a_field_that_is_always_sent_takes_more_bytes_as_a_tagged_one(tmp_path: Path) -> None:
    types = {"flag": "bool", "small": "int8", "large": "int64", "text": "string", "numbers": "[]int8"}
    values = {"flag": True, "small": 5, "large": 5, "text": "a", "numbers": [5]}
    plain = [field_of(type_, name.title(), "1+") for name, type_ in types.items()]
    tagged = [field_of(type_, name.title(), "1+", tag=tag) for tag, (name, type_) in enumerate(types.items())]
    always, optional = (
        classes_of(spec(*fields, valid="1", flexible="1+"), name, tmp_path)[1]
        for name, fields in (("kip_482_always", plain), ("kip_482_optional", tagged))
    )
    assert optional(**values).encoded_size() - always(**values).encoded_size() == 2 * len(types)
    assert (always().encoded_size(), optional().encoded_size()) == (13, 1)


def test_a_receiver_skips_a_tagged_field_that_it_does_not_know(tags: dict[int, Any]) -> None:
    data = raw("07 01 02 | 00 03 03 6162 | 63 04 deadbeef".replace("|", ""))
    message = tags[1].decode(data)
    assert (message.first, message.unknown_tagged_fields) == ("ab", {99: raw("deadbeef")})
    assert message.encode() == data


def test_a_tagged_field_is_added_without_a_new_version(tags: dict[int, Any], tmp_path: Path) -> None:
    added = TAGS.replace(
        '"Last"', '"Added", "type": "int8", "versions": "1+", "tag": 1, "ignorable": true}, {"name": "Last"'
    )
    assert [found.rule.id for found in compare_texts(tmp_path / "compat", TAGS, added)] == []
    newer = classes_of(added, "kip_482_added", tmp_path)
    message = newer[1](plain=7, first="a", added=5)
    data = raw("07 01 02 00 02 02 61 01 01 05")
    assert message.encode() == data
    older = tags[1].decode(data)
    assert (older.plain, older.first, older.unknown_tagged_fields) == (7, "a", {1: b"\x05"})
    assert newer[1].decode(older.encode()) == message
    assert newer[1].decode(tags[1](plain=7).encode()).added == 0


# Flexible versions, and the forms of lengths.


@pytest.mark.parametrize(
    ("values", "classic", "compact"),
    [
        ({}, "0000 0000 00000000 00000000 00000000 00000000", "01 01 01 01 01 01 00"),
        ({"null_text": None, "null_blob": None, "null_numbers": None},
         "0000 ffff 00000000 ffffffff 00000000 ffffffff", "01 00 01 00 01 00 00"),
        ({"text": "ä", "null_text": "b", "blob": b"\x01\x02", "null_blob": b"\x03", "numbers": [1, -1],
          "null_numbers": [2]},
         "0002 c3a4 0001 62 00000002 0102 00000001 03 00000002 0001 ffff 00000001 0002",
         "03 c3a4 02 62 03 0102 02 03 03 0001 ffff 02 0002 00"),
    ],
)  # fmt: skip
def test_lengths_are_compact_in_flexible_versions_and_fixed_before(
    values: dict[str, Any], classic: str, compact: str, letters: dict[int, Any]
) -> None:
    is_written_and_read(letters[0](**values), classic)
    is_written_and_read(letters[1](**values), compact)


@pytest.mark.parametrize(
    ("length", "size"),
    [(0, "01"), (126, "7f"), (127, "8001"), (299, "ac02"), (16382, "ff7f"), (16383, "808001"), (32767, "808002")],
)
def test_a_compact_length_is_a_varint_of_the_length_plus_one(length: int, size: str, letters: dict[int, Any]) -> None:
    rest = "01" * 4 + "00"
    is_written_and_read(letters[1](text="x" * length), size + "78" * length + "01" + rest)
    is_written_and_read(letters[1](blob=b"x" * length), "0101" + size + "78" * length + rest[2:])
    is_written_and_read(letters[1](numbers=[7] * length), "01" * 4 + size + "0007" * length + "0100")


@pytest.mark.parametrize(
    ("values", "saved"),
    [
        ({"text": "x"}, 14),
        ({"text": "x" * 126, "blob": b"x" * 126, "numbers": [1] * 126}, 14),
        ({"blob": bytes(127)}, 13),
    ],
)
def test_small_lengths_save_the_bytes_that_the_document_counts(
    values: dict[str, Any], saved: int, letters: dict[int, Any]
) -> None:
    """One for each of two strings, three for each of two byte buffers and two arrays; the tag section takes one."""
    assert letters[0](**values).encoded_size() - (letters[1](**values).encoded_size() - 1) == saved


def test_a_length_of_five_bytes_is_read_up_to_31_bits(letters: dict[int, Any]) -> None:
    too_long = "more than 31 bits"
    sizes = {"ff ff ff ff 07": "need 2147483646 bytes", "80 80 80 80 08": too_long, "ff ff ff ff 0f": too_long}
    for size, reason in sizes.items():
        with pytest.raises(DecodeError, match=reason):
            letters[1].decode(raw(f"01 01 {size} 00"))
    for tag_and_size in ("80 80 80 80 08 00", "00 80 80 80 80 10"):
        with pytest.raises(DecodeError):
            letters[1].decode(raw(f"01 01 01 01 01 01 01 {tag_and_size}"))


def test_a_string_of_more_than_32767_bytes_is_refused_and_bytes_are_not(letters: dict[int, Any]) -> None:
    with pytest.raises(EncodeError, match="32767"):
        letters[1](text="x" * 32768).encode()
    with pytest.raises(DecodeError, match="32767"):
        letters[1].decode(raw("818002") + b"x" * 32768 + raw("01 01 01 01 01 00"))
    is_written_and_read(letters[1](blob=b"x" * 32768), "0101 818002" + "78" * 32768 + "01 01 01 00")


# Headers.


def test_flexible_frames_have_header_version_1_with_room_for_tags() -> None:
    request = proposals.encode_request(foo_request.FooRequest(), 7, "ab")
    assert request == raw("2328 0009 00000007 03 6162 00 00")
    assert proposals.request_header_version(9000, 9) == proposals.response_header_version(9000, 9) == 1
    assert proposals.request_header_version(9000, 8) == proposals.response_header_version(9000, 8) == 0
    response = proposals.encode_response(foo_response.FooResponse(), 7)
    assert response == raw("00000007 00 01 00")


def test_headers_keep_the_tagged_fields_that_are_common_to_all_messages() -> None:
    frame = raw("2328 0009 00000007 03 6162 01 05 03 747263 00")
    header, body = proposals.decode_request(frame)
    assert header.unknown_tagged_fields == {5: b"trc"}
    assert proposals.encode_request(body, header=header) == frame
    answer = raw("00000007 01 05 01 09 01 00")
    response_header, response = proposals.decode_response(answer, 9000, 9)
    assert response_header.unknown_tagged_fields == {5: b"\x09"}
    assert proposals.encode_response(response, header=response_header) == answer


# Specs.


def test_flexible_versions_are_given_in_every_spec(tmp_path: Path) -> None:
    text = spec(field_of("int32"))
    assert rules_broken(tmp_path, text) == []
    assert rules_broken(tmp_path, text.replace(', "flexibleVersions": "2+"', "")) == ["missing-property"]
    for versions, broken in (("none", []), ("0+", []), ("9+", []), ("2-3", ["flexible-versions-open"])):
        assert rules_broken(tmp_path, spec(flexible=versions)) == broken


def test_flexible_versions_start_with_a_new_version(tmp_path: Path) -> None:
    later = spec(flexible="4+", valid="0-4")
    assert {one.severity for one in compare_texts(tmp_path / "new", spec(flexible="none"), later)} == {"notice"}
    found = compare_texts(tmp_path / "released", spec(flexible="none"), spec(flexible="3+"))
    assert [(one.rule.id, one.severity) for one in found] == [("flexible-versions-changed", "wire")]


def test_tags_are_unique_in_their_struct_alone(tags: dict[int, Any], tmp_path: Path) -> None:
    inner = field_of(
        "Inner", "Beta", versions="2+", fields=[field_of("int8", "Leaf", "2+", taggedVersions="2+", tag=0)]
    )
    tagged = field_of("int8", "Alpha", "2+", taggedVersions="2+", tag=0)
    assert rules_broken(tmp_path, spec(tagged, inner)) == []
    twice = tagged.replace("Alpha", "Gamma").replace("2+", "3+")
    assert rules_broken(tmp_path, spec(tagged, twice)) == ["duplicate-tag"]
    message = tags[1](first="a", items=[item(tags, id=1, extra="b"), item(tags, id=2)])
    is_written_and_read(message, "00 03 01 01 00 02 02 62 02 00 01 00 02 02 61")


@pytest.mark.parametrize(
    ("type_", "value", "data"),
    [
        ("bool", True, "01 01"),
        ("int8", -1, "01 ff"),
        ("int16", 258, "02 0102"),
        ("uint16", 65535, "02 ffff"),
        ("int32", -2, "04 fffffffe"),
        ("uint32", 2**32 - 1, "04 ffffffff"),
        ("int64", 1, "08 0000000000000001"),
        ("float64", 1.5, "08 3ff8000000000000"),
        ("uuid", uuid.UUID(int=1), "10 " + "00" * 15 + "01"),
        ("string", "ab", "03 03 6162"),
        ("bytes", b"\x07", "02 02 07"),
        ("records", b"\x07", "02 02 07"),
        ("[]int16", [1, 2], "05 03 0001 0002"),
        ("[]string", ["a"], "03 02 02 61"),
    ],
)
def test_a_tagged_field_has_any_type(type_: str, value: Any, data: str, tmp_path: Path) -> None:
    text = spec(field_of(type_, versions="2+", taggedVersions="2+", tag=4))
    cls = classes_of(text, f"kip_482_any_{type_.replace('[]', 'array_of_')}", tmp_path)[2]
    is_written_and_read(cls(alpha=value), f"01 04 {data}")


def test_a_tagged_field_is_a_struct_or_an_array_of_structs(tmp_path: Path) -> None:
    one = field_of("One", versions="2+", taggedVersions="2+", tag=0, fields=[field_of("int8", "Leaf")])
    some = field_of("[]Some", "Beta", versions="2+", taggedVersions="2+", tag=1, fields=[field_of("int8", "Leaf")])
    cls = classes_of(spec(one, some), "kip_482_structs", tmp_path)[2]
    of_beta = next(field.struct for field in cls.ATTRIBUTES if field.name == "beta")
    message = cls(beta=[of_beta(leaf=1), of_beta(leaf=2)])
    message.alpha.leaf = 9
    is_written_and_read(message, "02 00 02 0900 01 05 03 0100 0200")


def test_the_example_is_one_of_the_specs_and_its_slips_are_refused(tmp_path: Path) -> None:
    file = ROOT / "schemas/proposals/kip-482/FooResponse.json"
    assert rules_broken(tmp_path, file.read_text()) == []
    message = read_message(tmp_path, file.read_text())
    assert (message.api_key, str(message.valid_versions), str(message.flexible_versions)) == (9000, "0-9", "9+")
    assert foo_response.Foo().bar == "hello world"
    assert rules_broken(tmp_path, '{"name": "FooResponse", "fields": [{ { "name": "UserAgent" } }]}') == ["syntax"]


# Tagged fields and version compatibility.


def test_a_tagged_field_exists_in_flexible_versions_alone(tmp_path: Path) -> None:
    assert rules_broken(tmp_path, spec(field_of("int32", "Alpha", "1+", taggedVersions="1+", tag=0))) == [
        "tagged-outside-flexible"
    ]
    assert rules_broken(tmp_path, spec(field_of("int32", tag=0), flexible="none")) == ["tag-unused"]


def test_a_tag_is_never_used_again(tmp_path: Path) -> None:
    tagged = field_of("int32", "Alpha", "2+", taggedVersions="2+", tag=0)
    other = tagged.replace("Alpha", "Beta")
    found = compare_texts(tmp_path / "used", spec(tagged), spec(other))
    assert [(one.rule.id, one.severity) for one in found] == [("tag-reused", "wire")]
    found = compare_texts(tmp_path / "gone", spec(field_of("int8", "Kept"), tagged), spec(field_of("int8", "Kept")))
    assert ("tag-forgotten", "wire") in {(one.rule.id, one.severity) for one in found}
    assert rules_broken(tmp_path, spec(other, more='"reservedTags": [0]')) == ["reserved-tag-used"]


def test_type_and_nullability_of_a_tagged_field_never_change(tmp_path: Path) -> None:
    tagged = field_of("string", "Alpha", "2+", taggedVersions="2+", tag=0)
    changes = {
        "type-changed": tagged.replace("string", "bytes"),
        "nullability-changed": tagged.replace('"tag"', '"nullableVersions": "2+", "tag"'),
        "tagged-form-changed": tagged.replace('"tag"', '"nullableVersions": "4+", "tag"'),
    }
    for rule, changed in changes.items():
        old, new = spec(tagged), spec(changed, valid="0-4")
        found = compare_paths(*write_revisions(tmp_path / rule, Revisions((old,), (new,)))).findings
        assert [one.rule.id for one in found if one.severity == "wire"] == [rule]


def test_a_tag_alone_is_in_all_flexible_versions(tmp_path: Path) -> None:
    (field,) = read_message(tmp_path, spec('{"name": "Alpha", "type": "int32", "tag": 0}')).fields
    assert (str(field.versions), str(field.tagged_versions)) == ("2+", "2+")


def test_tagged_versions_are_part_of_versions_which_may_be_left_out(tmp_path: Path) -> None:
    assert rules_broken(tmp_path, spec(field_of("int32", "Alpha", "3+", taggedVersions="2+", tag=0))) == [
        "tagged-outside-versions"
    ]
    alone = '{"name": "Alpha", "type": "int32", "taggedVersions": "3+", "tag": 0}'
    (field,) = read_message(tmp_path, spec(alone)).fields
    assert str(field.versions) == "3+"


def test_what_is_on_disk_gets_a_field_without_a_new_version() -> None:
    """A consumer offset with a tagged field that this reader does not know keeps it."""
    cls: Any = kafka_messages.message("OffsetCommitValue", 4)
    data = cls.decode(kipwire.build(cls, {"offset": 7}).encode()).encode()
    assert data.endswith(b"\0"), "the tag section is the last byte"
    newer = data[:-1] + raw("01 63 02 0102")
    message = cls.decode(newer)
    assert message.unknown_tagged_fields == {99: b"\1\2"}
    assert message.encode() == newer


# Serialization.


def test_every_struct_ends_with_a_tag_section(tags: dict[int, Any]) -> None:
    is_written_and_read(tags[1](plain=1, items=[item(tags, id=2), item(tags, id=3)]), "01 03 02 00 03 00 00")
    assert tags[0](plain=1).encode() == raw("01 00000000")


def test_tags_are_in_ascending_order_each_with_its_size(tags: dict[int, Any]) -> None:
    message = tags[1](first="a", wide=300, last=1)
    message.unknown_tagged_fields = {127: b"\x07", 128: b""}
    wire = "00 01 05 | 00 02 02 61 | 7f 01 07 | 80 01 00 | ac 02 04 0000012c | ff ff ff ff 07 02 0001"
    is_written_and_read(message, wire.replace("|", ""))
    for wrong in ("00 01 02 ac02 04 0000012c 00 02 02 61", "00 01 02 00 02 02 61 00 02 02 61"):
        with pytest.raises(DecodeError):
            tags[1].decode(raw(wrong))


def test_the_size_of_a_tagged_field_is_an_unsigned_varint(tags: dict[int, Any]) -> None:
    is_written_and_read(tags[1](first="x" * 126), "00 01 01 00 7f 7f" + "78" * 126)
    is_written_and_read(tags[1](first="x" * 127), "00 01 01 00 8101 8001" + "78" * 127)
    is_written_and_read(tags[1](first="x" * 298), "00 01 01 00 ac02 ab02" + "78" * 298)
    for wrong in (
        "00 01 02 00 03 02 61 63 00",  # more than the field takes: the rest would belong to no field
        "00 01 01 00 01 02 61",  # less
        "00 01 02 00 01 02 61 ac02 04 0000012c",
        "00 01 02 00 02 02 61 ac02 03 0000012c",
        "00 01 02 00 02 02 61 ac02 05 0000012c 00",
    ):
        for decode in (tags[1].decode, lambda data: native.PYTHON["decode"](tags[1], data)):
            with pytest.raises(DecodeError):
                decode(raw(wrong))


@pytest.mark.parametrize(
    ("number", "data"),
    [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (300, "ac02"), (16383, "ff7f"), (16384, "808001"),
     (16385, "818001"), (2097151, "ffff7f"), (2097152, "80808001"), (2113794, "82828101"), (268435455, "ffffff7f"),
     (268435456, "8080808001"), (2**31 - 1, "ffffffff07")],
)  # fmt: skip
def test_an_unsigned_varint_has_groups_of_seven_bits_the_lowest_first(
    number: int, data: str, letters: dict[int, Any]
) -> None:
    message = letters[1]()
    message.unknown_tagged_fields = {number: b""}
    is_written_and_read(message, f"01 01 01 01 01 01 01 {data} 00")
    *groups, last = raw(data)
    if len(groups) < 4:
        longer = bytes([*groups, last | 0x80, 0]).hex()
        with pytest.raises(DecodeError):
            letters[1].decode(raw(f"01 01 01 01 01 01 01 {longer} 00"))


def test_an_unsigned_varint_is_never_longer_than_a_signed_one_for_positive_numbers() -> None:
    for number in {(1 << bits) + more for bits in range(31) for more in (-1, 0)}:
        assert len(wire.write_varint(number)) <= len(wire.write_packed(number, 32)), number
    assert (len(wire.write_varint(64)), len(wire.write_packed(64, 32))) == (1, 2)


def test_a_negative_number_is_not_an_unsigned_varint(letters: dict[int, Any]) -> None:
    message = letters[1]()
    message.unknown_tagged_fields = {-1: b""}
    with pytest.raises(EncodeError):
        message.encode()
    with pytest.raises(DecodeError):
        letters[1].decode(raw("01 01 01 01 01 01 01 ff ff ff ff 0f 00"))


def test_every_api_has_a_flexible_version_but_those_that_kafka_left_out() -> None:
    apis = json.loads((GOLDEN / "header-versions.json").read_text())
    newest = {api["name"]: (api["apiKey"], api["highestSupportedVersion"]) for api in apis if api["hasValidVersion"]}
    flexible = {name for name, api in newest.items() if kafka_messages.request_header_version(*api) == 2}
    assert newest.keys() - flexible == {"OffsetDelete", "SaslHandshake"}
    assert {name for name in flexible if kafka_messages.response_header_version(*newest[name]) == 0} == {"ApiVersions"}


def test_requests_and_responses_without_tagged_fields_end_with_a_zero_byte() -> None:
    assert foo_request.FooRequest().encode() == raw("00")
    assert foo_response.FooResponse().encode() == raw("01 00")


def test_versions_before_the_flexible_ones_stay_as_they_were() -> None:
    old = proposals.message("FooResponse", 8)
    assert old().encode() == raw("00000000")
    assert not old.FLEXIBLE
    with pytest.raises(DecodeError):
        old.decode(raw("00000000 00"))


def test_no_type_follows_a_tag(tags: dict[int, Any]) -> None:
    data = tags[1](wide=1).encode()
    assert data == raw("00 01 01 ac02") + b"\x04" + struct.pack(">i", 1)
