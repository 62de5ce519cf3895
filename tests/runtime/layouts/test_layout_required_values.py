"""Layouts: a value that must not be null if a bit is set, in both directions, in JSON and in test strategies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kipwire import DecodeError, EncodeError, Field, native
from kipwire.testing import messages
from tests.support.hex_tables import octets
from tests.support.spec_package import modules_of

NULLABLE = {"versions": "0+", "nullableVersions": "0+"}
SPEC = {
    "name": "Required",
    "type": "layout",
    "validVersions": "0",
    "fields": [
        {"name": "Flags", "type": "int8", "versions": "0+", "bits": [
            {"name": "NeedsText", "bits": "0"}, {"name": "NeedsItems", "bits": "1"},
            {"name": "NeedsBody", "bits": "2"}, {"name": "HasBody", "bits": "3"}]},
        {"name": "Text", "type": "string", **NULLABLE, "size": "varint", "requiredIf": "NeedsText"},
        {"name": "Items", "type": "[]Item", **NULLABLE, "count": "int16", "requiredIf": "NeedsItems", "fields": [
            {"name": "Id", "type": "int8", "versions": "0+"}]},
        {"name": "Body", "type": "bytes", **NULLABLE, "size": "rest", "presentIf": "HasBody",
         "requiredIf": "NeedsBody"},
    ],
}  # fmt: skip
ALL = octets("""
    0f        # Flags: all
    02 61     # Text "a"
    0001 05   # Items: one, Id 5
    62        # Body "b"
""")
NONE = octets("""
    00        # Flags: none
    01        # Text null
    ffff      # Items null
""")


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return modules_of(json.dumps(SPEC), "layout_required", tmp_path_factory.mktemp("required"))[0]


def test_values_that_are_required_are_there(module: Any) -> None:
    whole = module.Required(
        needs_text=True, needs_items=True, needs_body=True, text="a", items=[module.Item(id=5)], body=b"b"
    )
    assert whole.encode().hex(" ") == ALL.hex(" ")
    assert module.Required.decode(ALL) == whole
    assert module.Required.from_json(whole.to_json()) == whole


def test_values_that_are_not_required_may_be_null(module: Any) -> None:
    empty = module.Required(text=None, items=None, body=None)
    assert empty.encode().hex(" ") == NONE.hex(" ")
    assert module.Required.decode(NONE) == empty


@pytest.mark.parametrize(
    ("flag", "bit", "name", "offset"),
    [(1, "needs_text", "text", 1), (2, "needs_items", "items", 2), (4, "needs_body", "body", 4)],
)
def test_nulls_that_a_bit_forbids_are_refused(module: Any, flag: int, bit: str, name: str, offset: int) -> None:
    with pytest.raises(DecodeError) as unread:
        module.Required.decode(bytes([flag]) + NONE[1:])
    assert (unread.value.path, unread.value.offset) == (name, offset)
    assert unread.value.reason == f"is null, but {bit} is set"
    message = module.Required(**{"text": None, "items": None, "body": None, bit: True})
    with pytest.raises(EncodeError) as unwritten:
        message.encode()
    assert (unwritten.value.path, unwritten.value.reason) == (name, f"is null, but {bit} is set; give a value")
    assert module.Required.decode(bytes([flag | 8]) + ALL[1:]).encode() == bytes([flag | 8]) + ALL[1:]


def test_an_empty_value_is_not_null(module: Any) -> None:
    data = bytes.fromhex("0f 00 0000")
    assert module.Required.decode(data).encode() == data


@given(data=st.data())
@settings(max_examples=50, deadline=None)
def test_strategies_give_what_is_required(module: Any, data: Any) -> None:
    message = data.draw(messages(module.Required, long=False))
    assert module.Required.decode(message.encode()) == message


def test_fields_say_which_bit_requires_them(module: Any) -> None:
    fields: tuple[Field, ...] = module.Required.FIELDS
    assert {field.name: field.required_if for field in fields if field.required_if} == {
        "text": "needs_text",
        "items": "needs_items",
        "body": "needs_body",
    }


@pytest.mark.skipif(native.kernel is None, reason="the kernel is not in use")
def test_the_kernel_leaves_such_classes_to_their_generated_code(module: Any) -> None:
    assert native.kernel is not None
    assert not native.kernel.serves(module.Required)
