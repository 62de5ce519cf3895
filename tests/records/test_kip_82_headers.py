"""Numbered headers as a map: set and read by key, unchangeable after reading, with values of their owners' types."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import pytest

from kipwire.drafts.header_keys import HIGHEST_KEY
from kipwire.drafts.kip_82 import (
    ConsumerRecord,
    Headers,
    HeaderSerializers,
    HeaderValueError,
    MutableHeaders,
    ProducerRecord,
    Serializer,
)

TRACE, APP = 0x00100010, 1114000
KINDS = [Headers, MutableHeaders]


@pytest.mark.parametrize("kind", KINDS)
def test_headers_are_equal_in_any_order_of_setting(kind: type[Headers] | type[MutableHeaders]) -> None:
    one, other = kind([(5, b"five"), (1, b"one")]), kind({1: b"one", 5: b"five"})
    plain: Mapping[int, bytes] = {5: b"five", 1: b"one"}
    assert one == other == plain
    assert repr(one) == repr(other) == f"{kind.__name__}({{0x00000001: b'one', 0x00000005: b'five'}})"
    assert one != kind({1: b"one"}) != kind({1: b""})
    assert Headers(one) == MutableHeaders(one)


@pytest.mark.parametrize("kind", KINDS)
def test_headers_are_read_in_ascending_order_of_unsigned_keys(kind: type[Headers] | type[MutableHeaders]) -> None:
    headers = kind((key, b"") for key in (HIGHEST_KEY, 0x80000000, 0, 0x7FFFFFFF))
    assert list(headers) == [0, 0x7FFFFFFF, 0x80000000, HIGHEST_KEY]
    assert len(headers) == 4
    assert repr(kind()) == f"{kind.__name__}()"


def test_headers_are_set_replaced_and_removed_by_key() -> None:
    headers = MutableHeaders()
    buffer: Any = bytearray(b"b")
    headers[TRACE], headers[1] = b"t", b"a"
    headers[1] = buffer
    assert (list(headers.items()), headers.get(2), 1 in headers) == ([(1, b"b"), (TRACE, b"t")], None, True)
    assert type(headers[1]) is bytes
    del headers[1]
    assert headers == {TRACE: b"t"}


def test_a_producer_sets_headers_and_a_consumer_reads_them() -> None:
    record = ProducerRecord(value=b"v", headers={1: b"a"})
    record.set_header(TRACE, b"t")
    record.set_header(1, b"b")
    assert (record.get_header(1), record.get_header(TRACE), record.get_header(2)) == (b"b", b"t", None)
    assert record == ProducerRecord(value=b"v", headers=[(TRACE, b"t"), (1, b"b")])
    assert record != ProducerRecord(value=b"v")
    seen = ConsumerRecord(offset=0, value=b"v", headers=Headers(record.headers))
    assert (seen.get_header(1), seen.get_header(2)) == (b"b", None)


def test_headers_of_a_consumer_cannot_be_changed() -> None:
    given = {1: b"a"}
    record = ConsumerRecord(offset=0, headers=Headers(given))
    given[2] = b"late"
    headers: Any = record.headers
    for change in (
        lambda: headers.__setitem__(1, b"b"),
        lambda: headers.__delitem__(1),
        lambda: headers.update({2: b""}),
        lambda: headers.setdefault(2, b""),
        lambda: setattr(record, "headers", Headers()),
    ):
        with pytest.raises(AttributeError):
            change()
    assert record.headers == {1: b"a"}
    assert not hasattr(record, "set_header")
    own: Any = {1: b"a"}
    record = ConsumerRecord(offset=0, headers=own)
    own[1] = b"b"
    assert record.headers == {1: b"a"}
    assert hash(record) == hash(ConsumerRecord(offset=0, headers=Headers({1: b"a"})))


def test_a_record_is_passed_on_with_headers_of_its_own() -> None:
    seen = ConsumerRecord(offset=3, timestamp=9, key=b"k", value=b"v", headers=Headers({1: b"a"}))
    passed = seen.to_producer_record()
    passed.set_header(2, b"b")
    assert passed == ProducerRecord(offset=3, timestamp=9, key=b"k", value=b"v", headers={1: b"a", 2: b"b"})
    assert seen.headers == {1: b"a"}


@pytest.mark.parametrize("kind", KINDS)
def test_headers_are_copied_and_pickled(kind: type[Headers] | type[MutableHeaders]) -> None:
    headers = kind({1: b"a"})
    assert copy.deepcopy(headers) == headers == pickle.loads(pickle.dumps(headers))
    serializers = HeaderSerializers({1: Serializer(str.encode, bytes.decode)})
    assert pickle.loads(pickle.dumps(serializers)).get(headers, 1) == copy.copy(serializers).get(headers, 1) == "a"


@pytest.mark.parametrize(
    ("key", "error", "text"),
    [
        (-1, ValueError, "-1 is not a header key; the range is 0 to 0xffffffff"),
        (HIGHEST_KEY + 1, ValueError, "4294967296 is not a header key; the range is 0 to 0xffffffff"),
        (1 << 200, ValueError, "a number of 201 bits is not a header key"),
        ("1", TypeError, "a header key must be an int, not str '1'"),
        (True, TypeError, "a header key must be an int, not bool True"),
    ],
)
def test_what_is_not_a_key_is_refused(key: Any, error: type[Exception], text: str) -> None:
    headers = MutableHeaders()
    for use in (
        lambda: headers.__setitem__(key, b""),
        lambda: Headers({key: b""}),
        lambda: ProducerRecord(headers=[(key, b"")]),
        lambda: ProducerRecord().set_header(key, b""),
        lambda: HeaderSerializers({key: Serializer(bytes, bytes)}),
        lambda: HeaderSerializers({}).set(headers, key, b""),
        lambda: HeaderSerializers({}).serialize(key, "text"),
        lambda: HeaderSerializers({}).values({key: b""}),
        lambda: HeaderSerializers({}).headers({key: b""}),
    ):
        with pytest.raises(error, match=f"^{text}"):
            use()
    assert headers == {}


@pytest.mark.parametrize("value", [None, "text", 5, [1]])
def test_values_are_bytes_and_never_null(value: Any) -> None:
    for use in (
        lambda: MutableHeaders().__setitem__(TRACE, value),
        lambda: Headers({TRACE: value}),
        lambda: ProducerRecord().set_header(TRACE, value),
    ):
        with pytest.raises(
            TypeError, match=f"the value of header 0x00100010 must be bytes, not {type(value).__name__}"
        ):
            use()


def test_a_key_that_is_given_twice_is_refused() -> None:
    for kind in KINDS:
        with pytest.raises(ValueError, match="header 0x00000001 is given twice; headers are a map"):
            kind([(1, b"a"), (2, b""), (1, b"b")])


def test_no_mapping_shares_what_is_inside_headers() -> None:
    first = MutableHeaders({1: b"a"})
    fixed = Headers(first)
    first[2] = b"b"
    second = MutableHeaders(fixed)
    second[3] = b"c"
    assert [dict(one) for one in (fixed, first, second)] == [{1: b"a"}, {1: b"a", 2: b"b"}, {1: b"a", 3: b"c"}]


# Values

ID = UUID(int=7)
SERIALIZERS = HeaderSerializers(
    {
        TRACE: Serializer[UUID](lambda value: value.bytes, lambda data: UUID(bytes=data)),
        APP: Serializer[str](str.encode, bytes.decode),
    }
)


def test_values_go_through_the_functions_of_their_keys_owner() -> None:
    record = ProducerRecord()
    SERIALIZERS.set(record.headers, TRACE, ID)
    SERIALIZERS.set(record.headers, APP, "näme")
    assert record.headers == {TRACE: bytes(15) + b"\x07", APP: "näme".encode()}
    assert SERIALIZERS.get(record.headers, TRACE) == ID
    assert SERIALIZERS.get(Headers(record.headers), APP) == "näme"
    assert SERIALIZERS.get(record.headers, 9) is None
    assert SERIALIZERS.get(record.headers, 9, "none") == "none"


def test_values_of_a_key_without_functions_are_bytes() -> None:
    headers = MutableHeaders()
    SERIALIZERS.set(headers, 9, b"raw")
    assert headers == {9: b"raw"}
    assert SERIALIZERS.get(headers, 9) == b"raw"
    with pytest.raises(
        HeaderValueError, match="header 0x00000009: has no serializer, so its value must be bytes, not str"
    ):
        SERIALIZERS.set(headers, 9, "text")
    assert headers == {9: b"raw"}


def test_all_values_are_made_of_headers_and_headers_of_values() -> None:
    values = {APP: "a", 9: b"raw", TRACE: ID}
    headers = SERIALIZERS.headers(values)
    assert type(headers) is Headers
    assert headers == {9: b"raw", TRACE: ID.bytes, APP: b"a"}
    assert SERIALIZERS.values(headers) == values


@pytest.mark.parametrize(
    ("use", "key", "text"),
    [
        (lambda: SERIALIZERS.serialize(APP, 5), APP, "header 0x0010ff90: cannot serialize int 5: TypeError: "),
        (lambda: SERIALIZERS.deserialize(APP, b"\xff"), APP, "header 0x0010ff90: cannot deserialize b'\\xff': Unicode"),
        (lambda: SERIALIZERS.values({1: b"", TRACE: b"id"}), TRACE, "header 0x00100010: cannot deserialize b'id'"),
        (
            lambda: HeaderSerializers({2: Serializer[Any](lambda value: value, bytes)}).serialize(2, "a"), 2,
            "header 0x00000002: its serializer must give bytes, not str 'a'",
        ),
        (
            lambda: HeaderSerializers({2: Serializer[Any](_silent, bytes)}).serialize(2, "a"), 2,
            "header 0x00000002: cannot serialize str 'a': RuntimeError",
        ),
    ],
)  # fmt: skip
def test_errors_of_values_name_their_key(use: Any, key: int, text: str) -> None:
    with pytest.raises(HeaderValueError) as caught:
        use()
    assert str(caught.value).startswith(text)
    assert caught.value.key == key
    assert pickle.loads(pickle.dumps(caught.value)).key == key


def _silent(value: object) -> bytes:
    raise RuntimeError


def test_serializers_cannot_be_changed() -> None:
    given = {1: Serializer[Any](bytes, bytes)}
    serializers: Any = HeaderSerializers(given)
    given[2] = given[1]
    assert list(serializers.by_key) == [1]
    with pytest.raises(TypeError):
        serializers.by_key[2] = given[1]
    with pytest.raises(AttributeError, match="HeaderSerializers cannot be changed"):
        serializers.by_key = {}
    assert repr(serializers) == "HeaderSerializers(0x00000001)"
