"""A required field of a layout has no default: whoever makes a message gives its value, in each way to make one."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from kipgen.reading.rules.examples import field_of, layout
from kipwire import ConversionError, EncodeError, JsonError, build, columns, convert
from kipwire.testing import same_message
from tests.support.spec_package import modules_of

_SPEC = layout(
    field_of("int16", "Kind", required=True, about="Which it is."), field_of("int32", "Since", versions="1+")
)


@pytest.fixture
def probes(tmp_path: Any) -> dict[int, Any]:
    return {version: module.Probe for version, module in modules_of(_SPEC, "required_probe", tmp_path).items()}


def test_a_message_without_a_required_value_is_refused_as_a_missing_argument(probes: dict[int, Any]) -> None:
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'kind'"):
        probes[0]()
    assert probes[0](kind=0).encode() == b"\0\0"
    assert probes[1](kind=258).encode() == bytes.fromhex("0102 00000000")


def test_plain_values_without_a_required_one_are_refused_with_its_name(probes: dict[int, Any]) -> None:
    with pytest.raises(ConversionError) as caught:
        build(probes[1], {"since": 7})
    assert caught.value.path == "kind"
    assert "kind: a value is required, since the field has no default" in str(caught.value)
    assert build(probes[1], {"kind": 3}) == probes[1](kind=3)


def test_json_without_a_required_value_is_refused(probes: dict[int, Any]) -> None:
    with pytest.raises(JsonError, match="the key 'kind' is missing"):
        probes[0].from_json({})
    assert probes[0].from_json({"kind": 3}).kind == 3


def test_null_is_not_a_value_for_a_required_field(probes: dict[int, Any]) -> None:
    for version in probes:
        with pytest.raises(EncodeError) as caught:
            probes[version](kind=None).encode()
        assert caught.value.path == "kind"


def test_a_required_value_is_kept_by_bytes_other_versions_and_columns(probes: dict[int, Any]) -> None:
    message = probes[1](kind=258, since=0)
    assert same_message(probes[1].decode(message.encode()), message)
    assert convert(convert(message, probes[0]), probes[1]) == message
    table = columns.decode(probes[1], [message.encode()])
    assert table.to_pylist() == [{"kind": 258, "since": 0}]
    assert [value.as_py() for value in columns.encode(probes[1], table)] == [message.encode()]


def test_a_required_value_is_declared_with_its_text_and_without_default(probes: dict[int, Any]) -> None:
    assert probes[0].FIELDS[0].about == inspect.getdoc(probes[0].kind) == "Which it is."
    assert str(inspect.signature(probes[0])) == "(*, kind: 'int') -> 'None'"
